/*
 * When a conversation begins, or goes on after a compaction or in another run.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_START_H
#define SEEN_CLI_HOOKS_HOOK_START_H

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"

/* hook_answer_start(): forgets what the scope was given, as `seen forget --hook` does; a conversation
 * that is resumed has again what its transcript proves.  The model learns what instruction files
 * its agent does not load, and, after a compaction or a resume, what was done before.
 *
 * Returns the adapter's document, a new reference; NULL: there is nothing to tell. */
json_t *hook_answer_start(const struct hook_agent *agent, const struct hook_input *input);

/* hook_note_resumed(): forgets what the scope was given: it was another conversation's.  What this one was given of
 * files is what it knows of them again. */
void hook_note_resumed(const struct hook_agent *agent, const struct hook_input *input);

/* hook_note_rewind(): forgets what the scope was given; the conversation's record has none of it, because
 * its model does not know of it any more. */
void hook_note_rewind(const struct hook_agent *agent, const struct hook_input *input);

#endif
