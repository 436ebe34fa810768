/*
 * The record of a conversation: which files its model was given, and which changes it knows of.
 *
 * 	STATE/.conversations/HHHH...    XXH3-128 of the workspace, the agent and the agent's id of it
 *
 * It lies beside the sessions, so that a later run finds it again.  Each event is a line of JSON,
 * appended by one write; the first line names whose record it is.  A line that cannot be read counts
 * for nothing.  Only what the agent's hook had, or its transcript proves, is on it.
 */
#ifndef SEEN_CLI_HOOKS_HOOK_RECORD_H
#define SEEN_CLI_HOOKS_HOOK_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"
#include "tracker/content/version.h"

/* What a conversation knows of a file, last event first. */
struct hook_record_file {
	char *path;             /* absolute; owned */
	struct version version; /* that it was given last */
	bool is_whole;          /* it was given whole */
	bool is_past;      /* before the conversation was cut: the model may not have it any more */
	bool is_here;      /* in this session */
	bool is_announced; /* the model knows that the file is `announced` now; none: deleted */
	struct version announced;
	uint64_t time_ns; /* realtime */
	char *call;       /* the agent's id of the call that gave it; owned; NULL: none */
};

struct hook_record {
	struct hook_record_file *files;
	size_t count, capacity;
	uint32_t undo; /* the number of the last operation of this session's undo that the model knows of */
	bool has_undo;
	char **sessions; /* directories of those that it was in, oldest first; owned */
	size_t session_count;
	char *failed; /* the id of a call that failed, which the model was not reminded of; NULL: none */
	bool is_new; /* there was none */
};

/* Notes for the record of the conversation that a hook's input names.  Where there is no directory
 * for it, or it is full (4 MiB), nothing is noted. */

/* hook_record_given(): the model was given a file.  path: as the kernel knows it. */
void hook_record_given(const struct hook_agent *agent, const struct hook_input *input,
		       const char *path, const struct version *version, bool is_whole);

/* hook_record_announced(): the model knows what a file is now.  version: none: deleted. */
void hook_record_announced(const struct hook_agent *agent, const struct hook_input *input,
			   const char *path, const struct version *version);

/* hook_record_undo(): the model knows of the session's undo operations up to this number. */
void hook_record_undo(const struct hook_agent *agent, const struct hook_input *input,
		      uint32_t number);

/* hook_record_failed(): a call of its shell tool failed.  is_said: that was spoken of. */
void hook_record_failed(const struct hook_agent *agent, const struct hook_input *input,
			const char *call, bool is_said);

/* hook_record_cut(): what was given before may have left the conversation. */
void hook_record_cut(const struct hook_agent *agent, const struct hook_input *input);

/* hook_record_rewind(): what was given before is of another branch: the conversation knows none of it. */
void hook_record_rewind(const struct hook_agent *agent, const struct hook_input *input);

/* hook_record_read(): what is on it.  Returns false where nothing can be noted, or there is no memory;
 * hook_record_free() it in any case. */
bool hook_record_read(const struct hook_agent *agent, const struct hook_input *input,
		      struct hook_record *ret_record);
void hook_record_free(struct hook_record *record);

#endif
