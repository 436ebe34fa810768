/* The paths that an undo is about, from a command line. */
#ifndef SEEN_CLI_UNDO_PATHS_H
#define SEEN_CLI_UNDO_PATHS_H

/* undo_paths(): the words as absolute paths, ended by NULL; NULL for no words.
 *
 * ret_paths: undo_paths_free() them, in any case.  Says on stderr what is wrong, and returns an exit
 * code. */
int undo_paths(char **words, char ***ret_paths);
void undo_paths_free(char **paths);

#endif
