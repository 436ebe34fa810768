/*
 * Points in a session, as `--since` takes them.
 */
#ifndef SEEN_CLI_STEP_POINT_H
#define SEEN_CLI_STEP_POINT_H

#include <stdint.h>

#include "cli/undo/step.h"

struct step_point {
	/* Everything from this step on is behind the point; 0: by time. */
	uint32_t number;
	uint64_t time_ns; /* Realtime; changes at this time and later are behind the point. */
};

/* step_point_find(): what `--since WORD` means, the first of these: the number of a step; `p2`, the
 * second prompt; a time, as event_filter_time() takes it (RFC 3339; "YYYY-MM-DD HH:MM[:SS]";
 * "HH:MM[:SS]"; `10m`: so long ago); the agent's id of a prompt; the words that one prompt alone begins with.
 *
 * Returns 0; -ENOENT: a number that no step or prompt has; -ENOTUNIQ: several prompts begin so;
 * -EINVAL: none of these. */
int step_point_find(const struct steps *steps, const char *word, struct step_point *ret_point);

/* step_point_explain(): says on stderr what is wrong with the word.  error: of step_point_find().
 * Returns an exit code. */
int step_point_explain(const char *word, int error);

#endif
