/*
 * The mechanisms: by which of them the processes of a run are seen.  The library is preloaded into
 * programs that go through glibc; the supervisor (shim/supervise) is asked by the kernel about the
 * calls of every program.  This is the choice between them, and the words for why.
 */
#ifndef SEEN_CLI_VIA_H
#define SEEN_CLI_VIA_H

#include <stdbool.h>

#include "config/config.h"

struct executable;

enum { VIA_REASON_BYTES = 120 };

struct via {
	enum session_via ways; /* SESSION_VIA_PRELOAD, _SUPERVISE or _BOTH */
	/* Decided for each program when it is started, the command too (shim/start/request.h): `ways`
	 * is what becomes of the command. */
	bool at_exec;
	/* What it was decided by, as a phrase: "busybox is static".  Holds names: data of
	 * others. */
	char reason[VIA_REASON_BYTES];
	/* A line for the user: why the supervisor is not used, though it was asked for or auto
	 * would have taken it;
	 * or what it costs this command.  Static; NULL: there is nothing to say. */
	const char *note;
	/* A rule whose action is deny or fail, set by a source of the user's, needs a mechanism
	 * that sees every program; NULL: there is none. */
	const struct config_rule *rule;
	/* Why neither mechanism sees the command, as a phrase; static; NULL: one does. */
	const char *refusal;
	/* Why some programs would pass a rule that denies, as a phrase; static; NULL: none do, also
	 * since a run above keeps them from it (above.h). */
	const char *weakness;
	/* The command is not started where there turns out to be no supervisor. */
	bool must_supervise;
};

/* via_binding_rule(): the first rule in force that denies or fails, and that no workspace's
 * .seen.ini set; NULL: there is none. */
const struct config_rule *via_binding_rule(const struct config *config);

/* via_denying_rule(): the same of those that deny: a run in which one would not hold is not started. */
const struct config_rule *via_denying_rule(const struct config *config);

/* via_has_library(): is the library beside this program? */
bool via_has_library(void);

/* via_choose(): which mechanisms a run of a command uses.
 *
 * config: [session] via, and the rules.  words: the command, ended by NULL.  has_library: what
 * via_has_library() returned.  supported: is asked,
 * once and only where the supervisor would be used, whether this kernel and machine allow it: 0 or
 * a negative errno, as via_explain() knows them.
 *
 * auto: both, where a rule is to hold (via_binding_rule()); else at_exec, and for the command both,
 * where one of its program files is static, of musl, of another architecture, Go or Bun; not where
 * the command gains privileges that it would lose below the supervisor.  Else the library alone; also
 * where the supervisor cannot be had.
 * Without the library, as in a static build: the supervisor alone.
 * Prints nothing. */
void via_choose(const struct config *config, char *const words[], bool has_library,
		int (*supported)(void), struct via *ret_via);

/* via_explain(): why there is no supervisor, in a line with the remedy.  error: as supported()
 * above returns it.
 * Static. */
const char *via_explain(int error);

/* via_name(): the word for it, as in seen.ini.  Static. */
const char *via_name(enum session_via ways);

/* via_obstacle(): what keeps the library out of a program file, or what calls the kernel past it,
 * as a phrase:
 * "static", "linked with musl", "for another architecture", "built with Go" ...  Static; NULL:
 * nothing that the file tells. */
const char *via_obstacle(const struct executable *executable);

/* via_drops_privileges(): do programs that gain privileges (setuid, setgid, file capabilities) run
 * without them below a supervisor of this process?  The kernel wants no_new_privs of all but
 * CAP_SYS_ADMIN. */
bool via_drops_privileges(void);

#endif
