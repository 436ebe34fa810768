/* A command below a supervisor: see supervised.h. */
#include "cli/run/supervised.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/confine/landlock.h"
#include "shim/start/compat.h"
#include "shim/start/filter.h"
#include "shim/supervise/supervisor.h"
#include "tracker/sys/sys.h"

/* From the command's process to the supervisor, with the listener. */
struct ready {
	int error; /* why there is no listener: a negative errno */
	bool no_new_privs;
	struct process_ref process;
};

enum message_kind { MESSAGE_STARTED, MESSAGE_FAILED, MESSAGE_CHANGED, MESSAGE_LINE };

/* From the supervisor to `seen run`. */
struct wire {
	enum message_kind kind;
	int value; /* STARTED: pid; FAILED: a negative errno; CHANGED: wait status */
	bool no_new_privs;
	unsigned stops;    /* CHANGED: of the command so far */
	unsigned going_on; /* ... and how often it was sent SIGCONT for `seen run` */
	char line[SUPERVISED_LINE_BYTES];
};

/* From `seen run` to the supervisor: a signal of job control for the command. */
struct signal_request {
	int signal;
	bool if_stopped; /* if it is stopped, and did not stop more often than this */
	unsigned stops;
};

/* ---- the command's process, until it is the command ---- */

/* False: it was not sent. */
static bool send_ready(int socket, const struct ready *ready, int listener)
{
	struct iovec bytes = { (void *)(uintptr_t)ready, sizeof(*ready) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (listener >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &listener, sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(*ready);
}

/* Without an exit that would be trapped and, where no supervisor answers, wait. */
_Noreturn static void vanish(void)
{
	for (;;)
		(void)kill(getpid(), SIGKILL);
}

_Noreturn static void run_command(const struct supervised_start *start, uint64_t mark, int socket)
{
	struct ready ready = { .error = 0 };
	char go;

	ready.process = start->announce(start->data);
	/* Where the kernel can: other processes may have read what is denied. */
	if (start->is_strict)
		(void)landlock_leave_others();
	int listener = filter_install(mark, start->is_strict, &ready.no_new_privs);
	if (listener < 0)
		ready.error = listener;
	bool is_sent = send_ready(socket, &ready, listener);
	if (listener < 0 || !is_sent || read(socket, &go, 1) != 1) {
		process_withdraw(start->segment, ready.process);
		vanish();
	}
	(void)close(listener);
	(void)close(socket);
	start->become(start->data);
	vanish();
}

/* ---- the supervisor ---- */

static bool receive_ready(int socket, struct ready *ret_ready, int *ret_listener)
{
	struct iovec bytes = { ret_ready, sizeof(*ret_ready) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	*ret_listener = -1;
	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != sizeof(*ret_ready))
		return false;
	if (message.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(ret_listener, CMSG_DATA(&control.header), sizeof(int));
	return true;
}

/* Where the supervisor's messages go. */
struct teller {
	int socket;
	pid_t to;
	unsigned stops; /* of the command */
	bool is_stopped;
	unsigned going_on;  /* how often it was sent SIGCONT, stopped or not */
	struct wire unsent; /* the last change, while is_unsent: the kernel had no room for it */
	bool is_unsent;
};

/* Returns false where it may be sent later; not where `seen run` is gone. */
static bool report(const struct teller *teller, const struct wire *wire)
{
	if (send(teller->socket, wire, sizeof(*wire), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM;
	if (getppid() == teller->to)
		(void)kill(teller->to, SIGCHLD);
	return true;
}

/* Without it `seen run` would not know how the command ended.  Calls are answered meanwhile. */
static void report_change(struct teller *teller, const struct wire *wire)
{
	teller->unsent = *wire;
	teller->is_unsent = !report(teller, wire);
}

/* Waits until the kernel has room for it. */
static void send_surely(int socket, const void *message, size_t bytes)
{
	while (send(socket, message, bytes, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		(void)poll(NULL, 0, 1);
}

static void report_line(void *data, const char *line)
{
	struct wire wire = { .kind = MESSAGE_LINE };

	(void)snprintf(wire.line, sizeof(wire.line), "%s", line);
	(void)report(data, &wire);
}

/* Belongs to no terminal, holds nothing open that another process might wait for the end of. */
static void detach(const int *kept, int count)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_NAME, "seen-supervisor");
	for (int fd = 0; fd < 3; fd++)
		if (null >= 0)
			(void)dup2(null, fd);
	unsigned first = 3;
	/* kept in rising order */
	for (int i = 0; i < count; i++) {
		if ((unsigned)kept[i] > first)
			sys_close_between(first, (unsigned)kept[i] - 1);
		first = (unsigned)kept[i] + 1;
	}
	sys_close_between(first, UINT32_MAX);
}

/* Reports stops of the command, and its end: then true.  now: does not wait for that. */
static bool report_changes(struct teller *teller, pid_t command, bool now)
{
	struct wire wire = { .kind = MESSAGE_CHANGED };

	while (waitpid(command, &wire.value, (now ? WNOHANG : 0) | WUNTRACED | WCONTINUED) > 0) {
		bool is_over = !WIFSTOPPED(wire.value) && !WIFCONTINUED(wire.value);
		teller->is_stopped = WIFSTOPPED(wire.value);
		if (WIFCONTINUED(wire.value))
			continue;
		wire.stops = teller->stops += teller->is_stopped;
		wire.going_on = teller->going_on;
		report_change(teller, &wire);
		/* It may have stopped with a command that was killed since. */
		if (is_over && getppid() == teller->to)
			(void)kill(teller->to, SIGCONT);
		if (is_over)
			return true;
	}
	return false;
}

/* Does what `seen run` asks for.  As report_changes(). */
static bool answer_requests(struct teller *teller, pid_t command)
{
	struct signal_request asked;
	bool is_over = report_changes(teller, command, true);

	while (!is_over &&
	       recv(teller->socket, &asked, sizeof(asked), MSG_DONTWAIT) == sizeof(asked)) {
		if (asked.if_stopped && (asked.stops != teller->stops || !teller->is_stopped))
			continue;
		(void)kill(command, asked.signal);
		if (asked.signal != SIGCONT)
			continue;
		teller->is_stopped = false;
		teller->going_on += !asked.if_stopped;
	}
	return is_over;
}

/* Waits for the command, and for all below it. */
_Noreturn static void serve(struct supervisor *supervisor, struct teller *teller, pid_t command,
			    int signals)
{
	bool is_over = false, is_last = !supervise_tend(supervisor);
	enum { SIGNALS, CALLS, TELLER };

	for (;;) {
		struct pollfd wait[] = {
			[SIGNALS] = { is_over ? -1 : signals, POLLIN, 0 },
			[CALLS] = { supervise_descriptor(supervisor), POLLIN, 0 },
			[TELLER] = { is_over ? -1 : teller->socket, POLLIN, 0 },
		};
		if (is_over)
			supervise_refuse(supervisor);
		if (teller->is_unsent)
			report_change(teller, &teller->unsent);
		if (is_over && is_last && !teller->is_unsent)
			_exit(0);
		if (poll(wait, sizeof(wait) / sizeof(wait[0]), teller->is_unsent ? 1 : -1) < 0)
			continue;
		if (wait[CALLS].revents)
			is_last = !supervise_tend(supervisor);
		bool is_alone = wait[TELLER].revents & ~POLLIN;
		/* A kill of `seen run` is meant for the command. */
		if (is_alone) {
			(void)kill(command, SIGKILL);
			teller->to = -1;
		}
		struct signalfd_siginfo info;
		while (wait[SIGNALS].revents && read(signals, &info, sizeof(info)) > 0)
			;
		if (wait[SIGNALS].revents || is_alone)
			is_over = report_changes(teller, command, !is_alone);
		else if (wait[TELLER].revents)
			is_over = answer_requests(teller, command);
	}
}

/* Moves descriptors to numbers in rising order, above what detach() needs. */
static int move_above(int *const fds[], int count)
{
	int least = 10;

	for (int i = 0; i < count; i++) {
		*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, least);
		if (*fds[i] < 0)
			return -errno;
		least = *fds[i] + 1;
	}
	return 0;
}

/* Waits for the command, or ends with it where it cannot be supervised. */
_Noreturn static void serve_or_fail(int error, struct supervisor *supervisor, struct teller *teller,
				    pid_t command, bool no_new_privs, int go)
{
	struct wire wire = { .kind = error ? MESSAGE_FAILED : MESSAGE_STARTED,
			     .value = error ? error : command,
			     .no_new_privs = no_new_privs };
	int signals = -1;
	sigset_t child;

	(void)sigemptyset(&child);
	(void)sigaddset(&child, SIGCHLD);
	if (!error && (signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		wire = (struct wire){ .kind = MESSAGE_FAILED, .value = -errno };
	if (wire.kind == MESSAGE_STARTED) {
		/* Without this message `seen run`, which waits for it, would start the command once more. */
		send_surely(teller->socket, &wire, sizeof(wire));
		if (go >= 0) {
			send_surely(go, "", 1); /* or the command would not begin */
			(void)close(go);
		}
		serve(supervisor, teller, command, signals);
	}
	if (command > 0) {
		(void)kill(command, SIGKILL);
		(void)waitpid(command, NULL, 0);
	}
	(void)report(teller, &wire);
	_exit(1);
}

static struct supervision supervision_of(const struct supervised_start *start,
					 struct teller *teller, pid_t command)
{
	return (struct supervision){
		.segment = start->segment,
		.command = command,
		.directory = start->directory,
		.journal = start->journal,
		.has_library = start->has_library,
		.is_strict = start->is_strict,
		.report = report_line,
		.data = teller,
	};
}

/* The command is below no filter.  The socket is there before it begins. */
_Noreturn static void supervise_programs(const struct supervised_start *start,
					 struct teller *teller)
{
	uint32_t run = start->context.flags >> CONTEXT_RUN_SHIFT;
	struct supervisor *supervisor = NULL;
	int socket = -1;

	/* Without a socket each program is started plainly, and reported. */
	(void)supervise_bind(start->directory, run, &socket);
	pid_t command = fork();
	if (command == 0) {
		(void)close(teller->socket);
		(void)start->announce(start->data);
		start->become(start->data);
		_exit(1);
	}
	int error = command < 0 ? -errno : 0;
	int *kept[] = { &teller->socket, &socket };
	if (error == 0)
		error = move_above(kept, socket < 0 ? 1 : 2);
	if (error == 0) {
		detach((int[]){ teller->socket, socket }, socket < 0 ? 1 : 2);
		const struct supervision supervision = supervision_of(start, teller, command);
		error = supervise_at_exec(socket, run, &supervision, &supervisor);
	}
	serve_or_fail(error, supervisor, teller, command, false, -1);
}

/* The command is below a filter, and all that it starts. */
_Noreturn static void supervise_command(const struct supervised_start *start, struct teller *teller)
{
	uint64_t mark = start->has_library ? supervise_mark(start->segment) : 0;
	struct supervisor *supervisor = NULL;
	int sockets[2], listener = -1;
	struct ready ready = { .error = 0 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		serve_or_fail(-errno, NULL, teller, -1, false, -1);
	pid_t command = fork();
	if (command == 0) {
		(void)close(sockets[0]);
		(void)close(teller->socket);
		run_command(start, mark, sockets[1]);
	}
	int error = command < 0 ? -errno : 0;
	(void)close(sockets[1]);
	if (error == 0)
		error = receive_ready(sockets[0], &ready, &listener) ? ready.error : -EIO;
	int *kept[] = { &teller->socket, &sockets[0], &listener };
	if (error == 0)
		error = move_above(kept, 3);
	if (error == 0) {
		detach((int[]){ teller->socket, sockets[0], listener }, 3);
		const struct supervision supervision = supervision_of(start, teller, command);
		const struct supervise_root root = { .pid = command,
						     .process = ready.process,
						     .context = start->context,
						     .no_new_privs = ready.no_new_privs };
		error = supervise_start(listener, &root, &supervision, &supervisor);
	}
	serve_or_fail(error, supervisor, teller, command, ready.no_new_privs, sockets[0]);
}

/* ---- `seen run` ---- */

int supervised_start(const struct supervised_start *start, struct supervised *ret_supervised)
{
	struct teller teller = { .to = getpid() };
	struct wire wire;
	int sockets[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	pid_t supervisor = fork();
	if (supervisor == 0) {
		(void)close(sockets[0]);
		teller.socket = sockets[1];
		if (start->at_exec)
			supervise_programs(start, &teller);
		supervise_command(start, &teller);
	}
	(void)close(sockets[1]);
	if (supervisor < 0) {
		(void)close(sockets[0]);
		return -EAGAIN;
	}
	ssize_t got;
	do
		got = recv(sockets[0], &wire, sizeof(wire), 0);
	while (got < 0 && errno == EINTR);
	if (got != sizeof(wire) || wire.kind != MESSAGE_STARTED) {
		(void)waitpid(supervisor, NULL, 0);
		(void)close(sockets[0]);
		return got == sizeof(wire) && wire.value < 0 ? wire.value : -EIO;
	}
	*ret_supervised = (struct supervised){
		.supervisor = supervisor,
		.command = wire.value,
		.descriptor = (int)syscall(SYS_pidfd_open, wire.value, 0),
		.messages = sockets[0],
		.no_new_privs = wire.no_new_privs,
	};
	return 0;
}

/* How the command ended, as long as its new parent has not taken note of that (proc(5), stat,
 * exit_code). */
static bool inspect_zombie(const struct supervised *supervised, int *ret_status)
{
	char path[64], text[1024];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)supervised->command);
	/* Still there, after it was inspected: then it was no other one of that number. */
	if (sys_read_file(path, text, sizeof(text)) <= 0 ||
	    syscall(SYS_pidfd_send_signal, supervised->descriptor, 0, NULL, 0) < 0)
		return false;
	const char *at = strrchr(text, ')'), *last = strrchr(text, ' ');
	if (!at || strncmp(at, ") Z", 3) != 0)
		return false;
	*ret_status = atoi(last + 1);
	return true;
}

/* The supervisor is dead; the command is another process's child now. */
static void inspect_orphan(struct supervised *supervised, struct supervised_message *ret_message)
{
	struct pollfd ended = { supervised->descriptor, POLLIN, 0 };
	struct compat_pidfd_info info = { .mask = COMPAT_PIDFD_INFO_EXIT };

	if (supervised->descriptor >= 0 && poll(&ended, 1, 0) == 0)
		return;
	ret_message->news = SUPERVISED_ENDED;
	for (int tries = 0; supervised->descriptor >= 0 && tries < 100; tries++) {
		const struct timespec SOON = { .tv_nsec = 1000000 };
		if (inspect_zombie(supervised, &ret_message->status))
			return;
		if (ioctl(supervised->descriptor, COMPAT_PIDFD_GET_INFO, &info) == 0 &&
		    (info.mask & COMPAT_PIDFD_INFO_EXIT)) {
			ret_message->status = info.exit_code;
			return;
		}
		(void)nanosleep(&SOON, NULL);
	}
	/* Where the kernel does not tell how it ended: as if it were killed with the supervisor. */
	ret_message->status = SIGKILL;
}

/* A stop that a SIGCONT ends which is still on its way. */
static bool is_being_ended(const struct supervised *supervised, const struct wire *wire)
{
	return wire->kind == MESSAGE_CHANGED && WIFSTOPPED(wire->value) &&
	       wire->going_on != supervised->going_on;
}

void supervised_next(struct supervised *supervised, struct supervised_message *ret_message)
{
	struct wire wire;

	*ret_message = (struct supervised_message){ .news = SUPERVISED_NONE };
	if (supervised->messages < 0) {
		inspect_orphan(supervised, ret_message);
		return;
	}
	ssize_t got;
	do
		got = recv(supervised->messages, &wire, sizeof(wire), MSG_DONTWAIT);
	while (got == sizeof(wire) && is_being_ended(supervised, &wire));
	if (got < 0) {
		/* A supervisor that a process has stopped cannot report the end. */
		struct pollfd ended = { supervised->descriptor, POLLIN, 0 };
		if (supervised->descriptor >= 0 && poll(&ended, 1, 0) == 1)
			(void)kill(supervised->supervisor, SIGCONT);
		return;
	}
	if (got == 0) {
		(void)close(supervised->messages);
		supervised->messages = -1;
		ret_message->news = SUPERVISED_LOST;
		return;
	}
	if (wire.kind == MESSAGE_CHANGED)
		supervised->stops = wire.stops;
	ret_message->status = wire.value;
	memcpy(ret_message->line, wire.line, sizeof(ret_message->line));
	ret_message->line[sizeof(ret_message->line) - 1] = '\0';
	ret_message->news = wire.kind == MESSAGE_LINE ? SUPERVISED_LINE
			    : WIFSTOPPED(wire.value)  ? SUPERVISED_STOPPED
						      : SUPERVISED_ENDED;
}

static bool ask(const struct supervised *supervised, int signal, bool if_stopped)
{
	const struct signal_request asked = { signal, if_stopped, supervised->stops };

	return supervised->messages >= 0 && send(supervised->messages, &asked, sizeof(asked),
						 MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(asked);
}

void supervised_signal(struct supervised *supervised, int signal)
{
	/* By the supervisor, as what supervised_let_go_on() asks for: none overtakes another. */
	bool is_of_jobs = signal == SIGCONT || signal == SIGTSTP || signal == SIGTTIN ||
			  signal == SIGTTOU;

	if (is_of_jobs && ask(supervised, signal, false))
		supervised->going_on += signal == SIGCONT;
	/* Not by its number, which may be another's once the supervisor has taken note of its
	 * end. */
	else if (supervised->descriptor >= 0)
		(void)syscall(SYS_pidfd_send_signal, supervised->descriptor, signal, NULL, 0);
	else
		(void)kill(supervised->command, signal);
}

bool supervised_let_go_on(const struct supervised *supervised)
{
	return ask(supervised, SIGCONT, true);
}

/* The supervisor ends with the last program below it.  What the command used of the processor is
 * its caller's to know, and comes by waiting for it (getrusage(2), RUSAGE_CHILDREN). */
static void await_supervisor(const struct supervised *supervised)
{
	enum { ENDS_MS = 50 };
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, supervised->supervisor, 0),
				.events = POLLIN };

	if (ended.fd < 0)
		return;
	if (poll(&ended, 1, supervised->messages < 0 ? 0 : ENDS_MS) == 1)
		(void)waitpid(supervised->supervisor, NULL, 0);
	(void)close(ended.fd);
}

void supervised_close(struct supervised *supervised)
{
	await_supervisor(supervised);
	if (supervised->messages >= 0)
		(void)close(supervised->messages);
	if (supervised->descriptor >= 0)
		(void)close(supervised->descriptor);
}
