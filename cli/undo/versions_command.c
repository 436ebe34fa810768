/* What the commands about versions share: see versions_command.h. */
#include "cli/undo/versions_command.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"

int versions_command(const struct session_command *command,
		     int (*act)(const struct session *session, struct versions *versions,
				char **words),
		     int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct versions versions;
	struct session session;
	char **words;
	int code;

	if (session_command_parse(command, argc, argv, &parsed, &words, &code) == 0) {
		code = versions_find(parsed.config, *command->name, &session, &versions);
		if (code == EXIT_CODE_OK) {
			code = act(&session, &versions, words);
			versions_free(&versions);
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}

int versions_named(const struct versions *versions, char **words, char *ret_path,
		   const struct versions_row **ret_row)
{
	bool has_path = words[1] != NULL;
	int error = has_path ? versions_path(versions, words[0], ret_path, SEGMENT_PATH_BYTES) : 0;

	if (error < 0) {
		message("%s: %s", words[0], strerror(-error));
		return EXIT_CODE_USAGE;
	}
	int code = versions_choose(versions, has_path ? ret_path : NULL, words[has_path], ret_row);
	if (code == EXIT_CODE_OK && !has_path)
		(void)snprintf(ret_path, SEGMENT_PATH_BYTES, "%s", (*ret_row)->path);
	return code;
}
