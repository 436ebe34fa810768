/*
 * How much the content store keeps in all: [content] max_bytes, the oldest first out (contents.h).
 */
#ifndef SEEN_TRACKER_CONTENTS_BOUND_H
#define SEEN_TRACKER_CONTENTS_BOUND_H

#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* contents_make_room(): drops the oldest while more is kept than may be.  directory: the store's.
 * but: what was kept just now. */
void contents_make_room(const struct segment *segment, int directory, const struct version *but);

/* contents_recount(): counts what is kept in all anew: a process that was killed may have left the
 * number wrong. */
void contents_recount(const struct segment *segment);

#endif
