/* Hooks of agents: see hook.h. */
#include "cli/hooks/hook.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/text.h"
#include "cli/files/forget_event.h"
#include "cli/hooks/adapter.h"
#include "cli/hooks/hook_agent.h"
#include "cli/hooks/hook_input.h"
#include "cli/hooks/hook_knows.h"
#include "cli/hooks/hook_prompt.h"
#include "cli/hooks/hook_read.h"
#include "cli/hooks/hook_record.h"
#include "cli/hooks/hook_search.h"
#include "cli/hooks/hook_shell.h"
#include "cli/hooks/hook_start.h"
#include "cli/hooks/hook_write.h"
#include "cli/journal/reported.h"
#include "cli/session/ancestry.h"
#include "cli/session/session.h"
#include "tracker/content/pack_write.h"
#include "tracker/journal/journal_map.h"
#include "tracker/process/announced.h"
#include "tracker/process/scope.h"

/* One name for each moment, whichever agent it is; an event that has none is called as by its
 * agent. */
static const char *name_of(const struct hook_input *input)
{
	switch (input->moment) {
	case HOOK_PROMPT:
		return "UserPromptSubmit";
	case HOOK_BEFORE_TOOL:
		return "PreToolUse";
	case HOOK_AFTER_TOOL:
		return "PostToolUse";
	case HOOK_TOOL_FAILED:
		return "PostToolUseFailure";
	case HOOK_START:
		return "SessionStart";
	case HOOK_REWIND:
	case HOOK_RESUMED:
	case HOOK_OTHER:
		break;
	}
	return input->event;
}

static void record(struct journal *journal, uint64_t scope_id, const struct hook_input *input)
{
	const char *const texts[REPORTED_TEXTS] = {
		[REPORTED_HOOK] = name_of(input),  [REPORTED_CONVERSATION] = input->conversation,
		[REPORTED_PROMPT] = input->prompt, [REPORTED_CALL] = input->call,
		[REPORTED_TOOL] = input->tool,     [REPORTED_INPUT] = input->input,
	};

	reported_write(journal, scope_id, texts);
}

/* Writes what the agent is to take up; nothing where there was no memory for all of it.  answer: its reference is taken
 * over; NULL: nothing. */
static void write_answer(json_t *answer)
{
	char *text = answer ? text_json_dump(answer, JSON_COMPACT) : NULL;

	if (text)
		(void)fputs(text, stdout);
	(void)fflush(stdout);
	free(text);
	json_decref(answer);
}

/* Notes for the scope what the agent's hooks have of what its tools give, before these run. */
static void note_reported(const struct hook_agent *agent, const struct hook_input *input)
{
	uint32_t flags = scope_flags(agent->segment, agent->scope_id), more = 0;

	if (input->adapter->shown && input->adapter->refuse)
		more |= SCOPE_READS_REPORTED;
	if (input->moment == HOOK_BEFORE_TOOL && hook_has_output(input))
		more |= SCOPE_REPORTS;
	if (more & ~flags)
		(void)scope_set_flags(agent->segment, agent->scope_id, more, more);
}

/* Which commands the model asked for, and which of them run. */
static void note_announced(const struct hook_agent *agent, const struct hook_input *input)
{
	const struct segment *segment = agent->segment;
	bool is_shell = input->known_tool && input->known_tool->kind == HOOK_TOOL_SHELL &&
			input->input;

	if (input->moment == HOOK_PROMPT || input->moment == HOOK_START ||
	    input->moment == HOOK_REWIND)
		announced_clear(segment, agent->scope_id);
	else if (is_shell && input->moment == HOOK_BEFORE_TOOL)
		announced_add(segment, agent->scope_id, input->input);
	else if (is_shell)
		announced_finish(segment, agent->scope_id, input->input);
}

static void note_failure(const struct hook_agent *agent, const struct hook_input *input,
			 bool has_failed)
{
	if (has_failed && input->call && input->known_tool &&
	    input->known_tool->kind == HOOK_TOOL_SHELL)
		hook_record_failed(agent, input, input->call, false);
}

/* What the agent is answered, a new reference; NULL: nothing. */
static json_t *answer(const struct hook_agent *agent, const struct hook_input *input)
{
	json_t *document;

	switch (input->moment) {
	case HOOK_BEFORE_TOOL:
		hook_knows_take_back_all(agent, input);
		return hook_answer_write(agent, input);
	case HOOK_AFTER_TOOL:
		hook_judge_output(agent, input);
		hook_note_written(agent, input);
		note_failure(agent, input, input->adapter->failed && input->adapter->failed(input));
		document = hook_answer_read(agent, input);
		if (!document)
			document = hook_answer_search(agent, input);
		return document ? document : hook_answer_written(input);
	case HOOK_TOOL_FAILED:
		hook_note_written(agent, input);
		note_failure(agent, input, true);
		break;
	case HOOK_START:
		return hook_answer_start(agent, input);
	case HOOK_REWIND:
		hook_note_rewind(agent, input);
		break;
	case HOOK_RESUMED:
		hook_note_resumed(agent, input);
		break;
	case HOOK_PROMPT:
		hook_knows_take_back_all(agent, input);
		return hook_answer_prompt(agent, input);
	case HOOK_OTHER:
		break;
	}
	return NULL;
}

/* A session that the hook runs in; the journal is written before the agent goes on. */
static void handle(const struct session *session, const struct hook_input *input)
{
	struct context context;
	struct journal journal = { .header = NULL };
	struct hook_agent agent = { .directory = session->directory,
				    .segment = &session->segment,
				    .journal = &journal,
				    .context = &context };

	if (!ancestry_agent(&session->segment, &agent.scope_id, &context))
		return; /* an agent that is not of this session */
	if (segment_undo(&session->segment))
		(void)pack_boundary(&session->segment, input->tool ? PACK_TOOL : PACK_PROMPT);
	(void)session_map_journal(session, &journal);
	record(&journal, agent.scope_id, input);
	note_reported(&agent, input);
	note_announced(&agent, input);
	json_t *document = answer(&agent, input);
	if (session->segment.settings->session_mode ==
	    SESSION_MODE_OBSERVE) { /* it changes nothing */
		json_decref(document);
		document = NULL;
	}
	write_answer(document);
	journal_unmap(&journal);
}

/* What the agent reported is not known: its conversation may have ended, and with it what it was given. */
static void forget_all(const struct session *session)
{
	struct journal journal = { .header = NULL };
	struct context context;
	uint64_t scope_id;

	if (!ancestry_agent(&session->segment, &scope_id, &context))
		return;
	(void)session_map_journal(session, &journal);
	forget_event(&session->segment, &journal, scope_id, "that could not be read");
	journal_unmap(&journal);
}

#define FAULT(signal) \
	{ \
		signal, "seen: the hook was ended by " #signal "\n" \
	}

static const struct fault {
	int signal;
	char text[40];
} FAULTS[] = {
	FAULT(SIGABRT), FAULT(SIGBUS),  FAULT(SIGFPE),  FAULT(SIGILL),
	FAULT(SIGPIPE), FAULT(SIGSEGV), FAULT(SIGXCPU), FAULT(SIGXFSZ),
};

/* The command that is installed hides the line; without it nothing tells such an end from no answer. */
static void finish(int signal)
{
	for (size_t i = 0; i < sizeof(FAULTS) / sizeof(FAULTS[0]); i++)
		if (FAULTS[i].signal == signal &&
		    write(STDERR_FILENO, FAULTS[i].text, strlen(FAULTS[i].text)) < 0)
			break;
	_exit(EXIT_CODE_OK);
}

/* The shell that ran this was replaced: an agent may take another end for a refusal. */
static void finish_well(void)
{
	for (size_t i = 0; i < sizeof(FAULTS) / sizeof(FAULTS[0]); i++)
		(void)signal(FAULTS[i].signal, finish);
}

void hook_run(const char *agent)
{
	const struct hook_adapter *adapter = hook_adapter_find(agent);
	char name[SEGMENT_PATH_BYTES];
	struct hook_input input;
	struct session session;

	finish_well();
	if (!adapter)
		return;
	/* A name alone would need the configuration; `seen run` and the library leave the
	 * directory.  What is written is read in any case: an agent may take a closed pipe for a
	 * failure. */
	bool is_read = hook_input_read(adapter, &input);
	bool is_lost = !is_read && (input.is_unread || !text_json_is_whole());
	if ((is_read || is_lost) && ancestry_session(name, sizeof(name)) && name[0] == '/' &&
	    session_open(NULL, name, &session) == 0) {
		if (is_read)
			handle(&session, &input);
		else
			forget_all(&session);
		session_close(&session);
	}
	hook_input_free(&input);
}
