/* Launchers: see launcher.h. */
#include "cli/run/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "cli/run/npm_package.h"
#include "cli/run/shell_script.h"
#include "cli/run/version_manager.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/sys/sys.h"

enum { SCRIPT_BYTES = 65536 };

/* Programs that become their last operands: which of their options take the next word as a value,
 * and how many operands stand before the command. */
static const struct rule {
	const char *name;
	const char *short_options; /* letters */
	const char *long_options;  /* words between spaces */
	int operands;
	bool has_variables; /* NAME=VALUE before the command */
} RULES[] = {
	{ "timeout", "ks", " --kill-after --signal ", 1, false },
	{ "env", "uC", " --unset --chdir ", 0, true },
	{ "nice", "n", " --adjustment ", 0, false },
	{ "ionice", "cn", " --class --classdata ", 0, false },
	{ "nohup", "", "", 0, false },
	{ "setsid", "", "", 0, false },
	{ "stdbuf", "ioe", " --input --output --error ", 0, false },
	{ "taskset", "", "", 1, false },
	{ "chrt", "TPD", " --sched-runtime --sched-period --sched-deadline ", 1, false },
	{ "time", "fo", " --format --output ", 0, false },
	{ "unbuffer", "", "", 0, false },
	{ "xvfb-run", "efnsp", "", 0, false },
};

/* How many words stand before the command; 0: that is not known. */
static size_t words_before(const struct rule *rule, char *const words[])
{
	int operands = rule->operands;

	for (size_t i = 1; words[i]; i++) {
		const char *word = words[i];
		char letter = word[0] == '-' ? word[1] : '\0';
		if (strcmp(word, "--") == 0)
			return words[i + 1] && !operands ? i + 1 : 0;
		if (letter == '-') {
			char spaced[64];
			(void)snprintf(spaced, sizeof(spaced), " %s ", word);
			i += strstr(rule->long_options, spaced) && words[i + 1];
		} else if (letter) {
			if (strcmp(rule->name, "env") == 0 && letter == 'S')
				return 0;
			i += strchr(rule->short_options, letter) && !word[2] && words[i + 1];
		} else if (!(rule->has_variables && strchr(word, '=')) && operands-- <= 0) {
			return i;
		}
	}
	return 0;
}

/* ---- the words ---- */

/* Puts `first` in front of what stands behind `taken` of the words. */
static int replace(struct launch *launch, char *const first[], size_t taken)
{
	size_t count = 0, rest = 0;

	while (first && first[count])
		count++;
	while (launch->words[taken + rest])
		rest++;
	char **words = calloc(count + rest + 1, sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < count + rest; i++) {
		words[i] = strdup(i < count ? first[i] : launch->words[taken + i - count]);
		if (!words[i]) {
			while (i > 0)
				free(words[--i]);
			free(words);
			return -ENOMEM;
		}
	}
	for (size_t i = 0; launch->words[i]; i++)
		free(launch->words[i]);
	free(launch->words);
	launch->words = words;
	return 0;
}

void launch_free(struct launch *launch)
{
	for (size_t i = 0; launch->words && launch->words[i]; i++)
		free(launch->words[i]);
	free(launch->words);
	launch->words = NULL;
}

/* ---- one step ---- */

enum step { STEP_NONE, STEP_KEPT, STEP_OTHER, STEP_UNCLEAR };

/* A shell's script, or the words behind its -c.  words: how many of them stand for it. */
static int follow_text(struct launch *launch, char *text, const char *path, size_t words,
		       enum step *ret_step)
{
	char *first[SHELL_SCRIPT_WORDS];
	int error = shell_script_command(text, path, first);

	bool is_empty = error == 0 && !first[0] && !launch->words[words];
	if (error == -ENOENT || is_empty) {
		*ret_step = STEP_UNCLEAR;
		return 0;
	}
	if (error == 0) {
		error = replace(launch, first, words);
		shell_script_free(first);
		*ret_step = STEP_OTHER;
	}
	return error;
}

static int follow_script(struct launch *launch, const char *path, size_t words, enum step *ret_step)
{
	char *text = calloc(1, SCRIPT_BYTES);
	int error = text ? 0 : -ENOMEM;

	*ret_step = STEP_UNCLEAR;
	if (text && sys_read_file(path, text, SCRIPT_BYTES) > 0)
		error = follow_text(launch, text, path, words, ret_step);
	free(text);
	return error;
}

/* sh -c TEXT, sh FILE. */
static int follow_shell(struct launch *launch, const struct invocation *invocation,
			enum step *ret_step)
{
	char **words = launch->words;

	*ret_step = STEP_NONE;
	if (words[1] && words[1][0] != '-')
		return follow_script(launch, words[1], 2, ret_step);
	for (size_t i = 1; invocation->runs_command && words[i] && words[i][0] == '-'; i++) {
		if (!strchr(words[i], 'c') || !words[i + 1])
			continue;
		char *text = strdup(words[i + 1]);
		int error = text ? follow_text(launch, text, "", i + 2, ret_step) : -ENOMEM;
		free(text);
		return error;
	}
	return 0;
}

static int follow_by_rule(struct launch *launch, const char *name, enum step *ret_step)
{
	for (size_t i = 0; i < sizeof(RULES) / sizeof(RULES[0]); i++) {
		if (strcmp(RULES[i].name, name) != 0)
			continue;
		size_t before = words_before(&RULES[i], launch->words);
		*ret_step = before ? STEP_KEPT : STEP_UNCLEAR;
		launch->kept += before;
		return before ? replace(launch, NULL, before) : 0;
	}
	return 0;
}

/* npx and version managers, which name a program that is elsewhere. */
static int follow_by_name(struct launch *launch, const char *name, enum step *ret_step)
{
	char path[PATH_MAX];
	char *first[] = { path, NULL };
	size_t taken = 0;
	bool is_kept = false;
	int found = npm_package_find(name, launch->words, path, &taken);

	if (found == -EINVAL)
		found = version_manager_find(launch->words, path, &taken, &is_kept);
	if (found == -EINVAL)
		return 0;
	*ret_step = found < 0 ? STEP_UNCLEAR : is_kept ? STEP_KEPT : STEP_OTHER;
	launch->kept += is_kept && found == 0;
	return found < 0 ? 0 : replace(launch, first, taken);
}

static int follow_once(const struct segment *segment, struct launch *launch,
		       struct executable *chain, enum step *ret_step)
{
	char missing[PATH_MAX];
	const char *name = path_base(launch->words[0]);
	struct invocation invocation;
	int count = executable_chain(launch->words[0], chain, missing);

	*ret_step = STEP_NONE;
	if (count <= 0)
		return 0;
	char **list = executable_words(chain, count, launch->words);
	if (!list)
		return -ENOMEM;
	role_invocation(segment, chain[count - 1].path, list, &invocation);
	free(list);
	if (invocation.role == ROLE_AGENT)
		return 0;
	int error = follow_by_name(launch, name, ret_step);
	if (error == 0 && *ret_step == STEP_NONE)
		error = follow_by_rule(launch, name, ret_step);
	if (error < 0 || *ret_step != STEP_NONE || invocation.role != ROLE_SHELL)
		return error;
	return count > 1 ? follow_script(launch, chain[0].found, 1, ret_step)
			 : follow_shell(launch, &invocation, ret_step);
}

static void note_name(char *ret_name, const char *word)
{
	(void)snprintf(ret_name, LAUNCHER_NAME_BYTES, "%s", path_base(word));
}

int launch_follow(const struct segment *segment, char *const words[], struct launch *ret_launch)
{
	struct executable *chain = calloc(EXECUTABLE_CHAIN_MAX, sizeof(*chain));
	struct launch launch = { .words = calloc(1, sizeof(char *)) };
	int error = chain && launch.words ? replace(&launch, words, 0) : -ENOMEM;
	enum step step = STEP_KEPT;
	bool is_kept = true;

	while (error == 0 && launch.words[0] && launch.name_count < LAUNCHERS_MAX) {
		char name[LAUNCHER_NAME_BYTES];
		note_name(name, launch.words[0]);
		error = follow_once(segment, &launch, chain, &step);
		if (error < 0 || step == STEP_NONE)
			break;
		if (step == STEP_UNCLEAR) {
			memcpy(launch.unclear, name, sizeof(name));
			break;
		}
		is_kept = is_kept && step == STEP_KEPT;
		memcpy(launch.names[launch.name_count++], name, sizeof(name));
	}
	free(chain);
	if (!is_kept)
		launch.kept = 0;
	if (error < 0)
		launch_free(&launch);
	else
		*ret_launch = launch;
	return error;
}
