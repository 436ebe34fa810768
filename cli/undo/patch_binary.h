/*
 * Binary patches, as `git apply` reads them (git's Documentation, gitformat-pack and apply.c).
 */
#ifndef SEEN_CLI_PATCH_BINARY_H
#define SEEN_CLI_PATCH_BINARY_H

#include <stddef.h>
#include <stdio.h>

enum { PATCH_ID_BYTES = 41 };

/* patch_id(): git's name of a content: SHA-1 of "blob SIZE", NUL and the bytes, as 40 hexadecimal
 * digits and a NUL. */
void patch_id(const char *bytes, size_t size, char ret_id[PATCH_ID_BYTES]);

/* patch_binary_write(): "GIT binary patch", the content after and, so that it can be reversed, the
 * one before.  Each is in deflate's stored blocks (RFC 1950, 1951): 28 % longer than the content.
 * The caller checks the errors of `file`. */
void patch_binary_write(FILE *file, const char *old, size_t old_bytes, const char *new,
			size_t new_bytes);

#endif
