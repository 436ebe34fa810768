/*
 * A launcher that stands on PATH under the name of what it launches, as `exec seen run -- claude
 * "$@"` in ~/bin/claude: the search for `claude` would find the launcher again, for ever.
 *
 * What a run starts gets SEEN_STARTED in its environment: its pid, its program file, and how often
 * that file came to itself again so.  A run that is started by that very process, or whose parent
 * is a script (by its own command line), finds its starter by (dev, ino) and takes the next program
 * of that name.
 */
#ifndef SEEN_CLI_STARTER_H
#define SEEN_CLI_STARTER_H

#include <limits.h>

#define STARTED_VARIABLE "SEEN_STARTED"

/* starter_pass(): the program that a run is to start in place of the one that started it.
 *
 * name: the command's first word.  ret_path: PATH_MAX bytes; set where this returns 1.
 * Returns 0: `name`, as it is; 1: ret_path; -ELOOP: the program starts itself again and again, and
 * there is no other of that name. */
int starter_pass(const char *name, char *ret_path);

/* starter_mark(): puts the variable in place.  In the child that becomes the command.  path: its
 * file, or a name; setenv(3) is called. */
void starter_mark(const char *path);

#endif
