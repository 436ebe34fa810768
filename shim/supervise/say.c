/* Lines for the agent: see say.h. */
#include "shim/supervise/say.h"

#include <fcntl.h>
#include <unistd.h>

#include "shim/supervise/memory.h"
#include "tracker/process/capture.h"
#include "tracker/sys/sys.h"

void say_line(const struct supervision *supervision, const struct target *target, const char *line,
	      size_t length)
{
	char name[PROC_PATH_BYTES];
	struct stat stat;

	if (!length || target->request.context.role == ROLE_AGENT ||
	    subject_stat(target->request.subject, 2, &stat) < 0 || S_ISREG(stat.st_mode) ||
	    !capture_is_errors(supervision->segment, &target->request.context, &stat))
		return;
	subject_path(target->request.subject, 2, name);
	int fd = sys_open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
	if (fd < 0)
		return;
	(void)sys_write(fd, line, length); /* all signals are blocked here */
	(void)close(fd);
}
