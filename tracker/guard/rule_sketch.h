/*
 * A sketch of many globs of paths: rules out nearly every path that none of them matches, in the
 * time that it takes to read the path once.
 *
 * Of each glob one name, or the beginning or end of one, is noted that a path must have to match
 * it.  Three Bloom filters of two bits each:
 * whole names; the first bytes of names; the last ones.  ASCII case is ignored, so that it serves
 * either setting.
 * (With one bit each, `src` happened to pass with the ready-made rules: each path below one was
 * held against every glob.)
 *
 * Plain data, made once and read by any number of threads; async-signal-safe.
 */
#ifndef SEEN_TRACKER_RULE_SKETCH_H
#define SEEN_TRACKER_RULE_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RULE_SKETCH_NAMES = 64, /* words of 64 bits */
	RULE_SKETCH_PARTS = 16,
};

/* All zero: of no glob. */
struct rule_sketch {
	uint64_t names[RULE_SKETCH_NAMES];
	uint64_t heads[RULE_SKETCH_PARTS];
	uint64_t tails[RULE_SKETCH_PARTS];
};

/* rule_sketch_add(): notes a glob, as rule.h has them.  False: it has nothing that could be noted,
 * and may match anything. */
bool rule_sketch_add(struct rule_sketch *sketch, const char *glob);

/* rule_sketch_may_match(): could a glob that was noted match an absolute path?  False is
 * certain. */
bool rule_sketch_may_match(const struct rule_sketch *sketch, const char *path);

#endif
