/*
 * Hazard: ways to a file that are no open(2): descriptors that come with a message, sockets that have a name in the file system, requests that
 * libaio gives to the kernel.
 */
#include <dlfcn.h>
#include <linux/aio_abi.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "check.h"

enum { MESSAGES = 2 };

static void send_descriptor(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 'x';
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	CHECK(sendmsg(socket, &message, 0) == 1);
}

static void receive_many(void)
{
	char control[MESSAGES][CMSG_SPACE(sizeof(int))], bytes[MESSAGES];
	struct iovec parts[MESSAGES];
	struct mmsghdr messages[MESSAGES];
	int ends[2], fds[MESSAGES];

	memset(messages, 0, sizeof(messages));
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
	for (int i = 0; i < MESSAGES; i++) {
		int fd = open("file", O_RDWR | O_CREAT, 0600);
		send_descriptor(ends[0], fd);
		CHECK(close(fd) == 0);
		parts[i] = (struct iovec){ &bytes[i], 1 };
		messages[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i],
						       .msg_iovlen = 1,
						       .msg_control = control[i],
						       .msg_controllen = sizeof(control[i]) };
	}
	SHOW(recvmmsg(ends[1], messages, MESSAGES, 0, NULL));
	for (int i = 0; i < MESSAGES; i++) {
		memcpy(&fds[i], CMSG_DATA(CMSG_FIRSTHDR(&messages[i].msg_hdr)), sizeof(fds[i]));
		SHOW(pwrite(fds[i], "received\n", 9, i * 9L));
		CHECK(close(fds[i]) == 0);
	}
	show_file("file");
	SHOW(recvmmsg(ends[1], messages, MESSAGES, MSG_DONTWAIT, NULL));
	SHOW(recvmmsg(-1, messages, MESSAGES, 0, NULL));
	SHOW(recvmsg(ends[1], NULL, MSG_DONTWAIT));
}

static void name_sockets(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "socket" };
	const socklen_t family = offsetof(struct sockaddr_un, sun_path);
	struct sockaddr *address = (struct sockaddr *)&name;
	struct stat stat;

	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), address, sizeof(name)));
	CHECK(lstat("socket", &stat) == 0 && S_ISSOCK(stat.st_mode));
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), address, sizeof(name)));
	SHOW(bind(-1, address, sizeof(name)));
	memset(name.sun_path, 'n', sizeof(name.sun_path)); /* no NUL behind it */
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), address, sizeof(name)));
	SHOW(access("nnn", F_OK));
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), address, family + 3));
	SHOW(access("nnn", F_OK));
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), address, family)); /* the kernel chooses one */
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), address, sizeof(name) + 1));
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), NULL, sizeof(name)));
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)8, 20));
	(void)snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "messages %d", getpid());
	name.sun_path[0] = '\0'; /* of no file */
	SHOW(bind(socket(AF_UNIX, SOCK_STREAM, 0), address, sizeof(name)));
}

static void submit(void)
{
	char library[4096];
	aio_context_t context = 0;
	int fd = open("queued", O_RDWR | O_CREAT, 0600);
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_PWRITE,
				.aio_fildes = (unsigned)fd,
				.aio_buf = (uintptr_t) "queued\n",
				.aio_nbytes = 7 };
	struct iocb *requests[] = { &request };
	struct io_event event;

	(void)snprintf(library, sizeof(library), "%.*s/kernel_aio.so",
		       (int)(strrchr(self(), '/') - self()), self());
	CHECK(dlopen(library, RTLD_NOW | RTLD_GLOBAL));
	int (*io_submit)(aio_context_t, long, struct iocb **) = (int (*)(
		aio_context_t, long, struct iocb **))dlsym(RTLD_DEFAULT, "io_submit");
	CHECK(io_submit);
	if (syscall(SYS_io_setup, 1, &context) != 0) {
		printf("no queues\n");
		return;
	}
	SHOW(io_submit(context, 1, requests));
	SHOW(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
	SHOW(syscall(SYS_io_submit, context, 1, requests));
	SHOW(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
	SHOW(io_submit(context, 1, NULL));
	SHOW(io_submit(context, 1, (struct iocb **)8));
	SHOW(io_submit(0, 1, requests));
	SHOW(io_submit(context, 0, requests));
	SHOW(io_submit(context, -1, requests));
	requests[0] = (struct iocb *)8;
	SHOW(io_submit(context, 1, requests));
	show_file("queued");
}

int main(void)
{
	receive_many();
	name_sockets();
	submit();
	return 0;
}
