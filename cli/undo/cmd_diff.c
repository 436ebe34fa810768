/*
 * `seen diff`: what a session changed, as one patch in git's format; or a kept version of a file
 * against what is on disk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/pager.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/session/session_command.h"
#include "cli/undo/diff_print.h"
#include "cli/undo/diff_range.h"
#include "cli/undo/diff_version.h"
#include "cli/undo/undo_session.h"
#include "tracker/segment/segment.h"

enum { COLUMNS = 80 };

static const char *session_name, *scope, *step, *since;
static bool json, stat_only, given;

static const struct option_spec SPECS[] = {
	{ "--step", "N", "of this step alone (`seen story`)", NULL, &step },
	{ "--since", "POINT",
	  "from a step (12), a prompt (p2, or its words) or a time (10m ago) on", NULL, &since },
	{ "--stat", NULL, "a table of files with their lines", &stat_only, NULL },
	{ "--json", NULL, "one JSON document, seen/diff/1", &json, NULL },
	{ "--session", "ID", "of this session; default: the newest of the workspace", NULL,
	  &session_name },
	{ "--given", NULL, "PATH against the version that an agent was given last", &given, NULL },
	{ "--scope", "ID", "the same of this scope", NULL, &scope },
};

static const struct options OPTIONS = {
	.usage = "diff [OPTION...] [PATH...] | diff [PATH] VERSION",
	.summary = "What a session changed in its workspace, as one patch in git's format for `git "
		   "apply` or `patch -p1`; or what became of a kept VERSION (`seen versions`).",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

static const struct patch_style *style(void)
{
	return text_style(stdout, "1")[0] ? &PATCH_COLOURED : &PATCH_PLAIN;
}

/* ---- of a version ---- */

/* Does the last of one or two words look like a version? */
static bool may_be_version(char **words)
{
	const char *word = words[0] && words[1] ? words[1] : words[0];

	return word && !(words[0] && words[1] && words[2]) && *word &&
	       strspn(word, "0123456789abcdefABCDEF") == strlen(word) && access(word, F_OK) < 0;
}

/* Returns whether the words name a version; then *ret_code is the exit code. */
static bool try_version(const struct config *config, char **words, int *ret_code)
{
	struct diff_version_request request = {
		.words = words, .is_given = given || scope, .scope = scope, .style = style()
	};
	struct versions versions;
	struct session session;

	if (!request.is_given && !may_be_version(words))
		return false;
	*ret_code = versions_find(config, session_name, &session, &versions);
	if (*ret_code != EXIT_CODE_OK)
		return true;
	bool is_version = request.is_given || words[1] || versions_is_digits(&versions, words[0]);
	if (is_version)
		*ret_code = diff_version(&session, &versions, &request);
	versions_free(&versions);
	session_close(&session);
	return is_version;
}

/* ---- of a session ---- */

static unsigned columns(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS;
}

static int print_json(const struct undo_session *session, const struct tree_records *records,
		      struct diff_set *set)
{
	json_t *document = json_object();

	(void)json_object_set_new(document, "schema", json_string("seen/diff/1"));
	(void)json_object_set_new(document, "session", text_json(session->name));
	(void)json_object_set_new(document, "workspace", text_json(session->workspace));
	int error = diff_print_json(document, records, set);
	return error < 0 ? error : text_json_print(document);
}

struct printing {
	const struct undo_session *session;
	uint64_t lost; /* undo_session_lost() */
	bool is_whole;
};

static int print(const struct tree_records *records, struct diff_set *set, void *data)
{
	struct printing *printing = data;
	const struct patch_style *chosen = style();
	unsigned width = columns();
	char text[UNDO_SESSION_TEXT_BYTES];
	uint64_t unrecorded = step ? 0 : undo_session_unrecorded(printing->lost, records);
	int error;

	if (json) {
		error = print_json(printing->session, records, set);
	} else {
		pager_start();
		error = stat_only ? diff_print_stat(stdout, records, set, chosen, width)
				  : diff_print_patch(stdout, records, set, chosen);
		pager_finish();
	}
	if (unrecorded)
		message("%s", undo_session_unrecorded_text(unrecorded, text));
	printing->is_whole = diff_print_is_whole(set) && !unrecorded;
	return error;
}

/* The words as absolute paths, ended by NULL; owned.  NULL: one is none, which is reported. */
static char **paths_of(char **words)
{
	size_t count = 0;

	while (words[count])
		count++;
	char **paths = calloc(count + 1, sizeof(*paths));
	if (!paths)
		message("%s", strerror(ENOMEM));
	for (size_t i = 0; i < count && paths; i++) {
		char path[SEGMENT_PATH_BYTES];
		int error = argument_path(words[i], path, sizeof(path));
		paths[i] = error < 0 ? NULL : strdup(path);
		if (paths[i])
			continue;
		message("%s: %s", words[i], strerror(error < 0 ? -error : ENOMEM));
		while (i > 0)
			free(paths[--i]);
		free(paths);
		return NULL;
	}
	return paths;
}

static int diff(const struct undo_session *session, char **paths)
{
	struct diff_request request = { .step = step, .since = since, .paths = paths };
	struct printing printing = { .session = session,
				     .lost = undo_session_lost(&session->session) };
	const struct diff_visitor visitor = { print, &printing };
	int code = diff_range_visit(session, &request, &visitor);

	return code == EXIT_CODE_OK && !printing.is_whole ? EXIT_CODE_PARTLY : code;
}

static int run(const struct config *config, char **words)
{
	struct undo_session session;
	int code;

	if (try_version(config, words, &code))
		return code;
	char **paths = paths_of(words);
	if (!paths)
		return EXIT_CODE_USAGE;
	code = undo_session_find(config, session_name, &session);
	if (code == EXIT_CODE_OK) {
		undo_session_mark(&session);
		if (access(session.undo, F_OK) < 0 && errno == ENOENT)
			undo_session_report_none(&session);
		code = diff(&session, words[0] ? paths : NULL);
		undo_session_close(&session);
	}
	for (size_t i = 0; paths[i]; i++)
		free(paths[i]);
	free(paths);
	return code;
}

static const char *refuse(char **words)
{
	if (step && since)
		return "--step and --since: one of them";
	if ((given || scope) && (step || since || stat_only || json))
		return "--given and --scope compare a kept version: --step, --since, --stat and "
		       "--json are for what the session changed";
	if ((given || scope) && (!words[0] || words[1]))
		return scope ? "--scope chooses a version of one PATH" : "--given takes one PATH";
	return NULL;
}

int cmd_diff(int argc, char **argv)
{
	const struct session_command command = {
		.options = &OPTIONS,
		.name = &session_name,
		.words_max = SESSION_COMMAND_ANY,
		.refuse = refuse,
	};
	struct parsed parsed = { .config = NULL };
	char **words;
	int code;

	if (session_command_parse(&command, argc, argv, &parsed, &words, &code) == 0)
		code = run(parsed.config, words);
	options_done(&parsed);
	return code;
}
