/*
 * `seen report`: what there is to be said of a session when it is over.  So far: instruction files that applied to what it touched,
 * and that its agents were never given.
 */
#include <errno.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/lib/exit_code.h"
#include "cli/lib/journal_file.h"
#include "cli/lib/message.h"
#include "cli/lib/options.h"
#include "cli/lib/report.h"
#include "cli/lib/session.h"
#include "cli/lib/text.h"
#include "tracker/path.h"

static const char *session_name;
static bool json;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "this session; default: $SEEN_SESSION, else the workspace's newest",
	  NULL, &session_name },
	{ "--json", NULL, "one JSON document, schema seen/report/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "report [OPTION...]",
	.summary = "Names the instruction files ([context] files) that apply to what the session "
		   "touched, as they are\n"
		   "on disk now, and that its agents were never given.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

static void print_path(const struct segment *segment, const char *path, int width)
{
	char shown[SEGMENT_PATH_BYTES * 4];

	if (path_escape(path_relative(segment, path), shown, sizeof(shown)) >= 0)
		(void)printf("%-*s", width, shown);
}

static void print_table(const struct segment *segment, const struct unheeded *unheeded)
{
	char number[TEXT_NUMBER_BYTES], applied[TEXT_NUMBER_BYTES];

	(void)printf("%s of %s instruction files that apply to what was touched %s never given\n",
		     text_number(unheeded->count, number), text_number(unheeded->applied, applied),
		     unheeded->count == 1 ? "was" : "were");
	if (unheeded->count)
		(void)printf("%s%-32s  %8s  %s%s\n", text_style(stdout, "1"), "INSTRUCTIONS",
			     "TOUCHES", "FIRST", text_style(stdout, "0"));
	for (size_t i = 0; i < unheeded->count; i++) {
		const struct unheeded_row *row = &unheeded->rows[i];
		print_path(segment, row->path, 32);
		(void)printf("  %8s  ", text_number(row->touches, number));
		print_path(segment, row->example, 0);
		(void)puts(row->read_by_agent ? "  (the agent read it by itself)" : "");
	}
}

static json_t *document_of(const struct session *session, const struct unheeded *unheeded)
{
	const struct segment *segment = &session->segment;
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	json_t *document = json_object(), *instructions = json_object(), *rows = json_array();

	for (size_t i = 0; i < unheeded->count; i++) {
		const struct unheeded_row *row = &unheeded->rows[i];
		json_t *object = json_object();
		(void)json_object_set_new(object, "path",
					  text_json(path_relative(segment, row->path)));
		(void)json_object_set_new(object, "touches",
					  json_integer((json_int_t)row->touches));
		(void)json_object_set_new(object, "first",
					  text_json(path_relative(segment, row->example)));
		(void)json_object_set_new(object, "read_by_agent",
					  json_boolean(row->read_by_agent));
		(void)json_array_append_new(rows, object);
	}
	(void)json_object_set_new(instructions, "applied",
				  json_integer((json_int_t)unheeded->applied));
	(void)json_object_set_new(instructions, "never_given", rows);
	(void)json_object_set_new(document, "schema", json_string("seen/report/1"));
	(void)json_object_set_new(document, "session", text_json(session->name));
	(void)json_object_set_new(document, "workspace", text_json(root ? root : ""));
	(void)json_object_set_new(document, "instructions", instructions);
	return document;
}

static int report(const struct session *session)
{
	struct report report;
	const char *journal = session_journal(session);
	int code = EXIT_CODE_OK;

	if (!journal) {
		message("session %s has no journal", session->name);
		return EXIT_CODE_NOTHING;
	}
	int error = report_gather(journal, &session->segment, NULL, &report);
	if (error == -ENOMEM) {
		message("out of memory");
		code = EXIT_CODE_OUTPUT;
	} else if (error < 0) {
		code = journal_file_failed(journal, error);
	} else if (!json) {
		print_table(&session->segment, &report.unheeded);
	} else if (text_json_print(document_of(session, &report.unheeded)) < 0) {
		message("out of memory");
		code = EXIT_CODE_OUTPUT;
	}
	report_free(&report);
	return code;
}

int cmd_report(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (parsed.first_word < argc) {
		message("'%s' is no option; `seen help report` lists them",
			argv[parsed.first_word]);
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = session_find(parsed.config, session_name, &session);
		if (code == EXIT_CODE_OK) {
			code = report(&session);
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}
