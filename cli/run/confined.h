/*
 * A confined run: `seen run` makes the confinement (cli/confine/confinement.h), starts itself anew by bubblewrap
 * where the confinement holds, and waits for that:
 *
 * 	seen run           not confined: waits as the caller's job, passes signals on, ends as the run ends
 * 	 └─ bwrap          makes the mounts
 * 	     └─ seen confined FD,FD,FD run ...
 * 	         └─ ...    the run, its supervisor and its command: all of it is confined
 *
 * So the supervisor has no right that the command does not have.  The session's directories are the
 * same as without a confinement; numbers of processes, too.
 *
 * The run inside is handed three descriptors: the protected files, by (dev, ino), each of which it
 * checks to be out of reach before it begins; a socket, by which it says so, and by which signal its
 * command ended; and the standard error that is its own: bwrap's goes to a pipe, so that it can be
 * explained.
 */
#ifndef SEEN_CLI_CONFINED_H
#define SEEN_CLI_CONFINED_H

#include <stdbool.h>

#include "config/config.h"

enum { CONFINED_TEXT_BYTES = 160 };

/* confined_run(): makes the confinement, and has the run in it.
 *
 * argc, argv: of `seen run`; first_word: where the command begins.
 * Returns its status, or EXIT_CODE_FAILED with a line that says why it did not start.
 * ret_signal: the signal that ended the command; 0: none did. */
int confined_run(const struct config *config, int argc, char **argv, int first_word,
		 int *ret_signal);

/* confined_enter(): at the beginning of the run inside.  descriptors: "LIST,SOCKET,STDERR".
 * False with a line: something is in reach that ought not to be. */
bool confined_enter(const char *descriptors);

/* confined_is_inside(): was confined_enter() called? */
bool confined_is_inside(void);

/* confined_report_signal(): inside: this process is about to end itself by a signal. */
void confined_report_signal(int signal);

/* confined_text(): inside: what is confined, for the end of the run; else "". */
const char *confined_text(void);

#endif
