/*
 * `seen log`: what happened in a session, event by event, from its journal.
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/journal/event_options.h"
#include "cli/journal/event_print.h"
#include "cli/journal/events.h"
#include "cli/session/journal_file.h"
#include "tracker/segment/segment.h"

enum {
	POLL_MS = 200,
	UNDONE_MS = 100, /* what a record is waited for that its writer has begun */
};

static struct event_options wanted;
static const char *tail;
static bool follow, json;

static const struct option_spec SPECS[] = {
	EVENT_OPTIONS(wanted),
	{ "--tail", "N", "the last N alone", NULL, &tail },
	{ "-n", "N", NULL, NULL, &tail },
	{ "--follow", NULL, "wait for more; ends by ^C", &follow, NULL },
	{ "-f", NULL, NULL, &follow, NULL },
	{ "--json", NULL, "a JSON object a line, seen/log/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "log [OPTION...]",
	.summary = "Prints the recorded accesses in their order: time, process, operation, result, "
		   "file. A path that begins with ?/ is relative to an unknown "
		   "directory.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

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
				waited_for = events_end_unit(events);
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
		if (json && event_print_json(stdout, NULL, &event) < 0) {
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
static void report_missing(const struct events *events)
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

/* Where it is not all, a message says so.  Returns an exit code. */
static int check_whole(const struct events *events, const char *path, int code)
{
	int error = events_error(events);

	return error < 0 ? journal_file_failed(path, error) : code;
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
	report_missing(events);
	code = check_whole(events, path, code);
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

	if (options_parse_alone(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		code = event_options_filter(&wanted, &filter);
		if (code == EXIT_CODE_OK && tail)
			code = event_options_number("-n, --tail", tail, UINT64_MAX, &count);
		if (code == EXIT_CODE_OK && options_load(&parsed, &code) == 0) {
			code = event_options_journal(&wanted, parsed.config, &filter, path,
						     sizeof(path));
			if (code == EXIT_CODE_OK)
				code = show(path, &filter, count);
		}
	}
	options_done(&parsed);
	return code;
}
