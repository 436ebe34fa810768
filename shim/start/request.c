/* A program asks to be supervised: see request.h. */
#include "shim/start/request.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "shim/start/filter.h"
#include "tracker/path/decimal.h"
#include "tracker/sys/sys.h"

enum {
	STATUS_BYTES = 4096,
	READY_WAITS = 20, /* times REQUEST_WAIT_MS: while the supervisor runs */
};

/* What the kernel reports of the calling thread. */
struct thread_status {
	uint64_t tracer, seccomp, filters, threads;
};

static bool find_value(const char *text, const char *name, uint64_t *ret_value)
{
	const char *at = strstr(text, name);

	if (!at)
		return false;
	at += strlen(name);
	*ret_value = 0;
	for (at += strspn(at, " \t"); *at >= '0' && *at <= '9'; at++)
		*ret_value = *ret_value * 10 + (uint64_t)(*at - '0');
	return true;
}

/* Returns 0, or a negative errno: -ENODATA where /proc does not tell it. */
static int inspect_self(struct thread_status *ret_status)
{
	char text[STATUS_BYTES];

	ssize_t length = sys_read_file("/proc/thread-self/status", text, sizeof(text));
	if (length < 0)
		return (int)length;
	if (!find_value(text, "\nTracerPid:", &ret_status->tracer) ||
	    !find_value(text, "\nThreads:", &ret_status->threads) ||
	    !find_value(text, "\nSeccomp:", &ret_status->seccomp))
		return -ENODATA;
	/* Before Linux 5.9 they are not counted, and nothing is supervised either. */
	if (!find_value(text, "\nSeccomp_filters:", &ret_status->filters))
		ret_status->filters = ret_status->seccomp ? UINT32_MAX : 0;
	return 0;
}

int request_count_filters(void)
{
	struct thread_status status;
	int error = inspect_self(&status);

	return error < 0 ? error : (int)status.filters;
}

/* Writes `exec-RUN` behind a directory's path. */
static bool write_path(const char *directory, uint32_t run, struct sockaddr_un *address)
{
	static const char NAME[] = "/exec-";
	char digits[24];
	size_t length = strlen(directory);

	*decimal_write(digits, run) = '\0';
	if (length + sizeof(NAME) + strlen(digits) > sizeof(address->sun_path))
		return false;
	memcpy(address->sun_path, directory, length);
	memcpy(address->sun_path + length, NAME, sizeof(NAME) - 1);
	memcpy(address->sun_path + length + sizeof(NAME) - 1, digits, strlen(digits) + 1);
	return true;
}

int request_address(const char *directory, uint32_t run, struct sockaddr_un *ret_address,
		    socklen_t *ret_bytes, int *ret_fd)
{
	static const char PREFIX[] = "/proc/thread-self/fd/";
	char link[sizeof(PREFIX) + 24];

	ret_address->sun_family = AF_UNIX;
	*ret_fd = -1;
	if (!write_path(directory, run, ret_address)) {
		int fd = sys_open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
		if (fd < 0)
			return fd;
		memcpy(link, PREFIX, sizeof(PREFIX) - 1);
		*decimal_write(link + sizeof(PREFIX) - 1, (uint64_t)fd) = '\0';
		(void)write_path(link, run, ret_address);
		*ret_fd = fd;
	}
	*ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				 strlen(ret_address->sun_path) + 1);
	return 0;
}

/* Returns a connected socket that waits REQUEST_WAIT_MS in each call, or a negative errno. */
static int connect_to_run(const struct request_start *start)
{
	const struct timeval wait = { .tv_usec = REQUEST_WAIT_MS * 1000 };
	struct sockaddr_un address;
	socklen_t bytes;
	int directory;

	int fd = (int)sys_call3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	int error = request_address(start->directory, start->run, &address, &bytes, &directory);
	if (error == 0) {
		(void)sys_call6(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&wait,
				sizeof(wait), 0);
		(void)sys_call6(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&wait,
				sizeof(wait), 0);
		error = (int)sys_call3(SYS_connect, fd, (long)&address, bytes);
	}
	if (directory >= 0)
		(void)sys_close(directory);
	if (error < 0) {
		(void)sys_close(fd);
		return error;
	}
	return fd;
}

/* Does the run have a supervisor, as far as the session's directory tells?  One that is not there
 * tells nothing. */
static bool may_have_supervisor(const struct request_start *start)
{
	struct sockaddr_un address;
	socklen_t bytes;
	int directory;

	if (request_address(start->directory, start->run, &address, &bytes, &directory) < 0)
		return true;
	int error = (int)sys_call3(SYS_faccessat, AT_FDCWD, (long)address.sun_path, F_OK);
	if (directory >= 0)
		(void)sys_close(directory);
	return error != -ENOENT ||
	       sys_call3(SYS_faccessat, AT_FDCWD, (long)start->directory, F_OK) < 0;
}

static enum mechanism explain_connect(int error)
{
	switch (error) {
	case -EMFILE:
	case -ENFILE:
		return MECHANISM_NO_DESCRIPTOR;
	case -EAGAIN:
	case -EINTR:
		return MECHANISM_NO_TIME;
	default:
		return MECHANISM_NO_SOCKET;
	}
}

/* Receives one message.  A signal handler of the program's may interrupt that. */
static long receive(int fd, void *ret_message, size_t bytes)
{
	long got;

	do
		got = sys_call6(SYS_recvfrom, fd, (long)ret_message, (long)bytes, 0, 0, 0);
	while (got == -EINTR);
	return got;
}

/* Does the supervisor run, or wait for a processor?  One that a process has stopped does not. */
static bool is_running(int fd)
{
	char path[40] = "/proc/", text[512];
	struct ucred peer = { .pid = 0 };
	socklen_t bytes = sizeof(peer);

	if (sys_call6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&bytes, 0) <
		    0 ||
	    peer.pid <= 0)
		return false;
	memcpy(decimal_write(path + strlen(path), (uint64_t)peer.pid), "/stat", sizeof("/stat"));
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	const char *behind_name = strrchr(text, ')');
	return behind_name && behind_name[1] == ' ' && strchr("RSD", behind_name[2]);
}

/* Waits for the supervisor: on a busy machine it may have to start what it starts at the first
 * program. */
static long receive_ready(int fd, struct request_ready *ret_ready)
{
	long got = -EAGAIN;

	for (int i = 0; i < READY_WAITS && got == -EAGAIN; i++) {
		if (i > 0 && !is_running(fd))
			break;
		got = receive(fd, ret_ready, sizeof(*ret_ready));
	}
	return got;
}

static void send_listener(int fd, struct request_listener *message, int listener)
{
	struct iovec bytes = { message, sizeof(*message) };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .space = { 0 } };
	struct msghdr packet = { .msg_iov = &bytes, .msg_iovlen = 1 };
	long sent;

	if (listener >= 0) {
		packet.msg_control = &control;
		packet.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &listener, sizeof(int));
	}
	do
		sent = sys_call3(SYS_sendmsg, fd, (long)&packet, MSG_NOSIGNAL);
	while (sent == -EINTR);
}

/* On a connection where the supervisor is ready. */
static enum mechanism install(const struct request_start *start, int fd,
			      const struct request_ready *ready)
{
	struct request_listener message = { .magic = REQUEST_MAGIC,
					    .is_run_root = start->is_run_root,
					    .process = start->process };
	bool no_new_privs = false;

	int listener = filter_install(ready->mark, false, &no_new_privs);
	message.error = listener < 0 ? listener : 0;
	message.no_new_privs = no_new_privs;
	send_listener(fd, &message, listener);
	if (listener == -EMFILE || listener == -ENFILE)
		return MECHANISM_NO_DESCRIPTOR;
	if (listener < 0)
		return MECHANISM_REFUSED;
	/* With the message the listener is in the connection, which the guardian holds, too.  Until
	 * one of them has taken it, the call of exec waits in the kernel. */
	(void)sys_close(listener);
	return MECHANISM_SUPERVISOR;
}

/* Does the task keep below a filter what it may do?  It has no_new_privs already, or needs none. */
static bool loses_nothing(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (sys_call6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) == 1)
		return true;
	return sys_call3(SYS_capget, (long)&header, (long)data, 0) == 0 &&
	       (data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN));
}

/* On a connection.  What the task inspects of itself it does while the supervisor wakes. */
static enum mechanism request_on(const struct request_start *start, int fd)
{
	struct thread_status status;
	struct request_ready ready;

	int error = inspect_self(&status);
	if (error < 0)
		return error == -EMFILE || error == -ENFILE ? MECHANISM_NO_DESCRIPTOR
							    : MECHANISM_UNKNOWN;
	if (status.tracer)
		return MECHANISM_TRACED;
	if (start->goes_on && status.threads != 1)
		return MECHANISM_UNKNOWN;
	long got = receive_ready(fd, &ready);
	if (got != sizeof(ready) || ready.magic != REQUEST_MAGIC)
		return got == -EAGAIN ? MECHANISM_NO_TIME : MECHANISM_NO_SOCKET;
	if (ready.is_full)
		return MECHANISM_FULL;
	return status.filters != ready.filters ? MECHANISM_FILTERED : install(start, fd, &ready);
}

enum mechanism request_supervision(const struct request_start *start)
{
	if (!may_have_supervisor(start))
		return MECHANISM_LIBRARY;
	if (!start->may_drop && !loses_nothing())
		return MECHANISM_USER;
	int fd = connect_to_run(start);
	if (fd < 0)
		return explain_connect(fd);
	enum mechanism mechanism = request_on(start, fd);
	(void)sys_close(fd);
	return mechanism;
}
