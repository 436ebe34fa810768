/* The command's end: see run_wait.h. */
#include "cli/run/run_wait.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/mapped.h"
#include "cli/base/message.h"
#include "cli/run/aside.h"
#include "tracker/sys/sys.h"

/* Is a signal that reached this process to be passed on?  What the terminal sends (si_code
 * SI_KERNEL), it sends to the whole group; other signals of the kernel (an alarm set before we were
 * started) are for the command. */
static bool is_for_child(int signal, const siginfo_t *info)
{
	static const int OF_TERMINALS[] = { SIGINT,  SIGQUIT, SIGTSTP,  SIGTTIN,
					    SIGTTOU, SIGHUP,  SIGWINCH, SIGCONT };

	if (info->si_code != SI_KERNEL)
		return info->si_pid != getpid();
	for (size_t i = 0; i < sizeof(OF_TERMINALS) / sizeof(OF_TERMINALS[0]); i++)
		if (signal == OF_TERMINALS[i])
			return false;
	return true;
}

/* A process's state (proc(5), stat, field 3); 0: there is none. */
static char state_of(pid_t pid)
{
	char path[40], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return 0;
	const char *behind_name = strrchr(text, ')');
	return behind_name && behind_name[1] == ' ' ? behind_name[2] : 0;
}

/* 't': a tracer holds it. */
static bool is_stopped(pid_t pid)
{
	char state = state_of(pid);
	return state == 'T' || state == 't';
}

/* Not the opposite: of a process whose first thread has ended it is not known. */
static bool is_going_on(pid_t pid)
{
	char state = state_of(pid);
	return state && strchr("RSDI", state);
}

/* Another process may stop the command by its own pid (a limiter of processor time) and let it go
 * on without knowing of this process, which cannot notice while it is stopped itself: a child
 * checks, and lets it go on too. */
static pid_t watch(pid_t command)
{
	static const struct timespec PAUSE = { .tv_nsec = 20000000 };
	pid_t self = getpid();
	pid_t watcher = fork();

	if (watcher != 0)
		return watcher;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	do
		(void)nanosleep(&PAUSE, NULL);
	while (getppid() == self && is_stopped(command));
	(void)kill(self, SIGCONT);
	_exit(0);
}

/* supervised: NULL: the command is a child of this process, whose number is its own until it is
 * waited for. */
static void signal_command(pid_t command, const struct supervised *supervised, int signal)
{
	if (supervised)
		supervised_signal(supervised, signal);
	else
		(void)kill(command, signal);
}

/* Was the command, a child of this process, let go on since it stopped?  Then it is not told again: it may
 * have been stopped once more by now. */
static bool goes_on(pid_t command)
{
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_PID, (id_t)command, &info, WCONTINUED | WNOHANG) == 0 && info.si_pid)
		return true;
	/* The next stop takes back what the kernel reported of that; it is still to be waited
	 * for. */
	return waitid(P_PID, (id_t)command, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid;
}

/* Has the command go on that this process stopped with, unless it does, or stopped anew. */
static void let_go_on(pid_t command, const struct supervised *supervised)
{
	if (supervised && supervised_let_go_on(supervised))
		return;
	/* One that runs may be about to stop: that would be taken back. */
	if ((supervised || !goes_on(command)) && is_stopped(command))
		signal_command(command, supervised, SIGCONT);
}

/* Does a process catch a signal (proc(5), status)? */
static bool catches(pid_t pid, int signal)
{
	static const char NAME[] = "\nSigCgt:\t";
	char path[40], text[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return true;
	const char *at = strstr(text, NAME);
	return !at || strtoull(at + strlen(NAME), NULL, 16) >> (signal - 1) & 1;
}

/* Passes a signal on.  SIGCONT has a meaning for who catches it, and for who is stopped.  For others, as
 * it comes later than it was sent, it would take back a stop that they got meanwhile. */
static void pass_on(pid_t command, pid_t receiver, const struct supervised *supervised, int signal)
{
	if (signal != SIGCONT || catches(receiver, SIGCONT))
		signal_command(receiver, supervised, signal);
	else if (receiver == command)
		let_go_on(command, supervised);
	else if (is_stopped(receiver))
		(void)kill(receiver, SIGCONT);
}

/* Takes back a SIGCONT that let this process go on, as far as it is blocked: it is not one more, to be
 * passed on later, when the command may have been stopped again. */
static void consume_going_on(void)
{
	static const struct timespec NOW = { .tv_nsec = 0 };
	sigset_t going_on;

	(void)sigemptyset(&going_on);
	(void)sigaddset(&going_on, SIGCONT);
	while (sigtimedwait(&going_on, NULL, &NOW) > 0)
		;
}

/* Stops this process by a signal, so that its waiting parent gets the same status; not if the command was
 * let go on meanwhile.  Returns false where the kernel drops the signal: those of terminals in an
 * orphaned process group.  All signals are blocked. */
static bool stop_by(pid_t command, int signal)
{
	static const struct timespec NOW = { .tv_nsec = 0 };
	struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
	sigset_t stopping, pending;

	consume_going_on(); /* of before */
	(void)sigemptyset(&stopping);
	(void)sigaddset(&stopping, signal);
	(void)sigaction(signal, &by_default, &before);
	(void)kill(getpid(), signal);
	/* From here on a SIGCONT for the whole group takes the signal back. */
	bool is_late = is_going_on(command);
	if (is_late)
		(void)sigtimedwait(&stopping, NULL, &NOW);
	else
		(void)sigprocmask(SIG_UNBLOCK, &stopping, NULL); /* here it stops */
	(void)sigprocmask(SIG_BLOCK, &stopping, NULL);
	(void)sigaction(signal, &before, NULL);
	/* The process that let it go on sent SIGCONT, which is blocked. */
	return is_late || (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1);
}

/* Stops this process by SIGSTOP, as long as the command is stopped. */
static void stop_watched(pid_t command)
{
	if (is_going_on(command))
		return;
	pid_t watcher = watch(command);
	(void)kill(getpid(), SIGSTOP);
	if (watcher > 0) {
		(void)kill(watcher, SIGKILL);
		(void)waitpid(watcher, NULL, 0);
	}
}

/* The command stopped: so does this process, as one job with it. */
static void stop_with(pid_t command, const struct supervised *supervised, int signal)
{
	if (signal == SIGSTOP || !stop_by(command, signal))
		stop_watched(command);
	/* This process was continued; perhaps with the whole group, perhaps alone. */
	consume_going_on();
	let_go_on(command, supervised);
}

/* Checks whether the command, a child of this process, has ended; stops and goes on with it. */
static bool has_ended(pid_t command, int *ret_status)
{
	pid_t changed;

	while ((changed = waitpid(command, ret_status, WNOHANG | WUNTRACED)) > 0) {
		if (!WIFSTOPPED(*ret_status))
			return true;
		stop_with(command, NULL, WSTOPSIG(*ret_status));
	}
	*ret_status = 0;
	return changed < 0 && errno != EINTR;
}

/* The same for a command below a supervisor. */
static bool has_supervised_ended(struct supervised *supervised, int *ret_status,
				 struct recording *recording)
{
	struct supervised_message said;

	for (;;) {
		supervised_next(supervised, &said);
		*ret_status = said.status;
		switch (said.news) {
		case SUPERVISED_NONE:
			return false;
		case SUPERVISED_ENDED:
			return true;
		case SUPERVISED_STOPPED:
			stop_with(supervised->command, supervised, WSTOPSIG(said.status));
			break;
		case SUPERVISED_LINE:
			message("%s", said.line);
			break;
		case SUPERVISED_LOST:
			message("the supervisor has died; the command goes on, unobserved");
			if (recording)
				recording->supervisor_died = true;
			break;
		}
	}
}

int run_wait(pid_t command, struct supervised *supervised, pid_t receiver, const sigset_t *all,
	     struct recording *recording)
{
	unsigned wait_ms = RECORDING_SOON_MS;

	for (;;) {
		siginfo_t info;
		int status;

		aside_reap();
		if (supervised ? has_supervised_ended(supervised, &status, recording)
			       : has_ended(command, &status))
			return status;
		int signal = recording ? recording_next_signal(recording, all, wait_ms, &info)
				       : sigwaitinfo(all, &info);
		if (recording)
			wait_ms = recording_tend(recording);
		if (signal > 0 && signal != SIGCHLD && is_for_child(signal, &info))
			pass_on(command, receiver ? receiver : command, supervised, signal);
		if (recording && mapped_take_sent())
			signal_command(command, supervised, SIGBUS);
	}
}
