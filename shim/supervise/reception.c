/* Programs that ask to be supervised: see reception.h. */
#include "shim/supervise/reception.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/supervise/guardian.h"
#include "shim/supervise/proc.h"
#include "tracker/sys/sys.h"

enum {
	WAITING_MAX = 4096, /* connections that the kernel keeps until they are accepted */
	CONNECTIONS_MAX = GUARDIAN_CONNECTIONS_MAX,
	/* From being ready to its listener a program makes two calls.  One that was stopped there
	 * loses its place only to another one. */
	PATIENCE_NS = 1000000000,
	EVENTS_AT_ONCE = 32,
	NO_CONNECTION = -1,
	PAUSE_MS = 5,
	PROC_STATUS_BYTES = 4096,
};

struct connection {
	int fd; /* NO_CONNECTION: free */
	pid_t pid;
	bool is_confined; /* struct arrival_request */
	uint64_t since_ns;
};

struct reception {
	struct reception_owner owner;
	int events; /* epoll: over the socket (CONNECTIONS_MAX), and connections by their place */
	int socket; /* -1: refused */
	int count;
	char directory[4096];
	uint32_t run;
	pid_t command;
	struct connection connections[CONNECTIONS_MAX];
};

static int watch(const struct reception *reception, int fd, uint32_t place)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = place };

	return epoll_ctl(reception->events, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int reception_bind(const char *directory, uint32_t run, int *ret_socket)
{
	struct sockaddr_un address;
	socklen_t bytes;
	int held;

	if (!run)
		return -EINVAL;
	int error = request_address(directory, run, &address, &bytes, &held);
	if (error < 0)
		return error;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The name may be that of a run that was killed, whose number this one has again. */
	(void)unlink(address.sun_path);
	mode_t before = umask(0177);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, bytes) < 0 ||
	    listen(fd, WAITING_MAX) < 0)
		error = -errno;
	(void)umask(before);
	if (held >= 0)
		(void)close(held);
	if (error == 0)
		*ret_socket = fd;
	else if (fd >= 0)
		(void)close(fd);
	return error;
}

int reception_open(int socket, const char *directory, uint32_t run, pid_t command,
		   const struct reception_owner *owner, struct reception **ret_reception)
{
	struct reception *reception = calloc(1, sizeof(*reception));

	if (!reception)
		return -ENOMEM;
	reception->owner = *owner;
	reception->run = run;
	reception->command = command;
	reception->socket = socket;
	(void)snprintf(reception->directory, sizeof(reception->directory), "%s", directory);
	for (int i = 0; i < CONNECTIONS_MAX; i++)
		reception->connections[i].fd = NO_CONNECTION;
	reception->events = epoll_create1(EPOLL_CLOEXEC);
	int error = reception->events < 0 ? -errno : watch(reception, socket, CONNECTIONS_MAX);
	if (error == 0) {
		*ret_reception = reception;
		return 0;
	}
	if (reception->events >= 0)
		(void)close(reception->events);
	free(reception);
	return error;
}

int reception_descriptor(const struct reception *reception)
{
	return reception->events;
}

bool reception_waits(const struct reception *reception)
{
	return reception->count > 0;
}

static void drop_connection(struct reception *reception, struct connection *connection)
{
	/* The guardian has a copy: it would stay among those waited for, and open. */
	(void)epoll_ctl(reception->events, EPOLL_CTL_DEL, connection->fd, NULL);
	(void)shutdown(connection->fd, SHUT_RDWR);
	(void)close(connection->fd);
	connection->fd = NO_CONNECTION;
	reception->count--;
}

/* A free place, or that of the one that has waited longest.  NULL: none has waited for long. */
static struct connection *find_place(struct reception *reception, uint64_t now_ns)
{
	struct connection *oldest = NULL;

	for (int i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *connection = &reception->connections[i];
		if (connection->fd == NO_CONNECTION)
			return connection;
		if (!oldest || connection->since_ns < oldest->since_ns)
			oldest = connection;
	}
	if (now_ns - oldest->since_ns < PATIENCE_NS)
		return NULL;
	drop_connection(reception, oldest);
	return oldest;
}

/* Landlock takes no_new_privs, or CAP_SYS_ADMIN, and nothing in /proc shows it.  To be asked before
 * the filter is there, which may bring the promise with it.  Of several threads each has its own. */
static bool may_be_confined(pid_t pid)
{
	char text[PROC_STATUS_BYTES];

	return proc_read(pid, "status", text, sizeof(text)) <= 0 ||
	       !strstr(text, "\nThreads:\t1\n") || !strstr(text, "\nNoNewPrivs:\t0\n");
}

/* Takes one connection in, or says why not. */
static void welcome(struct reception *reception, int fd)
{
	struct request_ready ready = { .magic = REQUEST_MAGIC };
	uint64_t now_ns = sys_clock_ns(CLOCK_MONOTONIC);
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0 || peer.uid != geteuid() ||
	    peer.pid <= 0) {
		(void)close(fd);
		return;
	}
	struct connection *connection = find_place(reception, now_ns);
	bool is_confined = peer.pid != reception->command && may_be_confined(peer.pid);
	ready.is_full = !connection || !reception->owner.ready(reception->owner.data, &ready) ||
			reception->owner.connected(reception->owner.data, fd) < 0;
	if (send(fd, &ready, sizeof(ready), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(ready) ||
	    ready.is_full ||
	    watch(reception, fd, (uint32_t)(connection - reception->connections)) < 0) {
		(void)shutdown(fd, SHUT_RDWR); /* the guardian may have a copy */
		(void)close(fd);
		return;
	}
	*connection = (struct connection){ fd, peer.pid, is_confined, now_ns };
	reception->count++;
}

static void hear(struct reception *reception, struct connection *connection)
{
	struct arrival_request arrival = { .pid = connection->pid,
					   .is_confined = connection->is_confined };

	/* It stays in the connection for the guardian, until that has it, too. */
	arrival.listener = guardian_receive_listener(connection->fd, MSG_PEEK, &arrival.message);
	if (arrival.listener == -EAGAIN)
		return;
	if (arrival.listener >= 0) {
		reception->owner.arrived(reception->owner.data, &arrival);
		/* The guardian keeps a connection that holds a message. */
		(void)recv(connection->fd, &arrival.message, sizeof(arrival.message), MSG_DONTWAIT);
	}
	drop_connection(reception, connection);
}

void reception_tend(struct reception *reception)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int count = epoll_wait(reception->events, events, EVENTS_AT_ONCE, 0);

	for (int i = 0; i < count; i++) {
		uint32_t place = events[i].data.u32;
		if (place < CONNECTIONS_MAX && reception->connections[place].fd != NO_CONNECTION)
			hear(reception, &reception->connections[place]);
		if (place != CONNECTIONS_MAX || reception->socket < 0)
			continue;
		int fd = accept4(reception->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			welcome(reception, fd);
		else if (errno != EAGAIN &&
			 errno != ECONNABORTED) /* no descriptor is left: later */
			(void)poll(NULL, 0, PAUSE_MS);
	}
}

void reception_refuse(struct reception *reception)
{
	struct sockaddr_un address;
	socklen_t bytes;
	int directory;

	if (reception->socket < 0)
		return;
	(void)close(reception->socket);
	reception->socket = -1;
	if (request_address(reception->directory, reception->run, &address, &bytes, &directory) < 0)
		return;
	(void)unlink(address.sun_path);
	if (directory >= 0)
		(void)close(directory);
}
