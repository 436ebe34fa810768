/*
 * `seen redo`: takes the last undo back.
 */
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/undo/undo_paths.h"
#include "cli/undo/undo_run.h"

static const char *session_name;
static struct undo_request request;

static const struct option_spec SPECS[] = {
	{ "--dry-run", NULL, "only show what would be done", &request.dry_run, NULL },
	{ "--force", NULL, "also what was changed since, and while a step runs", &request.force,
	  NULL },
	{ "--json", NULL, "as JSON (schema seen/undo/1)", &request.json, NULL },
	{ "--session", "ID", "of this session", NULL, &session_name },
};

static const struct options OPTIONS = {
	.usage = "redo [OPTION...]",
	.summary = "Takes the last `seen undo` back that was not redone yet: what was there before "
		   "it is there again. What changed since is left and listed (exit code 12).",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

int cmd_redo(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	request.kind = OPERATION_REDO;
	if (options_parse_alone(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
	    options_load(&parsed, &code) == 0)
		code = undo_run(parsed.config, session_name, &request);
	options_done(&parsed);
	return code;
}
