/* Session and scope by ancestors: see ancestry.h. */
#include "cli/session/ancestry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/scope.h"

enum { ANCESTORS_MAX = 64 };

/* The directory of a session that a process's environment named at its start. */
static bool session_of(pid_t pid, char *ret_session, size_t capacity)
{
	static const char VARIABLE[] = "SEEN_SESSION=/";
	char path[40], *line = NULL;
	size_t room = 0;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && getdelim(&line, &room, '\0', file) > 0)
		found = strncmp(line, VARIABLE, sizeof(VARIABLE) - 1) == 0;
	if (found) {
		const char *value = line + sizeof(VARIABLE) - 2;
		found = snprintf(ret_session, capacity, "%s", value) < (int)capacity;
	}
	free(line);
	(void)fclose(file);
	return found;
}

bool ancestry_session(char *ret_session, size_t capacity)
{
	const char *said = getenv("SEEN_SESSION");

	if (said && said[0])
		return snprintf(ret_session, capacity, "%s", said) < (int)capacity;
	pid_t pid = getppid();
	for (int level = 0; level < ANCESTORS_MAX && pid > 1; level++) {
		if (session_of(pid, ret_session, capacity))
			return true;
		pid = (pid_t)process_parent_of((uint32_t)pid);
	}
	return false;
}

/* The agent that a process is, or is below, by its slot. */
static bool agent_of(const struct process_slot *process, struct context *ret_context)
{
	const struct context *context = &process->context;

	/* One that is not observed: its slot tells what it was started from. */
	if (process->state == PROCESS_ANNOUNCED && context->role == ROLE_AGENT) {
		*ret_context = (struct context){ .flags = context->flags & CONTEXT_RUN_KIND,
						 .agent_serial = process->serial,
						 .anchor_pid = process->pid,
						 .profile = context->profile };
		return true;
	}
	if (process->state != PROCESS_ATTACHED || !(context->flags & CONTEXT_AGENT) ||
	    !context->agent_serial)
		return false;
	*ret_context = *context;
	return true;
}

/* Where a process stands, by its slot. */
static bool place_of(const struct process_slot *process, struct context *ret_context)
{
	*ret_context = process->context;
	return process->state == PROCESS_ATTACHED && process->context.scope_id;
}

typedef bool read_slot(const struct process_slot *process, struct context *ret_context);

/* The answer for a process, by its latest image that has one. */
static bool find_process(const struct segment *segment, uint32_t pid, read_slot *read,
			 struct context *ret_context)
{
	struct process_slot process;
	struct context candidate;
	uint64_t index = 0, serial = 0, pid_ns = process_pid_ns();
	bool is_found = false;

	while (process_next(segment, &index, &process)) {
		if (process.pid != pid || (is_found && process.serial < serial) ||
		    !read(&process, &candidate))
			continue;
		if ((process.context.process_ns && process.context.process_ns != pid_ns) ||
		    process_is_gone(&process))
			continue; /* its number means another there, or now */
		serial = process.serial;
		*ret_context = candidate;
		is_found = true;
	}
	return is_found;
}

/* The answer for this process, or else for its nearest ancestor that has one. */
static bool find_nearest(const struct segment *segment, read_slot *read,
			 struct context *ret_context)
{
	uint32_t pid = (uint32_t)getpid();

	for (int level = 0; level < ANCESTORS_MAX && pid > 0; level++) {
		if (find_process(segment, pid, read, ret_context))
			return true;
		pid = process_parent_of(pid);
	}
	return false;
}

bool ancestry_agent(const struct segment *segment, uint64_t *ret_scope, struct context *ret_agent)
{
	struct context agent = { 0 };

	if (!find_nearest(segment, agent_of, &agent))
		return false;
	const char *name = getenv("SEEN_SCOPE");
	uint64_t id = scope_id_of(agent.agent_serial, name && name[0] ? name : NULL);
	if (!scope_claim(segment, id, &agent, agent.anchor_pid, agent.profile,
			 name && name[0] ? name : "agent"))
		return false;
	*ret_scope = id;
	*ret_agent = agent;
	return true;
}

bool ancestry_scope(const struct segment *segment, uint64_t *ret_scope)
{
	struct context agent;
	return ancestry_agent(segment, ret_scope, &agent);
}

bool ancestry_context(const struct segment *segment, struct context *ret_context)
{
	struct context context;

	if (!find_nearest(segment, place_of, &context))
		return false;
	*ret_context = context;
	return true;
}
