/*
 * What the session's processes have open at one moment: for who asks of many files which of them a process may
 * write to.  /proc is read once for all of these.
 */
#ifndef SEEN_CLI_OPEN_FILES_H
#define SEEN_CLI_OPEN_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/run/live_processes.h"

struct open_file {
	uint64_t ino; /* first: they are in this order */
	uint64_t dev; /* of a mapping: not known */
	uint32_t pid;
	int32_t fd; /* -1: a shared mapping, to be written to */
};

struct open_files {
	struct open_file *items;
	size_t count, capacity;
};

/* open_files_list(): regular files that the session's own processes of a list have open or mapped.
 *
 * files: what was listed before, or all zero; free its items.  Processes that cannot be inspected have nothing open;
 * what there is no memory for is left out. */
void open_files_list(const struct live_processes *list, struct open_files *files);

/* open_files_writer(): one of the session's processes that may write to a file at any moment: it held a descriptor for
 * it that is open for writing, or a shared mapping, when that was listed, and holds it still.  dev, ino: of the file.
 *
 * Returns its pid, 0: there is none. */
uint32_t open_files_writer(const struct open_files *files, uint64_t dev, uint64_t ino);

#endif
