/* Searches by an agent's own tools: see hook_search.h. */
#include "cli/hooks/hook_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker/answer/decision.h"
#include "tracker/answer/limits.h"
#include "tracker/answer/remembered.h"
#include "tracker/answer/request.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

/* A search that has run. */
struct search {
	const struct hook_agent *agent;
	const struct hook_input *input;
	const char *output;
	size_t length;
	char *question; /* the tool's input as JSON; owned */
	struct version identity;
	struct request request;
	struct moment moment;
};

/* The output as the model is given it: a text, or a member of what the tool gave. */
static const json_t *output_of(const struct hook_input *input)
{
	const json_t *output = input->tool_output;

	if (json_is_object(output) && !json_object_get(output, "error"))
		output = json_object_get(output, "llmContent");
	return json_is_string(output) && json_string_length(output) ? output : NULL;
}

/* What was asked, where, and its result. */
static struct version identify(const struct search *search)
{
	const char *const texts[] = { search->input->tool, search->input->directory,
				      search->question };
	struct version_stream stream;

	version_stream_init(&stream);
	version_stream_add(&stream, "tool", sizeof("tool"));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *text = texts[i] ? texts[i] : "";
		version_stream_add(&stream, text, strlen(text) + 1);
	}
	version_stream_add(&stream, search->output, search->length);
	return version_stream_finish(&stream);
}

/* The notice; NULL: there is none that is shorter.  The caller frees it. */
static char *notice_of(const struct search *search, const struct remembered_slot *remembered)
{
	enum { SHOWN = 300 };
	const struct segment_header *header = search->agent->segment->header;
	uint64_t seconds = (search->moment.time_ns - remembered->time_ns) / 1000000000u;
	uint64_t minutes = seconds / 60, number = minutes ? minutes : seconds;
	char cut[SHOWN + 1], shown[SHOWN * 4 + 1], *text = NULL;

	(void)snprintf(cut, sizeof(cut), "%s", search->question);
	if (path_escape(cut, shown, sizeof(shown)) < 0 || !header->nonce[0])
		return NULL;
	int length = asprintf(
		&text,
		"[%s %s%s: already run. Same output as %llu %s%s ago. If it is not in "
		"your context, repeat the same call to get it in full. (%zu bytes, "
		"%.*s)]",
		search->input->tool, shown, strlen(search->question) > SHOWN ? "..." : "",
		(unsigned long long)number, minutes ? "minute" : "second", number == 1 ? "" : "s",
		search->length, SEGMENT_NONCE_BYTES, header->nonce);
	if (length < 0)
		return NULL;
	if ((size_t)length >= search->length) {
		free(text);
		return NULL;
	}
	return text;
}

/* On record as a reader's command is, but of no process.  amount: bytes that were given, or saved. */
static void record(const struct search *search, enum decision decision, uint64_t amount)
{
	struct journal *journal = search->agent->journal;
	struct journal_record record = journal_blank(JOURNAL_REQUEST);

	if (!journal->header || !path_is_recorded(search->agent->segment, false, NULL))
		return;
	record.tid = (uint32_t)getpid();
	record.decision = (uint8_t)decision;
	record.amount = amount;
	(void)journal_write(journal, &record, NULL, 0, true);
}

/* The same, given before: the document, or NULL where it is given once more. */
static json_t *answer(const struct search *search, const struct remembered_slot *remembered)
{
	const struct segment *segment = search->agent->segment;
	uint64_t number = search->request.number;
	char *text = notice_of(search, remembered);
	json_t *document = NULL;

	segment_count(segment, COUNTER_requests_repeated, 1);
	if (!text || segment->settings->session_mode != SESSION_MODE_SUBSTITUTE)
		goto end;
	if (remembered_yields(segment, remembered, number)) {
		record(search, DECISION_GIVEN_AGAIN, search->length);
		goto end;
	}
	const struct hook_text replaced = { .bytes = text, .length = strlen(text) };
	document = search->input->adapter->replace(search->input, &replaced);
	if (!document)
		goto end;
	remembered_note(segment, remembered, (struct note){ .notice_request = number });
	segment_count(segment, COUNTER_requests_answered, 1);
	segment_count(segment, COUNTER_bytes_saved, search->length - replaced.length);
	record(search, DECISION_NOTICE, search->length - replaced.length);
	request_count_in_process(segment, &search->request, replaced.length);
end:
	free(text);
	return document;
}

static void remember(const struct search *search)
{
	const struct segment *segment = search->agent->segment;
	struct inputs inputs;

	if (inputs_init(&inputs) < 0)
		return;
	if (inputs_add_command(&inputs, search->input->tool) == 0 &&
	    remembered_record(segment, &search->identity, &inputs, search->length,
			      &search->moment) == 0) {
		segment_count(segment, COUNTER_requests_remembered, 1);
		record(search, DECISION_CONTENT, search->length);
	}
	inputs_done(&inputs);
}

/* Returns the document, or NULL. */
static json_t *judge(struct search *search)
{
	const struct hook_agent *agent = search->agent;
	const struct segment *segment = agent->segment;
	struct remembered_slot remembered;
	json_t *document = NULL;

	if (!request_prepare_reported(segment, agent->context, agent->scope_id,
				      search->input->conversation, &search->request))
		return NULL;
	search->request.is_turn_reported = search->input->adapter->reports_conversations;
	request_init_in_process(segment, &search->request);
	uint64_t scope_id = search->request.context.scope_id;
	search->identity = identify(search);
	search->moment = decision_moment(segment, &search->request);
	if (!search->moment.scope_epoch)
		return NULL; /* sub-agents work: whose result it is is not known */
	struct output_limits limits = limits_of_context(segment, &search->request.context);
	if (remembered_find(segment, scope_id, &search->identity, &remembered) == 0 &&
	    remembered_is_current(segment, &remembered, &search->moment, &limits))
		document = answer(search, &remembered);
	if (!document) {
		remember(search);
		request_count_in_process(segment, &search->request, search->length);
	}
	return document;
}

json_t *hook_answer_search(const struct hook_agent *agent, const struct hook_input *input)
{
	const struct hook_adapter *adapter = input->adapter;
	const struct settings *settings = agent->segment->settings;
	const json_t *output;

	if (!input->known_tool || input->known_tool->kind != HOOK_TOOL_SEARCH ||
	    !adapter->replace || adapter->is_cut ||
	    settings->requests_enable != REQUESTS_ENABLE_YES || !(output = output_of(input)) ||
	    json_string_length(output) < settings->notice_min_bytes ||
	    adapter->may_differ(input, agent->context->anchor_pid))
		return NULL;
	struct search search = { .agent = agent,
				 .input = input,
				 .output = json_string_value(output),
				 .length = json_string_length(output),
				 .question = json_dumps(input->tool_input,
							JSON_COMPACT | JSON_SORT_KEYS |
								JSON_ENCODE_ANY) };
	json_t *document = search.question ? judge(&search) : NULL;
	free(search.question);
	return document;
}
