/* Places: see event_place.h. */
#include "cli/lib/event_place.h"

#include <stdlib.h>
#include <string.h>

#include "cli/lib/events.h"

/* A path that many processes and descriptors share. */
struct event_folder {
	size_t holders;
	size_t length;
	char path[];
};

/* Sorted by number.  One that several places hold is copied before it is changed. */
struct event_descriptors {
	size_t holders;
	size_t count, capacity;
	struct event_descriptor all[];
};

enum { CAPACITY_FIRST = 8 };

size_t event_place_bytes;

static size_t folder_bytes(size_t length)
{
	return sizeof(struct event_folder) + length + 1;
}

static struct event_folder *folder_new(const char *path)
{
	size_t length = strlen(path);
	struct event_folder *folder = malloc(folder_bytes(length));
	if (!folder)
		return NULL;
	folder->holders = 1;
	folder->length = length;
	memcpy(folder->path, path, length + 1);
	event_place_bytes += folder_bytes(length);
	return folder;
}

static struct event_folder *folder_hold(struct event_folder *folder)
{
	if (folder)
		folder->holders++;
	return folder;
}

static void folder_release(struct event_folder *folder)
{
	if (!folder || --folder->holders > 0)
		return;
	event_place_bytes -= folder_bytes(folder->length);
	free(folder);
}

static size_t descriptors_bytes(size_t capacity)
{
	return sizeof(struct event_descriptors) + capacity * sizeof(struct event_descriptor);
}

static void descriptors_release(struct event_descriptors *descriptors)
{
	if (!descriptors || --descriptors->holders > 0)
		return;
	for (size_t i = 0; i < descriptors->count; i++)
		folder_release(descriptors->all[i].path);
	event_place_bytes -= descriptors_bytes(descriptors->capacity);
	free(descriptors);
}

/* Makes the table this place's own, with room for `more`.  On failure nothing is known of any descriptor: rather that than what is
 * not true any more. */
static struct event_descriptors *own_descriptors(struct event_place *place, size_t more)
{
	struct event_descriptors *old = place->descriptors;
	size_t count = old ? old->count : 0;
	size_t capacity = old ? old->capacity : 0;

	if (old && old->holders == 1 && count + more <= capacity)
		return old;
	while (capacity < count + more)
		capacity = capacity ? capacity * 2 : CAPACITY_FIRST;
	struct event_descriptors *own = malloc(descriptors_bytes(capacity));
	if (own) {
		own->holders = 1;
		own->count = count;
		own->capacity = capacity;
		for (size_t i = 0; i < count; i++) {
			own->all[i] = old->all[i];
			(void)folder_hold(own->all[i].path);
		}
		event_place_bytes += descriptors_bytes(capacity);
	}
	descriptors_release(old);
	place->descriptors = own;
	return own;
}

/* Index of a descriptor, or where it would be put. */
static size_t find(const struct event_descriptors *descriptors, int fd, bool *ret_found)
{
	size_t low = 0, high = descriptors ? descriptors->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (descriptors->all[middle].fd < fd)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = descriptors && low < descriptors->count && descriptors->all[low].fd == fd;
	return low;
}

void event_place_copy(const struct event_place *place, struct event_place *ret_place)
{
	ret_place->current = folder_hold(place->current);
	ret_place->descriptors = place->descriptors;
	if (ret_place->descriptors)
		ret_place->descriptors->holders++;
}

void event_place_free(struct event_place *place)
{
	folder_release(place->current);
	descriptors_release(place->descriptors);
	*place = (struct event_place){ .current = NULL };
}

void event_place_enter(struct event_place *place, const char *path)
{
	struct event_folder *folder = path ? folder_new(path) : NULL;
	folder_release(place->current);
	place->current = folder;
}

const char *event_place_current(const struct event_place *place)
{
	return place->current ? place->current->path : NULL;
}

static void forget_descriptor(struct event_place *place, int fd)
{
	bool found;
	size_t index = find(place->descriptors, fd, &found);

	if (!found)
		return;
	struct event_descriptors *own = own_descriptors(place, 0);
	if (!own)
		return;
	folder_release(own->all[index].path);
	own->count--;
	memmove(&own->all[index], &own->all[index + 1], (own->count - index) * sizeof(own->all[0]));
}

void event_place_opened(struct event_place *place, int fd, const char *path, uint32_t given,
			bool is_file)
{
	struct event_folder *folder = path ? folder_new(path) : NULL;
	bool found;
	size_t index = find(place->descriptors, fd, &found);

	if (!folder) {
		forget_descriptor(place, fd);
		return;
	}
	bool full = !found && place->descriptors &&
		    place->descriptors->count >= EVENTS_DESCRIPTORS_MAX;
	struct event_descriptors *own = full ? NULL : own_descriptors(place, found ? 0 : 1);
	if (!own) {
		folder_release(folder);
		return;
	}
	if (found) {
		folder_release(own->all[index].path);
	} else {
		memmove(&own->all[index + 1], &own->all[index],
			(own->count - index) * sizeof(own->all[0]));
		own->count++;
	}
	own->all[index] = (struct event_descriptor){
		.fd = fd, .given = given, .is_file = is_file, .path = folder
	};
}

void event_place_is_file(struct event_place *place, int fd)
{
	bool found;
	size_t index = find(place->descriptors, fd, &found);

	if (!found || place->descriptors->all[index].is_file)
		return;
	struct event_descriptors *own = own_descriptors(place, 0);
	if (own)
		own->all[index].is_file = true;
}

const struct event_descriptor *event_place_descriptor(const struct event_place *place, int fd)
{
	bool found;
	size_t index = find(place->descriptors, fd, &found);
	return found ? &place->descriptors->all[index] : NULL;
}

const char *event_place_path(const struct event_descriptor *descriptor)
{
	return descriptor->path->path;
}
