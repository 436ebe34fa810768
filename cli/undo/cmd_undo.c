/*
 * `seen undo`: takes back what a session's processes changed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/git2.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/undo/pick_run.h"
#include "cli/undo/undo_paths.h"
#include "cli/undo/undo_run.h"

static const char *session_name;
static struct undo_request request;

static const struct option_spec SPECS[] = {
	{ "--last", NULL, "the last step that is not undone; with PATH: that changed it",
	  &request.last, NULL },
	{ "--step", "N", "step N alone; what later steps changed, too, is left", NULL,
	  &request.step },
	{ "--since", "POINT",
	  "all from a step (12), a prompt (p2, or its words) or a time (10m ago) on", NULL,
	  &request.since },
	{ "--all", NULL, "the whole session", &request.all, NULL },
	{ "--dry-run", NULL, "only show what would be done", &request.dry_run, NULL },
	{ "--merge", NULL, "what others changed, too, is merged; conflicts are marked",
	  &request.merge, NULL },
	{ "--force", NULL, "also what was changed since, and while a step runs", &request.force,
	  NULL },
	{ "--times", NULL, "modification times, too, of content that comes back", &request.times,
	  NULL },
	{ "--continue", NULL, "finish an undo that was interrupted", &request.resumes, NULL },
	{ "--json", NULL, "as JSON (schema seen/undo/1)", &request.json, NULL },
	{ "--session", "ID", "of this session", NULL, &session_name },
};

static const struct options OPTIONS = {
	.usage = "undo [OPTION...] [PATH...]",
	.summary =
		"Takes back what the session's commands and its agent changed, shell commands "
		"included; PATH: only there and below. `seen story` numbers the steps. What an "
		"external program changed since is left and listed (exit code 12). `seen redo` "
		"takes an undo back. Alone, on a terminal: the steps, to choose from; without one, "
		"only shows what --last would do.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

static int ways(void)
{
	return request.last + (request.step != NULL) + (request.since != NULL) + request.all +
	       request.resumes;
}

/* On a terminal `seen undo` alone is the picker. */
static int undo_picked(const struct config *config)
{
	struct pick_choice choice = { .is_shown = false };
	int code = request.paths || request.dry_run || request.json
			   ? EXIT_CODE_OK
			   : pick_run(config, session_name, &request, &choice);

	if (code != EXIT_CODE_OK || (choice.is_shown && !choice.is_made))
		return code;
	if (choice.is_made)
		return undo_run(config, choice.session, &request);
	request.dry_run = true;
	code = undo_run(config, session_name, &request);
	bool has_more = request.paths || request.merge || request.force || request.times ||
			session_name;
	if (code == EXIT_CODE_OK)
		message(has_more ? "`seen undo --last` with the same options and paths does this"
				 : "`seen undo --last` does this");
	return code;
}

int cmd_undo(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	request.kind = OPERATION_UNDO;
	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		if (ways() > 1) {
			message("only one of --last, --step, --since, --all, --continue");
			code = EXIT_CODE_USAGE;
		} else if (request.resumes && request.dry_run) {
			message("--continue: without --dry-run");
			code = EXIT_CODE_USAGE;
		} else if (request.merge && (request.force || request.resumes)) {
			message("--merge: without --force and --continue");
			code = EXIT_CODE_USAGE;
		} else if (request.merge && !git2_load()) {
			message("--merge needs %s", git2_name());
			code = EXIT_CODE_USAGE;
		} else if (options_load(&parsed, &code) == 0) {
			code = undo_paths(argv + parsed.first_word, &request.paths);
			if (code == EXIT_CODE_OK)
				code = ways() ? undo_run(parsed.config, session_name, &request)
					      : undo_picked(parsed.config);
			undo_paths_free(request.paths);
		}
	}
	options_done(&parsed);
	return code;
}
