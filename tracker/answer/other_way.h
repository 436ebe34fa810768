/*
 * The other way by which a model is given files: its agent's read tool, for commands; commands, for
 * the read tool.  Each answers for what it gave itself.  But a file that the other way gave in
 * another version since is not "unchanged since it was read last", though it is as it was.
 * Lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_OTHER_WAY_H
#define SEEN_TRACKER_OTHER_WAY_H

#include <stdbool.h>

#include "tracker/answer/request.h"
#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* other_way_note(): the read tool of the agent of a scope gave a file, or some of it. */
void other_way_note(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		    const struct version *version);

/* other_way_gave_other(): did the other way than the request's give another version than this, later
 * than that (CLOCK_BOOTTIME)? */
bool other_way_gave_other(const struct segment *segment, const struct request *request,
			  uint64_t file_key, const struct version *version, uint64_t since_ns);

#endif
