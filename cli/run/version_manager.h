/* Version managers: the program that a shim of pyenv, rbenv, nodenv or asdf stands for, or nvm-exec
 * starts. */
#ifndef SEEN_CLI_VERSION_MANAGER_H
#define SEEN_CLI_VERSION_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

/* version_manager_find(): asks the manager (`pyenv which NAME`; `nvm-exec` for what its PATH has),
 * for some seconds at most.
 *
 * words: `pyenv exec NAME ...` or `nvm-exec NAME ...`.  ret_path: PATH_MAX bytes: the program.
 * ret_taken: how many of the words name it.  ret_is_needed: the program is to be started by the
 * manager: without its PATH a script may not find its interpreter.
 * Returns 0; -EINVAL: these are other words; -ENOENT: the manager does not know it. */
int version_manager_find(char *const words[], char *ret_path, size_t *ret_taken,
			 bool *ret_is_needed);

#endif
