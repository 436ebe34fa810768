/*
 * Files of the workspace, by path and by (dev, ino).  Lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_FILE_H
#define SEEN_TRACKER_FILE_H

#include <stdbool.h>

#include "tracker/content/fate.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* file_find(): a consistent copy of a file's slot by key.  Returns 0, or -ENOENT. */
int file_find(const struct segment *segment, uint64_t key, struct file_slot *ret_file);

/* file_by_inode(): key of the file last known under (dev, ino), 0 when there is none.
 * file_by_inode_at(): the same.  ret_found_ns: when it was last read under that number, by
 * CLOCK_REALTIME: numbers are given anew. */
uint64_t file_by_inode(const struct segment *segment, uint64_t dev, uint64_t ino);
uint64_t file_by_inode_at(const struct segment *segment, uint64_t dev, uint64_t ino,
			  uint64_t *ret_found_ns);

/* What to change in a file's slot: called with the slot held; changes the copy. */
typedef void file_change(struct file_slot *file, const void *data);

/* file_update(): finds or makes the file of a path and changes it.
 *
 * path: absolute, normalized.  stamp: of the open file, to know it by (dev, ino) too; may be NULL.
 * change, data: applied to the slot while it is held; may be NULL.
 * Returns the key, or 0 when the table or the arena is full or the slot was busy (counted as lost).
 */
uint64_t file_update(const struct segment *segment, const char *path, const struct stamp *stamp,
		     file_change *change, const void *data);

/* file_change_known(): as file_update(), for a file that is known by its key.  Returns 0 or
 * -ENOENT. */
int file_change_known(const struct segment *segment, uint64_t key, file_change *change,
		      const void *data);

/* file_note_read(): for a file_change: the file was read whole, now. */
void file_note_read(struct file_slot *file);

/* file_note_given(): for a file_change: an agent read the file, or was given it, now.  Changes
 * before this are of the past. */
void file_note_given(struct file_slot *file);

/* file_note_external(): for a file_change: a writer external to the session changed the file.
 *
 * version: what it is now; none: it is gone.  source: SOURCE_USER or SOURCE_UNATTRIBUTED.
 * realtime_ns: when. */
void file_note_external(struct file_slot *file, const struct version *version, enum source source,
			uint64_t realtime_ns);

/* file_note_editor(): for a file_change: the session changed the file at realtime_ns.  source:
 * SOURCE_AGENT or SOURCE_TOOL. */
void file_note_editor(struct file_slot *file, enum source source, uint64_t realtime_ns);

/* file_note_edit(): the content behind a path was changed, replaced or removed.
 *
 * normal_path: absolute, normalized; nothing is done where it is not tracked.  context, role: of
 * the process that did it.  kind: not FILE_ACTION_READ. */
void file_note_edit(const struct segment *segment, const char *normal_path,
		    const struct context *context, uint32_t role, enum file_action kind);

/* file_fate(): what the session made of it. */
static inline enum fate file_fate(const struct file_slot *file)
{
	return fate_of(file->flags);
}

/* file_path(): the path of a file's slot, copied and ended by NUL.  Returns its length; -EBADMSG
 * when the slot is damaged; -ENAMETOOLONG. */
int file_path(const struct segment *segment, const struct file_slot *file, char *ret_path,
	      size_t capacity);

#endif
