/*
 * What `seen doctor` finds out, a line a check.
 *
 * 	doctor_machine.c   the kernel, the directories, the mode
 * 	doctor_trial.c     programs that are started for a trial
 * 	doctor_program.c   COMMAND: its file, its mechanism, its role
 * 	doctor_reach.c     how far guard, rules and hooks reach
 * 	doctor_json.c      all of it, as a JSON document
 */
#ifndef SEEN_CLI_DOCTOR_H
#define SEEN_CLI_DOCTOR_H

#include <stdbool.h>

#include "cli/base/executable.h"
#include "cli/run/launcher.h"
#include "cli/run/probe.h"
#include "cli/run/via.h"
#include "config/config.h"
#include "tracker/process/role.h"

enum { DOCTOR_PROGRAM_TIMEOUT_MS = 5000, CHECKS_MAX = 40, DETAIL_BYTES = 2048 };

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL };

struct check {
	const char *what;
	enum level level;
	char detail[DETAIL_BYTES];
	const char *remedy; /* NULL: none needed */
};

/* Of the program in question. */
struct program {
	bool found;
	struct executable chain[EXECUTABLE_CHAIN_MAX];
	int count;
	struct invocation invocation;
	char profile[64], tested[64];
	struct probe_result result;
	bool probed;
	struct launch launch;
	struct via via;
	bool unseen;     /* not in full, by its file */
	bool tried;      /* all of it, not its interpreter alone */
	bool supervised; /* what keeps the library out of it keeps nothing from the supervisor */
};

/* Of this machine, for the supervisor. */
struct supervisor {
	int error; /* why there can be none */
	bool waits_killable, wakes_in_step, drops_privileges;
};

struct doctor {
	struct check checks[CHECKS_MAX];
	int count;
	bool unseen; /* something will not be observed */
	const struct config *config;
	struct supervisor supervisor;
	char **flags; /* of the command line */
	int flag_count;
	struct probe probe;
	bool probe_is_open;
	char **words;   /* the program that COMMAND comes to, and its arguments; or NULL */
	char **command; /* COMMAND, or NULL */
	struct program program;
};

/* doctor_add(): adds a line.  remedy: static text, or NULL. */
__attribute__((format(printf, 5, 6))) void doctor_add(struct doctor *doctor, enum level level,
						      const char *what, const char *remedy,
						      const char *format, ...);

/* doctor_level_name(): "ok", "warn", "fail". */
const char *doctor_level_name(enum level level);

/* doctor_last(): the program file of a chain that is no script. */
static inline const struct executable *doctor_last(const struct program *program)
{
	return &program->chain[program->count - 1];
}

#endif
