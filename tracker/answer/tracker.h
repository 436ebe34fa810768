/*
 * The tracker: what a session's scopes were given, asked by path.  This is what the program, its
 * tests, and other trackers' habits need; the library inside a process goes through decision.h.
 *
 * All functions are lock-free, allocate nothing, and may be called from signal handlers; those that
 * inspect a file say so.  Paths are absolute; they are normalized by text, symbolic links are the
 * caller's business.
 */
#ifndef SEEN_TRACKER_TRACKER_H
#define SEEN_TRACKER_TRACKER_H

#include <stdbool.h>

#include "tracker/answer/decision.h"
#include "tracker/content/file.h"
#include "tracker/segment/segment.h"

/* State of a file against a baseline. */
enum state {
	STATE_UNTRACKED, /* no baseline: never given whole, or forgotten */
	STATE_FRESH,     /* the bytes on disk are the baseline */
	STATE_CHANGED,   /* they are others, or cannot be read */
	STATE_DELETED,   /* there is no such file any more */
};

/* state_name(): "untracked", "fresh", "changed", "deleted". */
const char *state_name(enum state state);

/* tracker_is_delivered(): was the file given whole to this scope, in this epoch, inside the window?
 * Inspects the record only, not at the file.  request: number of the request that asks. */
bool tracker_is_delivered(const struct segment *segment, uint64_t scope_id, uint64_t request,
			  const char *path);

/* tracker_record_delivery(): the scope was given the file whole, in this version.
 *
 * stamp: of the file that was read.  Counts one full read.  Replaces what was recorded before.
 * Returns 0; -ENOSPC when a table is full (counted as lost); -ENOENT when the scope is not known;
 * the errors of path_normalize(). */
int tracker_record_delivery(const struct segment *segment, uint64_t scope_id, uint64_t request,
			    uint64_t command_id, const char *path, const struct stamp *stamp,
			    const struct version *version);

/* tracker_file(): counts of a file: full reads, repeats, notices, when.  Returns 0 or -ENOENT. */
int tracker_file(const struct segment *segment, const char *path, struct file_slot *ret_file);

/* tracker_each_file(): calls back for every file on record, in no order; stops when it returns
 * nonzero and returns that.  The path is borrowed for the call. */
int tracker_each_file(const struct segment *segment,
		      int (*callback)(const char *path, const struct file_slot *file, void *data),
		      void *data);

/* tracker_forget(): the file is to be given in full again, to one scope, or to all for scope_id 0.
 * Reads that are under way do not count either.  Inspects the file (stat): what was given under
 * another name of it is invalidated too, and so is every remembered command.  Returns 0, or -ENOENT
 * when the file is not on record. */
int tracker_forget(const struct segment *segment, uint64_t scope_id, const char *path);

/* tracker_forget_all(): a new epoch, of one scope or, for scope_id 0, of the session: every file is
 * to be given in full again.  The counts stay.  Returns 0, or -ENOENT for a scope that is not
 * known. */
int tracker_forget_all(const struct segment *segment, uint64_t scope_id);

/* tracker_baseline(): the version that a file is held against: what the scope knows (baseline.h),
 * or was last given, also when that is outside the window or of an older epoch; for scope_id 0 what
 * any scope knew or read whole last.  Does not inspect the file.  Returns false, and the version
 * that is none, when there is nothing to hold it against. */
bool tracker_baseline(const struct segment *segment, uint64_t scope_id, const char *path,
		      struct version *ret_version);

/* tracker_state(): the file on disk against that; for scope_id 0 also against what the session
 * wrote last.  A touch, another mode, or a rewrite with equal bytes is no change: the version
 * decides.  A file that the session itself removed is not deleted, but untracked.  Opens and reads
 * the file. */
enum state tracker_state(const struct segment *segment, uint64_t scope_id, const char *path);

#endif
