/*
 * The undo records of one session in memory, in their order: those of its processes
 * (tracker/content/pack.h), and, between them, those of what `seen undo` and `seen redo` did
 * (operation.h).
 */
#ifndef SEEN_CLI_TREE_RECORD_H
#define SEEN_CLI_TREE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/pack_reader.h"
#include "tracker/content/pack.h"

struct tree_record {
	uint64_t place; /* in its packs */
	uint64_t time_ns;
	uint64_t boundary;
	uint64_t amount;
	const char *path, *other; /* absolute; "": none */
	struct pack_state before;
	struct version version;
	uint32_t process, pid;
	uint32_t operation; /* 0: a process of the session; else the number of an undo or redo */
	uint32_t flags;     /* enum pack_flags */
	uint8_t kind;       /* enum pack_kind */
	uint8_t held;       /* enum pack_held */
	uint8_t reason;     /* enum pack_reason */
	uint8_t what;       /* enum pack_metadata, enum pack_cause */
	int64_t linked_mtime_ns; /* held as LINK: the time that the linked file has by now */
	/* held as LINK, and the linked file was written to since by another name: a later record, which kept its bytes
	 * before that; NULL: none */
	const struct tree_record *linked_content;
	/* The call failed: nothing happened, but what was kept for it may be the only copy: it is kept
	 * once at each boundary. */
	bool failed;
};

/* An extended attribute, as it was. */
struct tree_attribute {
	const struct tree_attribute *next;
	const struct tree_record *record; /* `other`: its name; PACK_NO_VALUE: it was not set */
};

/* Packs that records come from. */
struct tree_packs {
	uint32_t operation; /* 0: of the session's processes */
	struct pack_reader reader;
};

struct tree_records {
	struct tree_record *records;
	size_t count;
	uint64_t damaged;           /* stretches of the packs that are no records */
	uint64_t damaged_place;     /* of the last in the packs of the session's processes */
	uint32_t damaged_operation; /* the last one with such a stretch; 0: none */
	uint32_t dropped_parts;     /* the oldest, for want of room */
	uint64_t not_kept; /* of the session's processes: contents that had to be kept, and could not */
	uint64_t next_place; /* behind the last record of the session's processes */
	struct tree_packs *packs;
	size_t pack_count;
	struct tree_memory *memory;
};

/* tree_records_read(): reads the records of a session.
 *
 * directory: its directory `undo`, absolute; it need not be there.  ret_records:
 * tree_records_close() it, in any case.  Returns 0; -ENOMEM; the errors of pack_reader_open(). */
int tree_records_read(const char *directory, struct tree_records *ret_records);
void tree_records_close(struct tree_records *records);

/* tree_record_open(): opens the content of a record: as pack_content_open(). */
int tree_record_open(const struct tree_records *records, const struct tree_record *record);

#endif
