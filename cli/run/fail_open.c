/* A setting that is wrong: see fail_open.h. */
#include "cli/run/fail_open.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/enable/starter.h"
#include "config/load.h"

/* Of the workspace's file; "": it is in force, or there is none. */
static struct config_error left_out;

static int start_bare(char **words)
{
	starter_mark(words[0]);
	(void)execvp(words[0], words);
	message("%s: %s", words[0], strerror(errno));
	return errno == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE;
}

int fail_open_load(struct parsed *parsed, char **words, int *ret_code)
{
	struct config_error error, without;

	if (options_try(parsed, &error) == 0)
		return 0;
	parsed->request.without_workspace_file = true;
	if (options_try(parsed, &without) == 0) {
		left_out = error;
		fail_open_print();
		return 0;
	}
	if (!words[0] || config_may_refuse(&parsed->request)) {
		message("%s", without.text);
		*ret_code = EXIT_CODE_FAILED;
		if (words[0])
			message("your settings name rules or a confinement, which would not hold: "
				"%s is not started",
				words[0]);
		return -1;
	}
	message("%s; %s is started without seen: nothing is observed, kept or guarded",
		without.text, words[0]);
	*ret_code = start_bare(words);
	return -1;
}

void fail_open_print(void)
{
	if (left_out.text[0])
		message("%s; the workspace's .seen.ini is left out", left_out.text);
}
