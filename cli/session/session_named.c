/* Does a process's environment name a session: see session_named.h. */
#include "cli/session/session_named.h"

#include <string.h>

#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum { ENVIRONMENT_BYTES = 65536 }; /* that are inspected */

bool session_is_named_by(const struct session *session, uint32_t pid)
{
	static char environment[ENVIRONMENT_BYTES];
	static const char NAME[] = "SEEN_SESSION=";
	char path[PROC_PATH_BYTES];

	proc_path(pid, "environ", path);
	ssize_t length = sys_read_file(path, environment, sizeof(environment));
	for (ssize_t at = 0; at < length; at += (ssize_t)strlen(environment + at) + 1)
		if (strncmp(environment + at, NAME, sizeof(NAME) - 1) == 0)
			return strcmp(environment + at + sizeof(NAME) - 1, session->directory) == 0;
	return false;
}
