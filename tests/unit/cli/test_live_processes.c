/* cli/run/live_processes.h: the session's processes that live, asked for again and again. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "cli/run/live_processes.h"
#include "cli/run/open_files.h"
#include "support.h"

static struct world world;
static struct session session;
static struct live_processes list;
static struct open_files files;
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
	free(files.items);
	files = (struct open_files){ .items = NULL };
	(void)close(written);
	world_close(&world);
}

TestSuite(live_processes, .init = start, .fini = stop);

enum hold { HOLDS_OPEN, HOLDS_MAPPED, HOLDS_TO_READ };

/* A child that holds the file open to write to it, or has mapped it, and says so. */
static pid_t start_holder_by(enum hold hold)
{
	int ends[2];
	char byte = 0;

	must(pipe(ends) == 0);
	pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails ends before it */
		int fd = open(world_path(&world, "written"),
			      hold == HOLDS_TO_READ ? O_RDONLY : O_RDWR);
		if (hold == HOLDS_MAPPED &&
		    (mmap(NULL, 1, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED || close(fd) < 0))
			_exit(1);
		if (fd < 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		(void)pause();
	}
	must(child > 0 && read(ends[0], &byte, 1) == 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return child;
}

static pid_t start_holder(void)
{
	return start_holder_by(HOLDS_OPEN);
}

static void stop_holder(pid_t child)
{
	must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
}

static uint32_t writer(void)
{
	live_processes_renew(&session, 0, &list);
	open_files_list(&list, &files);
	return open_files_writer(&files, file.st_dev, file.st_ino);
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
	open_files_list(&list, &files);
	cr_assert_eq(open_files_writer(&files, file.st_dev, file.st_ino), 0);
	stop_holder(child);
}

/* What is asked of files behind each other is listed once: it holds as long as the process has the file. */
Test(open_files, a_writer_is_one_as_long_as_it_has_the_file, .init = start, .fini = stop)
{
	for (int hold = HOLDS_OPEN; hold <= HOLDS_MAPPED; hold++) {
		pid_t child = start_holder_by((enum hold)hold);
		cr_assert_eq(writer(), (uint32_t)child, "%d", hold);
		cr_assert_eq(open_files_writer(&files, file.st_dev, file.st_ino), (uint32_t)child);
		cr_assert_eq(open_files_writer(&files, file.st_dev, file.st_ino + 1), 0);
		stop_holder(child);
		cr_assert_eq(open_files_writer(&files, file.st_dev, file.st_ino), 0, "%d", hold);
	}
}

/* A descriptor that is open to read, and another file system's inode of that number, are none. */
Test(open_files, only_who_may_write_is_one, .init = start, .fini = stop)
{
	pid_t child = start_holder();

	cr_assert_eq(writer(), (uint32_t)child);
	cr_assert_eq(open_files_writer(&files, file.st_dev + 1, file.st_ino), 0);
	stop_holder(child);
	child = start_holder_by(HOLDS_TO_READ);
	cr_assert_eq(writer(), 0);
	stop_holder(child);
}
