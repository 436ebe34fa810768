/*
 * The events of `seen top` that are worth a line.
 */
#ifndef SEEN_CLI_TOP_MODEL_NOTES_H
#define SEEN_CLI_TOP_MODEL_NOTES_H

#include "cli/top/top_model.h"

/* top_model_learn_note(): of top_model_add(): a line about an event, where it is worth one.  path,
 * process: of the event; NULL: none. */
void top_model_learn_note(struct top_model *model, const struct event *event, const char *path,
			  const struct top_process *process);

/* top_model_note(): the note at `index`, the oldest is 0. */
const struct top_note *top_model_note(const struct top_model *model, size_t index);

#endif
