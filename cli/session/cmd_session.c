/*
 * `seen session NAME`: prints the directory of a session, made if it is new.  The library asks this
 * when a program is started with LD_PRELOAD and SEEN_SESSION=NAME and without `seen run`.
 */
#include <stdio.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/session/session.h"
#include "cli/session/session_make.h"

static const struct options OPTIONS = {
	.usage = "session [OPTION...] NAME",
	.summary = "Prints the directory of a session, which is created if it is new.",
};

int cmd_session(int argc, char **argv)
{
	struct parsed parsed = { .is_silent = true };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
	    options_load(&parsed, &code) == 0) {
		code = EXIT_CODE_USAGE;
		if (argc - parsed.first_word != 1) {
			message("session takes one name");
		} else {
			int error = session_make(parsed.config, argv[parsed.first_word], &session);
			if (error < 0) {
				message("session %s: %s", argv[parsed.first_word],
					session_explain(error));
				code = EXIT_CODE_BAD_SESSION;
			} else {
				(void)printf("%s\n", session.directory);
				session_close(&session);
				code = EXIT_CODE_OK;
			}
		}
	}
	options_done(&parsed);
	return code;
}
