/* What the model is given by an agent's search tools: what it was given for the same question before
 * is answered with a notice. */
#ifndef SEEN_CLI_HOOK_SEARCH_H
#define SEEN_CLI_HOOK_SEARCH_H

#include <jansson.h>

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"

/* hook_answer_search(): after a search tool: the document for the agent, a new reference; NULL: it
 * goes on as ever.
 *
 * The tool has run: its output is at hand, and is the same, byte for byte, as the one that the
 * conversation was given for the same input.  So nothing has to be known of what it read, or by which
 * program. */
json_t *hook_answer_search(const struct hook_agent *agent, const struct hook_input *input);

#endif
