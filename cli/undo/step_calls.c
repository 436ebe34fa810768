/* Tool calls of agents: see step_calls.h. */
#include "cli/undo/step_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/journal/reported.h"
#include "cli/undo/step.h"

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static const char *text_of(const struct event *event, enum reported_text which)
{
	return reported_text(event->other, event->other_bytes, which);
}

/* The end of a call: of the youngest one with its ids. */
static void finish_call(const struct step_calls *calls, const struct event *event)
{
	for (size_t i = calls->count; i > 0; i--) {
		struct step_call *call = &calls->calls[i - 1];
		if (!call->end_ns && call->call &&
		    is_same(call->call, text_of(event, REPORTED_CALL)) &&
		    is_same(call->conversation, text_of(event, REPORTED_CONVERSATION))) {
			call->end_ns = event->time_realtime_ns;
			return;
		}
	}
}

/* A call whose end is not reported (it failed) has ended when its conversation goes on by another
 * prompt. */
static void finish_calls(const struct step_calls *calls, const struct event *event)
{
	for (size_t i = calls->count; i > 0; i--) {
		struct step_call *call = &calls->calls[i - 1];
		if (!is_same(call->conversation, text_of(event, REPORTED_CONVERSATION)))
			continue;
		if (call->number)
			return; /* the prompt before */
		if (!call->end_ns)
			call->end_ns = event->time_realtime_ns;
	}
}

static char *copy(const struct event *event, enum reported_text which, bool *fits)
{
	const char *text = text_of(event, which);
	char *made = text ? strdup(text) : NULL;

	*fits = *fits && (!text || made);
	return made;
}

int step_calls_add(struct step_calls *calls, const struct event *event)
{
	const char *hook = text_of(event, REPORTED_HOOK);
	bool fits = true, ends = hook && strncmp(hook, "Post", 4) == 0;
	bool is_prompt = hook && strcmp(hook, "UserPromptSubmit") == 0;

	if (ends) {
		finish_call(calls, event);
		return 0;
	}
	if (!is_prompt && !text_of(event, REPORTED_TOOL))
		return 0; /* a conversation began, or went on */
	if (is_prompt)
		finish_calls(calls, event);
	if (calls->count == calls->capacity) {
		size_t wanted = calls->capacity ? 2 * calls->capacity : 32;
		struct step_call *more = reallocarray(calls->calls, wanted, sizeof(*more));
		if (!more)
			return -ENOMEM;
		calls->calls = more;
		calls->capacity = wanted;
	}
	calls->calls[calls->count++] = (struct step_call){
		.begin_ns = event->time_realtime_ns,
		.conversation = copy(event, REPORTED_CONVERSATION, &fits),
		.prompt = copy(event, REPORTED_PROMPT, &fits),
		.call = copy(event, REPORTED_CALL, &fits),
		.tool = copy(event, REPORTED_TOOL, &fits),
		.input = copy(event, REPORTED_INPUT, &fits),
		.number = is_prompt ? ++calls->prompts : 0,
	};
	return fits ? 0 : -ENOMEM;
}

void step_calls_free(struct step_calls *calls)
{
	for (size_t i = 0; i < calls->count; i++) {
		free(calls->calls[i].conversation);
		free(calls->calls[i].prompt);
		free(calls->calls[i].call);
		free(calls->calls[i].tool);
		free(calls->calls[i].input);
	}
	free(calls->calls);
	*calls = (struct step_calls){ .calls = NULL };
}

/* Had a call begun, and not ended? */
static bool covers(const struct step_call *call, uint64_t time_ns)
{
	return call->call && call->begin_ns <= time_ns &&
	       (!call->end_ns || time_ns <= call->end_ns);
}

/* The only call that had begun and not ended.  NULL: none, or several. */
static const struct step_call *call_at(const struct step_calls *calls, uint64_t time_ns)
{
	const struct step_call *found = NULL;

	for (size_t i = 0; i < calls->count && calls->calls[i].begin_ns <= time_ns; i++) {
		if (!covers(&calls->calls[i], time_ns))
			continue;
		if (found)
			return NULL;
		found = &calls->calls[i];
	}
	return found;
}

static const struct step_call *call_of_command(const struct step_calls *calls, uint64_t begin_ns,
					       const char *text)
{
	const struct step_call *found = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < calls->count && calls->calls[i].begin_ns <= begin_ns; i++) {
		const struct step_call *call = &calls->calls[i];
		size_t length = call->input ? strlen(call->input) : 0;
		if (!covers(call, begin_ns) || length <= longest || !strstr(text, call->input))
			continue;
		found = call;
		longest = length;
	}
	return found ? found : call_at(calls, begin_ns);
}

/* By the agent's id of it, which a sub-agent's calls may carry too; where it gives none, the last one
 * of the conversation.  NULL: not known. */
static const struct step_call *prompt_of(const struct step_calls *calls,
					 const struct step_call *call)
{
	const struct step_call *found = NULL;

	for (size_t i = 0; i < calls->count && calls->calls[i].begin_ns <= call->begin_ns; i++) {
		const struct step_call *prompt = &calls->calls[i];
		bool is_own = is_same(prompt->conversation, call->conversation);
		if (!prompt->number)
			continue;
		if (call->prompt ? prompt->prompt && is_same(prompt->prompt, call->prompt) : is_own)
			found = prompt;
		if (found == prompt && call->prompt && is_own)
			return found;
	}
	return found;
}

/* The prompt of all calls that had begun and not ended; NULL: none, or several. */
static const struct step_call *prompt_at(const struct step_calls *calls, uint64_t time_ns)
{
	const struct step_call *found = NULL;

	for (size_t i = 0; i < calls->count && calls->calls[i].begin_ns <= time_ns; i++) {
		if (!covers(&calls->calls[i], time_ns))
			continue;
		const struct step_call *prompt = prompt_of(calls, &calls->calls[i]);
		if (!prompt || (found && prompt != found))
			return NULL;
		found = prompt;
	}
	return found;
}

const struct step_call *step_calls_prompt(const struct step_calls *calls, uint32_t number)
{
	for (size_t i = 0; number && i < calls->count; i++)
		if (calls->calls[i].number == number)
			return &calls->calls[i];
	return NULL;
}

void step_calls_assign(const struct step_calls *calls, struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct step *step = &steps[i];
		if (!step->by_agent)
			continue;
		step->call = step->kind == STEP_OWN
				     ? call_at(calls, step->begin_ns)
				     : call_of_command(calls, step->begin_ns, step->text);
		step->prompt = step->call ? prompt_of(calls, step->call)
					  : prompt_at(calls, step->begin_ns);
	}
}
