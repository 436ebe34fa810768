/*
 * seen: the program.  A map of the code:
 *
 * 	command.h     the commands, once; each is cmd_NAME.c in the room of its subject
 * 	base/         options, help, messages, JSON, text; cmd_config.c
 * 	session/      sessions on disk, scopes, coverage, summary; status, sessions, gc, session
 * 	journal/      reading and printing events, the seal; log, history, verify
 * 	run/          the watcher, the supervisor's start; run, doctor
 * 	enable/       launchers of agents, files of shells; enable, disable, enabled
 * 	agents/       hooks and transcripts of agents; hooks; demo_agent.c: the agent of scripts/run
 * 	files/        files, check, changed, edited, mention, forget, context, answer
 * 	undo/         steps, what they changed; story, diff, blame; kept versions; versions, restore
 * 	export/       export, a file for each format
 * 	replay/       replay, a file for each format of transcripts
 * 	report/       report: gathered by report.c, written by report_print.c, report_json.c, report_html.c
 * 	top/          top
 * 	learn/        learn
 * 	confine/      what the kernel is to keep from a run
 *
 * 	../shim/preload/   the library inside the agent's processes
 * 	../tracker/        what both share: the segment and the decision
 * 	../config/         options
 */
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/help.h"
#include "cli/base/help_json.h"
#include "cli/base/mapped.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/commit.h"
#include "cli/enable/launch.h"
#include "config/nearest.h"

struct command {
	const char *name;
	const char *summary;
	int (*call)(int argc, char **argv);
	int hidden;
};

static const struct command ALL[] = {
#define COMMAND(name, summary, hidden) { #name, summary, cmd_##name, hidden },
	COMMANDS(COMMAND)
#undef COMMAND
};

enum { COMMAND_COUNT = sizeof(ALL) / sizeof(ALL[0]) };

static void print_usage(FILE *file)
{
	struct help_entry entries[COMMAND_COUNT + 1];
	size_t count = 0;

	for (int i = 0; i < COMMAND_COUNT; i++)
		if (!ALL[i].hidden)
			entries[count++] = (struct help_entry){ ALL[i].name, ALL[i].summary };
	entries[count++] = (struct help_entry){ "help", "COMMAND, options or exit" };
	(void)fprintf(file, "usage: seen COMMAND [OPTION...]\n\n");
	help_list(file, entries, count);
	(void)fprintf(file, "\n  seen run -- codex         wrap an agent\n"
			    "  seen status               what it saved\n"
			    "  seen doctor -- codex      what would be observed of it\n");
}

static void print_exit_codes(void)
{
	static const struct {
		int number;
		const char *text;
	} CODES[] = {
#define EXIT(name, number, text) { number, text },
		EXIT_CODES(EXIT)
#undef EXIT
	};
	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++)
		(void)printf("%4d  %s\n", CODES[i].number, CODES[i].text);
	(void)printf("128+N  `run`: the program was ended by signal N\n");
}

static const struct command *find(const char *name)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(name, ALL[i].name) == 0)
			return &ALL[i];
	return NULL;
}

/* What help_divert() left of the command that was asked last. */
static const struct options *asked_options;

static void keep_options(const struct options *options)
{
	asked_options = options;
}

/* `seen help --json`, for manual pages, completions and other programs: seen/help/1. */
static int print_json(void)
{
	json_t *commands = json_array();

	help_divert(keep_options);
	for (int i = 0; i < COMMAND_COUNT; i++) {
		char *words[] = { (char *)ALL[i].name, (char *)"--help", NULL };
		asked_options = NULL;
		(void)ALL[i].call(2, words);
		if (!ALL[i].hidden && asked_options)
			(void)json_array_append_new(
				commands,
				help_json_command(ALL[i].name, ALL[i].summary, asked_options));
	}
	help_divert(NULL);
	return help_json_print(SEEN_VERSION, commands);
}

static int unknown(const char *word)
{
	if (word[0] == '-') {
		message("%s comes after the command: `seen COMMAND %s ...`", word, word);
		return EXIT_CODE_USAGE;
	}
	const char *names[COMMAND_COUNT + 1];
	size_t count = 0;

	for (int i = 0; i < COMMAND_COUNT; i++)
		if (!ALL[i].hidden)
			names[count++] = ALL[i].name;
	names[count++] = "help";
	const char *nearest = nearest_name(word, names, count);
	if (nearest)
		message("there is no command '%s'; did you mean '%s'?", word, nearest);
	else
		message("there is no command '%s'; `seen help` lists them", word);
	return EXIT_CODE_USAGE;
}

static int help(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stdout);
		return EXIT_CODE_OK;
	}
	if (strcmp(argv[1], "help") == 0) {
		(void)puts(
			"usage: seen help [COMMAND]\n\n"
			"  seen help          the commands\n"
			"  seen help COMMAND  what a command does, and its options\n"
			"  seen help options  options of configuration, which every command takes\n"
			"  seen help exit     what the exit statuses mean");
		return EXIT_CODE_OK;
	}
	if (strcmp(argv[1], "exit") == 0) {
		print_exit_codes();
		return EXIT_CODE_OK;
	}
	if (strcmp(argv[1], "options") == 0) {
		help_options();
		return EXIT_CODE_OK;
	}
	if (strcmp(argv[1], "--json") == 0)
		return print_json();
	const struct command *command = find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	char *words[] = { argv[1], (char *)"--help", NULL };
	return command->call(2, words);
}

int main(int argc, char **argv)
{
	const char *agent = launch_name();

	text_json_watch();
	if (agent) {
		char **words;
		int code = launch_words(agent, argc, argv, &argc, &words);
		if (code != EXIT_CODE_OK)
			return code;
		mapped_init();
		return message_exit_code(cmd_run(argc, words));
	}
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_CODE_USAGE;
	}
	const char *word = argv[1];
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
	    strcmp(word, "version") == 0) {
		(void)printf("seen %s (%scommit %s)\n", SEEN_VERSION, SEEN_RELEASE, SEEN_COMMIT);
		return message_exit_code(EXIT_CODE_OK);
	}
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return message_exit_code(help(argc - 1, argv + 1));
	const struct command *command = find(word);
	if (!command)
		return unknown(word);
	mapped_init();
	return message_exit_code(command->call(argc - 1, argv + 1));
}
