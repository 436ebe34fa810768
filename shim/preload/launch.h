/* A program about to be started: its record, its environment. */
#ifndef SEEN_SHIM_LAUNCH_H
#define SEEN_SHIM_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shim/preload/program.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"

struct large;

/* A program being started.  Lives on the caller's stack, beside what the two calls below ask
 * for. */
struct launch {
	struct program_place place;
	struct program_file file;
	bool lacks_library; /* it would load it, but the loader will not find it (another root) */
	/* a sandbox hides the session from it, or shows it read-only */
	bool is_out_of_reach;
	bool is_kept_from_agent; /* it shows content, and may not ask who reads that: launch_announce() knows */
	bool announces; /* it goes on record, also where its environment is passed on as it is */
	struct process_ref process;
	/* what this process wrote, and does not count as its command's output; 0: nothing */
	uint64_t command_id, aside_bytes;
	char ticket[TICKET_BYTES];
	int variables;        /* of the given environment; -1: it is passed on as it is */
	size_t preload_bytes; /* room for LD_PRELOAD= with our library */
	struct large *large;  /* memory for the array when it is too large for a stack; else NULL */
};

enum {
	LAUNCH_VARIABLES_MORE = 3, /* pointers that the new array has more than the old one */
	/* as many go on the stack, which may be a signal handler's; */
	LAUNCH_VARIABLES_STACK = 128,
	LAUNCH_VARIABLES_STACK_MAX = 500, /* as many if there is no other place */
	LAUNCH_VARIABLES_MAX = 8000,
};

/* launch_measure(): inspects what a program is started with.  ret_launch->announces is false when
 * this process is not attached or a pointer is not readable (the kernel will say EFAULT); variables
 * is -1 then, and when the environment is too large or names another session: nothing may be added
 * to it. */
void launch_measure(struct launch *ret_launch, struct program_place place, char *const argv[],
		    char *const environment[]);

/* launch_announce(): puts a program on record.  launch: from launch_measure(), which announces.
 * pid: the caller's own for exec, 0 for spawn. */
void launch_announce(struct launch *launch, pid_t pid, char *const argv[]);

/* launch_environment(): makes the environment that a program is started with.
 *
 * launch: announced, variables not -1.
 * stack_array: variables + LAUNCH_VARIABLES_MORE pointers, or NULL where launch->large is set.
 * preload:
 * preload_bytes bytes.  Returns the new environment: it points into `environment`, `launch`,
 * `preload` and `shim`. */
char *const *launch_environment(struct launch *launch, char *const environment[],
				char **stack_array, char *preload);

/* launch_wants_supervisor(): is the program announced, and one that launch_supervise() does something
 * for? */
bool launch_wants_supervisor(const struct launch *launch);

/* launch_note_spawned(): libc starts the program, and there is no place for launch_supervise(). */
void launch_note_spawned(const struct launch *launch);

/* launch_supervise(): where the library does not see all that the program does: makes the calling
 * task supervised, or notes why not.  The next call is the program's own exec.
 *
 * launch: announced, or nothing happens. */
void launch_supervise(const struct launch *launch);

/* launch_repairs_command(): libc starts shells for system() and popen() with the process's own
 * environment.
 * Returns whether that lacks our library, so that the command has to begin by putting it back. */
bool launch_repairs_command(void);

/* launch_command(): writes such a command: `command` behind an export of LD_PRELOAD.
 * capacity: strlen(command) + LAUNCH_COMMAND_MORE. */
enum { LAUNCH_COMMAND_MORE = SEGMENT_PATH_BYTES + 1100 };
void launch_command(const char *command, char *ret_command, size_t capacity);

/* launch_resumed(): this thread goes on after vfork: what the child had taken is free again. */
void launch_resumed(void);

/* launch_reset(): in a copy that fork made: as scratch_reset(). */
void launch_reset(void);

/* launch_done(): the call came back.  pid: what posix_spawn started; 0: nothing was started,
 * because of `error`. */
void launch_done(const struct launch *launch, pid_t pid, int error);

#endif
