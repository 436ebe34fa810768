/*
 * How much of a command's output its agent passes on to the model, by what is known of the agent: its
 * profile, and whether that was measured with this version of it.
 *
 * Lock-free; async-signal-safe.
 */
#ifndef SEEN_TRACKER_LIMITS_H
#define SEEN_TRACKER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/answer/delivery.h"
#include "tracker/answer/request.h"
#include "tracker/segment/segment.h"

/* limits_of_profile(): what a command may print so that an agent passes it on whole.
 *
 * profile: NULL: it has none.  is_version: it is of the version that its profile was measured with.
 * By half of what was measured for another version; what is assumed (delivery.h) where nothing was
 * measured. */
struct output_limits limits_of_profile(const struct segment *segment,
				       const struct settings_profile *profile, bool is_version);

/* limits_of_context(): the same of the agent of a context: what was given counts by them, unless its proof
 * decides. */
struct output_limits limits_of_context(const struct segment *segment,
				       const struct context *context);

/* limits_at(): the limits of a request's agent at a moment. */
struct output_limits limits_at(const struct segment *segment, const struct request *request,
			       const struct moment *moment);

/* limits_on_record(): what is put on record as given.  That it reached the model is judged when it
 * is asked for. */
struct output_limits limits_on_record(const struct segment *segment, const struct context *context);

/* limits_baseline(): bytes of a command's output up to which a read moves what the agent takes the
 * file for (baseline.h).  More than may count as given: an agent that was shown a part must not
 * overwrite what came later. */
uint64_t limits_baseline(const struct segment *segment, const struct context *context);

#endif
