/* The guardian: see guardian.h. */
#include "shim/supervise/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/start/request.h"
#include "tracker/sys/sys.h"

enum {
	NAP_MS = 5,
	HOLD_TRIES = 16, /* before a guardian is taken for stopped */
};

enum {
	QUEUE, /* its descriptor 0, and its place among those waited for */
	HELD,  /* the first place of the others */
	/* twice as many as the supervisor has: ends are noted later here */
	PLACES = HELD + 2 * (GUARDIAN_LISTENERS_MAX + GUARDIAN_CONNECTIONS_MAX),
};

/* The guardian's own. */
struct guardian {
	struct received *received;
	int received_count;
	size_t call_bytes;
	bool is_alone; /* the supervisor has died */
	nfds_t count;
	struct pollfd wait[PLACES];
	bool is_connection[PLACES];
};

static void send_descriptor(int socket, enum guardian_kind kind, int fd, int flags, int *ret_error)
{
	struct iovec bytes = { &kind, sizeof(kind) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	*ret_error = sendmsg(socket, &message, flags) < 0 ? -errno : 0;
}

/* Receives a message of `bytes` bytes and the first descriptor with it, -1; closes others.  Returns
 * what recvmsg(2) does, or a negative errno. */
static ssize_t receive(int socket, void *ret_bytes, size_t bytes, int flags, int *ret_fd)
{
	enum { FDS_MAX = 8 };
	struct iovec vector = { ret_bytes, bytes };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &vector,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	*ret_fd = -1;
	ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got < 0)
		return -errno;
	for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
		if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof(int));
			if (*ret_fd < 0)
				*ret_fd = fd;
			else
				(void)close(fd);
		}
	}
	return message.msg_flags & MSG_TRUNC ? (ssize_t)bytes + 1 : got;
}

/* Is that what seccomp(2) returned?  An ioctl would ask whatever it is. */
static bool is_listener(int fd)
{
	char path[32], link[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(path, link, sizeof(link) - 1);
	link[length > 0 ? length : 0] = '\0';
	return strcmp(link, "anon_inode:seccomp notify") == 0;
}

int guardian_receive_listener(int connection, int flags, struct request_listener *ret_message)
{
	int fd;
	ssize_t got = receive(connection, ret_message, sizeof(*ret_message), flags, &fd);
	int error = got < 0    ? (int)got
		    : got == 0 ? -EPIPE
		    : got != sizeof(*ret_message) || ret_message->magic != REQUEST_MAGIC ||
				    ret_message->error > 0
			    ? -EBADMSG
			    : ret_message->error;

	if (error == 0 && (fd < 0 || !is_listener(fd)))
		error = -EBADMSG;
	if (error == 0)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return error;
}

int guardian_hold(int queue, enum guardian_kind kind, int fd)
{
	struct pollfd room = { .fd = queue, .events = POLLOUT };
	int error;

	/* It may nap, or wait for a processor. */
	for (int tries = 0; tries < HOLD_TRIES; tries++) {
		send_descriptor(queue, kind, fd, MSG_NOSIGNAL | MSG_DONTWAIT, &error);
		if (error != -EAGAIN)
			break;
		(void)poll(&room, 1, NAP_MS);
	}
	return error;
}

/* ---- in the guardian ---- */

/* Keeps nothing of its parent but the queue; belongs to no terminal. */
static void become_guardian(int queue)
{
	struct sigaction action = { .sa_handler = SIG_IGN };

	(void)setsid();
	(void)!chdir("/");
	(void)prctl(PR_SET_NAME, "seen-guardian");
	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &action, NULL);
	if (dup2(queue, QUEUE) < 0)
		_exit(1); /* it would never learn of the supervisor's end */
	sys_close_between(QUEUE + 1, UINT32_MAX);
}

static void add(struct guardian *guardian, int fd, bool is_connection)
{
	if (guardian->count == PLACES) {
		(void)close(fd);
		return;
	}
	guardian->wait[guardian->count] = (struct pollfd){ .fd = fd };
	guardian->is_connection[guardian->count++] = is_connection;
}

static void drop(struct guardian *guardian, nfds_t at)
{
	(void)close(guardian->wait[at].fd);
	guardian->count--;
	guardian->wait[at] = guardian->wait[guardian->count];
	guardian->is_connection[at] = guardian->is_connection[guardian->count];
}

/* Takes what the supervisor handed over; notes its end. */
static void read_queue(struct guardian *guardian)
{
	enum guardian_kind kind;
	ssize_t got;
	int fd;

	while ((got = receive(QUEUE, &kind, sizeof(kind), 0, &fd)) > 0)
		if (fd >= 0)
			add(guardian, fd, kind == GUARDIAN_CONNECTION);
	if (got != 0)
		return;
	guardian->is_alone = true;
	guardian->wait[QUEUE].fd = -1;
	/* Which listener a call came from is not known: its number is one's alone. */
	for (int i = 0; i < guardian->received_count; i++) {
		const struct seccomp_notif *call = (const void *)guardian->received[i].call;
		for (nfds_t at = HELD; call->id && at < guardian->count; at++)
			if (!guardian->is_connection[at])
				notify_answer(guardian->wait[at].fd, call->id, PASS);
	}
}

static void let_pass(struct guardian *guardian, int listener)
{
	const struct seccomp_notif *call = (const void *)guardian->received->call;
	struct pollfd now = { .fd = listener, .events = POLLIN };

	/* It may be here twice, from the supervisor and from its connection: no call is left then, and
	 * to receive one would wait. */
	if (poll(&now, 1, 0) != 1 || !(now.revents & POLLIN))
		return;
	if (notify_receive(listener, guardian->received, guardian->call_bytes) == 0)
		notify_answer(listener, call->id, PASS);
}

/* A program between filter and exec whose supervisor has died.  False: nothing more comes of it. */
static bool acquire_listener(struct guardian *guardian, int connection)
{
	struct request_listener message = { 0 };
	int listener = guardian_receive_listener(connection, 0, &message);

	if (listener >= 0)
		add(guardian, listener, false);
	return listener == -EAGAIN;
}

/* A connection that its program has closed, or the supervisor: is there a message in it that the
 * supervisor has not taken? */
static bool holds_message(int connection)
{
	char byte;
	return recv(connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* An event of one of those waited for.  False: nothing more comes of it. */
static bool tend(struct guardian *guardian, nfds_t at)
{
	int fd = guardian->wait[at].fd;

	if (guardian->is_connection[at] && !guardian->is_alone)
		return holds_message(fd);
	if (!(guardian->wait[at].revents & POLLIN))
		return false;
	if (guardian->is_connection[at])
		return acquire_listener(guardian, fd);
	let_pass(guardian, fd);
	return true;
}

_Noreturn static void guard(struct guardian *guardian)
{
	for (;;) {
		/* As long as the supervisor lives, only ends are waited for. */
		for (nfds_t at = HELD; at < guardian->count; at++)
			guardian->wait[at].events = guardian->is_alone ? POLLIN : 0;
		if (guardian->is_alone && guardian->count == HELD)
			_exit(0);
		if (poll(guardian->wait, guardian->count, -1) < 0)
			continue;
		for (nfds_t at = guardian->count; at-- > HELD;) {
			if (guardian->wait[at].revents && !tend(guardian, at))
				drop(guardian, at);
		}
		if (guardian->wait[QUEUE].revents)
			read_queue(guardian);
		/* Where many programs start, it is not woken for each: only an end cannot wait. */
		struct pollfd end = { .fd = QUEUE };
		if (!guardian->is_alone)
			(void)poll(&end, 1, NAP_MS);
	}
}

int guardian_start(struct received *received, int count, size_t call_bytes, int *ret_queue,
		   pid_t *ret_between)
{
	static struct guardian guardian;
	int queue[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, queue) < 0)
		return -errno;
	pid_t child = fork();
	if (child == 0) {
		/* A child of a child, which no process has to wait for. */
		if (fork() != 0)
			_exit(0);
		become_guardian(queue[1]);
		guardian = (struct guardian){ .received = received,
					      .received_count = count,
					      .call_bytes = call_bytes,
					      .count = HELD };
		guardian.wait[QUEUE] = (struct pollfd){ .fd = QUEUE, .events = POLLIN };
		guard(&guardian);
	}
	(void)close(queue[1]);
	if (child < 0) {
		int error = -errno;
		(void)close(queue[0]);
		return error;
	}
	*ret_queue = queue[0];
	*ret_between = child;
	return 0;
}

void guardian_started(pid_t between)
{
	while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
}
