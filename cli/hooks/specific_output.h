/*
 * "hookSpecificOutput": the document in which Claude Code takes a hook's answer, and the agents that
 * took over its form.
 */
#ifndef SEEN_CLI_SPECIFIC_OUTPUT_H
#define SEEN_CLI_SPECIFIC_OUTPUT_H

#include <jansson.h>

/* specific_output(): a document for an event, as the agent calls it.  members: a reference that is
 * taken over; NULL: none.  Returns a new reference; NULL: there were none, or no memory. */
json_t *specific_output(const char *event, json_t *members);

/* specific_output_deny(): a tool is not run, by reason of a text. */
json_t *specific_output_deny(const char *event, const char *reason);

/* specific_output_add(): the model is given a text besides. */
json_t *specific_output_add(const char *event, const char *text);

#endif
