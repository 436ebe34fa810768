/* Options of commands that go through a journal: see event_options.h. */
#include "cli/journal/event_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/journal_file.h"
#include "config/nearest.h"
#include "config/value.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"
#include "tracker/sys/sys.h"

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

static int parse_ops(const char *ops, struct event_filter *filter)
{
	const char *names[EVENT_OP_COUNT];
	char unknown[NEAREST_WORD_BYTES_MAX + 1];
	size_t count = 0;

	if (event_filter_ops(ops, &filter->ops, unknown, sizeof(unknown)) == 0)
		return EXIT_CODE_OK;
	for (unsigned op = JOURNAL_ABANDONED + 1; op < EVENT_OP_COUNT; op++)
		names[count++] = event_op_name(op);
	return event_options_unknown("--op", "event", unknown, names, count, "seen(1) lists them");
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
	message("%s: '%s' is no time: 10m, 2h, 3d (ago), YYYY-MM-DD HH:MM[:SS], or RFC 3339", name,
		text);
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
