/*
 * Reads what was kept for undo (tracker/content/pack.h) of one session, live or ended.
 *
 * It believes nothing: a record counts only whole and with its check; what is damaged, half written or
 * cut short is passed over and counted.  Memory: one part.
 */
#ifndef SEEN_CLI_PACK_READER_H
#define SEEN_CLI_PACK_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/pack.h"

/* A record as it was found.  Checked: kind, held and reason are of their enums; sizes fit. */
struct pack_entry {
	struct pack_record record;
	/* ended by NUL, without a NUL inside; "": none.  Valid until the reader's next call */
	const char *path;
	const char *other; /* of ATTRIBUTE a name, of CREATED a target, else a path */
};

struct pack_reader {
	int directory; /* -1: the session has none: it reads as empty */
	uint32_t *parts;
	size_t part_count,
		part;         /* those that are there, by number; the one in memory is part - 1 */
	unsigned char *bytes; /* of that one */
	size_t size_bytes, at;
	char path[PACK_PATH_BYTES_MAX + 1], other[PACK_PATH_BYTES_MAX + 1];
	uint64_t next_place; /* behind the last record that was given */
	/* results: */
	uint64_t damaged;       /* stretches that are no records and not empty */
	uint64_t damaged_place; /* of the last of them */
	uint32_t dropped_parts; /* the oldest, which went for want of room */
};

/* pack_reader_open(): path: of the session's directory `undo`; it need not be there.  ret_reader:
 * pack_reader_close() it where 0 was returned.  Returns 0, -ENOMEM, or why the directory cannot be read;
 * -EPERM: it is another user's. */
int pack_reader_open(const char *path, struct pack_reader *ret_reader);
void pack_reader_close(struct pack_reader *reader);

/* pack_reader_next(): the next record, in the order of places.  Returns 1; 0 at the end; a negative
 * errno. */
int pack_reader_next(struct pack_reader *reader, struct pack_entry *ret_entry);

/* pack_reader_seek(): goes on at the first record from `place` on. */
void pack_reader_seek(struct pack_reader *reader, uint64_t place);

/* pack_reader_at(): the record at a place that was given before; the next is the one behind it.  Cheap
 * where it lies in the part that was read last.  Returns 0; -ENOENT: there is none, or not any more; errors. */
int pack_reader_at(struct pack_reader *reader, uint64_t place, struct pack_entry *ret_entry);

/* pack_content_open(): the content of a record, as a descriptor for reading, close-on-exec, which the
 * caller closes.  A file of the store, or a copy in memory (memfd_create(2)) of an INLINE one.
 *
 * Checked: INLINE and COPY against the version, all against the size, LINK against inode and modification
 * time of `before`.  record: from this session's packs.
 * Returns the descriptor; -ENOENT: it is not kept, or gone; -EBADMSG: what is there is damaged or was
 * changed; -ENOMEM; errors of open(2), read(2). */
int pack_content_open(const struct pack_reader *reader, const struct pack_record *record);

#endif
