/*
 * `seen answer WORD ...`: answers for a process of a session, in its place or below it.  Only the
 * library, and agents as a hook, run this.
 *
 * 	request TEXT                    a reader's command: the notice, as the library made it
 * 	hook AGENT                      what an agent tells its hook: descriptor 0; 1 takes the answer
 * 	diff SESSION BEFORE NOW TIME PATH	what changed in a file: descriptor 0 is the file, 1 takes the text
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/files/answer_diff.h"
#include "cli/hooks/hook.h"
#include "cli/session/session.h"
#include "tracker/answer/decision.h"
#include "tracker/content/contents_name.h"
#include "tracker/path/decimal.h"

static const struct options OPTIONS = {
	.usage = "answer WORD [ARGUMENT...]",
	.summary = "Answers for a process of a session.  The library and hooks run this.",
};

/* Returns enum diff_status. */
static int diff(int count, char **words)
{
	char path[SEGMENT_PATH_BYTES];
	struct diff_question question = { .is_bare = false };
	struct segment segment;

	if (count != 5 || !contents_version(words[1], &question.before) ||
	    !contents_version(words[2], &question.now) ||
	    !decimal_parse(words[3], &question.given_realtime_ns))
		return DIFF_FAILED;
	question.path = words[4];
	/* No process waits for its end, and it may leave nothing in the viewer's directory. */
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	(void)signal(SIGXFSZ, SIG_IGN);
	if (session_path(path, sizeof(path), words[0], "segment") < 0 ||
	    segment_map(path, &segment) < 0)
		return DIFF_FAILED;
	int status = answer_diff(&segment, &question, STDIN_FILENO, STDOUT_FILENO);
	segment_unmap(&segment);
	return status;
}

/* The program that stood in this process ended with 0, or its command would not be remembered
 * (shim/preload/follow/reader.c). */
static int request(int count, char **words)
{
	if (count != 1)
		return EXIT_CODE_USAGE;
	return fputs(words[0], stdout) < 0 || fflush(stdout) != 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
}

int cmd_answer(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		int count = argc - parsed.first_word;
		char **words = argv + parsed.first_word;
		if (count > 0 && strcmp(words[0], "diff") == 0) {
			code = diff(count - 1, words + 1);
		} else if (count > 0 && strcmp(words[0], "request") == 0) {
			code = request(count - 1, words + 1);
		} else if (count == 2 && strcmp(words[0], "hook") == 0) {
			hook_run(words[1]);
			exit(EXIT_CODE_OK); /* also where the answer could not be written */
		} else {
			message("answer takes one of the words that the library knows");
			code = EXIT_CODE_USAGE;
		}
	}
	options_done(&parsed);
	return code;
}
