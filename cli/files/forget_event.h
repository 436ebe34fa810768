/*
 * What an agent's hook reports of its conversations, and what that ends.
 */
#ifndef SEEN_CLI_FORGET_EVENT_H
#define SEEN_CLI_FORGET_EVENT_H

#include <stdint.h>

#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"

/* forget_event(): everything that the scope was given is to be given in full again; an event
 * of sub-agents counts as scope_converse() does.
 *
 * journal: may be unmapped.  scope_id: 0: of all.  event: "SessionStart" ... */
void forget_event(const struct segment *segment, struct journal *journal, uint64_t scope_id,
		  const char *event);

#endif
