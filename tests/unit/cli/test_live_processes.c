/* cli/run/live_processes.h: the session's processes that live, asked for again and again. */
#include <criterion/criterion.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cli/run/live_processes.h"
#include "support.h"

static struct world world;
static struct session session;
static struct live_processes list;
static int written = -1;
static struct stat file;

static void start(void)
{
	world_open(&world, NULL);
	(void)snprintf(session.directory, sizeof(session.directory), "%s", world.root);
	session.segment = world.segment;
	list = (struct live_processes){ .items = NULL };
	written = open(world_path(&world, "written"), O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
	must(written >= 0 && fstat(written, &file) == 0);
}

static void stop(void)
{
	free(list.items);
	(void)close(written);
	world_close(&world);
}

TestSuite(live_processes, .init = start, .fini = stop);

/* A child that holds the file open to write to it, and says so. */
static pid_t start_holder(void)
{
	int ends[2];
	char byte = 0;

	must(pipe(ends) == 0);
	pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails ends before it */
		int fd = open(world_path(&world, "written"), O_WRONLY);
		if (fd < 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		(void)pause();
	}
	must(child > 0 && read(ends[0], &byte, 1) == 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return child;
}

static void stop_holder(pid_t child)
{
	must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static uint32_t writer(void)
{
	live_processes_renew(&session, 0, &list);
	return live_processes_writer(&list, file.st_dev, file.st_ino);
}

Test(live_processes, one_that_began_a_moment_ago_is_found)
{
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(writer(), 0);
		pid_t child = start_holder();
		cr_assert_eq(writer(), (uint32_t)child);
		stop_holder(child);
	}
}

/* Processes that others start make a list old at any time: of many, some stay. */
Test(live_processes, a_list_stays_while_no_process_begins)
{
	enum { TURNS = 2000 };
	int taken = 0;

	if (access("/proc/sys/kernel/ns_last_pid", R_OK) < 0)
		cr_skip_test("the kernel does not say which number it gave last");
	for (int i = 0; i < TURNS; i++) {
		uint64_t before_ns = list.taken_ns;
		live_processes_renew(&session, 0, &list);
		taken += list.taken_ns != before_ns;
	}
	cr_assert_lt(taken, TURNS / 2);
}

/* Of a list that was taken a moment ago a process that begins is added, and the others are not inspected again. */
Test(live_processes, one_that_begins_is_added)
{
	enum { TURNS = 200, OTHERS = 12345 };
	int kept = 0;

	if (access("/proc/sys/kernel/ns_last_pid", R_OK) < 0)
		cr_skip_test("the kernel does not say which number it gave last");
	for (int i = 0; i < TURNS && !kept; i++) {
		live_processes_list(&session, 0, &list);
		list.items[0].parent = OTHERS;
		pid_t child = start_holder();
		cr_assert_eq(writer(), (uint32_t)child);
		kept += list.items[0].parent == OTHERS; /* else it took longer than a moment */
		stop_holder(child);
	}
	cr_assert(kept);
}

Test(live_processes, a_list_without_other_children_is_another)
{
	pid_t child = start_holder();

	cr_assert_eq(writer(), (uint32_t)child);
	live_processes_renew(&session, child, &list);
	cr_assert_eq(live_processes_writer(&list, file.st_dev, file.st_ino), 0);
	stop_holder(child);
}
