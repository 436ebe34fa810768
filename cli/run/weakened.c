/* What a workspace's file takes from a run: see weakened.h. */
#include "cli/run/weakened.h"

#include "cli/base/message.h"
#include "config/rules.h"
#include "config/value.h"

/* Options that such a file may set, and that then do less than without it.  Others only refuse more, or
 * warn of more. */
static const struct {
	size_t option;
	const char *effect;
} WEAKENED[] = {
	{ OPTION_session_mode, "nothing is answered, and the guard refuses nothing" },
	{ OPTION_processes_ignore, "these programs are not tracked, nor what they read; what they "
				   "change cannot be undone" },
	{ OPTION_paths_exclude, "these files are not tracked or guarded" },
	{ OPTION_notice_min_bytes, "fewer repeated reads are answered" },
	{ OPTION_notice_max_bytes, "fewer repeated reads are answered" },
	{ OPTION_notice_insist_requests, "fewer repeated reads are answered" },
	{ OPTION_window_requests, "fewer repeated reads are answered" },
	{ OPTION_window_bytes, "fewer repeated reads are answered" },
	{ OPTION_window_age_s, "fewer repeated reads are answered" },
	{ OPTION_requests_enable, "no repeated command is answered" },
	{ OPTION_requests_never, "these commands are not answered" },
};

static void print_line(const char *origin, size_t option, const char *text, const char *effect)
{
	message("%s: [%s] %s = %s: %s", origin, option_at(option)->section, option_at(option)->name,
		text, effect);
}

/* The words that the workspace's file added to a list, line by line. */
static void print_words(const struct config *config, const struct config_value *list, size_t option,
			const char *effect)
{
	for (size_t i = 0; i < list->part_count; i++) {
		const struct config_value part = { .origin = list->parts[i].origin };
		if (config_is_of_workspace(config, &part))
			print_line(part.origin, option, list->parts[i].words, effect);
	}
}

void weakened_print(const struct config *config)
{
	for (size_t i = 0; i < sizeof(WEAKENED) / sizeof(WEAKENED[0]); i++) {
		size_t option = WEAKENED[i].option;
		const struct config_value *value = config_value(config, option);
		if (option_at(option)->kind == OPTION_LIST)
			print_words(config, value, option, WEAKENED[i].effect);
		else if (config_is_of_workspace(config, value))
			print_line(value->origin, option, value->text, WEAKENED[i].effect);
	}
}
