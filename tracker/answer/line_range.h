/*
 * Parts: which lines of a file each scope was given, in which version, and whether that still
 * counts.  A handful of spans for each file, each with its own moment: one that is outside the
 * window by now, or whose command was cut, takes none of the others with it.
 *
 * Lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_LINE_RANGE_H
#define SEEN_TRACKER_LINE_RANGE_H

#include <stdbool.h>

#include "tracker/answer/delivery.h"
#include "tracker/content/lines.h"
#include "tracker/segment/segment.h"

/* line_range_record(): the scope was given these lines of a file.
 *
 * version, line_count: of the whole file; spans of another version, or epoch, are dropped.  spans:
 * as printed by one request; they may overlap.  moment: as for delivery_record().  Where there are
 * too many spans, the oldest makes place.
 * Returns 0, or -ENOSPC (counted as lost). */
int line_range_record(const struct segment *segment, uint64_t file_key,
		      const struct version *version, uint64_t line_count, const struct span *spans,
		      unsigned count, const struct moment *moment);

/* line_range_is_whole(): was the scope given all lines of a file, and does that still count, each
 * part by moment_is_current()?
 *
 * after_ns: only parts that were given later (CLOCK_BOOTTIME).  ret_version: of the file that they
 * are of.  A file without a line is never given in parts. */
bool line_range_is_whole(const struct segment *segment, uint64_t file_key,
			 const struct moment *moment, const struct output_limits *limits,
			 uint64_t after_ns, struct version *ret_version);

/* line_range_has(): the same of lines `span` alone. */
bool line_range_has(const struct segment *segment, uint64_t file_key, const struct moment *moment,
		    const struct output_limits *limits, uint64_t after_ns, const struct span *span,
		    struct version *ret_version);

/* line_range_since(): when the oldest of the lines that count was given; 0: there are none. */
uint64_t line_range_since(const struct segment *segment, uint64_t file_key,
			  const struct moment *moment);

/* line_range_is_other(): was the scope given lines of another version than this, later than that
 * (CLOCK_BOOTTIME)?  Then the file is not as it was when it was read last. */
bool line_range_is_other(const struct segment *segment, uint64_t file_key,
			 const struct moment *moment, const struct version *version,
			 uint64_t after_ns);

/* line_range_drop_others(): the scope was given the file whole in this version: it reads no lines
 * of another one as unchanged any more, should that come back. */
void line_range_drop_others(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
			    const struct version *version);

/* line_range_forget(): no part of a file that was given so far counts any more, in one scope or,
 * for scope_id 0, in all.  Returns the number of files (one for each scope) of which there was
 * one. */
unsigned line_range_forget(const struct segment *segment, uint64_t scope_id, uint64_t file_key);

#endif
