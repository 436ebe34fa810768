/*
 * SWE-agent's transcripts (.traj): a document whose list `trajectory` has a step for each action:
 * `action`, a line for its shell, and `observation`, what the model was given.  `state` tells the
 * directory that the shell was in afterwards, in older versions as a JSON text.  Demonstrations
 * have the same in a list `history` of messages alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/transcript_document.h"
#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_reader.h"
#include "cli/replay/transcript_tool.h"

struct swe_agent {
	struct transcript *transcript;
	uint64_t session;
	char *directory;  /* of the shell; NULL: not known */
	char *action;     /* history: that waits for its observation */
	const char *list; /* that the session's steps came in; the other one repeats them */
};

static const char *const LISTS[] = { "trajectory", "history", NULL };

static int set(char **text, const char *value)
{
	char *copy = value ? strdup(value) : NULL;

	free(*text);
	*text = copy;
	return value && !copy ? -ENOMEM : 0;
}

static int start(void *reader, uint64_t number)
{
	struct swe_agent *agent = reader;

	agent->session = transcript_hash("", agent->transcript->file_id + number);
	agent->list = NULL;
	(void)set(&agent->action, NULL);
	return set(&agent->directory, NULL);
}

static int report(struct swe_agent *agent, const char *action, const char *output, size_t bytes,
		  const char *content, size_t content_bytes)
{
	struct call call = { .session = agent->session,
			     .scope = agent->session,
			     .directory = agent->directory,
			     .content = content,
			     .content_bytes = content_bytes };
	struct tool_call tool;
	int error = transcript_swe_action(action, &tool);

	if (error == 0)
		error = transcript_tool_result(agent->transcript, &tool, &call, output, bytes);
	tool_done(&tool);
	return error;
}

/* Where the shell is now: for the next action. */
static int note_state(struct swe_agent *agent, const json_t *state)
{
	json_t *parsed = json_is_string(state) ? json_loads(json_string_value(state), 0, NULL)
					       : NULL;
	const char *directory = transcript_string(parsed ? parsed : state, "working_dir");
	int error = directory && directory[0] == '/' ? set(&agent->directory, directory) : 0;

	json_decref(parsed);
	return error;
}

static int step(struct swe_agent *agent, const json_t *part)
{
	const char *action = transcript_string(part, "action");
	const json_t *observation = json_object_get(part, "observation");
	int error = 0;

	if (action && json_is_string(observation))
		error = report(agent, action, json_string_value(observation),
			       json_string_length(observation), NULL, 0);
	return error < 0 ? error : note_state(agent, json_object_get(part, "state"));
}

/* What the harness puts behind an observation: "(Open file: ...)", "(Current directory: ...)",
 * "bash-$". */
static size_t without_prompt(struct swe_agent *agent, const char *text, size_t bytes)
{
	static const char DIRECTORY[] = "\n(Current directory: ", OPEN[] = "\n(Open file: ";
	const char *directory = NULL;

	for (const char *at = text; (at = strstr(at, DIRECTORY)); at++)
		directory = at;
	if (!directory || !strstr(directory, "\nbash-$"))
		return bytes;
	const char *name = directory + sizeof(DIRECTORY) - 1;
	size_t length = strcspn(name, ")\n");
	char *copy = strndup(name, length);
	if (copy && copy[0] == '/')
		(void)set(&agent->directory, copy);
	free(copy);
	const char *end = directory;
	for (const char *at = text; (at = strstr(at, OPEN)) && at < directory; at++)
		end = at;
	return (size_t)(end - text);
}

static int message(struct swe_agent *agent, const json_t *part)
{
	const char *role = transcript_string(part, "role"),
		   *action = transcript_string(part, "action");
	char *owned;
	size_t bytes;
	int error = 0;

	if (role && strcmp(role, "assistant") == 0)
		return set(&agent->action, action);
	const char *text = transcript_text(json_object_get(part, "content"), &owned, &bytes);
	if (!text || json_is_true(json_object_get(part, "is_demo"))) {
		free(owned);
		return 0;
	}
	/* The directory behind an observation, or a task, is where the next action begins. */
	char *action_text = agent->action, *before = NULL;
	agent->action = NULL;
	error = set(&before, agent->directory);
	size_t content_bytes = without_prompt(agent, text, bytes);
	if (action_text && error == 0) {
		char *after = agent->directory;
		agent->directory = before;
		error = report(agent, action_text, text, bytes, text, content_bytes);
		before = agent->directory;
		agent->directory = after;
	}
	free(before);
	free(action_text);
	free(owned);
	return error;
}

static int report_part(void *reader, const char *list, const json_t *part)
{
	struct swe_agent *agent = reader;

	if (agent->list && strcmp(agent->list, list) != 0)
		return 0;
	bool is_step = strcmp(list, LISTS[0]) == 0;
	agent->list = is_step ? LISTS[0] : LISTS[1];
	return is_step ? step(agent, part) : message(agent, part);
}

int transcript_swe_agent(struct transcript *transcript)
{
	static const struct document_reader READER = { .lists = LISTS,
						       .start = start,
						       .part = report_part };
	struct swe_agent agent = { .transcript = transcript };
	int error = transcript_document(transcript, &READER, &agent);

	free(agent.directory);
	free(agent.action);
	return error;
}
