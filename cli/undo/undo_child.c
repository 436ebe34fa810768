/* An undo in a process of its own: see undo_child.h. */
#include "cli/undo/undo_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/memory_file.h"

/* The caller's handlers are about its terminal. */
static void reset_signals(void)
{
	for (int number = 1; number < NSIG; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) < 0 || action.sa_handler == SIG_IGN ||
		    action.sa_handler == SIG_DFL)
			continue;
		action = (struct sigaction){ .sa_handler = SIG_DFL };
		(void)sigaction(number, &action, NULL);
	}
}

static void run(const struct config *config, const char *name, const struct undo_request *request,
		int output)
{
	int code = -1;

	reset_signals();
	if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0) {
		/* Each message stands where it was printed. */
		(void)setvbuf(stdout, NULL, _IOLBF, 0);
		code = undo_run(config, name, request);
	}
	(void)fflush(stdout);
	_exit(code);
}

static int wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

int undo_child_run(const struct config *config, const char *name,
		   const struct undo_request *request, int *ret_output,
		   struct undo_planned *ret_planned)
{
	struct undo_request own = *request;
	struct undo_planned *planned = mmap(NULL, sizeof(*planned), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int output = memory_file_open("seen undo"), code = output;

	if (planned == MAP_FAILED) {
		if (output >= 0)
			(void)close(output);
		return -ENOMEM;
	}
	own.planned = planned;
	if (output >= 0) {
		(void)fflush(stdout);
		pid_t child = fork();
		if (child == 0)
			run(config, name, &own, output);
		code = child < 0 ? -errno : wait_for(child);
	}
	if (code < 0 && code != -EINTR && output >= 0)
		(void)close(output);
	if (code >= 0 || code == -EINTR) {
		(void)lseek(output, 0, SEEK_SET);
		*ret_output = output;
		*ret_planned = *planned;
	}
	(void)munmap(planned, sizeof(*planned));
	return code;
}
