/* receiver.h: who reads what a shell prints. */
#include <criterion/criterion.h>
#include <pty.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "support.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/receiver.h"
#include "tracker/process/ticket.h"

static struct world world;
static struct context context;
static int ends[2]; /* what the agent reads, and what the shell writes */

static void start(void)
{
	world_open(&world, "agent mine.spool=/**/spool*", NULL);
	context = (struct context){
		.flags = CONTEXT_ATTACHED | CONTEXT_AGENT | CONTEXT_AGENT_OUT | CONTEXT_ROOT_OUT,
		.root_out = { 1, 2, 3 },
		.agent_out = { { 4, 5, 6 }, { 7, 8, 9 } },
		.profile = (uint32_t)world.settings->profile_count,
		.anchor_pid = (uint32_t)getpid(),
		.pid_ns = process_pid_ns(),
		.scope_id = scope_id_of(7, "a"),
	};
	must(scope_claim(&world.segment, context.scope_id, NULL, context.anchor_pid,
			 context.profile, "a") != NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(receiver, .init = start, .fini = stop);

/* A process that has these descriptors alone, -1: none, and waits. */
static struct subject process_with(int in, int out)
{
	int ready[2];
	char byte;

	must(pipe(ready) == 0);
	(void)fflush(NULL);
	pid_t pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
		int copies[3] = { fcntl(in, F_DUPFD, 900), fcntl(out, F_DUPFD, 900),
				  fcntl(ready[1], F_DUPFD, 900) };
		for (int fd = 0; fd < 900; fd++)
			(void)close(fd);
		for (int i = 0; i < 3; i++)
			(void)(copies[i] >= 0 && dup2(copies[i], i == 2 ? 100 : i) >= 0 &&
			       close(copies[i]));
		must(write(100, "", 1) == 1 && close(100) == 0);
		for (;;)
			(void)pause();
	}
	must(close(ready[1]) == 0 && read(ready[0], &byte, 1) == 1 && close(ready[0]) == 0);
	return (struct subject){ (uint32_t)pid };
}

static void kill_process(struct subject subject)
{
	must(kill((pid_t)subject.pid, SIGKILL) == 0 &&
	     waitpid((pid_t)subject.pid, NULL, 0) == (pid_t)subject.pid);
}

/* The same in the process table, started by the agent or below the capture. */
static struct process_ref announce(struct subject subject, bool is_below)
{
	char *argv[] = { (char *)(uintptr_t) "gzip", NULL };
	struct context starter = context;
	char ticket[TICKET_BYTES];

	if (!is_below)
		starter.capture_id = 0;
	return process_announce(&world.segment, SUBJECT_SELF, &starter,
				(struct process_ref){ 0, 0 }, (pid_t)subject.pid, "/usr/bin/gzip",
				argv, ticket);
}

static enum receiver find_receiver(struct subject shell)
{
	return receiver_find(&world.segment, shell, &context, 0);
}

/* The shell, with its output as it is now. */
static struct subject shell_with(int out)
{
	struct subject shell = process_with(-1, out);
	context.capture_id = capture_claim(&world.segment, shell, &context, false);
	must(context.capture_id != 0);
	return shell;
}

/* Held by the agent; by another, too; by one below; by no process. */
static void each_holder(int agents, int shells)
{
	struct subject shell = shell_with(shells);

	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT);
	cr_assert_eq(receiver_find(&world.segment, shell, &context, context.pid_ns),
		     RECEIVER_AGENT);

	struct subject other = process_with(agents, -1);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT, "it is no process of the session");
	struct process_ref ref = announce(other, false);
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	process_exit(&world.segment, ref);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT);
	ref = announce(other, true);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT, "it is below the capture");
	process_exit(&world.segment, ref);
	(void)announce(other, false);
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(other); /* and has not said so */
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT);

	other = process_with(-1, shells);
	(void)announce(other, false);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT, "it only writes there");

	struct subject last = process_with(agents, -1);
	must(close(agents) == 0);
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	(void)announce(last, false);
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(last);
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(other);
	kill_process(shell);
}

Test(receiver, pipes)
{
	must(pipe(ends) == 0);
	each_holder(ends[0], ends[1]);
}

Test(receiver, sockets)
{
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	each_holder(ends[0], ends[1]);
}

Test(receiver, terminals)
{
	int others[2];

	must(openpty(&others[0], &others[1], NULL, NULL, NULL) == 0 &&
	     openpty(&ends[0], &ends[1], NULL, NULL, NULL) == 0);
	each_holder(ends[0], ends[1]);
}

/* The reading end of a file is the file: what writes there may read, too. */
Test(receiver, unlinked_files)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int writing = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && writing >= 0);
	each_holder(fd, writing);
}

Test(receiver, spool_files)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/spool", world.root);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct subject shell = shell_with(fd);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT, "it is opened to be read, and closed");
	int reading = open(path, O_RDONLY | O_CLOEXEC);
	struct subject other = process_with(reading, -1);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT);
	(void)announce(other, false);
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(other);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT);
	kill_process(shell);
}

/* A pipe's writing end says nothing of who reads. */
Test(receiver, the_writing_end)
{
	must(pipe(ends) == 0);
	struct subject shell = shell_with(ends[1]);
	must(close(ends[0]) == 0);
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(shell);
}

Test(receiver, another_namespace)
{
	must(pipe(ends) == 0);
	struct subject shell = shell_with(ends[1]);
	context.pid_ns++;
	cr_assert_eq(find_receiver(shell), RECEIVER_UNKNOWN);
	context.pid_ns = 0;
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(shell);
}

Test(receiver, the_agent_is_gone)
{
	must(pipe(ends) == 0);
	struct subject shell = shell_with(ends[1]);
	context.anchor_pid = 4194305;
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	context.anchor_pid = 0;
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(shell);
}

/* What is above a run whose agent is outside cannot be seen, and is not asked. */
Test(receiver, an_external_agent)
{
	must(pipe(ends) == 0);
	struct subject shell = shell_with(ends[1]);
	must(close(ends[0]) == 0);
	context.flags |= CONTEXT_EXTERNAL_AGENT;
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT);
	kill_process(shell);
}

Test(receiver, damage)
{
	must(pipe(ends) == 0);
	struct subject shell = shell_with(ends[1]);
	struct capture_slot *slot = segment_slot(&world.segment, TABLE_CAPTURES,
						 context.capture_id %
							 world.segment.capacity[TABLE_CAPTURES]);
	slot->kind = 77;
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	context.capture_id++;
	cr_assert_eq(find_receiver(shell), RECEIVER_OTHER);
	kill_process(shell);
}

/* Who is not below the shell prints nothing of it. */
Test(receiver, beside_the_shell)
{
	must(pipe(ends) == 0);
	struct subject shell = shell_with(ends[1]), other = process_with(-1, ends[1]);
	cr_assert_eq(find_receiver(shell), RECEIVER_AGENT);
	cr_assert_eq(find_receiver(other), RECEIVER_OTHER);
	kill_process(other);
	kill_process(shell);
}

/* A process that was forked, and one that executed a program since. */
Test(receiver, forks)
{
	struct kernel_status status;
	struct subject forked = process_with(-1, -1);
	char byte;

	cr_assert(kernel_status_of(forked.pid, &status) && status.is_fork);
	kill_process(forked);
	must(pipe(ends) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		must(dup2(ends[1], 1) == 1);
		(void)execl("/bin/sh", "sh", "-c", "echo; read line", NULL);
		_exit(1);
	}
	must(read(ends[0], &byte, 1) == 1);
	cr_assert(kernel_status_of((uint32_t)pid, &status) && !status.is_fork);
	kill_process((struct subject){ (uint32_t)pid });
}
