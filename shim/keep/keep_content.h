/*
 * Puts on record, with its content, what a call is about to destroy or change: for undo (keep_call.h).
 * As keep_name.h says.
 */
#ifndef SEEN_KEEP_CONTENT_H
#define SEEN_KEEP_CONTENT_H

#include "shim/keep/keep_name.h"
#include "tracker/content/pack_write.h"

/* keep_note(): a record in the making, about a name. */
struct pack_note keep_note(const struct keeper *keeper, enum pack_kind kind,
			   const struct keep_name *name);

/* keep_flags_of_descriptor(): flags of a record about what a descriptor's file is called.  path: by the
 * kernel. */
uint32_t keep_flags_of_descriptor(const char *path, const struct pack_state *state);

/* keep_flags_of_open(): of a record about a file that a program of the session has open: it may write to it behind the
 * call, unseen. */
uint32_t keep_flags_of_open(const struct keeper *keeper, const char *path,
			    const struct pack_state *state);

/* keep_going(): a name whose file is about to go: REMOVED, REPLACED.  keep_changing(): the content of a file is
 * about to be changed: CONTENT.  fd: a descriptor for that file, which may be one for reading; -1: none.
 * Return the record's place, or PACK_NO_PLACE. */
uint64_t keep_going(const struct keeper *keeper, enum pack_kind kind, const struct keep_name *name);
uint64_t keep_changing(const struct keeper *keeper, const struct keep_name *name, int fd,
		       uint32_t flags);

/* keep_is_due(): is what a descriptor's file holds about to be kept, whole and with its version, where a call changes
 * or removes it?  Not what was kept, or made, since the boundary: that may hold another program's change by now. */
bool keep_is_due(const struct keeper *keeper, int fd);

/* keep_left(): AFTER, with the content of a small file: of the first that a process leaves at each
 * boundary, and of git's index.  It is what later external changes are compared with.  note: of the record.  fd: a
 * descriptor for the file; -1: none.  False: nothing was written, the record goes without content. */
bool keep_left(const struct keeper *keeper, const struct pack_note *note,
	       const struct call_name *name, int fd);

/* keep_is_as_left(): has nothing changed a file since keep_left() was last called about it, in this process?  Its
 * next AFTER is CONTINUED then.  False: not known. */
bool keep_is_as_left(const struct pack_state *state);

enum keep_cause {
	KEEP_MADE,    /* the call made it */
	KEEP_WRITTEN, /* its content was written, and is kept */
	KEEP_SET,     /* only its metadata */
};

/* keep_after(): AFTER: what there is now.  Where the name is gone there is no record. */
void keep_after(const struct keeper *keeper, const struct call_name *name, const char *path,
		enum keep_cause cause);

#endif
