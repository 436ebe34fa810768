/*
 * A command as it was typed, from the arguments of a program that the journal has.
 */
#ifndef SEEN_CLI_TYPED_H
#define SEEN_CLI_TYPED_H

#include <stdbool.h>
#include <stddef.h>

/* typed_script(): the words behind a shell's -c.
 *
 * role: enum role of the program; -1: not known.  arguments: each ended by NUL, size_bytes in all;
 * may be NULL.
 * ret_bytes: its length.  Returns a place in `arguments`; NULL: it is no shell, or has no -c. */
const char *typed_script(int role, const char *arguments, size_t size_bytes, size_t *ret_bytes);

/* typed_words(): of a shell the words behind -c, of others the arguments with spaces between; where
 * there are none, `path`, or "?".
 *
 * ret_text: capacity bytes, at least 2, ended by NUL; what does not fit is cut. */
void typed_words(int role, const char *arguments, size_t size_bytes, const char *path,
		 char *ret_text, size_t capacity);

#endif
