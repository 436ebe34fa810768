/*
 * `seen report`: the report of a session when it is over, for a person, a CI job, or a program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/memory_stream.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/journal/event_options.h"
#include "cli/report/report_fate.h"
#include "cli/report/report_html.h"
#include "cli/report/report_json.h"
#include "cli/report/report_print.h"
#include "cli/report/step_summary.h"
#include "cli/session/journal_file.h"
#include "cli/session/session.h"
#include "cli/session/session_find.h"
#include "cli/session/session_word.h"
#include "config/value.h"

enum {
	TOP_PEOPLE = 10,     /* rows of each table */
	TOP_PROGRAMS = 1000, /* ... in a document */
	TOP_MAX = 65536,
	PIECE_BYTES = 64 << 10,
};

static const char *session_name, *journal_option, *format_name, *output_path, *top_text;
static bool json, github;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--journal", "FILE", "this journal, in place of a session's", NULL, &journal_option },
	{ "--format", "FORMAT", "text; md: Markdown; html: one page; json: seen/report/1", NULL,
	  &format_name },
	{ "--json", NULL, "the same as --format json", &json, NULL },
	{ "--output", "FILE", "in place of standard output; replaced when all is written", NULL,
	  &output_path },
	{ "--github", NULL, "add it to the step's summary ($GITHUB_STEP_SUMMARY) in Markdown",
	  &github, NULL },
	{ "--top", "N", "rows of each table; default: 10, json and html: 1,000", NULL, &top_text },
};

static const struct options OPTIONS = {
	.usage = "report [OPTION...]",
	.summary = "Reports what a session did: conflicts, savings, files, programs, processes, "
		   "and what was not observed. Lists instruction files ([context] files) that "
		   "apply to touched files and were never given.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

enum format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON, FORMAT_HTML };

static const char *const FORMATS[] = {
	[FORMAT_TEXT] = "text",
	[FORMAT_MARKDOWN] = "md",
	[FORMAT_JSON] = "json",
	[FORMAT_HTML] = "html",
};

enum { FORMAT_COUNT = sizeof(FORMATS) / sizeof(FORMATS[0]) };

/* What is asked for. */
struct wish {
	enum format format;
	bool prints; /* not the step's summary alone */
	size_t top;  /* 0: that of the format */
	char journal[SEGMENT_PATH_BYTES];
	const struct config *config;
};

static int parse_format(struct wish *wish)
{
	if (!format_name) {
		wish->format = json ? FORMAT_JSON : FORMAT_TEXT;
		return EXIT_CODE_OK;
	}
	for (size_t i = 0; i < FORMAT_COUNT; i++) {
		if (strcmp(FORMATS[i], format_name) != 0)
			continue;
		wish->format = (enum format)i;
		if (!json || i == FORMAT_JSON)
			return EXIT_CODE_OK;
		message("--json and --format %s: which one?", format_name);
		return EXIT_CODE_USAGE;
	}
	return event_options_unknown("--format", "format", format_name, FORMATS, FORMAT_COUNT,
				     "text, md, json, html");
}

static int parse(struct wish *wish)
{
	uint64_t top = 0;
	int code = parse_format(wish);

	if (code == EXIT_CODE_OK && top_text)
		code = event_options_number("--top", top_text, TOP_MAX, &top);
	wish->top = (size_t)top;
	wish->prints = !github || format_name || json || output_path;
	if (code == EXIT_CODE_OK && session_name && journal_option) {
		message("--session and --journal: which one?");
		code = EXIT_CODE_USAGE;
	}
	return code;
}

static int no_memory(void)
{
	message("out of memory");
	return EXIT_CODE_OUTPUT;
}

/* ---- the forms ---- */

static size_t top_of(const struct wish *wish, enum format format)
{
	if (wish->top)
		return wish->top;
	return format == FORMAT_JSON || format == FORMAT_HTML ? TOP_PROGRAMS : TOP_PEOPLE;
}

static int write_html(const struct wish *wish, const struct report *report, FILE *file)
{
	json_t *document = report_json(report, top_of(wish, FORMAT_HTML));
	int error = document ? report_html_write(file, report, document, wish->journal) : -ENOMEM;
	json_decref(document);
	return error;
}

/* Returns 0 or a negative errno; those of the file are asked for later. */
static int write_form(const struct wish *wish, const struct report *report, enum format format,
		      FILE *file)
{
	size_t top = top_of(wish, format);
	struct sheet sheet;

	switch (format) {
	case FORMAT_JSON:
		return text_json_document(file, report_json(report, top));
	case FORMAT_HTML:
		return write_html(wish, report, file);
	case FORMAT_MARKDOWN:
		sheet_init(&sheet, file, SHEET_MARKDOWN);
		return report_print(report, top, &sheet);
	case FORMAT_TEXT:
		break;
	}
	sheet_init(&sheet, file, SHEET_TEXT);
	return report_print(report, top, &sheet);
}

/* A form as text.  ret_text: the caller frees it in any case. */
static int render(const struct wish *wish, const struct report *report, enum format format,
		  char **ret_text, size_t *ret_length)
{
	FILE *file = memory_stream_open(ret_text, ret_length);
	int error = file ? write_form(wish, report, format, file) : -ENOMEM;

	if (file && fclose(file) != 0)
		error = -ENOMEM;
	return error;
}

/* Says what went wrong with a form.  Returns an exit code. */
static int failed(const struct wish *wish, int error)
{
	return error == -ENOMEM ? no_memory() : journal_file_failed(wish->journal, error);
}

/* Piece by piece, so that an error of the disk is known. */
static void write_text(struct output *output, const char *text, size_t length)
{
	while (length && output_row(output) == 0) {
		size_t piece = length < PIECE_BYTES ? length : PIECE_BYTES;
		(void)fwrite(text, 1, piece, output->file);
		text += piece;
		length -= piece;
	}
}

static int print(const struct wish *wish, const struct report *report)
{
	struct output output = { .file = NULL };
	char *text = NULL;
	size_t length = 0;
	int error = 0, code = EXIT_CODE_OK;

	if (output_is_same(output_path, wish->journal)) {
		message("--output: %s is the journal", output_path);
		return EXIT_CODE_USAGE;
	}
	/* Only what is shown as it is written knows what terminal it is for. */
	if (wish->format != FORMAT_TEXT)
		error = render(wish, report, wish->format, &text, &length);
	if (error < 0) {
		free(text);
		return failed(wish, error);
	}
	error = output_open(output_path, OUTPUT_REPLACE, &output);
	if (error < 0) {
		message("%s: %s", output_path ? output_path : "standard output", strerror(-error));
		free(text);
		return EXIT_CODE_OUTPUT;
	}
	if (text)
		write_text(&output, text, length);
	else
		error = write_form(wish, report, FORMAT_TEXT, output.file);
	if (error < 0) {
		code = failed(wish, error);
	} else {
		error = output_finish(&output);
		if (error < 0)
			code = output_failed(&output, error);
	}
	free(text);
	output_close(&output);
	return code;
}

static int add_to_summary(const struct wish *wish, const struct report *report)
{
	char *text = NULL;
	size_t length = 0;
	int error = render(wish, report, FORMAT_MARKDOWN, &text, &length);
	int code = error < 0 ? failed(wish, error) : step_summary_add(text, length);

	free(text);
	return code;
}

/* What is missing, on stderr.  Returns an exit code. */
static int print_missing(const struct report *report)
{
	const struct story *story = &report->story;
	char number[TEXT_NUMBER_BYTES];
	int code = EXIT_CODE_OK;

	if (report->verify_error < 0) {
		message("the seal could not be checked: %s",
			journal_file_explain(report->verify_error));
		code = EXIT_CODE_PARTLY;
	}
	if (report->story_error < 0) {
		message("what the steps changed could not be read: %s",
			journal_file_explain(report->story_error));
		code = EXIT_CODE_PARTLY;
	}
	if (story->unread) {
		message("what %s changed file%s held could not be read: %s",
			text_number(story->unread, number), text_plural(story->unread),
			strerror(-story->unread_error));
		code = EXIT_CODE_PARTLY;
	}
	return code;
}

static int print_report(const struct wish *wish, const struct segment *segment)
{
	struct report report;
	struct config_globs state = { .text = NULL };
	int error = config_agents_state(wish->config, &state);
	report = (struct report){ .file_count = 0 };
	if (error == 0)
		error = report_gather(wish->journal, segment, NULL, &state, &report);
	free(state.text);
	int code = error < 0 ? failed(wish, error) : EXIT_CODE_OK;
	if (code == EXIT_CODE_OK && github)
		code = add_to_summary(wish, &report);
	if (code == EXIT_CODE_OK && wish->prints)
		code = print(wish, &report);
	if (code == EXIT_CODE_OK)
		code = print_missing(&report);
	report_free(&report);
	return code;
}

/* ---- whose ---- */

/* The session with all that it knows, or, where it is gone, its journal alone. */
static int report(const struct config *config, struct wish *wish)
{
	struct session session;
	int code = journal_file_find(config, session_name, journal_option, wish->journal,
				     sizeof(wish->journal));

	if (code != EXIT_CODE_OK || journal_option)
		return code != EXIT_CODE_OK ? code : print_report(wish, NULL);
	char name[SEGMENT_PATH_BYTES];
	int error = -ENOENT;
	code = session_word_resolve(config, session_name, name);
	if (code != EXIT_CODE_OK)
		return code;
	if (name[0])
		error = session_open(config, name, &session);
	else if (session_find(config, NULL, &session) == EXIT_CODE_OK)
		error = 0;
	if (error < 0 && name[0] && !journal_file_outlives(error)) {
		message("session %s: %s", name, session_explain(error));
		return EXIT_CODE_BAD_SESSION;
	}
	code = print_report(wish, error == 0 ? &session.segment : NULL);
	if (error == 0)
		session_close(&session);
	return code;
}

int cmd_report(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct wish wish;
	int code;

	if (options_parse_alone(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		code = parse(&wish);
		if (code == EXIT_CODE_OK && options_load(&parsed, &code) == 0)
			code = report(wish.config = parsed.config, &wish);
	}
	options_done(&parsed);
	return code;
}
