/* Packages of npm: the program that npx, bunx, `npm exec` ... would run, where it is installed. */
#ifndef SEEN_CLI_NPM_PACKAGE_H
#define SEEN_CLI_NPM_PACKAGE_H

#include <stddef.h>

/* npm_package_find(): nothing is fetched or run.
 *
 * launcher: base name of words[0].  ret_path: PATH_MAX bytes: the program.  ret_taken: how many of
 * the words name it.
 * Returns 0; -EINVAL: that is no such launcher; -ENOENT: it is not installed, or not told. */
int npm_package_find(const char *launcher, char *const words[], char *ret_path, size_t *ret_taken);

#endif
