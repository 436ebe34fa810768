/*
 * `seen export`: a journal's events in the form of another program, from where the last run ended.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/export/export.h"
#include "cli/export/export_state.h"
#include "cli/journal/event_options.h"
#include "cli/journal/events.h"
#include "cli/session/journal_file.h"
#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

enum {
	UNDONE_MS = 100, /* what records are waited for that their writers have begun */
	HOST_BYTES = 256,
};

/* A process that has not finished a record after this time is taken for dead. */
static const uint64_t DEAD_NS = UINT64_C(60) * 1000000000u;

static struct event_options wanted;
static const char *format_name, *output_path, *from_record, *state_path;

static const struct option_spec SPECS[] = {
	{ "--format", "FORMAT", "jsonl (as `seen log --json`), csv, sqlite, ocsf, ecs, otlp, sarif",
	  NULL, &format_name },
	{ "--output", "FILE", "write there; replaced when all is written", NULL, &output_path },
	{ "--state", "FILE", "keep the position there: the next run goes on, and appends", NULL,
	  &state_path },
	{ "--from-record", "N", "from the record with this number on", NULL, &from_record },
	EVENT_OPTIONS(wanted),
};

static const struct options OPTIONS = {
	.usage = "export --format FORMAT [OPTION...]",
	.summary = "Writes the events of a journal in a format of other programs. The nonce of the "
		   "journal and the number of the record identify an event: see docs/export.md.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* What is being done. */
struct work {
	const struct export_format *format;
	struct export export;
	struct output output;
	struct events *events;
	struct export_state state; /* of an earlier run; next: 0: there was none */
	uint64_t exported;         /* events */
	/* the first record that was passed over and may be finished yet; 0: none */
	uint64_t unsure;
	bool waits; /* it ended at one that is not finished */
	char host[HOST_BYTES];
};

/* ---- what is asked for ---- */

static int parse_format(struct work *work)
{
	const char *const *names = export_format_names();
	size_t count = 0;

	while (names[count])
		count++;
	if (!format_name) {
		message("--format is missing; `seen help export` lists them");
		return EXIT_CODE_USAGE;
	}
	work->format = export_format_find(format_name);
	if (work->format)
		return EXIT_CODE_OK;
	return event_options_unknown("--format", "format", format_name, names, count,
				     "`seen help export` lists them");
}

static int parse(struct work *work, struct event_filter *filter)
{
	int code = parse_format(work);

	if (code == EXIT_CODE_OK)
		code = event_options_filter(&wanted, filter);
	if (code == EXIT_CODE_OK && from_record)
		code = event_options_number("--from-record", from_record, UINT32_MAX,
					    &work->export.from);
	if (code != EXIT_CODE_OK)
		return code;
	if (state_path && from_record)
		message("--state tells where to go on, and --from-record does too: give one of "
			"them");
	else if ((state_path || from_record) && work->format->kind == EXPORT_DATABASE)
		message("%s: the database itself keeps how far it is",
			state_path ? "--state" : "--from-record");
	else if (state_path && output_path && work->format->kind == EXPORT_DOCUMENT)
		message("--state: nothing can be added to a document of format %s",
			work->format->name);
	else if (!output_path && work->format->kind == EXPORT_DATABASE)
		message("--output is missing: a database is no stream");
	else
		return EXIT_CODE_OK;
	return EXIT_CODE_USAGE;
}

/* ---- where it begins ---- */

static int read_facts(struct work *work)
{
	struct export_facts *facts = &work->export.facts;
	const struct journal_header *header = events_header(work->events);
	const char *workspace = events_workspace(work->events);

	memcpy(facts->session, header->name, sizeof(facts->session));
	memcpy(facts->journal, header->nonce, sizeof(facts->journal));
	facts->session[sizeof(facts->session) - 1] = '\0';
	facts->journal[sizeof(facts->journal) - 1] = '\0';
	facts->created_realtime_ns = header->created_realtime_ns;
	facts->workspace = workspace;
	if (!wanted.journal && gethostname(work->host, sizeof(work->host) - 1) == 0)
		facts->host = work->host;
	for (const char *at = facts->journal; *at; at++)
		if (!isxdigit((unsigned char)*at))
			return -EBADMSG;
	return facts->journal[0] ? 0 : -EBADMSG;
}

/* A journal that ends before its export went on is not the one that was exported. */
static int check_from(const struct work *work, const char *place)
{
	if (work->export.from <= events_end_unit(work->events))
		return EXIT_CODE_OK;
	message("%s: it goes on with record %llu, but the journal ends before: is it an older "
		"copy?",
		place, (unsigned long long)work->export.from);
	return EXIT_CODE_USAGE;
}

/* What an earlier run left.  Returns an exit code. */
static int read_state(struct work *work)
{
	struct export_state *state = &work->state;
	int error = export_state_read(state_path, state);

	if (error == -ENOENT)
		return EXIT_CODE_OK;
	if (error == -EBADMSG)
		message("%s: it is no state of an export", state_path);
	else if (error < 0)
		message("%s: %s", state_path, strerror(-error));
	else if (strcmp(state->journal, work->export.facts.journal) != 0)
		message("%s: it is the state of another journal, %s; this one is %s", state_path,
			state->journal, work->export.facts.journal);
	else if (strcmp(state->format, work->format->name) != 0)
		message("%s: it is the state of an export as %s", state_path, state->format);
	else {
		work->export.from = state->next;
		return check_from(work, state_path);
	}
	return EXIT_CODE_USAGE;
}

static int write_state(struct work *work)
{
	struct export_state state = { .next = work->export.next };

	(void)snprintf(state.journal, sizeof(state.journal), "%s", work->export.facts.journal);
	(void)snprintf(state.format, sizeof(state.format), "%s", work->format->name);
	int error = export_state_write(state_path, &state);
	if (error == 0)
		return EXIT_CODE_OK;
	message("%s: %s", state_path, strerror(-error));
	return EXIT_CODE_OUTPUT;
}

/* An export that wrote to the journal itself would destroy what is to be exported. */
static int check_places(const char *path)
{
	if (output_is_same(output_path, path))
		message("--output: %s is the journal", output_path);
	else if (output_is_same(state_path, path))
		message("--state: %s is the journal", state_path);
	else if (output_path && state_path &&
		 (strcmp(output_path, state_path) == 0 || output_is_same(output_path, state_path)))
		message("--output and --state are the same file");
	else
		return EXIT_CODE_OK;
	return EXIT_CODE_USAGE;
}

static bool is_empty(FILE *file)
{
	struct stat stat;
	return fstat(fileno(file), &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size == 0;
}

static int open_output(struct work *work)
{
	enum output_way way = !state_path        ? OUTPUT_REPLACE
			      : work->state.next ? OUTPUT_MEND
						 : OUTPUT_ADD;
	int error = output_open(output_path, way, &work->output);

	if (error == -EILSEQ)
		message("%s: its last line is not finished, and it is no export of %s", output_path,
			state_path);
	else if (error < 0)
		message("%s: %s", output_path ? output_path : "standard output", strerror(-error));
	if (error < 0)
		return EXIT_CODE_OUTPUT;
	work->export.file = work->output.file;
	/* A file that was moved away meanwhile begins anew, with its head. */
	work->export.added = work->state.next != 0 && !(output_path && is_empty(work->output.file));
	return EXIT_CODE_OK;
}

/* ---- the events ---- */

static int failed(const struct work *work, int error)
{
	if (work->export.error[0])
		message("%s", work->export.error);
	else if (error == -ENOMEM)
		message("out of memory");
	else if (error == events_error(work->events))
		message("the journal: %s", strerror(-error));
	else if (work->format->kind == EXPORT_DATABASE)
		message("%s: %s", output_path, strerror(-error));
	else
		return output_failed(&work->output, error);
	return EXIT_CODE_OUTPUT;
}

/* At a record that its writer has not finished.  Returns false: it ends here, as a later run is to
 * begin with this one. */
static bool pass_undone(struct work *work, uint64_t *waited_for)
{
	bool goes_on = state_path || work->format->kind == EXPORT_DATABASE;
	uint64_t at = events_position(work->events);

	if (at >= work->export.from) {
		if (at >= *waited_for) {
			struct timespec time = { .tv_nsec = (long)UNDONE_MS * 1000000 };
			*waited_for = events_end_unit(
				work->events); /* once for all that are begun */
			(void)nanosleep(&time, NULL);
			return true;
		}
		uint64_t since = events_undone_since(work->events), now = sys_realtime_ns();
		bool dead = since && now > since && now - since > DEAD_NS;
		if (!dead && goes_on) {
			work->waits = true;
			return false;
		}
		if (!dead && !work->unsure)
			work->unsure = at;
	}
	events_pass(work->events);
	return true;
}

/* The next event that is to be exported.  Returns false at the end. */
static bool next(struct work *work, struct event *ret_event)
{
	static uint64_t waited_for; /* records below were given their time */

	for (;;) {
		switch (events_next(work->events, ret_event)) {
		case EVENTS_EVENT:
			if (ret_event->number >= work->export.from)
				return true;
			break;
		case EVENTS_UNDONE:
			if (!pass_undone(work, &waited_for))
				return false;
			break;
		case EVENTS_END:
			return false;
		}
	}
}

static int export_events(struct work *work, const struct event_filter *filter)
{
	struct export *export = &work->export;
	struct event event;
	int error = 0;

	while (error == 0 && next(work, &event)) {
		if (!event_filter_match(filter, &event))
			continue;
		error = work->format->event(export, &event);
		if (error == 0 && !text_json_is_whole())
			error = -ENOMEM;
		if (error == 0 && export->file)
			error = output_row(&work->output);
		work->exported++;
	}
	export->next = work->unsure ? work->unsure : events_position(work->events);
	if (export->next < export->from)
		export->next = export->from;
	if (error == 0)
		error = events_error(work->events);
	if (error == 0 && work->format->finish)
		error = work->format->finish(export);
	return error;
}

/* Where it ended, and what is missing. */
static void print_summary(const struct work *work)
{
	struct events_counts counts = events_counts(work->events);
	uint64_t next_record = work->export.next;

	if (work->waits)
		message("it ends before record %llu, which is being written",
			(unsigned long long)next_record);
	else if (counts.undone)
		message("%llu records were not finished by those who wrote them",
			(unsigned long long)counts.undone);
	if (counts.damaged)
		message("%llu records are damaged", (unsigned long long)counts.damaged);
	if (counts.lost)
		message("%llu records could not be written", (unsigned long long)counts.lost);
	if (state_path || work->format->kind == EXPORT_DATABASE)
		message("%llu events; the next run goes on with record %llu",
			(unsigned long long)work->exported, (unsigned long long)next_record);
	else
		message("%llu events; --from-record %llu goes on",
			(unsigned long long)work->exported, (unsigned long long)next_record);
}

static int write_rows(struct work *work, const struct event_filter *filter)
{
	const struct export_format *format = work->format;
	int error = format->start ? format->start(&work->export) : 0;

	if (error == 0 && format->kind == EXPORT_DATABASE) {
		int code = check_from(work, output_path);
		if (code != EXIT_CODE_OK)
			return code;
	}
	if (error == 0)
		error = export_events(work, filter);
	if (error == 0 && format->kind != EXPORT_DATABASE)
		error = output_finish(&work->output);
	return error < 0 ? failed(work, error) : EXIT_CODE_OK;
}

static int run(struct work *work, const char *path, struct event_filter *filter)
{
	int error = events_open(path, false, &work->events);
	if (error == 0)
		error = read_facts(work);
	if (error < 0)
		return journal_file_failed(path, error);
	filter->workspace = work->export.facts.workspace;
	work->export.path = output_path;
	int code = check_places(path);
	if (code == EXIT_CODE_OK && from_record)
		code = check_from(work, "--from-record");
	if (code == EXIT_CODE_OK && state_path)
		code = read_state(work);
	if (code == EXIT_CODE_OK && work->format->kind != EXPORT_DATABASE)
		code = open_output(work);
	if (code == EXIT_CODE_OK)
		code = write_rows(work, filter);
	if (code == EXIT_CODE_OK && state_path)
		code = write_state(work);
	if (code == EXIT_CODE_OK)
		print_summary(work);
	return code;
}

int cmd_export(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct work work = { .format = NULL };
	struct event_filter filter;
	char path[SEGMENT_PATH_BYTES];
	int code;

	if (options_parse_alone(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		code = parse(&work, &filter);
		if (code == EXIT_CODE_OK && options_load(&parsed, &code) == 0) {
			code = event_options_journal(&wanted, parsed.config, &filter, path,
						     sizeof(path));
			if (code == EXIT_CODE_OK)
				code = run(&work, path, &filter);
		}
	}
	if (work.format && work.format->close)
		work.format->close(&work.export);
	output_close(&work.output);
	events_close(work.events);
	options_done(&parsed);
	return code;
}
