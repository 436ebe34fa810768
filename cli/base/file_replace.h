/*
 * Replacing a file of a person's, whole or not at all.
 */
#ifndef SEEN_CLI_FILE_REPLACE_H
#define SEEN_CLI_FILE_REPLACE_H

#include <stddef.h>
#include <sys/stat.h>

/* file_replace(): writes a file.  A symbolic link goes on to name it; owner and mode stay; directories
 * above a new one are made.
 *
 * place: its path.  before: as it was read, NULL: there is none.
 * Returns 0, or a negative errno and what went wrong, for a person: -EEXIST: it has other names;
 * -EBUSY: it is not as it was read. */
int file_replace(const char *place, const char *bytes, size_t count, const struct stat *before,
		 char *ret_fault, size_t capacity);

#endif
