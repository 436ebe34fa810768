/*
 * A conversation that is resumed: what it was given in other runs.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_RESUME_H
#define SEEN_CLI_HOOKS_HOOK_RESUME_H

#include "cli/hooks/hook_record.h"

/* hook_resume(): files of the record that the transcript proves count as given again, for the agent's
 * own read tool: the call's result is on the branch where the conversation stands, behind the last
 * compaction, and not shorter than the file was.  What the record has is the agent's baseline, without
 * a transcript, too.
 *
 * Whether a file is still as it was is found out before each notice.  A transcript of more than 64 MiB
 * proves nothing. */
void hook_resume(const struct hook_agent *agent, const struct hook_input *input,
		 const struct hook_record *record);

#endif
