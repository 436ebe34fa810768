/*
 * Directories as records tell them: what a path is relative to, and where children between vfork
 * and exec are.
 */
#ifndef SEEN_CLI_EVENT_PLACES_H
#define SEEN_CLI_EVENT_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/event_processes.h"
#include "cli/journal/event_texts.h"
#include "cli/journal/events.h"

enum {
	EVENT_VFORKED_MAX = 256, /* children between vfork and exec, in a directory of their own */
	EVENT_PATH_BYTES = 2 * JOURNAL_TEXT_BYTES_MAX + 2,
};

/* A child between vfork and exec that changed its directory.  The record's `process` is its
 * parent's. */
struct event_vforked {
	uint64_t process;
	uint32_t pid;
	/* an EXEC was its last word: unless EXEC_FAILED follows, its pid is free for another */
	bool leaving;
	char *directory; /* absolute; NULL: not known */
};

struct event_places {
	struct event_texts *texts;                       /* borrowed */
	struct event_processes *processes;               /* borrowed */
	struct event_vforked vforked[EVENT_VFORKED_MAX]; /* oldest first */
	size_t vforked_count;
	/* The last directory that a text names, and where that is. */
	uint32_t last_number; /* 0: none */
	size_t last_length;
	char last_path[EVENT_PATH_BYTES];
};

/* event_directory_resolve(): the absolute path of a directory as a record tells it, that stands
 * at `below`.
 *
 * number: with fd AT_FDCWD of a text, else of the record that entered it.  ret_path:
 * EVENT_PATH_BYTES.  Returns ret_path or NULL. */
const char *event_directory_resolve(struct event_places *places, int fd, uint64_t number,
				    uint64_t below, char *ret_path);

/* event_vforked_find(): the child that wrote the event's record, if it is one that changed its
 * directory; else NULL. */
struct event_vforked *event_vforked_find(struct event_places *places, const struct event *event);

void event_vforked_drop(struct event_places *places, struct event_vforked *child);

/* event_vforked_enter(): the event's child is in the directory that it resolved to. */
void event_vforked_enter(struct event_places *places, const struct event *event);

/* event_vforked_directory(): where the writer of a record is, a child of `process`.  ret_path:
 * EVENT_PATH_BYTES.  Returns ret_path or NULL. */
const char *event_vforked_directory(struct event_places *places,
				    const struct event_process *process, const struct event *event,
				    char *ret_path);

#endif
