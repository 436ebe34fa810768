/* Options of commands that go through a journal: see event_options.h. */
#include "cli/journal/event_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/journal_file.h"
#include "config/nearest.h"
#include "config/value.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"
#include "tracker/sys/sys.h"

enum { OPS_BYTES = 2048 };

int event_options_unknown(const char *option, const char *what, const char *given,
			  const char *const *names, size_t count, const char *otherwise)
{
	const char *nearest = nearest_name(given, names, count);

	if (nearest)
		message("%s: there is no %s '%s'; did you mean '%s'?", option, what, given,
			nearest);
	else
		message("%s: there is no %s '%s'; %s", option, what, given, otherwise);
	return EXIT_CODE_USAGE;
}

/* All that --op accepts, for people: "start, fork (clone vfork), ...".  ret_text: OPS_BYTES. */
static const char *list_ops(char *ret_text)
{
	size_t at = 0;

	ret_text[0] = '\0';
	for (unsigned op = JOURNAL_NONE + 1; op < EVENT_OP_COUNT; op++) {
		const struct op *info = op_info(op);
		bool has_words = info->words && info->words[0];
		if (info->traits & OP_NO_EVENT || at >= OPS_BYTES)
			continue;
		at += (size_t)snprintf(ret_text + at, OPS_BYTES - at, "%s%s%s%s%s", at ? ", " : "",
				       event_op_name(op), has_words ? " (" : "",
				       has_words ? info->words : "", has_words ? ")" : "");
	}
	return ret_text;
}

static int parse_ops(const char *ops, struct event_filter *filter)
{
	char unknown[NEAREST_WORD_BYTES_MAX + 1], all[OPS_BYTES], words[OPS_BYTES];
	const char *names[OPS_BYTES / 2];
	size_t count = 0;

	if (event_filter_ops(ops, &filter->ops, unknown, sizeof(unknown)) == 0)
		return EXIT_CODE_OK;
	(void)strcpy(words, list_ops(all));
	for (char *rest = NULL, *word = strtok_r(words, " ,()", &rest); word;
	     word = strtok_r(NULL, " ,()", &rest))
		names[count++] = word;
	const char *nearest = nearest_name(unknown, names, count);
	message("--op: there is no event '%s'; %s%s%sthere are %s", unknown,
		nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", all);
	return EXIT_CODE_USAGE;
}

static int parse_role(const char *role, struct event_filter *filter)
{
	const char *names[ROLE_COUNT];

	if (event_filter_role(role, &filter->role) == 0)
		return EXIT_CODE_OK;
	for (uint32_t i = 0; i < ROLE_COUNT; i++)
		names[i] = role_name(i);
	return event_options_unknown("--role", "role", role, names, ROLE_COUNT,
				     "agent, shell, viewer, reader, tool");
}

static int parse_source(const char *source, struct event_filter *filter)
{
	const char *names[SOURCE_COUNT];
	size_t count = 0;

	if (event_filter_source(source, &filter->source) == 0)
		return EXIT_CODE_OK;
	for (uint32_t i = SOURCE_NONE + 1; i < SOURCE_COUNT; i++)
		names[count++] = source_name(i);
	return event_options_unknown("--source", "source", source, names, count,
				     "seen(1) lists them");
}

int event_options_number(const char *name, const char *text, uint64_t max, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	uintmax_t number = strtoumax(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || number == 0 || number > max) {
		message("%s: '%s' is no number from 1", name, text);
		return EXIT_CODE_USAGE;
	}
	*ret_number = number;
	return EXIT_CODE_OK;
}

static int parse_time(const char *name, const char *text, uint64_t *ret_realtime_ns)
{
	if (event_filter_time(text, sys_realtime_ns(), ret_realtime_ns) == 0)
		return EXIT_CODE_OK;
	message("%s: '%s' is no time: 10m, 2h, 3d (ago), [YYYY-MM-DD] HH:MM[:SS], or RFC 3339",
		name, text);
	return EXIT_CODE_USAGE;
}

int event_options_filter(const struct event_options *options, struct event_filter *ret_filter)
{
	int code = EXIT_CODE_OK;
	uint64_t number = 0;

	*ret_filter = (struct event_filter){ .path = options->path,
					     .executable = options->executable,
					     .role = -1,
					     .denied = options->denied,
					     .failed = options->failed };
	if (options->ops)
		code = parse_ops(options->ops, ret_filter);
	if (code == EXIT_CODE_OK && options->pid)
		code = event_options_number("--pid", options->pid, UINT32_MAX, &number);
	ret_filter->pid = (uint32_t)number;
	if (code == EXIT_CODE_OK && options->role)
		code = parse_role(options->role, ret_filter);
	if (code == EXIT_CODE_OK && options->source)
		code = parse_source(options->source, ret_filter);
	if (code == EXIT_CODE_OK && options->since)
		code = parse_time("--since", options->since, &ret_filter->since_realtime_ns);
	if (code == EXIT_CODE_OK && options->until)
		code = parse_time("--until", options->until, &ret_filter->until_realtime_ns);
	return code;
}

int event_options_journal(const struct event_options *options, const struct config *config,
			  struct event_filter *filter, char *ret_path, size_t capacity)
{
	filter->fold = config_number(config, OPTION_paths_case_insensitive) ==
		       PATHS_CASE_INSENSITIVE_YES;
	return journal_file_find(config, options->session, options->journal, ret_path, capacity);
}
