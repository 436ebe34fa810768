/*
 * A program about to be started: it is announced to the session, and the copy of the environment that it
 * gets holds its ticket, and the session's folder in place of its name.  The caller's own environment
 * stays as it is.
 *
 * This runs between fork or vfork and exec: only the stack and the segment are written to.
 */
#include <string.h>

#include "shim/preload/shim.h"
#include "tracker/sys.h"

static bool is_variable(const char *entry, const char *name, size_t length)
{
	return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

int launch_count(char *const environment[])
{
	bool has_session = false;
	int count = 0;

	/* The kernel would answer EFAULT for such a pointer; let it. */
	if (!shim.on || (uintptr_t)environment < 4096)
		return -1;
	for (; environment[count]; count++) {
		if (count == LAUNCH_VARIABLES_MAX)
			return -1;
		has_session = has_session || is_variable(environment[count], "SEEN_SESSION", 12);
	}
	return has_session ? count : -1;
}

void launch_prepare(struct launch *ret_launch, pid_t pid, const char *executable, char *const argv[],
		    char *const environment[], int count, char **ret_environment)
{
	static const char SESSION[] = "SEEN_SESSION=";
	int kept = 0;

	if ((uintptr_t)executable < 4096)
		executable = "";
	if ((uintptr_t)argv < 4096)
		argv = NULL;
	ret_launch->process = process_announce(&shim.segment, &shim.request.context, shim.process, pid, executable, argv,
					       ret_launch->ticket);
	memcpy(ret_launch->session, SESSION, sizeof(SESSION) - 1);
	memcpy(ret_launch->session + sizeof(SESSION) - 1, shim.session, strlen(shim.session) + 1);
	for (int i = 0; i < count; i++) {
		char *entry = environment[i];
		if (is_variable(entry, TICKET_VARIABLE, sizeof(TICKET_VARIABLE) - 1))
			continue;
		/* A name was looked up once; another session's folder is left as it is. */
		if (is_variable(entry, "SEEN_SESSION", 12) && entry[sizeof(SESSION) - 1] != '/')
			entry = ret_launch->session;
		ret_environment[kept++] = entry;
	}
	if (ret_launch->ticket[0])
		ret_environment[kept++] = ret_launch->ticket;
	ret_environment[kept] = NULL;
}

void launch_failed(const struct launch *launch)
{
	process_withdraw(&shim.segment, launch->process);
}

void launch_spawned(const struct launch *launch, pid_t pid)
{
	process_set_pid(&shim.segment, launch->process, pid);
}
