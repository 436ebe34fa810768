/*
 * Where a process is, as the reader of events (events.h) replays it: its current folder, and the paths behind its descriptors.
 * Copies are cheap: what nobody changes is shared.
 */
#ifndef SEEN_CLI_EVENT_PLACE_H
#define SEEN_CLI_EVENT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: nothing is known. */
struct event_place {
	struct event_folder *current; /* NULL: not known */
	struct event_descriptors *descriptors;
};

/* What is known of a descriptor. */
struct event_descriptor {
	int fd;
	uint32_t given; /* number of the text that its open was given */
	bool is_file;   /* known to be no folder */
	struct event_folder *path;
};

/* Memory that places take, in bytes; each function below that changes a place keeps it up to date. */
extern size_t event_place_bytes;

/* event_place_copy(): what is known in one place is known in another.  ret_place: nothing that has to be freed. */
void event_place_copy(const struct event_place *place, struct event_place *ret_place);

/* event_place_free(): forgets all; accepts a place of which nothing is known. */
void event_place_free(struct event_place *place);

/* event_place_enter(): the current folder.  path: absolute; NULL: not known. */
void event_place_enter(struct event_place *place, const char *path);

/* event_place_current(): its path, or NULL. */
const char *event_place_current(const struct event_place *place);

/* event_place_opened(): a descriptor was opened.  path: absolute; NULL: not known, which also drops what was known of an earlier one
 * with that number.  given: number of a text.  is_file: it is no folder.  What finds no room is not known. */
void event_place_opened(struct event_place *place, int fd, const char *path, uint32_t given,
			bool is_file);

/* event_place_is_file(): bytes went through a descriptor: it is no folder. */
void event_place_is_file(struct event_place *place, int fd);

/* event_place_descriptor(): what is known of a descriptor, or NULL.  Valid until the place is changed. */
const struct event_descriptor *event_place_descriptor(const struct event_place *place, int fd);

/* event_place_path(): the path of what a descriptor was opened for. */
const char *event_place_path(const struct event_descriptor *descriptor);

#endif
