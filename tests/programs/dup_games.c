/* Hazard: descriptors moved about: output sent to a file and back, numbers swapped, opened in one thread, read in
 * another, closed in a third, passed through a socket.  A table by number is wrong at once. */
#include "check.h"

#include <pthread.h>
#include <sys/socket.h>

static int shared_fd;

static void *open_it(void *unused)
{
	shared_fd = open("two", O_RDONLY);
	return unused;
}

static void *read_it(void *bytes)
{
	return (void *)read(shared_fd, bytes, 100);
}

static void *close_it(void *unused)
{
	CHECK(close(shared_fd) == 0);
	return unused;
}

static void *in_thread(void *(*work)(void *), void *argument)
{
	pthread_t thread;
	void *result;
	CHECK(pthread_create(&thread, NULL, work, argument) == 0 &&
	      pthread_join(thread, &result) == 0);
	return result;
}

static void pass(int socket, int fd)
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

static int receive(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd;
	CHECK(recvmsg(socket, &message, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

int main(void)
{
	char bytes[100];
	int ends[2];

	write_file("one", "the first file\n", 0644);
	write_file("two", "the second file, longer\n", 0644);

	/* Standard output to a file and back. */
	fflush(stdout);
	int saved = dup(1);
	int file = open("output", O_RDWR | O_CREAT | O_TRUNC, 0644);
	CHECK(dup2(file, 1) == 1);
	printf("into the file\n");
	fflush(stdout);
	CHECK(system("echo from a child") == 0);
	CHECK(dup2(saved, 1) == 1);
	show_file("output");

	/* Numbers swapped. */
	int one = open("one", O_RDONLY), two = open("two", O_RDONLY), spare = dup(one);
	SHOW(dup2(two, one));
	SHOW(dup2(spare, two));
	SHOW(read(one, bytes, 100));
	SHOW(read(two, bytes, 100));
	SHOW(read(spare, bytes, 100));
	SHOW(lseek(spare, 4, SEEK_SET));
	SHOW(read(two, bytes, 5));
	printf("%.5s\n", bytes);
	SHOW(dup3(one, 100, O_CLOEXEC));
	SHOW(fcntl(100, F_GETFD));
	SHOW(fcntl(one, F_DUPFD, 100));
	SHOW(close(100));
	SHOW(open("one", O_RDONLY));

	in_thread(open_it, NULL);
	printf("read by another thread: %ld\n", (long)in_thread(read_it, bytes));
	in_thread(close_it, NULL);
	SHOW(read(shared_fd, bytes, 100));

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	int sent = open("two", O_RDONLY);
	pass(ends[0], sent);
	CHECK(close(sent) == 0);
	int received = receive(ends[1]);
	printf("received %d, the same number: %d\n", received, received == sent);
	SHOW(read(received, bytes, 100));
	pid_t child = fork_flushed();
	if (child == 0) {
		int fd = open("one", O_RDONLY);
		pass(ends[0], fd);
		_exit(0);
	}
	show_exit("sender", child);
	received = receive(ends[1]);
	SHOW(read(received, bytes, 100));
	SHOW(dup2(0, 0));
	SHOW(dup2(1, 2));
	return 0;
}
