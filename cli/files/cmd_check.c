/*
 * `seen check`: is each file still what the agent takes it for?  Hooks of agents call it before a
 * write.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "cli/session/session_command.h"
#include "tracker/answer/tracker.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

static const char *session_name, *scope;
static bool json, quiet;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--scope", "ID", "compare with what this scope knows; default: the session", NULL,
	  &scope },
	{ "--quiet", NULL, "print nothing: the exit code is the answer", &quiet, NULL },
	{ "--json", NULL, "a JSON document, seen/check/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "check [OPTION...] PATH...",
	.summary = "Compares each file with what the agent was given, read or wrote last. The "
		   "bytes decide. The exit code is 0 when all files are fresh. Else it is that of "
		   "the most serious state: 9 changed, 10 deleted, 11 untracked.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* The most serious of several wins. */
static int worse(int code, int other)
{
	static const int ORDER[] = { EXIT_CODE_CHANGED, EXIT_CODE_DELETED, EXIT_CODE_UNTRACKED };

	for (size_t i = 0; i < sizeof(ORDER) / sizeof(ORDER[0]); i++)
		if (code == ORDER[i] || other == ORDER[i])
			return ORDER[i];
	return EXIT_CODE_OK;
}

static void print_state(const struct segment *segment, const char *path, enum state state)
{
	static const char *const COLORS[] = { [STATE_UNTRACKED] = "2",
					      [STATE_FRESH] = "32",
					      [STATE_CHANGED] = "33",
					      [STATE_DELETED] = "33" };
	char shown[SEGMENT_PATH_BYTES * 4];

	if (path_escape(path_relative(segment, path), shown, sizeof(shown)) < 0)
		return;
	(void)printf("%s%-9s%s  %s\n", text_style(stdout, COLORS[state]), state_name(state),
		     text_style(stdout, "0"), shown);
}

static json_t *json_state(const struct segment *segment, uint64_t scope_id, const char *path,
			  enum state state)
{
	json_t *object = json_object();
	char digits[VERSION_DIGITS + 1];
	struct version version;
	bool is_known = tracker_baseline(segment, scope_id, path, &version);

	version_digits(&version, digits);
	(void)json_object_set_new(object, "path", text_json(path_relative(segment, path)));
	(void)json_object_set_new(object, "state", json_string(state_name(state)));
	(void)json_object_set_new(object, "version", is_known ? json_string(digits) : json_null());
	return object;
}

static int print_document(const struct session *session, uint64_t scope_id, json_t *files)
{
	json_t *document = session_document(session, "seen/check/1");

	(void)json_object_set_new(document, "scope", session_document_scope(scope_id));
	(void)json_object_set_new(document, "files", files);
	return text_json_print(document);
}

static int check(const struct session *session, char **words)
{
	static const int CODES[] = { [STATE_UNTRACKED] = EXIT_CODE_UNTRACKED,
				     [STATE_FRESH] = EXIT_CODE_OK,
				     [STATE_CHANGED] = EXIT_CODE_CHANGED,
				     [STATE_DELETED] = EXIT_CODE_DELETED };
	const struct segment *segment = &session->segment;
	char path[SEGMENT_PATH_BYTES];
	uint64_t scope_id = 0;
	int code = scope ? scopes_choose(segment, scope, &scope_id) : EXIT_CODE_OK;

	if (code != EXIT_CODE_OK)
		return code;
	json_t *files = json ? json_array() : NULL;
	for (; *words; words++) {
		int error = argument_path(*words, path, sizeof(path));
		if (error < 0) {
			message("%s: %s", *words, strerror(-error));
			json_decref(files);
			return EXIT_CODE_USAGE;
		}
		enum state state = tracker_state(segment, scope_id, path);
		code = worse(code, CODES[state]);
		if (json)
			(void)json_array_append_new(files,
						    json_state(segment, scope_id, path, state));
		else if (!quiet)
			print_state(segment, path, state);
	}
	if (json && print_document(session, scope_id, files) < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return code;
}

static const char *refuse(char **words)
{
	(void)words;
	return json && quiet ? "--quiet prints nothing, --json does" : NULL;
}

int cmd_check(int argc, char **argv)
{
	return session_command(&(struct session_command){ .options = &OPTIONS,
							  .name = &session_name,
							  .words_min = 1,
							  .words_max = SESSION_COMMAND_ANY,
							  .words_wrong = "check what? Name files",
							  .refuse = refuse,
							  .act = check },
			       argc, argv);
}
