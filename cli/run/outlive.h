/*
 * What goes on when a run has ended: daemons, terminal multiplexers, what an agent started in a
 * session of its own.
 */
#ifndef SEEN_CLI_OUTLIVE_H
#define SEEN_CLI_OUTLIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/session/session.h"

enum { OUTLIVE_NAMES_BYTES = 256 };

/* The session's processes that live. */
struct outlive {
	unsigned count;
	char names[OUTLIVE_NAMES_BYTES]; /* of the first of them, with their pids */
	bool is_stranded;                /* some are as outlive_stranded() says */
	char stranded[OUTLIVE_NAMES_BYTES];
};

/* outlive_find(): finds them.  What is about to end gets a tenth of a second to do so; where nothing
 * lives this takes a walk through /proc.
 *
 * leave_out: a child of this process that is none of the session; 0. */
void outlive_find(const struct session *session, pid_t leave_out, struct outlive *ret_outlive);

/* outlive_print(): names them on stderr, and says what becomes of their records.  is_sealed: there
 * is a journal, and it was sealed. */
void outlive_print(const struct outlive *outlive, bool is_sealed);

/* outlive_stranded(): the session's processes below a filter that no process answers, because the
 * supervisor and its guardian were killed: the kernel fails their calls with ENOSYS, and no filter
 * can be taken off.  Inspects all of /proc.
 *
 * ret_names: OUTLIVE_NAMES_BYTES; the first of them, with their pids; set where there are any.
 * Returns how many there are; none while any helper of the session lives. */
unsigned outlive_stranded(const struct session *session, char *ret_names);

#endif
