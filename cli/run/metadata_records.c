/* The files in an agent's context: see metadata_records.h. */
#include "cli/run/metadata_records.h"

#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return (size_t)(hash ^ (hash >> 32));
}

static size_t *place_of(const struct metadata_records *records, const char *path)
{
	size_t at = hash_of(path);
	for (;; at++) {
		size_t *place = &records->index[at & (records->index_size - 1)];
		if (!*place || strcmp(records->all[*place - 1]->path, path) == 0)
			return place;
	}
}

struct metadata_record *metadata_find(const struct metadata_records *records, const char *path)
{
	size_t place = records->index_size ? *place_of(records, path) : 0;
	return place ? records->all[place - 1] : NULL;
}

/* Makes room for one more. */
static bool grow(struct metadata_records *records)
{
	if (records->count == records->capacity) {
		size_t capacity = records->capacity ? records->capacity * 2 : 64;
		struct metadata_record **grown = realloc(
			records->all, capacity * sizeof(struct metadata_record *));
		if (!grown)
			return false;
		records->all = grown;
		records->capacity = capacity;
	}
	if (records->count * 2 >= records->index_size) {
		size_t size = records->index_size ? records->index_size * 2 : 256;
		size_t *index = calloc(size, sizeof(*index));
		if (!index)
			return false;
		free(records->index);
		records->index = index;
		records->index_size = size;
		for (size_t i = 0; i < records->count; i++)
			*place_of(records, records->all[i]->path) = i + 1;
	}
	return true;
}

struct metadata_record *metadata_add(struct metadata_records *records, const char *path,
				     uint64_t since_ns)
{
	struct metadata_record *record = calloc(1, sizeof(*record));

	if (record)
		record->path = strdup(path);
	if (!record || !record->path || !grow(records)) {
		if (record)
			free(record->path);
		free(record);
		return NULL;
	}
	for (int i = 0; i < METADATA_KINDS; i++)
		record->handled_ns[i] = since_ns;
	records->all[records->count++] = record;
	*place_of(records, path) = records->count;
	return record;
}

void metadata_drop(struct metadata_records *records)
{
	for (size_t i = 0; i < records->count; i++) {
		free(records->all[i]->path);
		free(records->all[i]);
	}
	free(records->all);
	free(records->index);
	*records = (struct metadata_records){ 0 };
}

struct metadata_entry *metadata_add_entry(struct metadata_record *record,
					  const struct metadata_entry *entry)
{
	enum { MAX = sizeof(record->entries) / sizeof(record->entries[0]) };

	if (record->count == MAX) {
		memmove(record->entries, record->entries + 1, (MAX - 1) * sizeof(*entry));
		record->count--;
	}
	record->entries[record->count] = *entry;
	return &record->entries[record->count++];
}

void metadata_interact(struct metadata_record *record, enum source source, uint64_t time_ms)
{
	struct metadata_entry before = { .source = SOURCE_NONE };

	if (record->count)
		before = record->entries[record->count - 1];
	struct metadata_entry *entry = metadata_add_entry(record, &before);
	entry->source = source;
	switch (source) {
	case SOURCE_READ:
	case SOURCE_MENTIONED:
		entry->agent_read_ms = time_ms;
		entry->user_edit_ms = 0;
		break;
	case SOURCE_AGENT:
		entry->agent_edit_ms = time_ms;
		break;
	case SOURCE_USER:
		entry->user_edit_ms = time_ms;
		break;
	default:
		break; /* a tool's edit has no date of its own */
	}
}
