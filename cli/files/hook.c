/* Hooks of agents: see hook.h. */
#include "cli/files/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/files/hook_answer.h"
#include "cli/files/hook_input.h"
#include "cli/journal/reported.h"
#include "cli/session/ancestry.h"
#include "cli/session/session.h"
#include "tracker/content/pack_write.h"
#include "tracker/journal/journal_map.h"

static void record(struct journal *journal, uint64_t scope_id, const struct hook_input *input)
{
	const char *const texts[REPORTED_TEXTS] = {
		[REPORTED_HOOK] = input->event,    [REPORTED_CONVERSATION] = input->conversation,
		[REPORTED_PROMPT] = input->prompt, [REPORTED_CALL] = input->call,
		[REPORTED_TOOL] = input->tool,     [REPORTED_INPUT] = input->input,
	};

	reported_write(journal, scope_id, texts);
}

/* Writes what the agent is to take up.  Where that cannot be written whole, it is no JSON, and
 * ignored.  answer: its reference is taken over. */
static void write_answer(const char *event, json_t *answer)
{
	json_t *document = NULL;

	if (!answer)
		return;
	(void)json_object_set_new(answer, "hookEventName", json_string(event));
	document = json_pack("{s:o}", "hookSpecificOutput", answer);
	if (document)
		(void)json_dumpf(document, stdout, JSON_COMPACT);
	(void)fflush(stdout);
	json_decref(document);
}

/* What the agent is answered, a new reference; NULL: nothing. */
static json_t *answer(const struct hook_agent *agent, const struct hook_input *input)
{
	if (strcmp(input->event, "PostToolUse") == 0) {
		json_t *given = hook_answer_read(agent, input);
		return given ? json_pack("{s:o}", "updatedToolOutput", given) : NULL;
	}
	char *refused = strcmp(input->event, "PreToolUse") == 0 ? hook_answer_write(agent, input)
								: NULL;
	json_t *made = refused ? json_pack("{s:s, s:o}", "permissionDecision", "deny",
					   "permissionDecisionReason", text_json(refused))
			       : NULL;
	free(refused);
	return made;
}

/* A session that the hook runs in; the journal is written before the agent goes on. */
static void handle(const struct session *session, const struct hook_input *input)
{
	struct context context;
	struct journal journal = { .header = NULL };
	struct hook_agent agent = { .segment = &session->segment,
				    .journal = &journal,
				    .context = &context };

	if (!ancestry_agent(&session->segment, &agent.scope_id, &context))
		return; /* an agent that is not of this session */
	if (segment_undo(&session->segment))
		(void)pack_boundary(&session->segment, input->tool ? PACK_TOOL : PACK_PROMPT);
	(void)session_map_journal(session, &journal);
	record(&journal, agent.scope_id, input);
	write_answer(input->event, answer(&agent, input));
	journal_unmap(&journal);
}

void hook_run(const char *agent)
{
	char name[SEGMENT_PATH_BYTES];
	struct hook_input input;
	struct session session;

	/* A name alone would need the configuration; `seen run` and the library leave the
	 * directory.  What is written is read in any case: an agent may take a closed pipe for a
	 * failure. */
	if (hook_input_read(&input) && strcmp(agent, "claude") == 0 &&
	    ancestry_session(name, sizeof(name)) && name[0] == '/' &&
	    session_open(NULL, name, &session) == 0) {
		handle(&session, &input);
		session_close(&session);
	}
	hook_input_free(&input);
}
