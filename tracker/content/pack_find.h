/*
 * A content that the session's packs hold (pack.h), by its version: for the guard, which puts back what was there.
 * All parts are read, the newest first: it is a seldom question.
 *
 * For strangers' processes, as pack_write.h says.
 */
#ifndef SEEN_TRACKER_PACK_FIND_H
#define SEEN_TRACKER_PACK_FIND_H

#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* pack_find(): opens it for reading, from offset 0 on; what it holds is not compared with the version.  Links are not
 * found: of those it is not on record.  Returns a descriptor, close-on-exec, which the caller closes; -ENOENT. */
int pack_find(const struct segment *segment, const struct version *version);

#endif
