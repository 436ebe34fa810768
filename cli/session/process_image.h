/*
 * The files of a session's programs, found by the journal or by /proc, and what these say about how
 * their processes call the kernel.
 */
#ifndef SEEN_CLI_PROCESS_IMAGE_H
#define SEEN_CLI_PROCESS_IMAGE_H

#include <stdint.h>
#include <sys/stat.h>

#include "tracker/journal/journal.h"
#include "tracker/segment/tables.h"

enum { IMAGE_CACHE_MAX = 64 };

/* Program files that were inspected.  A file that was changed since is inspected again.  Zeroes at
 * first. */
struct image_cache {
	struct {
		uint64_t dev, ino;
		struct timespec modified, changed;
		const char *past_libc;
	} images[IMAGE_CACHE_MAX];
	unsigned count; /* that were ever put there; a new one takes the place of the oldest */
};

/* process_image_path(): the path of the program that a process was started for.  ret_path: PATH_MAX
 * bytes; "": the journal does not tell. */
void process_image_path(const struct journal *journal, const struct process_slot *process,
			char *ret_path);

/* process_past_libc(): why the library does not see all of what a process does: its program makes
 * system calls of its own.  journal: may be unmapped; then only live processes are known.
 *
 * Returns static text; NULL: it makes none, a supervisor inspects them, or its program cannot be
 * found. */
const char *process_past_libc(const struct journal *journal, const struct process_slot *process,
			      struct image_cache *cache);

#endif
