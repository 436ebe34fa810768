/*
 * The commands of `seen`, each in its own cmd_NAME.c: COMMAND(name, function, summary, hidden).  The help text, the
 * dispatch and "did you mean" are made from this list.
 *
 * A command is called with argv[0] its own name and returns an exit code (cli/base/exit_code.h).
 */
#ifndef SEEN_CLI_COMMAND_H
#define SEEN_CLI_COMMAND_H

#define COMMANDS(COMMAND) \
	COMMAND(run, "run a command with the agent's file access tracked", 0) \
	COMMAND(status, "what a session has counted", 0) \
	COMMAND(files, "the files of a session: reads, repeats, notices, state", 0) \
	COMMAND(check, "is a file still what the agent takes it for", 0) \
	COMMAND(changed, "files that somebody else changed since the agent read them", 0) \
	COMMAND(edited, "files that the agent edited", 0) \
	COMMAND(mention, "say that the agent was given a file by its user", 0) \
	COMMAND(versions, "the versions of files that are kept", 0) \
	COMMAND(diff, "a kept version against what is on disk", 0) \
	COMMAND(restore, "bring a kept version of a file back", 0) \
	COMMAND(context, "instruction files (AGENTS.md) that apply to a path", 0) \
	COMMAND(log, "what was accessed, by whom, and what came of it", 0) \
	COMMAND(export, "the same for other programs, from where the last export ended", 0) \
	COMMAND(top, "a session as it goes on, in a terminal", 0) \
	COMMAND(replay, "what recorded sessions repeated, and what would have been saved", 0) \
	COMMAND(history, "what each scope was given, each result cut", 0) \
	COMMAND(report, "what a session did: for a person, a CI job, a browser", 0) \
	COMMAND(forget, "have files given in full again", 0) \
	COMMAND(hooks, "have agents tell when their conversation is cut or another one", 0) \
	COMMAND(verify, "is the journal still what was sealed", 0) \
	COMMAND(sessions, "the sessions on disk: state, size, age, workspace", 0) \
	COMMAND(gc, "remove old sessions", 0) \
	COMMAND(config, "the effective configuration and where it comes from", 0) \
	COMMAND(doctor, "what would be observed of a program on this machine", 0) \
	COMMAND(session, "print the folder of a session, made where it is new", 1) \
	COMMAND(answer, "answer for a process of a session", 1)

#define COMMAND(name, summary, hidden) int cmd_##name(int argc, char **argv);
COMMANDS(COMMAND)
#undef COMMAND

#endif
