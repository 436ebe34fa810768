/*
 * The steps of the session that `seen top` shows, the youngest first, with what each changed.
 *
 * Unlike the rest they are made anew from the whole journal and the undo records: only while they are
 * shown, and so seldom that it takes a twentieth of the time at most.
 */
#ifndef SEEN_CLI_TOP_STEPS_H
#define SEEN_CLI_TOP_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/story.h"
#include "cli/undo/undo_session.h"
#include "config/config.h"

struct top_steps {
	const struct config *config; /* borrowed, as is the name */
	const char *session;
	bool was_read; /* else nothing is known yet */
	size_t count;  /* steps of the session */
	/* Those that hold the text that is looked for. */
	const struct story_step **rows;
	size_t row_count;
	bool *is_undone; /* by the number of a step */
	/* Of this file alone. */
	struct undo_session found;
	struct story story;
	uint64_t next_ns, events;
};

/* top_steps_update(): reads them anew, where it is time to and the journal has more events than
 * then.  interval_ms: not more often.  Messages may go to stderr.
 *
 * Returns 1: they were read; 0: it is not time to; a negative errno: then all is as it was. */
int top_steps_update(struct top_steps *steps, uint64_t events, uint64_t interval_ms);

/* top_steps_expire(): the next top_steps_update() reads them. */
void top_steps_expire(struct top_steps *steps);

/* top_steps_filter(): sets the rows to steps whose command, or the path of a file, holds a text,
 * ASCII letters in either case; "": all. */
void top_steps_filter(struct top_steps *steps, const char *filter);

void top_steps_free(struct top_steps *steps);

#endif
