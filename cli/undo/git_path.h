/* Which paths are git's own.  Pure functions. */
#ifndef SEEN_CLI_GIT_PATH_H
#define SEEN_CLI_GIT_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* git_path_directory(): length of the part of a path that ends with its first component `.git`;
 * 0: it has none. */
size_t git_path_directory(const char *path);

/* git_path_objects(): length of the git directory's path where `path` lies below its objects: of
 * "/w/.git" for "/w/.git/objects/aa/bb", of "/w/.git/modules/m" for what lies below the objects
 * there; 0: it does not. */
size_t git_path_objects(const char *path);

/* git_path_is_ref(): may it be the file of a ref: "/w/.git/refs/heads/a"?  A lock file is none. */
bool git_path_is_ref(const char *path);

#endif
