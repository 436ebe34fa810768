/*
 * `seen story`: a session as steps, each with the files that it made, changed and removed.
 */
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/pager.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/session_command.h"
#include "cli/undo/story_print.h"
#include "cli/undo/undo_session.h"
#include "tracker/path/decimal.h"

static const char *session_name, *only;
static bool json, changed_only;

static const struct option_spec SPECS[] = {
	{ "--step", "N", "this step alone, with all of its files", NULL, &only },
	{ "--changed", NULL, "only steps that changed something", &changed_only, NULL },
	{ "--json", NULL, "one JSON document, seen/story/1", &json, NULL },
	{ "--session", "ID", "of this session; default: the newest of the workspace", NULL,
	  &session_name },
};

static const struct options OPTIONS = {
	.usage = "story [OPTION...]",
	.summary = "A session as numbered steps: each command, and each time the agent changed "
		   "files by itself (EXIT: own), with the lines added and removed. `seen diff "
		   "--step N` shows what one changed.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

/* Returns an exit code. */
static int parse(const struct undo_session *session, struct story_wish *ret_wish)
{
	uint64_t number = 0;
	const char *end = only ? decimal_parse(only, &number) : "";

	*ret_wish = (struct story_wish){ .changed_only = changed_only };
	if (!end || *end) {
		message("--step takes the number of a step");
		return EXIT_CODE_USAGE;
	}
	if (only && (number > UINT32_MAX || !steps_numbered(&session->steps, (uint32_t)number))) {
		message("there is no step %s: `seen story` lists them", only);
		return EXIT_CODE_NOTHING;
	}
	ret_wish->only = (uint32_t)number;
	return EXIT_CODE_OK;
}

static int print(const struct undo_session *session, const struct story *story,
		 const struct story_wish *wish)
{
	char gaps[STORY_GAPS_BYTES];
	struct sheet sheet;

	if (json) {
		json_t *document = json_object();
		(void)json_object_set_new(document, "schema", json_string("seen/story/1"));
		(void)json_object_set_new(document, "session", text_json(session->name));
		(void)json_object_set_new(document, "workspace", text_json(session->workspace));
		(void)json_object_set_new(document, "damaged",
					  json_integer((json_int_t)story->records.damaged));
		(void)json_object_set_new(document, "journal", json_boolean(story->has_journal));
		(void)json_object_set_new(document, "lost_records",
					  json_integer((json_int_t)story->lost_records));
		(void)json_object_set_new(document, "without_step",
					  json_integer((json_int_t)story->without_step));
		(void)json_object_set_new(document, "unrecorded",
					  json_integer((json_int_t)story->unrecorded));
		(void)json_object_set_new(document, "steps", story_json(story, wish));
		int error = text_json_print(document);
		if (error < 0)
			message("%s", strerror(-error));
		return error < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
	}
	if (!story->count) {
		message("session %s has no step%s", session->name,
			story->has_journal ? " yet" : "");
		if (story_gaps(story, gaps)[0])
			message("%s", gaps);
		return EXIT_CODE_NOTHING;
	}
	sheet_init(&sheet, stdout, SHEET_TEXT);
	pager_start();
	story_print(story, wish, &sheet);
	pager_finish();
	if (story_gaps(story, gaps)[0])
		message("%s", gaps);
	if (story->records.dropped_parts)
		message("the oldest steps cannot be undone any more: what is kept reached [undo] "
			"max_bytes");
	if (story->records.damaged)
		message("%llu of the undo records are damaged, and left out",
			(unsigned long long)story->records.damaged);
	return EXIT_CODE_OK;
}

static int run(const struct undo_session *session)
{
	struct story_wish wish;
	struct story story;
	int code = parse(session, &wish);

	if (code != EXIT_CODE_OK)
		return code;
	bool has_segment = session->session.segment.header != NULL;
	int error = story_make(&session->steps, session->undo, session->workspace,
			       has_segment ? &session->session : NULL, wish.only, &story);
	if (error < 0) {
		message("%s: %s", session->undo, strerror(-error));
		code = EXIT_CODE_BAD_SESSION;
	} else {
		code = print(session, &story, &wish);
	}
	story_free(&story);
	return code;
}

int cmd_story(int argc, char **argv)
{
	const struct session_command command = {
		.options = &OPTIONS,
		.name = &session_name,
		.words_wrong = "story takes no words",
	};
	struct parsed parsed = { .config = NULL };
	struct undo_session session;
	char **words;
	int code;

	if (session_command_parse(&command, argc, argv, &parsed, &words, &code) == 0) {
		code = undo_session_find(parsed.config, session_name, &session);
		if (code == EXIT_CODE_OK) {
			undo_session_mark(&session);
			code = run(&session);
			undo_session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}
