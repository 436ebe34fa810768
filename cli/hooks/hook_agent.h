/* The agent whose hook this process is. */
#ifndef SEEN_CLI_HOOK_AGENT_H
#define SEEN_CLI_HOOK_AGENT_H

#include <stdint.h>

#include "tracker/journal/journal.h"
#include "tracker/process/process.h"
#include "tracker/segment/segment.h"

struct hook_agent {
	const char *directory; /* of the session */
	const struct segment *segment;
	struct journal *journal; /* may be unmapped */
	const struct context *context;
	uint64_t scope_id; /* of its commands */
};

#endif
