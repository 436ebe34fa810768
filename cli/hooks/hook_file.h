/*
 * A file of the workspace that a tool is about, as it is now.
 */
#ifndef SEEN_CLI_HOOK_FILE_H
#define SEEN_CLI_HOOK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cli/files/answer_diff.h"
#include "tracker/content/file.h"
#include "tracker/segment/segment.h"

struct hook_file {
	int fd;                        /* -1: not open */
	char path[SEGMENT_PATH_BYTES]; /* as the kernel knows it */
	struct stat stat;
	char *bytes; /* NULL: not read */
	size_t length;
	struct content content; /* of these bytes */
};

/* hook_file_open(): opens a regular, tracked file of the workspace; no device or FIFO.
 *
 * name: absolute, else there is none.  Returns false where it is none; hook_file_close() in any
 * case. */
bool hook_file_open(const struct segment *segment, const char *name, struct hook_file *ret_file);

/* hook_file_read(): reads it whole.  Returns false for one that is too large, or that changes. */
bool hook_file_read(const struct segment *segment, struct hook_file *file);

void hook_file_close(struct hook_file *file);

/* hook_file_known(): the model of that scope knows this version of an open file, from now on.  Returns
 * the file's key; 0: there is no room for it. */
uint64_t hook_file_known(const struct segment *segment, uint64_t scope_id,
			 const struct hook_file *file, const struct version *version);

/* hook_file_diff(): what answer_diff() writes, ended by NUL.  The caller frees it; NULL: there is
 * none. */
char *hook_file_diff(const struct segment *segment, const struct diff_question *question, int fd,
		     size_t *ret_length);

#endif
