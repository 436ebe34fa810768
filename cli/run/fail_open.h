/*
 * A setting that is wrong, where the command is to start all the same (`seen run --fail-open`, the
 * launchers of `seen enable`): an agent that is always wrapped does not stop for a word in a file.
 */
#ifndef SEEN_CLI_FAIL_OPEN_H
#define SEEN_CLI_FAIL_OPEN_H

#include "cli/base/options.h"

/* fail_open_load(): as options_load(), but a workspace's .seen.ini that is wrong is left out.
 *
 * Where the user's own settings are wrong this process becomes the command, without seen; but not
 * where they may ask for something to be refused: then the command is not started.  A line says
 * each.  words: the command, ended by NULL. */
int fail_open_load(struct parsed *parsed, char **words, int *ret_code);

/* fail_open_print(): at the end of the run: which file was left out; nothing where none was. */
void fail_open_print(void);

#endif
