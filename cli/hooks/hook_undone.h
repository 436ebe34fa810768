/*
 * What `seen undo` has to do with a conversation: which files it changed since the agent left them,
 * and which step could be taken back.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_UNDONE_H
#define SEEN_CLI_HOOKS_HOOK_UNDONE_H

#include <stdio.h>

#include "cli/hooks/hook_record.h"

/* hook_undone_write(): writes one line for the model about what undo and redo of this session did
 * since the last such line, or none, and notes that.  What they did before the
 * conversation's first event in the session is not told. */
void hook_undone_write(const struct hook_agent *agent, const struct hook_input *input,
		       struct hook_record *record, FILE *out);

/* hook_undone_start(): what was undone up to now is not told to a conversation that was in no session
 * yet. */
void hook_undone_start(const struct hook_agent *agent, const struct hook_input *input,
		       struct hook_record *record);

/* hook_failed_write(): writes one line about a command of the agent's that failed after it had changed
 * files, and that is not taken back, or none; and notes that. */
void hook_failed_write(const struct hook_agent *agent, const struct hook_input *input,
		       const struct hook_record *record, FILE *out);

#endif
