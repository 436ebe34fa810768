/* `seen confined`: what `seen run --confine` starts in the confinement that it made. */
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/run/confined.h"

static const struct options OPTIONS = {
	.usage = "confined LIST,SOCKET,STDERR run ...",
	.summary = "For `seen run --confine`, which starts this with three descriptors of its own "
		   "where the kernel confines it: checks that protected files are out of reach, "
		   "and goes on as `seen run`.",
};

int cmd_confined(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code = EXIT_CODE_USAGE;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		char **words = argv + parsed.first_word;
		int count = argc - parsed.first_word;
		code = EXIT_CODE_FAILED;
		if (count < 2 || strcmp(words[1], "run") != 0) {
			message("`seen run --confine` starts this");
			code = EXIT_CODE_USAGE;
		} else if (confined_enter(words[0])) {
			code = cmd_run(count - 1, words + 1);
		}
	}
	options_done(&parsed);
	return code;
}
