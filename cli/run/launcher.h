/*
 * Launchers: programs that become, or start, the one that a user means: timeout, env, npx, a shell's
 * script, a version manager's shim.  Found out without running them.
 */
#ifndef SEEN_CLI_LAUNCHER_H
#define SEEN_CLI_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "tracker/segment/segment.h"

enum { LAUNCHERS_MAX = 8, LAUNCHER_NAME_BYTES = 64 };

/* What a command comes to. */
struct launch {
	char **words; /* of the program that is meant, and its arguments, ended by NULL */
	/* how many of the command's words stand in front of these, where it can be started so too:
	 * `timeout 200`; 0: none, or something else is in between */
	size_t kept;
	char names[LAUNCHERS_MAX][LAUNCHER_NAME_BYTES]; /* what leads there: base names */
	int name_count;
	/* of a launcher of which it is not known what it starts: its base name; else "" */
	char unclear[LAUNCHER_NAME_BYTES];
};

/* launch_follow(): follows a command.  Ends at an agent, at what is no launcher, or at what is not
 * to be found.
 *
 * segment: says what is an agent.  words: ended by NULL.  ret_launch: launch_free() it.
 * Returns 0 or -ENOMEM. */
int launch_follow(const struct segment *segment, char *const words[], struct launch *ret_launch);

void launch_free(struct launch *launch);

#endif
