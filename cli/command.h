/*
 * The commands of `seen`, each in its own cmd_NAME.c: COMMAND(name, function, summary, hidden).
 * The help text, the dispatch and "did you mean" are made from this list.
 *
 * A command is called with argv[0] its own name and returns an exit code (cli/base/exit_code.h).
 */
#ifndef SEEN_CLI_COMMAND_H
#define SEEN_CLI_COMMAND_H

#define COMMANDS(COMMAND) \
	COMMAND(run, "run a command with the agent's file access tracked", 0) \
	COMMAND(status, "what a session has counted", 0) \
	COMMAND(files, "files of a session: reads, repeats, notices, state", 0) \
	COMMAND(check, "whether a file is still what the agent knows", 0) \
	COMMAND(changed, "files that an external program changed since the agent read them", 0) \
	COMMAND(edited, "files that the agent edited", 0) \
	COMMAND(mention, "record that the user gave the agent a file", 0) \
	COMMAND(versions, "the versions of files that are kept", 0) \
	COMMAND(story, "a session as steps: commands, and the files they changed", 0) \
	COMMAND(diff, "what a session changed, as a patch; or a kept version", 0) \
	COMMAND(restore, "bring a kept version of a file back", 0) \
	COMMAND(context, "instruction files (AGENTS.md) that apply to a path", 0) \
	COMMAND(log, "what was accessed, by whom, and the result", 0) \
	COMMAND(export, "the log in formats of other programs", 0) \
	COMMAND(top, "a session as it goes on, in a terminal", 0) \
	COMMAND(replay, "what recorded sessions repeated, and possible savings", 0) \
	COMMAND(history, "what the model was given, as a list", 0) \
	COMMAND(report, "what a session did: for a person, a CI job, a browser", 0) \
	COMMAND(forget, "have files given in full again", 0) \
	COMMAND(hooks, "have agents report when their conversation changes", 0) \
	COMMAND(verify, "whether the journal is still what was sealed", 0) \
	COMMAND(sessions, "the sessions on disk: state, size, age, workspace", 0) \
	COMMAND(gc, "remove old sessions", 0) \
	COMMAND(config, "the effective configuration and where it comes from", 0) \
	COMMAND(doctor, "what would be observed of a program on this machine", 0) \
	COMMAND(session, "print the directory of a session, created if it is new", 1) \
	COMMAND(answer, "answer for a process of a session", 1)

#define COMMAND(name, summary, hidden) int cmd_##name(int argc, char **argv);
COMMANDS(COMMAND)
#undef COMMAND

#endif
