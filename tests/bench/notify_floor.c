/*
 * Runs a command below the least that a supervisor can be: a thread is handed every open (seccomp_unotify(2)),
 * inspects nothing and lets it pass.  What an open loses by that is the kernel's: two ioctls of the one, two switches
 * of context.  What `seen run --via supervise` takes more is ours.
 *
 * The thread wakes the caller on its own processor where the kernel can (6.6), as the supervisor does.
 *
 * usage: notify_floor COMMAND [ARGUMENT...]      ends with its status
 */
#include <linux/filter.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/start/compat.h"
#include "tests/support/support.h"

static int filter_opens(void)
{
	static const uint32_t TRAPPED[] = {
#ifdef SYS_open
		SYS_open,
#endif
		SYS_openat,
		SYS_openat2,
	};
	enum { COUNT = sizeof(TRAPPED) / sizeof(TRAPPED[0]) };
	static const unsigned long FLAGS_BY_AGE[] = {
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		SECCOMP_FILTER_FLAG_NEW_LISTENER,
	};
	struct sock_filter program[COUNT + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							   offsetof(struct seccomp_data, nr)) };
	struct sock_fprog filter = { .len = COUNT + 3, .filter = program };
	long listener = -1;

	for (int i = 0; i < COUNT; i++)
		program[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TRAPPED[i],
							      (uint8_t)(COUNT - i), 0);
	program[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	for (int i = 0; i < 2 && listener < 0; i++)
		listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, FLAGS_BY_AGE[i], &filter);
	return (int)listener;
}

static void run_command(char **command, int socket)
{
	char byte;
	int listener = filter_opens();

	if (listener < 0) {
		perror("notify_floor: seccomp");
		_exit(77); /* the other one learns it by the end of the socket */
	}
	must(write(socket, &listener, sizeof(listener)) == sizeof(listener));
	/* It is closed by the exec, so the other one has to have taken it before. */
	must(read(socket, &byte, 1) == 1);
	(void)execvp(command[0], command);
	perror(command[0]);
	_exit(127);
}

static void *let_pass(void *argument)
{
	const int listener = *(const int *)argument;

	for (;;) {
		struct seccomp_notif call = { 0 }; /* else it is refused */
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
			continue; /* the process is gone, or all are: then main() ends */
		struct seccomp_notif_resp answer = { .id = call.id,
						     .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static int listener; /* the thread outlives the frame of main() */
	int sockets[2], remote, status;
	pthread_t thread;

	if (argc < 2) {
		(void)fprintf(stderr, "usage: notify_floor COMMAND [ARGUMENT...]\n");
		return 2;
	}
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		must(close(sockets[0]) == 0);
		run_command(argv + 1, sockets[1]);
	}
	must(close(sockets[1]) == 0);
	if (read(sockets[0], &remote, sizeof(remote)) != sizeof(remote))
		return 77;
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	must(pidfd >= 0);
	listener = (int)syscall(SYS_pidfd_getfd, pidfd, remote, 0);
	must(listener >= 0);
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	must(pthread_create(&thread, NULL, let_pass, &listener) == 0);
	must(write(sockets[0], "", 1) == 1);
	must(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
