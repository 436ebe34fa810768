/* Where the processes of a journal are: see event_places.h. */
#include "cli/journal/event_places.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tracker/path/path.h"

enum {
	DIRECTORIES_MAX = 1024, /* opened relative to each other that are followed */
};

/* An OPEN or LIST record of a directory, or a CHDIR record into it, that stands before `below`. */
static bool read_entrance(struct event_places *places, uint64_t number, uint64_t below,
			  struct journal_entry *ret_entry)
{
	const struct journal_record *record = &ret_entry->record;
	uint64_t at = number;
	return number < below &&
	       journal_reader_next(places->texts->journal, &at, ret_entry) ==
		       JOURNAL_FOUND_RECORD &&
	       (op_info(record->head.op)->traits & OP_ENTERS) && !record->head.error &&
	       !(record->marks & JOURNAL_PATTERN);
}

static const char *resolve(struct event_places *places, int fd, uint64_t number, uint64_t below,
			   char *ret_path)
{
	char joined[EVENT_PATH_BYTES]; /* filled from its end */
	size_t at = sizeof(joined) - 1;
	struct journal_entry entry;
	size_t length;

	joined[at] = '\0';
	for (int hops = 0; hops < DIRECTORIES_MAX && number && number <= UINT32_MAX; hops++) {
		if (fd != AT_FDCWD && !read_entrance(places, number, below, &entry))
			break;
		uint32_t text = fd == AT_FDCWD ? (uint32_t)number : entry.record.path;
		const char *name = event_name_bytes(places->texts, text, &length);
		/* what a path names that was cut is not known */
		if (!name || length == 0 || length >= PATH_MAX || length >= at)
			break;
		at -= length;
		memcpy(joined + at, name, length);
		if (name[0] == '/')
			return path_normalize(NULL, joined + at, ret_path, EVENT_PATH_BYTES) < 0
				       ? NULL
				       : ret_path;
		/* as getcwd(2) returns for a directory that cannot be reached */
		if (fd == AT_FDCWD)
			break;
		joined[--at] = '/';
		below = number;
		fd = entry.record.directory_fd;
		number = entry.record.directory;
	}
	return NULL;
}

const char *event_directory_resolve(struct event_places *places, int fd, uint64_t number,
				    uint64_t below, char *ret_path)
{
	/* Most events are relative to where their process is, which a text tells. */
	if (fd != AT_FDCWD || number == 0 || number > UINT32_MAX)
		return resolve(places, fd, number, below, ret_path);
	if (number == places->last_number)
		return memcpy(ret_path, places->last_path, places->last_length + 1);
	const char *path = resolve(places, fd, number, below, ret_path);
	if (path) {
		places->last_number = (uint32_t)number;
		places->last_length = strlen(path);
		memcpy(places->last_path, path, places->last_length + 1);
	}
	return path;
}

struct event_vforked *event_vforked_find(struct event_places *places, const struct event *event)
{
	for (size_t i = 0; event->vforked && i < places->vforked_count; i++)
		if (places->vforked[i].pid == event->pid &&
		    places->vforked[i].process == event->process)
			return &places->vforked[i];
	return NULL;
}

void event_vforked_drop(struct event_places *places, struct event_vforked *child)
{
	size_t index = (size_t)(child - places->vforked);
	free(child->directory);
	places->vforked_count--;
	memmove(child, child + 1, (places->vforked_count - index) * sizeof(*child));
}

/* Room for one more. */
static void make_room(struct event_places *places)
{
	size_t oldest = 0;

	if (places->vforked_count < EVENT_VFORKED_MAX)
		return;
	while (oldest < EVENT_VFORKED_MAX && !places->vforked[oldest].leaving)
		oldest++;
	if (oldest == EVENT_VFORKED_MAX) {
		oldest = 0;
		struct event_process *parent = event_process_find(places->processes,
								  places->vforked[0].process);
		if (parent)
			parent->children_dropped = true;
	}
	event_vforked_drop(places, &places->vforked[oldest]);
}

void event_vforked_enter(struct event_places *places, const struct event *event)
{
	struct event_vforked *child = event_vforked_find(places, event);

	if (!child) {
		make_room(places);
		child = &places->vforked[places->vforked_count++];
		*child = (struct event_vforked){ .process = event->process, .pid = event->pid };
	}
	free(child->directory);
	child->directory = event->resolved ? strdup(event->resolved) : NULL;
	if (event->resolved && !child->directory)
		places->processes->lacked_memory = true;
}

const char *event_vforked_directory(struct event_places *places,
				    const struct event_process *process, const struct event *event,
				    char *ret_path)
{
	const struct event_vforked *child = event_vforked_find(places, event);
	if (child && child->directory) /* a CHDIR ends it */
		return strcpy(ret_path, child->directory);
	if (child || !process || process->children_dropped)
		return NULL;
	return event_directory_resolve(places, process->directory_fd, process->directory,
				       event->number, ret_path);
}
