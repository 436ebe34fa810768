/*
 * The commands of `seen`, each in its own cmd_NAME.c: COMMAND(name, function, summary, hidden).
 * The help text, the dispatch and "did you mean" are made from this list.  `seen help` prints it in
 * two columns: a summary has at most 29 bytes; the command's own help says more.
 *
 * A command is called with argv[0] its own name and returns an exit code (cli/base/exit_code.h).
 */
#ifndef SEEN_CLI_COMMAND_H
#define SEEN_CLI_COMMAND_H

#define COMMANDS(COMMAND) \
	COMMAND(run, "run an agent or a command", 0) \
	COMMAND(status, "what a session has counted", 0) \
	COMMAND(files, "files: reads, repeats, state", 0) \
	COMMAND(check, "is a file as the agent knows", 0) \
	COMMAND(changed, "files changed externally", 0) \
	COMMAND(edited, "files that the agent edited", 0) \
	COMMAND(mention, "the user gave it a file", 0) \
	COMMAND(versions, "kept versions of files", 0) \
	COMMAND(story, "steps: commands and changes", 0) \
	COMMAND(diff, "what a session changed", 0) \
	COMMAND(blame, "who wrote each line of a file", 0) \
	COMMAND(restore, "bring a kept version back", 0) \
	COMMAND(undo, "take changes back", 0) \
	COMMAND(redo, "take the last undo back", 0) \
	COMMAND(context, "instructions for a path", 0) \
	COMMAND(log, "accesses, by whom, results", 0) \
	COMMAND(export, "the log in other formats", 0) \
	COMMAND(top, "a session as it goes on", 0) \
	COMMAND(replay, "savings in recorded sessions", 0) \
	COMMAND(history, "what the model was given", 0) \
	COMMAND(report, "what a session did", 0) \
	COMMAND(gain, "what all sessions saved", 0) \
	COMMAND(forget, "have files given in full", 0) \
	COMMAND(hooks, "agents report conversations", 0) \
	COMMAND(enable, "wrap each start of an agent", 0) \
	COMMAND(disable, "start agents as they are", 0) \
	COMMAND(enabled, "the agents that are wrapped", 0) \
	COMMAND(attest, "sign what a session did", 0) \
	COMMAND(verify, "is the journal as sealed", 0) \
	COMMAND(sessions, "the sessions on disk", 0) \
	COMMAND(gc, "remove old sessions", 0) \
	COMMAND(learn, "a policy of what sessions did", 0) \
	COMMAND(config, "settings and their sources", 0) \
	COMMAND(doctor, "what would be observed", 0) \
	COMMAND(session, "print the directory of a session, created if it is new", 1) \
	COMMAND(answer, "answer for a process of a session", 1) \
	COMMAND(confined, "run in a confinement that `seen run` made", 1)

#define COMMAND(name, summary, hidden) int cmd_##name(int argc, char **argv);
COMMANDS(COMMAND)
#undef COMMAND

#endif
