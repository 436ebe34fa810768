/*
 * `seen log`: what happened in a session, event by event, from its journal.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/command.h"
#include "cli/lib/event_filter.h"
#include "cli/lib/event_print.h"
#include "cli/lib/events.h"
#include "cli/lib/exit_code.h"
#include "cli/lib/journal_file.h"
#include "cli/lib/message.h"
#include "cli/lib/options.h"
#include "config/nearest.h"
#include "tracker/role.h"
#include "tracker/segment.h"
#include "tracker/source.h"
#include "tracker/sys.h"

enum {
	POLL_MS = 200,
	UNDONE_MS = 100, /* what a record is waited for that its writer has begun */
};

static const char *session_name, *journal_file, *path_glob_text, *ops, *pid, *executable, *role,
	*source, *since, *until, *tail;
static bool denied, failed, follow, json;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "this session; default: $SEEN_SESSION, else the workspace's newest",
	  NULL, &session_name },
	{ "--journal", "FILE", "this journal, in place of a session's", NULL, &journal_file },
	{ "--path", "GLOB", "files below the workspace, at any depth; /...: from the root", NULL,
	  &path_glob_text },
	{ "--op", "OP[,OP]", "these events alone: open, read, write, exec ...", NULL, &ops },
	{ "--pid", "N", "of this process", NULL, &pid },
	{ "--exe", "GLOB", "of programs with such a name", NULL, &executable },
	{ "--role", "ROLE", "of agents: agent; also shell, viewer, reader, tool", NULL, &role },
	{ "--source", "SOURCE",
	  "changes of it: agent_edited, tool_edited, user_edited, unattributed ...", NULL,
	  &source },
	{ "--since", "TIME", "not before: 10m, 2h, 3d ago; YYYY-MM-DD HH:MM[:SS]; RFC 3339", NULL,
	  &since },
	{ "--until", "TIME", "not after", NULL, &until },
	{ "--denied", NULL, "what was refused: EACCES, EPERM, EROFS, or by the guard", &denied,
	  NULL },
	{ "--failed", NULL, "what did not succeed", &failed, NULL },
	{ "--tail", "N", "the last N alone", NULL, &tail },
	{ "-n", "N", "the same", NULL, &tail },
	{ "--follow", NULL, "wait for more; ends by ^C", &follow, NULL },
	{ "-f", NULL, "the same", &follow, NULL },
	{ "--json", NULL, "a JSON object a line, seen/log/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "log [OPTION...]",
	.summary = "What was accessed, by whom, and what came of it, in the order in which it "
		   "was recorded.\n"
		   "Times are UTC.  A path that begins with ?/ is relative to a folder that is "
		   "not known.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* ---- which events ---- */

static int parse_ops(struct event_filter *filter)
{
	const char *names[EVENT_OP_COUNT];
	char unknown[NEAREST_WORD_BYTES_MAX + 1];
	size_t count = 0;

	if (event_filter_ops(ops, &filter->ops, unknown, sizeof(unknown)) == 0)
		return EXIT_CODE_OK;
	for (unsigned op = JOURNAL_ABANDONED + 1; op < EVENT_OP_COUNT; op++)
		names[count++] = event_op_name(op);
	const char *nearest = nearest_name(unknown, names, count);
	if (nearest)
		message("--op: there is no event '%s'; did you mean '%s'?", unknown, nearest);
	else
		message("--op: there is no event '%s'; seen(1) lists them", unknown);
	return EXIT_CODE_USAGE;
}

static int parse_role(struct event_filter *filter)
{
	const char *names[ROLE_COUNT];

	if (event_filter_role(role, &filter->role) == 0)
		return EXIT_CODE_OK;
	for (uint32_t i = 0; i < ROLE_COUNT; i++)
		names[i] = role_name(i);
	const char *nearest = nearest_name(role, names, ROLE_COUNT);
	if (nearest)
		message("--role: there is no role '%s'; did you mean '%s'?", role, nearest);
	else
		message("--role: there is no role '%s'; agent, shell, viewer, reader, tool", role);
	return EXIT_CODE_USAGE;
}

static int parse_source(struct event_filter *filter)
{
	const char *names[SOURCE_COUNT];
	size_t count = 0;

	if (event_filter_source(source, &filter->source) == 0)
		return EXIT_CODE_OK;
	for (uint32_t i = SOURCE_NONE + 1; i < SOURCE_COUNT; i++)
		names[count++] = source_name(i);
	const char *nearest = nearest_name(source, names, count);
	if (nearest)
		message("--source: there is no source '%s'; did you mean '%s'?", source, nearest);
	else
		message("--source: there is no source '%s'; seen(1) lists them", source);
	return EXIT_CODE_USAGE;
}

static int parse_number(const char *name, const char *text, uint64_t max, uint64_t *ret_number)
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

static int parse_filter(struct event_filter *filter, uint64_t *ret_tail)
{
	int code = EXIT_CODE_OK;
	uint64_t number = 0;

	*filter = (struct event_filter){ .path = path_glob_text,
					 .executable = executable,
					 .role = -1,
					 .denied = denied,
					 .failed = failed };
	if (ops)
		code = parse_ops(filter);
	if (code == EXIT_CODE_OK && pid)
		code = parse_number("--pid", pid, UINT32_MAX, &number);
	filter->pid = (uint32_t)number;
	if (code == EXIT_CODE_OK && role)
		code = parse_role(filter);
	if (code == EXIT_CODE_OK && source)
		code = parse_source(filter);
	if (code == EXIT_CODE_OK && since)
		code = parse_time("--since", since, &filter->since_realtime_ns);
	if (code == EXIT_CODE_OK && until)
		code = parse_time("--until", until, &filter->until_realtime_ns);
	if (code == EXIT_CODE_OK && tail)
		code = parse_number("--tail", tail, UINT64_MAX, ret_tail);
	return code;
}

/* ---- the output ---- */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static void wait_ms(unsigned ms)
{
	struct timespec time = { .tv_sec = 0, .tv_nsec = (long)ms * 1000000 };
	(void)nanosleep(&time, NULL); /* a signal ends it */
}

/* The next event, waited for where that is asked for.  Returns false at the end. */
static bool next(struct events *events, bool to_follow, struct event *ret_event)
{
	static uint64_t waited_for; /* records below were given their time */

	while (!interrupted && !ferror(stdout)) {
		switch (events_next(events, ret_event)) {
		case EVENTS_EVENT:
			return true;
		case EVENTS_UNDONE:
			if (to_follow && events_position(events) >= waited_for) {
				waited_for = events_end(events);
				wait_ms(UNDONE_MS); /* once for all that are begun */
			} else {
				events_pass(events);
			}
			break;
		case EVENTS_END:
			if (!to_follow)
				return false;
			wait_ms(POLL_MS);
			break;
		}
	}
	return false;
}

static uint64_t count_matches(struct events *events, const struct event_filter *filter)
{
	struct event event;
	uint64_t count = 0;

	while (next(events, false, &event))
		count += event_filter_match(filter, &event);
	return count;
}

/* Prints all but the first `skipped` that match.  Returns an exit code. */
static int print(struct events *events, const struct event_filter *filter, uint64_t skipped)
{
	struct event event;
	uint64_t matches = 0;

	while (next(events, follow, &event)) {
		if (!event_filter_match(filter, &event) || matches++ < skipped)
			continue;
		if (json && event_print_json(stdout, &event) < 0) {
			message("out of memory");
			return EXIT_CODE_OUTPUT;
		}
		if (!json && matches == skipped + 1)
			event_print_head(stdout);
		if (!json)
			event_print_line(stdout, &event, filter->workspace);
		if (follow)
			(void)fflush(stdout);
	}
	return matches > skipped || follow ? EXIT_CODE_OK : EXIT_CODE_NOTHING;
}

/* What is missing above. */
static void tell_missing(const struct events *events)
{
	struct events_counts counts = events_counts(events);

	(void)fflush(stdout);
	if (counts.undone)
		message("%llu records were not finished by those who wrote them",
			(unsigned long long)counts.undone);
	if (counts.damaged)
		message("%llu records are damaged", (unsigned long long)counts.damaged);
	if (counts.lost)
		message("%llu records could not be written", (unsigned long long)counts.lost);
}

static int show(const char *path, struct event_filter *filter, uint64_t count)
{
	struct events *events;
	uint64_t skipped = 0;
	int error;

	if (follow) {
		struct sigaction action = { .sa_handler = interrupt };
		(void)sigaction(SIGINT, &action, NULL);
	}
	if (count) {
		error = events_open(path, false, &events);
		if (error < 0)
			return journal_file_failed(path, error);
		filter->workspace = events_workspace(events);
		uint64_t matches = count_matches(events, filter);
		skipped = matches > count ? matches - count : 0;
		events_close(events);
	}
	error = events_open(path, follow, &events);
	if (error < 0)
		return journal_file_failed(path, error);
	filter->workspace = events_workspace(events);
	int code = print(events, filter, skipped);
	tell_missing(events);
	events_close(events);
	return code;
}

int cmd_log(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct event_filter filter;
	char path[SEGMENT_PATH_BYTES];
	uint64_t count = 0;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		if (parsed.first_word < argc) {
			message("'%s' is no option; `seen help log` lists them",
				argv[parsed.first_word]);
			code = EXIT_CODE_USAGE;
		} else {
			code = parse_filter(&filter, &count);
		}
		if (code == EXIT_CODE_OK && options_load(&parsed, &code) == 0) {
			filter.fold = config_number(parsed.config, OPTION_paths_case_insensitive) ==
				      PATHS_CASE_INSENSITIVE_YES;
			code = journal_file_find(parsed.config, session_name, journal_file, path,
						 sizeof(path));
			if (code == EXIT_CODE_OK)
				code = show(path, &filter, count);
		}
	}
	options_done(&parsed);
	return code;
}
