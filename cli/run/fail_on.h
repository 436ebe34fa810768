/*
 * What makes `seen run` end with a status of its own ([rules] fail_on, rules with action = fail):
 * told from what one run amounted to.
 *
 * That status is given whatever the command's own one was: who asks for it wants to know.  The line
 * that is printed holds the command's.  Of several findings the first in the order of enum fail_on
 * has the status; the line names all.
 */
#ifndef SEEN_CLI_FAIL_ON_H
#define SEEN_CLI_FAIL_ON_H

#include "cli/session/summary.h"
#include "config/config.h"

enum fail_on {
	FAIL_ON_ACTION = 1, /* a rule holds whose action is fail: its hits count in any case */
	FAIL_ON_RULE =
		2, /* a rule was hit whose action is not log, or a program ran that none could hold for */
	FAIL_ON_STALE = 4, /* a write over a change that its agent had not seen, done or refused */
	FAIL_ON_UNOBSERVED = 8, /* a process, a call or a record that is not known */
};

/* fail_on_asked(): what a configuration asks for: enum fail_on, any of them. */
unsigned fail_on_asked(const struct config *config);

/* A run that is over. */
struct fail_on_run {
	const struct summary *sum;     /* of this run alone, but for the lost records */
	uint64_t lost_before;          /* records that were lost before */
	const struct journal *journal; /* to name rules by; may be unmapped */
	uint64_t since;                /* number of its first record that is the run's */
	const char *session;           /* name */
	/* the session was in use, and what it holds may be other rules than those of the
	 * configuration */
	bool keeps_rules;
	int status; /* the command's */
};

/* fail_on_judge(): the exit code of a run.
 *
 * asked: of fail_on_asked().  ret_line: FAIL_ON_LINE_BYTES; what to tell the user, "" where the
 * code is the command's own.  Holds names that are data of others: message() escapes them. */
enum { FAIL_ON_LINE_BYTES = 1024 };
int fail_on_judge(unsigned asked, const struct fail_on_run *run, char *ret_line);

/* fail_on_rules_missed(): did programs run that no rule could hold for, where rules that deny or
 * fail are in force?  ret_line:
 * FAIL_ON_LINE_BYTES; says so, as above. */
bool fail_on_rules_missed(const struct config *config, const struct coverage *coverage,
			  char *ret_line);

/* fail_on_blind(): the same for a command of which nothing at all could be observed.  why: a
 * phrase. */
int fail_on_blind(unsigned asked, const char *why, int status, char *ret_line);

#endif
