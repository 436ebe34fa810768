/*
 * The station KEEP for supervised processes (shim/call/order.h): what a call is about to destroy is kept for undo by
 * the pieces of shim/keep, with names that are the supervisor's own: descriptors of the directories that the process
 * names, through its root.
 */
#ifndef SEEN_SUPERVISE_KEEPING_H
#define SEEN_SUPERVISE_KEEPING_H

#include "shim/call/call.h"
#include "shim/supervise/resolve.h"

/* All are about a process that is held: target_acquire(). */

/* keeping_is_on(): is anything kept of what the process does?
 * keeping_call(): a call about names, metadata or size is about to be made.  named, other: its names; of a call about
 * a descriptor NULL.  SYMLINK: `other` of the call is the text.
 * keeping_open(): a file is about to be opened for writing.  Return whether kept_call_complete() has something to do. */
bool keeping_is_on(const struct supervision *supervision, const struct target *target);
bool keeping_call(const struct supervision *supervision, struct target *target,
		  const struct call *call, const struct named *named, const struct named *other);
bool keeping_open(const struct supervision *supervision, struct target *target,
		  const struct call *call, const struct named *named);

/* keeping_starts(), keeping_ends(): a program begins, ends: is it a step? */
void keeping_starts(const struct supervision *supervision, struct target *target);
void keeping_ends(const struct supervision *supervision, struct target *target);

#endif
