/* Points in a session: see step_point.h. */
#include "cli/undo/step_point.h"

#include <errno.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/journal/event_filter.h"
#include "tracker/path/decimal.h"
#include "tracker/sys/sys.h"

/* A number and nothing else? */
static bool is_number(const char *word, uint32_t *ret_number)
{
	uint64_t number = 0;
	const char *end = decimal_parse(word, &number);

	if (!end || *end)
		return false;
	*ret_number = number <= UINT32_MAX ? (uint32_t)number : 0;
	return true;
}

/* The prompt by its id, or by its first words. */
static int find_words(const struct step_calls *calls, const char *word,
		      const struct step_call **ret_prompt)
{
	size_t length = strlen(word), found = 0;

	for (size_t i = 0; i < calls->count; i++) {
		const struct step_call *prompt = &calls->calls[i];
		if (!prompt->number)
			continue;
		if (prompt->prompt && strcmp(prompt->prompt, word) == 0) {
			*ret_prompt = prompt;
			return 0;
		}
		if (length && prompt->input && strncmp(prompt->input, word, length) == 0) {
			*ret_prompt = prompt;
			found++;
		}
	}
	return found == 1 ? 0 : found ? -ENOTUNIQ : -EINVAL;
}

int step_point_find(const struct steps *steps, const char *word, struct step_point *ret_point)
{
	const struct step_call *prompt = NULL;
	uint32_t number = 0;
	int error = 0;

	*ret_point = (struct step_point){ .number = 0 };
	if (is_number(word, &number)) {
		const struct step *step = steps_numbered(steps, number);
		if (!step)
			return -ENOENT;
		*ret_point = (struct step_point){ step->number, step->begin_ns };
		return 0;
	}
	if (word[0] == 'p' && is_number(word + 1, &number)) {
		prompt = step_calls_prompt(steps_calls(steps), number);
		error = prompt ? 0 : -ENOENT;
	} else if (event_filter_time(word, sys_realtime_ns(), &ret_point->time_ns) == 0) {
		return 0;
	} else {
		error = find_words(steps_calls(steps), word, &prompt);
	}
	if (error == 0)
		ret_point->time_ns = prompt->begin_ns;
	return error;
}

int step_point_explain(const char *word, int error)
{
	if (error == -ENOENT) {
		message("there is no %s %s: `seen story` lists them",
			word[0] == 'p' ? "prompt" : "step", word);
		return EXIT_CODE_NOTHING;
	}
	if (error == -ENOTUNIQ) {
		message("several prompts begin so: name one by its number (p1), as `seen story` "
			"lists them");
		return EXIT_CODE_USAGE;
	}
	message("--since takes the number of a step, a prompt (its number or first words), a time, "
		"or how long ago: 12, p2, 16:20, \"2026-01-31 12:00\", 10m");
	return EXIT_CODE_USAGE;
}
