/*
 * The files in an agent's context, with what happened to each: the entries of task metadata.
 */
#ifndef SEEN_CLI_METADATA_RECORDS_H
#define SEEN_CLI_METADATA_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/run/metadata.h"
#include "tracker/process/source.h"

enum { METADATA_KINDS = 5 }; /* of interactions */

/* One interaction's record.  Dates: milliseconds since 1970, 0: none. */
struct metadata_entry {
	enum source source;
	uint64_t agent_read_ms;
	uint64_t agent_edit_ms;
	uint64_t user_edit_ms;
};

/* A file in the agent's context.  Its last entry is the active one. */
struct metadata_record {
	char *path; /* relative to the workspace, as in JSON (text_json()) */
	struct metadata_entry entries[METADATA_STALE_MAX + 1];
	size_t count;
	uint64_t handled_ns[METADATA_KINDS]; /* of each kind, the time of the last one */
};

/* All of them; all zero: none. */
struct metadata_records {
	struct metadata_record **all; /* in order of their first interaction */
	size_t count, capacity;
	size_t *index;     /* open addressing by path: place in `all` + 1; 0: empty */
	size_t index_size; /* a power of two */
};

/* metadata_find(): the record of a path; NULL: there is none.  metadata_add(): a new one, which
 * knows of nothing that happened until `since_ns`; NULL: no memory.  metadata_drop(): frees all. */
struct metadata_record *metadata_find(const struct metadata_records *records, const char *path);
struct metadata_record *metadata_add(struct metadata_records *records, const char *path,
				     uint64_t since_ns);
void metadata_drop(struct metadata_records *records);

/* metadata_add_entry(): another entry, the active one from now on; the oldest gives way.
 * metadata_interact(): a new interaction: one with the dates of the entry before, and its own. */
struct metadata_entry *metadata_add_entry(struct metadata_record *record,
					  const struct metadata_entry *entry);
void metadata_interact(struct metadata_record *record, enum source source, uint64_t time_ms);

#endif
