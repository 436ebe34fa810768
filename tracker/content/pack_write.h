/*
 * Appends to a session's packs (pack.h): what a call is about to destroy or change is kept before it is
 * made.
 *
 * Everything here runs in strangers' processes, also in a child between vfork and exec: no descriptor stays
 * open, errno is left alone, no signal comes of it (RLIMIT_FSIZE is read first), lock-free and
 * async-signal-safe.  At most 4 KiB of stack.  What cannot be kept is counted (COUNTER_lost_undo) and, where
 * there is room for that, on record with the reason.
 */
#ifndef SEEN_TRACKER_PACK_WRITE_H
#define SEEN_TRACKER_PACK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/pack.h"
#include "tracker/segment/segment.h"

/* What a record is to tell.  Texts are borrowed, without NULs inside. */
struct pack_note {
	enum pack_kind kind;
	enum pack_reason reason; /* with PACK_NOT_KEPT */
	uint32_t what, flags;
	uint32_t process, pid;
	uint64_t amount;
	uint64_t boundary; /* 0: this one; AFTER: at which the writer's file was kept last */
	struct pack_state before;
	const char *path;
	const char *other; /* NULL: none */
	uint64_t key; /* of the file (kept_key()): without a record where it is noted by now; 0: with one */
};

/* pack_write(): a record whose content is in memory, or that has none.
 *
 * held: INLINE with at most PACK_INLINE_BYTES_MAX bytes of content; or what else holds no content: NOT_TAKEN,
 * EARLIER, NOT_KEPT.
 * Returns the record's place; PACK_NO_PLACE where it could not be written. */
uint64_t pack_write(const struct segment *segment, const struct pack_note *note,
		    enum pack_held held, const void *content, size_t content_bytes);

/* pack_keep(): a record with the content of an open file: a small one INLINE, else a REFLINK, else a COPY
 * within the limits.  note->before: of that file.  fd: for reading; its offset stays.  In any case there is a
 * record then, where one can be written at all; but where note->key was noted meanwhile: another process has kept
 * the file, and may have changed it before it was read here.  Returns as pack_write(). */
uint64_t pack_keep(const struct segment *segment, const struct pack_note *note, int fd);

/* pack_link(): a record with a hard link to a file that is about to be removed.
 *
 * directory, name: of the file, as of linkat(2).  Returns as pack_write(); PACK_NO_PLACE, and nothing is
 * counted or on record, where no link can be made: another file system, a file of another user. */
uint64_t pack_link(const struct segment *segment, const struct pack_note *note, int directory,
		   const char *name);

/* pack_fail(): the call that a record is about has failed.  place: PACK_NO_PLACE is let pass. */
void pack_fail(const struct segment *segment, uint64_t place);

/* pack_raise_boundary(): steps are told apart here: what exists now is kept before it changes.  It is not on
 * record: each record has the number of its boundary, its time and its process. */
static inline void pack_raise_boundary(const struct segment *segment)
{
	(void)__atomic_add_fetch(&segment->header->undo_boundary, 1, __ATOMIC_RELAXED);
}

/* pack_boundary(): the same, on record: for the program.  Returns as pack_write(). */
uint64_t pack_boundary(const struct segment *segment, enum pack_cause cause);

#endif
