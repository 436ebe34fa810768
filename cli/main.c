/*
 * seen: the program.  A map of the code, one line per file:
 *
 *	command.h          the commands, once
 *	cmd_run.c          runs a command with the library inside, waits, reports
 *	cmd_status.c       counters of a session
 *	cmd_files.c        its files
 *	cmd_check.c        holds files against what the agent takes them for
 *	cmd_changed.c      files that somebody else changed
 *	cmd_edited.c       files that the agent edited
 *	cmd_mention.c      records a file as given by the user
 *	cmd_versions.c     what is kept of its files
 *	cmd_diff.c         a kept version against what is on disk
 *	cmd_restore.c      brings a kept version back
 *	cmd_context.c      gives the instruction files that apply to paths
 *	cmd_log.c          its events, from the journal
 *	cmd_export.c       the same in the form of other programs: a format each in lib/export_NAME.c
 *	cmd_top.c          a session as it goes on, in a terminal
 *	cmd_replay.c       what recorded sessions repeated
 *	cmd_history.c      what each scope was given, from both
 *	cmd_report.c       what a session did: gathered by lib/report.c, told by lib/report_tell.c, report_json.c, report_html.c
 *	cmd_forget.c       has files given in full again
 *	cmd_hooks.c        hooks of agents that call it: installs and removes them
 *	cmd_verify.c       compares the journal with its seal
 *	cmd_sessions.c     the sessions on disk
 *	cmd_gc.c           removes old ones
 *	cmd_config.c       the effective configuration
 *	cmd_doctor.c       what will be observed on this machine
 *	cmd_session.c      finds or makes a session; the library asks this when it is used without `run`
 *	cmd_answer.c       answers for one of its processes; the library runs this
 *	demo_agent.c       the scripted agent that scripts/run shows (a program of its own)
 *	lib/               what they share: sessions on disk, options, messages, JSON, text, summary, task metadata, diffs
 *
 *	../shim/preload/   the library inside the agent's processes
 *	../tracker/        what both share: the segment and the decision
 *	../config/         options
 */
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/mapped.h"
#include "cli/base/message.h"
#include "cli/command.h"
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
	(void)fprintf(file, "usage: seen COMMAND [OPTION...]\n\n");
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (!ALL[i].hidden)
			(void)fprintf(file, "  %-8s %s\n", ALL[i].name, ALL[i].summary);
	(void)fprintf(file, "  %-8s %s\n", "help",
		      "this text; help COMMAND; help exit for the exit codes");
	(void)fprintf(file, "\n  seen run -- codex         wrap an agent\n"
			    "  seen status               what it saved\n"
			    "  seen doctor -- codex      what would be seen of it\n");
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

static int unknown(const char *word)
{
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
	if (strcmp(argv[1], "exit") == 0) {
		print_exit_codes();
		return EXIT_CODE_OK;
	}
	const struct command *command = find(argv[1]);
	if (!command)
		return unknown(argv[1]);
	char *words[] = { argv[1], (char *)"--help", NULL };
	return command->call(2, words);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_CODE_USAGE;
	}
	const char *word = argv[1];
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0 ||
	    strcmp(word, "version") == 0) {
		(void)printf("seen %s\n", SEEN_VERSION);
		return message_exit_code(EXIT_CODE_OK);
	}
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return message_exit_code(help(argc - 1, argv + 1));
	const struct command *command = find(word);
	if (!command)
		return unknown(word);
	mapped_begin();
	return message_exit_code(command->call(argc - 1, argv + 1));
}
