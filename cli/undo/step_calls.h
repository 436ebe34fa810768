/*
 * The tool calls that an agent's hooks reported: which step belongs to which, and to which prompt.
 */
#ifndef SEEN_CLI_STEP_CALLS_H
#define SEEN_CLI_STEP_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/journal/events.h"

/* Texts: as the agent gave them; owned; NULL: it gave none. */
struct step_call {
	uint64_t begin_ns, end_ns; /* realtime; end_ns 0: it was not reported */
	char *conversation, *prompt, *call, *tool;
	char *input;     /* the beginning of its command, or its file; of a prompt its beginning */
	uint32_t number; /* of a prompt: its place among those of the session, from 1; else 0 */
};

struct step_calls {
	struct step_call *calls; /* in the order in which they began; a prompt has no `call` */
	size_t count, capacity;
	uint32_t prompts;
};

/* step_calls_add(): goes on by a REPORTED event.  Returns 0 or -ENOMEM. */
int step_calls_add(struct step_calls *calls, const struct event *event);
void step_calls_free(struct step_calls *calls);

/* step_calls_prompt(): prompt `number`; NULL: there is none. */
const struct step_call *step_calls_prompt(const struct step_calls *calls, uint32_t number);

/* step_calls_assign(): sets the call and the prompt of each step of an agent.
 *
 * A command belongs to that call of those that had begun and not ended whose command it holds; else
 * a step belongs to the only one.  Where there are several, it is not known; the prompt is, where all
 * of them belong to it. */
struct step;
void step_calls_assign(const struct step_calls *calls, struct step *steps, size_t count);

#endif
