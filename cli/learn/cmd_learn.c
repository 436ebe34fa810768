/* `seen learn`: a policy of what sessions did. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/learn/learned.h"
#include "cli/learn/learned_print.h"
#include "cli/learn/learned_reduce.h"
#include "cli/session/journal_file.h"
#include "cli/session/settings_only.h"

static const char *format, *journal;
static bool complains;

static const struct option_spec SPECS[] = {
	{ "--format", "FORMAT", "rules: a seen.ini; bwrap: a script; landlock: JSON", NULL,
	  &format },
	{ "--complain", NULL, "rules that report what is new, and refuse nothing", &complains,
	  NULL },
	{ "--journal", "FILE", "this journal, in place of sessions", NULL, &journal },
};

static const struct options OPTIONS = {
	.usage = "learn [OPTION...] [SESSION...]",
	.summary =
		"Makes a policy of what sessions of one workspace did: places that were written, "
		"run and read, few, each with all below it. Under `seen run --config FILE` the "
		"same work passes, and what is new is refused and a finding. A directory that "
		"holds "
		"the home directory or the workspace is no place: that its names were listed is a "
		"rule of its own, and a line at the beginning names what was left out. A policy "
		"that is too long for a session is named on standard error. Default: the "
		"workspace's newest session.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* Adds one session, or journal.  Returns an exit code. */
static int learn(const struct config *config, struct learned *learned, const char *session)
{
	char path[PATH_MAX];
	int code = journal_file_find(config, session, journal, path, sizeof(path));
	int error = code == EXIT_CODE_OK ? learned_read(learned, path) : 0;

	if (error == -EXDEV) {
		message("%s: another workspace than that of the sessions before",
			session ? session : path);
		return EXIT_CODE_USAGE;
	}
	return error < 0 ? journal_file_failed(path, error) : code;
}

/* A session has room for so many names; a policy that is longer starts no run. */
static void warn_of_length(const struct config *config, const struct learned *learned)
{
	struct settings_only only = { .header = NULL };
	struct config_error why;
	size_t bytes = 0;
	int error = settings_only_init(config, &only, &why);

	for (size_t use = 0; use < LEARNED_USES; use++)
		for (size_t i = 0; i < learned->counts[use]; i++) {
			const struct learned_place *place = &learned->places[use][i];
			bytes += strlen(place->path ? place->path : place->glob) + 1;
		}
	if (error == 0 && bytes + only.text_used > SETTINGS_TEXT_BYTES_MAX)
		message("the places of this policy take %zu bytes, and a session has room for %zu: "
			"`seen run --config` does not start with it; put directories in place of "
			"what they hold",
			bytes, SETTINGS_TEXT_BYTES_MAX - only.text_used);
	settings_only_destroy(&only);
}

static int print_policy(const struct config *config, const struct learned *learned)
{
	if (format && strcmp(format, "bwrap") == 0)
		return learned_print_bwrap(learned);
	if (format && strcmp(format, "landlock") == 0)
		return learned_print_landlock(learned);
	warn_of_length(config, learned);
	return learned_print_rules(learned, complains);
}

static int print(const struct config *config, struct learned *learned)
{
	int error = learned_reduce(learned);

	learned_sort(learned);
	if (error == 0)
		error = print_policy(config, learned);
	if (error < 0)
		message("out of memory");
	return message_exit_code(error < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK);
}

static int run(const struct config *config, char **words, int count)
{
	struct learned learned;
	int code = learned_init(config, &learned) < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;

	if (code == EXIT_CODE_OK && count == 0)
		code = learn(config, &learned, NULL);
	for (int i = 0; i < count && code == EXIT_CODE_OK; i++)
		code = learn(config, &learned, words[i]);
	if (code == EXIT_CODE_OK && learned.accesses == 0) {
		message("nothing is on record that could be learned");
		code = EXIT_CODE_NOTHING;
	}
	if (code == EXIT_CODE_OK)
		code = print(config, &learned);
	learned_destroy(&learned);
	return code;
}

int cmd_learn(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		if (format && strcmp(format, "rules") != 0 && strcmp(format, "bwrap") != 0 &&
		    strcmp(format, "landlock") != 0) {
			message("--format %s is none of: rules, bwrap, landlock", format);
			code = EXIT_CODE_USAGE;
		} else if (complains && format && strcmp(format, "rules") != 0) {
			message("--complain is for rules: the kernel only refuses");
			code = EXIT_CODE_USAGE;
		} else if (options_load(&parsed, &code) == 0) {
			code = run(parsed.config, argv + parsed.first_word,
				   argc - parsed.first_word);
		}
	}
	options_done(&parsed);
	return code;
}
