/* The command's end: see run_wait.h. */
#include "cli/run/run_wait.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
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
	do {
		(void)nanosleep(&PAUSE, NULL);
		/* More than once: it may be about to stop. */
		if (!is_stopped(command))
			(void)kill(self, SIGCONT);
	} while (getppid() == self);
	_exit(0);
}

/* What runs, as one job with this process. */
struct job {
	pid_t command;
	struct supervised *supervised; /* NULL: the command is a child of this process */
	pid_t receiver;                /* signals are passed on to it; 0: to the command */
	/* The process that let the command go on by its own pid, as the watcher noticed, may let this
	 * one go on, too: by a SIGCONT that comes until then (CLOCK_MONOTONIC). */
	uint64_t expects_until_ns;
	bool is_passed_on; /* a SIGCONT was passed on in place of the stop */
};

/* A child's number is its own until it is waited for. */
static void signal_command(const struct job *job, int signal)
{
	if (job->supervised)
		supervised_signal(job->supervised, signal);
	else
		(void)kill(job->command, signal);
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
static void let_go_on(const struct job *job)
{
	if (job->supervised && supervised_let_go_on(job->supervised))
		return;
	/* One that runs may be about to stop: that would be taken back. */
	if (is_stopped(job->command) && (job->supervised || !goes_on(job->command)))
		signal_command(job, SIGCONT);
}

/* Passes a signal on, in the order in which they came: as a process that got both by itself, the command
 * goes on by a SIGCONT that came behind a stop, also by one that it has not come to yet.  Returns
 * whether it was. */
static bool pass_on(struct job *job, int signal)
{
	/* It is that of a stop which is over; there may be another. */
	if (signal == SIGCONT && sys_clock_ns(CLOCK_MONOTONIC) < job->expects_until_ns)
		return false;
	if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU)
		job->expects_until_ns = 0;
	if (job->receiver)
		(void)kill(job->receiver, signal);
	if (!job->receiver || signal == SIGCONT)
		signal_command(job, signal);
	return true;
}

/* Consumes a SIGCONT that is pending.  Returns false when there is none. */
static bool consume_going_on(siginfo_t *ret_info)
{
	static const struct timespec NOW = { .tv_nsec = 0 };
	sigset_t going_on;

	(void)sigemptyset(&going_on);
	(void)sigaddset(&going_on, SIGCONT);
	return sigtimedwait(&going_on, ret_info, &NOW) > 0;
}

/* Has a SIGCONT come that ends the stop which this process is about to follow?  To be asked last: a stop
 * signal takes back one that is pending.  watcher: 0: there is none. */
static bool is_let_go_on(struct job *job, pid_t watcher)
{
	siginfo_t info;

	if (!consume_going_on(&info))
		return false;
	if (watcher > 0 && info.si_pid == watcher)
		return true;
	job->is_passed_on = is_for_child(SIGCONT, &info) && pass_on(job, SIGCONT);
	return job->is_passed_on;
}

/* Stops this process by a signal, so that its waiting parent gets the same status; not if the command was
 * let go on meanwhile.  Returns false where the kernel drops the signal: those of terminals in an
 * orphaned process group.  All signals are blocked. */
static bool stop_by(struct job *job, int signal)
{
	static const struct timespec NOW = { .tv_nsec = 0 };
	struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
	sigset_t stopping, pending;

	(void)sigemptyset(&stopping);
	(void)sigaddset(&stopping, signal);
	(void)sigaction(signal, &by_default, &before);
	bool is_late = is_let_go_on(job, 0);
	if (!is_late) {
		(void)kill(getpid(), signal);
		/* From here on a SIGCONT for the whole group takes the signal back. */
		is_late = is_going_on(job->command);
		if (is_late)
			(void)sigtimedwait(&stopping, NULL, &NOW);
		else
			(void)sigprocmask(SIG_UNBLOCK, &stopping, NULL); /* here it stops */
		(void)sigprocmask(SIG_BLOCK, &stopping, NULL);
	}
	(void)sigaction(signal, &before, NULL);
	/* The process that let it go on sent SIGCONT, which is blocked. */
	return is_late || (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1);
}

/* Stops this process by SIGSTOP, as long as the command is stopped.  Returns the watcher, which has
 * ended. */
static pid_t stop_watched(struct job *job)
{
	pid_t watcher = watch(job->command);

	if (!is_going_on(job->command) && !is_let_go_on(job, watcher))
		(void)kill(getpid(), SIGSTOP);
	if (watcher > 0) {
		(void)kill(watcher, SIGKILL);
		(void)waitpid(watcher, NULL, 0);
	}
	return watcher;
}

/* The command stopped: so does this process, as one job with it. */
static void stop_with(struct job *job, int signal)
{
	enum { SOON_NS = 1000000000 };
	siginfo_t info;
	pid_t watcher = 0;

	job->is_passed_on = false;
	if (signal == SIGSTOP || !stop_by(job, signal))
		watcher = stop_watched(job);
	/* This process did not stop: one more SIGCONT is for the next stop, unless the watcher sent it. */
	if (job->is_passed_on) {
		if (consume_going_on(&info) && info.si_pid != watcher &&
		    is_for_child(SIGCONT, &info))
			(void)pass_on(job, SIGCONT);
		return;
	}
	/* This process was continued; perhaps with the whole group, perhaps alone.  That SIGCONT is not one
	 * more, to be passed on later, when the command may have been stopped again. */
	while (consume_going_on(&info))
		job->expects_until_ns = watcher > 0 && info.si_pid == watcher
						? sys_clock_ns(CLOCK_MONOTONIC) + SOON_NS
						: 0;
	let_go_on(job);
}

/* Checks whether the command, a child of this process, has ended; stops and goes on with it. */
static bool has_ended(struct job *job, int *ret_status)
{
	pid_t changed;

	while ((changed = waitpid(job->command, ret_status, WNOHANG | WUNTRACED)) > 0) {
		if (!WIFSTOPPED(*ret_status))
			return true;
		stop_with(job, WSTOPSIG(*ret_status));
	}
	*ret_status = 0;
	return changed < 0 && errno != EINTR;
}

/* The same for a command below a supervisor. */
static bool has_supervised_ended(struct job *job, int *ret_status, struct recording *recording)
{
	struct supervised_message said;

	for (;;) {
		supervised_next(job->supervised, &said);
		*ret_status = said.status;
		switch (said.news) {
		case SUPERVISED_NONE:
			return false;
		case SUPERVISED_ENDED:
			return true;
		case SUPERVISED_STOPPED:
			stop_with(job, WSTOPSIG(said.status));
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

static bool is_over(struct job *job, int *ret_status, struct recording *recording)
{
	return job->supervised ? has_supervised_ended(job, ret_status, recording)
			       : has_ended(job, ret_status);
}

int run_wait(pid_t command, struct supervised *supervised, pid_t receiver, const sigset_t *all,
	     struct recording *recording)
{
	struct job job = { .command = command, .supervised = supervised, .receiver = receiver };
	unsigned wait_ms = RECORDING_SOON_MS;

	for (;;) {
		siginfo_t info;
		int status;

		aside_reap();
		if (is_over(&job, &status, recording))
			return status;
		int signal = recording ? recording_next_signal(recording, all, wait_ms, &info)
				       : sigwaitinfo(all, &info);
		/* The user waits: what is tended to while a command runs is of no use any more. */
		if (signal == SIGCHLD && is_over(&job, &status, recording))
			return status;
		if (recording)
			wait_ms = recording_tend(recording);
		if (signal > 0 && signal != SIGCHLD && is_for_child(signal, &info))
			(void)pass_on(&job, signal);
		if (recording && mapped_take_sent())
			signal_command(&job, SIGBUS);
	}
}
