/*
 * Puts extended attributes on record before a call changes or destroys them: for undo (keep_call.h).
 */
#ifndef SEEN_KEEP_ATTRIBUTE_H
#define SEEN_KEEP_ATTRIBUTE_H

#include "shim/call/call.h"
#include "shim/keep/keeper.h"
#include "tracker/content/pack_write.h"

/* keep_attribute(): METADATA: the value of one attribute, which is about to be set or removed.
 *
 * note: of the file; its `what` tells which.  attribute: the caller's memory, which the kernel reads first; NULL:
 * its name is not known.
 * Returns the record's place, or PACK_NO_PLACE. */
uint64_t keep_attribute(const struct keeper *keeper, const struct pack_note *note,
			const struct call_name *file, const char *attribute);

/* keep_attributes(): all attributes of a file or directory that is about to go, a METADATA record with PACK_GOING
 * each.  Not those of the kernel's security modules: they give them anew.  going: the record of that. */
void keep_attributes(const struct keeper *keeper, const struct pack_note *going,
		     const struct call_name *name);

#endif
