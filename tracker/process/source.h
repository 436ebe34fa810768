/*
 * Sources: whose a change of a file is (enum source), and the words for it in `seen log`,
 * task_metadata.json and elsewhere.
 */
#ifndef SEEN_TRACKER_SOURCE_H
#define SEEN_TRACKER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/tables.h"

/* source_name(): "agent_edited" ...; NULL for SOURCE_NONE and for a number that is none. 
 * Static. */
const char *source_name(uint32_t source);

/* source_of_process(): what a change by a process of the session counts as: SOURCE_AGENT of an
 * agent, or a shell, viewer or reader below it, or, with an external agent, of those at all;
 * SOURCE_TOOL of every other.
 *
 * context_flags: enum context_flags of the process.  role: enum role.  Async-signal-safe. */
enum source source_of_process(uint32_t context_flags, uint32_t role);

/* source_is_external(): did an external writer change it, as far as is known?  False where that is
 * not known (a `changed` event that a read found): that may have been the session itself, and is
 * counted nowhere. */
static inline bool source_is_external(enum source source)
{
	return source == SOURCE_USER || source == SOURCE_UNATTRIBUTED;
}

/* source_is_session(): did a process of the session change it? */
static inline bool source_is_session(enum source source)
{
	return source == SOURCE_AGENT || source == SOURCE_TOOL;
}

#endif
