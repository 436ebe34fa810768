/*
 * What a writer's agent takes a file for: the baseline of its scope (baseline.h).  A helper that an agent starts to write, in a
 * sandbox say, has nothing to go by itself: it knows what any process of its agent knew when that started it.  What such a
 * helper only reads itself counts where none of these has anything, or once it was refused for that: one that reads the file
 * again then was not started for this write.
 *
 * Lock-free and async-signal-safe.  For helpers it inspects /proc.
 */
#ifndef SEEN_TRACKER_KNOWLEDGE_H
#define SEEN_TRACKER_KNOWLEDGE_H

#include <stdbool.h>

#include "tracker/guard/guard.h"

struct knowledge {
	uint64_t scope_id; /* whose baseline counts; 0: none */
	bool is_known;     /* there is one: */
	struct version baseline;
	bool is_before; /* it is what is there; or that scope has no older one, and has only just read what is there */
};

/* knowledge_find(): before: what is there. */
void knowledge_find(const struct segment *segment, const struct guard_writer *writer,
		    uint64_t file_key, const struct version *before,
		    struct knowledge *ret_knowledge);

/* knowledge_note_refusal(): to be called when the writer is refused a stale write of the file, or warned of it.  Where that was judged
 * by what its agent knew, what the writer has read itself is forgotten, and what it reads from now on counts.
 * before: the file as it is. */
void knowledge_note_refusal(const struct segment *segment, const struct guard_writer *writer,
			    uint64_t file_key, const struct version *before);

#endif
