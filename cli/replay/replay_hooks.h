/*
 * What an agent's hooks would have answered to reads by its own tools (cli/hooks/tool_read.h), in a recorded
 * session: by the decisions of a hook, in a segment of the session's own.
 *
 * A hook knows the file as it is.  A transcript tells no more than what was shown: where that was the
 * whole file, its version is that of the lines; else one that stands for the file until a change of it
 * is known.  A file that is shown whole after parts of it only is none that was given in parts.
 *
 * What a sub-agent reads is given as it is, and so is the next that its parent reads.
 */
#ifndef SEEN_CLI_REPLAY_HOOKS_H
#define SEEN_CLI_REPLAY_HOOKS_H

#include "cli/replay/replay_judge.h"

/* replay_hooks_read(): a read by the agent's own tool, before its lines are remembered as given.
 *
 * call: with an output.  Returns 0, or -ENOMEM. */
int replay_hooks_read(struct replay *replay, const struct judged_read *read,
		      const struct call *call);

/* replay_hooks_forget(): what a scope was given counts no more: all of it, or of one file.
 *
 * scope_id: of the transcript; 0: every one.  path: NULL: all.  directory: as in struct call. */
void replay_hooks_forget(struct session *session, uint64_t scope_id, const char *directory,
			 const char *path);

/* replay_hooks_sub_agent(): a sub-agent works, or has worked. */
void replay_hooks_sub_agent(struct session *session);

#endif
