/* A command whose system calls are counted by ptrace(2): for helpers of tests. */
#ifndef SEEN_TESTS_TRACED_H
#define SEEN_TESTS_TRACED_H

#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "check.h"

struct traced {
	pid_t process;
	int status; /* of the last waitpid(2): at the end the command's */
	int signal; /* that the command gets next; 0: none */
};

/* Starts a command, stopped at its beginning; it ends with its tracer. */
static inline struct traced traced_start(char **argv)
{
	struct traced traced = { .process = fork() };

	CHECK(traced.process >= 0);
	if (traced.process == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
		(void)execv(argv[0], argv);
		_exit(127);
	}
	CHECK(waitpid(traced.process, &traced.status, 0) == traced.process &&
	      WIFSTOPPED(traced.status));
	CHECK(ptrace(PTRACE_SETOPTIONS, traced.process, 0,
		     PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0);
	return traced;
}

/* Goes on to the beginning of the next system call.  False: the command has ended. */
static inline bool traced_next(struct traced *traced, struct __ptrace_syscall_info *ret_call)
{
	while (ptrace(PTRACE_SYSCALL, traced->process, 0, traced->signal) == 0 &&
	       waitpid(traced->process, &traced->status, __WALL) == traced->process &&
	       WIFSTOPPED(traced->status)) {
		int stop = WSTOPSIG(traced->status);
		bool is_call = stop == (SIGTRAP | 0x80);
		traced->signal = is_call || stop == SIGTRAP ? 0 : stop;
		if (is_call &&
		    ptrace(PTRACE_GET_SYSCALL_INFO, traced->process, sizeof(*ret_call), ret_call) >
			    0 &&
		    ret_call->op == PTRACE_SYSCALL_INFO_ENTRY)
			return true;
	}
	return false;
}

/* The exit status of a command that has ended, as a shell has it. */
static inline int traced_exit_status(const struct traced *traced)
{
	return WIFEXITED(traced->status) ? WEXITSTATUS(traced->status)
					 : 128 + WTERMSIG(traced->status);
}

#endif
