/*
 * Finds the slots of tables that are filled from the front: of files and of inodes.
 *
 * Such a table hands its slots out one behind the other, so it takes as much memory as was put into it, however
 * many slots it has.  A table of words beside it, open-addressed and at most half full, tells where a slot is.
 * A word has a slot's number plus one, and eight bits of the hash by which the slot is found.  So what is not there is
 * found to be so without any slot.
 *
 * A word is written before its slot is filled in.  Two processes that put in the same thing at once meet at that word,
 * and the second one goes on with the slot of the first.  Where the first died, the slot is blank.
 *
 * Words never go back to 0.  Where the table is full a slot is given to something else, and its former word becomes
 * INDEX_GONE.  Nothing read from here is believed: the caller compares what the slot holds.
 * All of it is lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_INDEX_H
#define SEEN_TRACKER_INDEX_H

#include "tracker/segment/segment.h"

enum {
	/* words that are inspected: half as many would do where they are half full */
	INDEX_PROBES = 64,
	INDEX_SLOT_BITS = 24,
	INDEX_GONE = 1 << INDEX_SLOT_BITS, /* of no slot: another word may take its place */
};

/* Where a search is.  Begins with { .hash = ... }. */
struct index_search {
	uint64_t hash;
	uint32_t probe; /* words that were inspected */
	uint32_t free;  /* 1 + number of the first that a new one may take; 0: there was none */
};

/* index_next(): the next slot that is noted under a hash, or under another one with the same tag.
 *
 * table: TABLE_FILES or TABLE_INODES.  Returns NULL where there is none any more. */
void *index_next(const struct segment *segment, enum segment_table table,
		 struct index_search *search);

/* index_place(): a slot for something new, noted under its hash: an empty one.  Where the table is full, that of
 * INDEX_PROBES whose time is the least; index_remove() its former word then.
 *
 * search: one that ended with NULL.  time_offset: where a slot has its time, a uint64_t in ns.  Returns NULL where there
 * is no memory or no room for the word, or where another process wrote there meanwhile: search again. */
void *index_place(const struct segment *segment, enum segment_table table,
		  const struct index_search *search, size_t time_offset);

/* index_remove(): removes the word of a slot that was given to something else.  hash: of what was in it. */
void index_remove(const struct segment *segment, enum segment_table table, uint64_t hash,
		  uint64_t slot);

/* index_prepare(): before a process can make no call any more: room for the next files that it opens, where the
 * segment grows.  Where other processes use it up, files are lost, and counted. */
void index_prepare(const struct segment *segment);

#endif
