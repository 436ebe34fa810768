/*
 * Directories and files that programs made out of the workspace's sight: a sandbox makes what it mounts at by names of
 * another root.  Who started it may remove them, empty, by their own names (codex, Claude Code).
 */
#ifndef SEEN_CLI_STEP_MOUNTS_H
#define SEEN_CLI_STEP_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"

struct step_mount {
	uint64_t name;    /* a hash of its last name */
	uint64_t time_ns; /* when it was made, realtime */
	uint32_t process; /* row */
};

struct step_mounts {
	struct step_mount *made;
	size_t count, capacity;
};

/* step_mounts_add(): goes on by an event of a process.  row: of the process.  Returns 0 or -ENOMEM.
 * step_mounts_sort(): behind the last one. */
int step_mounts_add(struct step_mounts *mounts, const struct event *event, uint32_t row);
void step_mounts_sort(struct step_mounts *mounts);
void step_mounts_free(struct step_mounts *mounts);

/* step_mounts_find(): those whose last name is that of a path.  Returns the first of *ret_count; NULL where none is on
 * record. */
const struct step_mount *step_mounts_find(const struct step_mounts *mounts, const char *path,
					  size_t *ret_count);

#endif
