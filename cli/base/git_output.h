/* What `git` prints. */
#ifndef SEEN_CLI_GIT_OUTPUT_H
#define SEEN_CLI_GIT_OUTPUT_H

#include <stddef.h>

/* git_output(): runs git in a directory, without locks that it could do without, and waits for it.
 *
 * Only for commands that neither read the work tree nor show diffs: those run filters, which the
 * repository's settings name.
 * words: what follows `git -C DIRECTORY`, ended by NULL.  Its messages go to stderr.  ret_text: what it
 * printed, and a NUL behind that; free() it.
 * Returns 0; -ENOENT: there is no git; -ECHILD: it failed; -ENOMEM; or another negative errno. */
int git_output(const char *directory, const char *const *words, char **ret_text, size_t *ret_size);

#endif
