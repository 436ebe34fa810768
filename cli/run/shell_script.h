/*
 * Shell scripts: the command that a script leads to, as far as its text tells.
 */
#ifndef SEEN_CLI_SHELL_SCRIPT_H
#define SEEN_CLI_SHELL_SCRIPT_H

#include <stdbool.h>

enum { SHELL_SCRIPT_WORDS = 32 };

/* shell_script_command(): the last command of a script that hands on the script's own arguments
 * ("$@"), or is begun by exec; of a text of one line, that line.  Variables that the script sets by
 * plain words, $0 and the directory of the script are put in place.
 *
 * text: the script's, ended by NUL; changed.  path: the script's file; "": it has none.
 * ret_words: SHELL_SCRIPT_WORDS pointers, ended by NULL, each to be freed, without the words for
 * the script's own arguments; none at all where these are the command.
 * Returns 0; -ENOENT: there is none, or what it is is not known; -ENOMEM. */
int shell_script_command(char *text, const char *path, char **ret_words);

/* shell_script_free(): frees such words. */
void shell_script_free(char **words);

#endif
