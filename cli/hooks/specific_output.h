/*
 * "hookSpecificOutput": the document in which Claude Code takes a hook's answer, and the agents that
 * took over its form.
 */
#ifndef SEEN_CLI_SPECIFIC_OUTPUT_H
#define SEEN_CLI_SPECIFIC_OUTPUT_H

#include <jansson.h>

#include "cli/hooks/hook_input.h"

/* specific_output(): a document for the input's event.  members: a reference that is taken over;
 * NULL: none.  Returns a new reference; NULL: there were none, or no memory. */
json_t *specific_output(const struct hook_input *input, json_t *members);

/* For an adapter's refuse() and add(). */
json_t *specific_output_refuse(const struct hook_input *input, const char *reason);
json_t *specific_output_add(const struct hook_input *input, const char *text);

#endif
