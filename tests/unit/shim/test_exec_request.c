/* shim/start/request.h, shim/supervise/reception.h, guardian.h: programs that become supervised; clients that send anything; and a
 * supervisor that is stopped, or killed at each step. */
#include <criterion/criterion.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "shim/start/filter.h"
#include "shim/start/request.h"
#include "shim/supervise/reception.h"
#include "shim/supervise/supervisor.h"
#include "support.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

enum { RUN = 77, WAIT_MS = 10000, MANY = 300 };

static struct world world;
static pid_t serving; /* the supervisor's process */

/* ---- a supervisor in a process of its own ---- */

_Noreturn static void serve(int socket)
{
	static struct supervision supervision;
	struct supervisor *supervisor;

	supervision = (struct supervision){ .segment = &world.segment,
					    .directory = world.root,
					    .has_library = true };
	must(supervise_at_exec(socket, RUN, &supervision, &supervisor) == 0);
	for (;;) {
		struct pollfd wait = { supervise_descriptor(supervisor), POLLIN, 0 };
		if (poll(&wait, 1, -1) == 1)
			(void)supervise_tend(supervisor);
	}
}

static void start(void)
{
	char path[128];
	int socket;

	world_open(&world, NULL);
	serving = fork();
	must(serving >= 0);
	if (serving == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Here: whose socket it is tells whose state matters. */
		must(supervise_bind(world.root, RUN, &socket) == 0);
		serve(socket);
	}
	(void)snprintf(path, sizeof(path), "%s/exec-%d", world.root, RUN);
	for (int waited = 0; access(path, F_OK) < 0; waited++) {
		must(waited < WAIT_MS);
		(void)usleep(1000);
	}
	(void)usleep(10000); /* bound, and soon listened to */
}

static void stop(void)
{
	(void)kill(serving, SIGKILL);
	(void)waitpid(serving, NULL, 0);
	world_close(&world);
}

TestSuite(exec_request, .init = start, .fini = stop, .timeout = 60);

/* ---- programs ---- */

static struct request_start ask_for(struct process_ref process)
{
	return (struct request_start){
		.directory = world.root, .run = RUN, .process = process, .may_drop = true
	};
}

static struct process_ref announce(void)
{
	const struct context context = { .flags = CONTEXT_ATTACHED };
	char *const words[] = { (char *)(uintptr_t) "true", NULL };
	char ticket[TICKET_BYTES];

	return process_announce(&world.segment, SUBJECT_SELF, &context,
				(struct process_ref){ 0, 0 }, getpid(), "/bin/true", words, ticket);
}

/* What a trapped call does in a child: an open of a file of the workspace.  exit_group is trapped,
 * too. */
static bool opens(void)
{
	int fd = open(world.file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* Runs a step in a child, which ends with its result. */
static int run_step(int (*step)(void))
{
	int status;
	pid_t child = fork();

	must(child >= 0);
	if (child == 0)
		_exit(step());
	for (int waited = 0; waitpid(child, &status, WNOHANG) == 0; waited++) {
		if (waited == WAIT_MS) {
			(void)kill(child, SIGKILL);
			(void)waitpid(child, NULL, 0);
			return -1;
		}
		(void)usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int become_supervised(void)
{
	const struct request_start start = ask_for(announce());
	enum mechanism mechanism = request_supervision(&start);

	return mechanism == MECHANISM_SUPERVISOR && opens() ? 42 : (int)mechanism;
}

static int connect_to_run(void)
{
	struct sockaddr_un address;
	socklen_t bytes;
	int held, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	must(fd >= 0 && request_address(world.root, RUN, &address, &bytes, &held) == 0 && held < 0);
	return connect(fd, (struct sockaddr *)&address, bytes) == 0 ? fd : (close(fd), -1);
}

/* Waits for what the supervisor sends.  Returns the bytes, 0 at the end, -1 when nothing comes. */
static ssize_t hear(int fd, void *ret_message, size_t bytes)
{
	struct pollfd wait = { fd, POLLIN, 0 };
	return poll(&wait, 1, WAIT_MS) == 1 ? recv(fd, ret_message, bytes, 0) : -1;
}

static void hear_ready(int fd, struct request_ready *ret_ready)
{
	must(hear(fd, ret_ready, sizeof(*ret_ready)) == sizeof(*ret_ready) &&
	     ret_ready->magic == REQUEST_MAGIC);
}

static void send_with(int fd, const void *message, size_t bytes, const int *fds, size_t count)
{
	struct iovec vector = { (void *)(uintptr_t)message, bytes };
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(16 * sizeof(int))];
	} control = { .space = { 0 } };
	struct msghdr packet = { .msg_iov = &vector, .msg_iovlen = 1 };

	if (count) {
		packet.msg_control = &control;
		packet.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	must(sendmsg(fd, &packet, MSG_NOSIGNAL) == (ssize_t)bytes);
}

Test(exec_request, programs_are_taken_in)
{
	for (int i = 0; i < 20; i++)
		cr_assert_eq(run_step(become_supervised), 42);
}

Test(exec_request, no_descriptor_stays_open)
{
	int before = dup(0);
	cr_assert_eq(run_step(become_supervised), 42);
	(void)close(before);
	int after = dup(0);
	cr_assert_eq(before, after);
}

/* ---- clients that send anything ---- */

static void expect_close(int fd)
{
	char byte;
	cr_assert_leq(hear(fd, &byte, 1), 0);
	(void)close(fd);
}

Test(exec_request, messages_of_another_form_end_their_connection)
{
	struct request_listener message = { .magic = REQUEST_MAGIC };
	char text[4096] = "anything";
	struct request_ready ready;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int many[] = {
		null, null, null, null, null, null, null, null, null, null, null, null
	};

	for (int kind = 0; kind < 9; kind++) {
		int fd = connect_to_run();
		cr_assert_geq(fd, 0);
		hear_ready(fd, &ready);
		cr_assert_not(ready.is_full);
		message = (struct request_listener){ .magic = REQUEST_MAGIC };
		if (kind == 0)
			send_with(fd, text, 1, NULL, 0);
		else if (kind == 1)
			send_with(fd, text, sizeof(text), NULL, 0);
		else if (kind == 2)
			send_with(fd, &message, sizeof(message), NULL, 0);
		else if (kind == 3) /* no listener */
			send_with(fd, &message, sizeof(message), &null, 1);
		else if (kind == 4)
			send_with(fd, &message, sizeof(message), many, 12);
		else if (kind == 5)
			message.magic = 0, send_with(fd, &message, sizeof(message), &null, 1);
		else if (kind == 6)
			message.error = 5, send_with(fd, &message, sizeof(message), &null, 1);
		else if (kind == 7)
			message.error = -EBUSY, send_with(fd, &message, sizeof(message), NULL, 0);
		else
			send_with(fd, &message, sizeof(message) - 1, &fd, 1);
		expect_close(fd);
	}
	cr_assert_eq(run_step(become_supervised), 42);
	(void)close(null);
}

/* A process that is not the announced one gets a place of its own. */
static int claim_another(void)
{
	struct process_ref other = announce();
	struct process_slot slot;

	must(process_read(&world.segment, other.index, &slot));
	process_renumber(&world.segment, other, 1);
	const struct request_start start = ask_for(other);
	if (request_supervision(&start) != MECHANISM_SUPERVISOR)
		return 1;
	return process_read(&world.segment, other.index, &slot) && slot.pid == 1 && opens() ? 42
											    : 2;
}

Test(exec_request, another_process_cannot_be_claimed)
{
	cr_assert_eq(run_step(claim_another), 42);
}

static int ask_in_vain(void)
{
	const struct request_start start = ask_for((struct process_ref){ 0, 0 });
	return (int)request_supervision(&start);
}

Test(exec_request, silent_clients_are_bounded)
{
	int fds[MANY], full = 0;
	struct request_ready ready;

	for (int i = 0; i < MANY; i++) {
		fds[i] = connect_to_run();
		cr_assert_geq(fds[i], 0);
		hear_ready(fds[i], &ready);
		full += ready.is_full != 0;
	}
	cr_assert_gt(full, 0);
	cr_assert_lt(full, MANY);
	cr_assert_eq(run_step(ask_in_vain), MECHANISM_FULL);
	/* They lose their places to those that come later. */
	(void)usleep(1100000);
	cr_assert_eq(run_step(become_supervised), 42);
	for (int i = 0; i < MANY; i++)
		(void)close(fds[i]);
	cr_assert_eq(run_step(become_supervised), 42);
}

/* Connects, sends anything, leaves; for as long as the test lives. */
_Noreturn static void storm(unsigned seed)
{
	char bytes[64];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = connect_to_run();
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (char)rand_r(&seed);
		size_t size = (size_t)rand_r(&seed) % sizeof(bytes);
		if (fd >= 0 && rand_r(&seed) % 4)
			(void)send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (fd >= 0)
			(void)close(fd);
	}
}

Test(exec_request, a_storm_of_clients)
{
	enum { CLIENTS = 3, STARTS = 8 };
	pid_t clients[CLIENTS];

	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = fork();
		must(clients[i] >= 0);
		if (clients[i] == 0)
			storm(i);
	}
	/* It may be started plainly then; it never fails, or waits for ever. */
	for (int i = 0; i < STARTS; i++) {
		int result = run_step(become_supervised);
		cr_assert(result == 42 || result == MECHANISM_FULL || result == MECHANISM_NO_TIME ||
				  result == MECHANISM_NO_SOCKET,
			  "%d", result);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		must(kill(clients[i], SIGKILL) == 0 && waitpid(clients[i], NULL, 0) > 0);
	cr_assert_eq(run_step(become_supervised), 42);
}

static int ask_as_another_user(void)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/exec-%d", world.root, RUN);
	must(chmod(world.root, 0777) == 0 && chmod(path, 0777) == 0 && setuid(65534) == 0);
	return ask_in_vain();
}

Test(exec_request, other_users_are_refused)
{
	if (geteuid() != 0)
		cr_skip_test("for root only");
	cr_assert_eq(run_step(ask_as_another_user), MECHANISM_NO_SOCKET);
	cr_assert_eq(run_step(become_supervised), 42);
}

/* ---- why a program is started plainly ---- */

static int ask_another_run(void)
{
	struct request_start start = ask_for((struct process_ref){ 0, 0 });
	start.run = RUN + 1;
	return (int)request_supervision(&start);
}

static int ask_from_another_root(void)
{
	struct request_start start = ask_for((struct process_ref){ 0, 0 });
	start.directory = "/nonexistent/session";
	return (int)request_supervision(&start);
}

static int ask_without_descriptors(void)
{
	const struct rlimit none = { 0, 0 };

	must(setrlimit(RLIMIT_NOFILE, &none) == 0);
	return ask_in_vain();
}

static int ask_with_one_descriptor(void)
{
	int last = dup(0);
	const struct rlimit one = { (rlim_t)last + 1, (rlim_t)last + 1 };

	(void)close(last);
	must(setrlimit(RLIMIT_NOFILE, &one) == 0);
	int mechanism = ask_in_vain();
	return opens() ? mechanism : 0; /* no filter is there */
}

static int ask_below_a_filter(void)
{
	struct sock_filter program[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog filter = { .len = 1, .filter = program };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
	return ask_in_vain();
}

static int ask_below_a_tracer(void)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		must(ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 && raise(SIGSTOP) == 0);
		_exit(ask_in_vain());
	}
	must(waitpid(child, &status, 0) == child && ptrace(PTRACE_CONT, child, 0, 0) == 0);
	must(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

Test(exec_request, reasons)
{
	cr_assert_eq(run_step(ask_another_run), MECHANISM_LIBRARY); /* it has no supervisor */
	cr_assert_eq(run_step(ask_from_another_root), MECHANISM_NO_SOCKET);
	cr_assert_eq(run_step(ask_without_descriptors), MECHANISM_NO_DESCRIPTOR);
	cr_assert_eq(run_step(ask_with_one_descriptor), MECHANISM_NO_DESCRIPTOR);
	cr_assert_eq(run_step(ask_below_a_filter), MECHANISM_FILTERED);
	cr_assert_eq(run_step(ask_below_a_tracer), MECHANISM_TRACED);
}

static int ask_as_an_ordinary_user(void)
{
	struct request_start start = ask_for((struct process_ref){ 0, 0 });

	if (geteuid() == 0) {
		must(chown(world.root, 65534, 65534) == 0);
		must(setuid(65534) == 0);
	}
	start.may_drop = false;
	return (int)request_supervision(&start);
}

Test(exec_request, an_ordinary_user)
{
	cr_assert_eq(run_step(ask_as_an_ordinary_user), MECHANISM_USER);
}

/* ---- a supervisor that does not go on ---- */

static uint64_t now_ms(void)
{
	return sys_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

Test(exec_request, one_that_is_stopped)
{
	must(kill(serving, SIGSTOP) == 0);
	uint64_t before = now_ms();
	cr_assert_eq(run_step(ask_in_vain), MECHANISM_NO_TIME);
	cr_assert_lt(now_ms() - before, 2000);
	must(kill(serving, SIGCONT) == 0);
	cr_assert_eq(run_step(become_supervised), 42);
}

Test(exec_request, killed_before)
{
	must(kill(serving, SIGKILL) == 0);
	must(waitpid(serving, NULL, 0) == serving);
	cr_assert_eq(run_step(ask_in_vain), MECHANISM_NO_SOCKET);
}

static void kill_serving(void)
{
	must(kill(serving, SIGKILL) == 0);
	(void)usleep(50000);
}

/* The steps of a program, with a supervisor that dies behind one of them. */
static int killed_behind(int step)
{
	struct request_listener message = { .magic = REQUEST_MAGIC, .process = announce() };
	struct request_ready ready;
	bool promised;

	int fd = connect_to_run();
	must(fd >= 0);
	hear_ready(fd, &ready);
	if (step == 0)
		kill_serving();
	int listener = filter_install(ready.mark, false, &promised);
	must(listener >= 0);
	if (step == 1)
		kill_serving();
	send_with(fd, &message, sizeof(message), &listener, 1);
	(void)close(listener);
	(void)close(fd);
	if (step == 2)
		kill_serving();
	if (step == 3) {
		(void)usleep(50000); /* it has been taken */
		kill_serving();
	}
	return opens() ? 42 : 1;
}

static int killed_before_filter(void)
{
	return killed_behind(0);
}

static int killed_behind_filter(void)
{
	return killed_behind(1);
}

static int killed_behind_listener(void)
{
	return killed_behind(2);
}

static int killed_later(void)
{
	return killed_behind(3);
}

Test(exec_request, killed_before_the_filter)
{
	cr_assert_eq(run_step(killed_before_filter), 42);
}

Test(exec_request, killed_between_filter_and_listener)
{
	cr_assert_eq(run_step(killed_behind_filter), 42);
}

Test(exec_request, killed_behind_the_listener)
{
	cr_assert_eq(run_step(killed_behind_listener), 42);
}

Test(exec_request, killed_once_it_is_taken_in)
{
	cr_assert_eq(run_step(killed_later), 42);
}
