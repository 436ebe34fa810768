/*
 * Roles: what a process is, told by its executable, its arguments and the configuration.
 *
 * A name alone proves nothing (`sed -i`, `tail -f`, `uniq in out` start like readers), so viewers
 * and readers are programs times arguments, and what is not understood is a tool.
 */
#ifndef SEEN_TRACKER_ROLE_H
#define SEEN_TRACKER_ROLE_H

#include <stdbool.h>
#include <stdint.h>

struct segment;

enum role {
	ROLE_TOOL,   /* everything else */
	ROLE_AGENT,  /* talks to the model */
	ROLE_SHELL,  /* runs commands */
	ROLE_VIEWER, /* prints its files whole and writes nowhere else */
	ROLE_READER, /* writes nowhere but its standard output */
	ROLE_COUNT,
};

/* What is known of a program before it runs. */
struct invocation {
	enum role role;
	uint32_t profile; /* agents: index into settings.profiles + 1; 0: generic */
	/* agents: the program or script lies in the workspace, or was named by a relative path */
	bool local;
	bool scripted; /* agents: an interpreter runs it */
	/* tools: neither the system's own program nor a module; it may be an agent that was not
	 * named */
	bool unknown;
	bool ignored; /* [processes] ignore: not tracked, nor what it reads */
	bool probes; /* readers: it asks for nothing in the workspace: --version, files elsewhere */
	bool shows;  /* readers: what is in their files, in part at least */
	bool whitelisted;  /* [processes] whitelist: its own repeated reads may be answered */
	bool runs_command; /* shells: -c */
	bool reads_stdin;  /* shells: neither -c nor a script: commands come from standard input */
	bool interactive;  /* shells: -i, or reads_stdin and standard input may be a terminal */
	char name[40];     /* base name of the executable or script, cut, NUL-ended */
};

/* role_name(): the word for a role, as in the documentation; "tool" for a value out of range. */
const char *role_name(uint32_t role);

/* role_is_of_agent(): an agent, or what one runs to act or to read for it: a shell, a viewer, a
 * reader.  role: -1: not known. */
static inline bool role_is_of_agent(int role)
{
	return role > ROLE_TOOL && role < ROLE_COUNT;
}

/* role_invocation(): tells what an invocation is.
 *
 * executable: path or name of the program file; for a running process the target of /proc/self/exe.
 * argv: argument vector ended by NULL; may be NULL.  segment: for the lists of the configuration.
 * A viewer whose executable lies inside the workspace is none: the proof is for the system's own.
 * Allocates nothing; async-signal-safe.
 */
void role_invocation(const struct segment *segment, const char *executable, char *const argv[],
		     struct invocation *ret_invocation);

/* role_root_is_external(): `--agent-is auto`: an interactive shell, a shell with -c, a viewer or a
 * reader at the root means that the agent is outside the run; a script or anything else, inside.
 * stdin_is_terminal: of the root. */
bool role_root_is_external(const struct invocation *root, bool stdin_is_terminal);

#endif
