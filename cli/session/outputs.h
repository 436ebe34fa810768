/*
 * Outputs: how many commands gave something to a scope whose agent's transcript is read, and what
 * that proves of them.
 */
#ifndef SEEN_CLI_OUTPUTS_H
#define SEEN_CLI_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

struct outputs {
	bool is_read; /* there is such a transcript */
	unsigned proven, unproven, contradicted, off_branch;
};

/* outputs_count(): of what is on record still.  scope_id: 0: of all scopes.  What there is no
 * memory for is not counted. */
void outputs_count(const struct segment *segment, uint64_t scope_id, struct outputs *ret_outputs);

#endif
