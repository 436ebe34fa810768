/* contents.h: several processes at once, kill -9, files that are not of the store, and restoring. */
#include "contents_case.h"

TestSuite(contents, .init = start, .fini = stop);

/* ---- several at once ---- */

static int save_many(void *data)
{
	unsigned number = *(unsigned *)data, lost = 0;
	char name[32];

	(void)snprintf(name, sizeof(name), "f%u", number);
	for (unsigned i = 0; i < 300; i++) {
		struct version version;
		/* some are the same in all processes */
		fill(name, 2000 + i % 7, i % 3 ? i : number * 1000 + i);
		lost += save(name, &version) < 0;
	}
	return lost != 0;
}

Test(contents, eight_processes_at_once, .timeout = 120)
{
	unsigned numbers[8];
	pid_t children[8];
	int status;

	world.settings->content_max_bytes = 200000; /* a hundred of them */
	for (unsigned i = 0; i < 8; i++) {
		numbers[i] = i;
		children[i] = fork();
		must(children[i] >= 0);
		if (children[i] == 0)
			_exit(save_many(&numbers[i]));
	}
	for (unsigned i = 0; i < 8; i++) {
		must(waitpid(children[i], &status, 0) == children[i]);
		cr_assert_eq(status, 0);
	}
	struct census all = census();
	cr_assert_eq(all.damaged + all.temporaries, 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 0);
	/* each may have found room for its own, or counted what another dropped, at the same time */
	cr_assert_leq(all.size_bytes, 200000 + 16 * 2006);
	cr_assert_geq(all.size_bytes, 150000);
	uint64_t counted = kept_bytes();
	contents_recount(&world.segment);
	cr_assert_eq(kept_bytes(), all.size_bytes);
	/* it drifts by what was in the making while a process counted */
	cr_assert_leq(counted, all.size_bytes + 16 * 2006);
}

/* What is reported as kept is there, also when others were about to drop it: many others would have to be kept first.  All go in
 * circles that are a little longer than what has room: what is kept again is what is about to go. */
static int save_and_check(void *data)
{
	static const struct timespec PAUSE = { .tv_nsec = 200000 };
	uint64_t state = 1 + *(unsigned *)data;
	char name[32];

	(void)snprintf(name, sizeof(name), "s%u", *(unsigned *)data);
	for (unsigned i = 0; i < 2500; i++) {
		struct version version;
		uint64_t step = segment_serial(&world.segment) / 3 + next_random(&state) % 12;
		fill(name, 100, (unsigned)(step % 300));
		if (save(name, &version) < 0)
			return 2;
		/* a process that checks whether it may go moves it away for a moment */
		unsigned tries = 0;
		while (!contents_has(&world.segment, &version) && tries++ < 20)
			(void)nanosleep(&PAUSE, NULL);
		if (tries > 20)
			return 3;
	}
	return 0;
}

Test(contents, dropping_and_keeping_the_same, .timeout = 120)
{
	unsigned numbers[4];
	pid_t children[4];
	int status;

	world.settings->content_max_bytes = 29000;
	for (unsigned i = 0; i < 4; i++) {
		numbers[i] = i;
		children[i] = fork();
		must(children[i] >= 0);
		if (children[i] == 0)
			_exit(save_and_check(&numbers[i]));
	}
	for (unsigned i = 0; i < 4; i++) {
		must(waitpid(children[i], &status, 0) == children[i]);
		cr_expect_eq(status, 0, "%d", WEXITSTATUS(status));
	}
	struct census all = census();
	cr_assert_eq(all.damaged + all.temporaries, 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 0);
	cr_assert_geq(segment_counter(&world.segment, COUNTER_contents_kept), 300);
}

/* ---- kill -9 ---- */

static _Noreturn void save_for_ever(void)
{
	for (unsigned i = 0;; i++) {
		struct version version;
		fill("f", 20000 + i % 150000, (unsigned)getpid() + i);
		(void)save("f", &version);
	}
}

Test(contents, killed_at_any_instant, .timeout = 120)
{
	uint64_t state = 88172645463325252u;
	unsigned temporaries = 0;
	struct version version;
	struct timespec began, ended;

	/* a child gets the time of some contents, however slow the machine is */
	fill("f", 170000, 1);
	(void)clock_gettime(CLOCK_MONOTONIC, &began);
	(void)save("f", &version);
	(void)clock_gettime(CLOCK_MONOTONIC, &ended);
	uint64_t pause_ns = ((uint64_t)(ended.tv_sec - began.tv_sec) * 1000000000u +
			     (uint64_t)ended.tv_nsec - (uint64_t)began.tv_nsec) *
			    4;
	if (pause_ns < 5000000)
		pause_ns = 5000000;
	if (pause_ns > 500000000)
		pause_ns = 500000000;

	for (unsigned round = 0; round < 200; round++) {
		(void)fflush(NULL);
		pid_t child = fork();
		must(child >= 0);
		if (child == 0)
			save_for_ever();
		struct timespec pause = { .tv_nsec = (long)(next_random(&state) % pause_ns) };
		(void)nanosleep(&pause, NULL);
		must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
		if (round % 20 != 19)
			continue;
		struct census all = census();
		cr_assert_eq(all.damaged, 0);
		if (temporaries < all.temporaries)
			temporaries = all.temporaries; /* a later save may have removed them */
	}
	/* else no process was killed in the middle */
	cr_assert_gt(temporaries, 0);
	cr_assert_gt(census().contents, 1);
	cr_assert_leq(census().size_bytes, 1000000 + 170000);
}

static int stopped;

static void *change(void *data)
{
	int fd = *(int *)data;
	for (unsigned char byte = 0; !__atomic_load_n(&stopped, __ATOMIC_RELAXED); byte++)
		for (off_t at = 0; at < 100000; at += 4096)
			(void)!pwrite(fd, &byte, 1, at);
	return NULL;
}

Test(contents, the_version_is_of_what_was_copied, .timeout = 60)
{
	pthread_t thread;

	fill("f", 100000, 1);
	int fd = open(world_path(&world, "f"), O_RDWR | O_CLOEXEC);
	must(fd >= 0 && pthread_create(&thread, NULL, change, &fd) == 0);
	for (unsigned i = 0; i < 100; i++) {
		struct version version;
		cr_assert_eq(contents_save(&world.segment, fd, "/f", CONTENTS_GIVEN, &version), 0);
		struct version found = version_of(path_of(&version));
		cr_assert(version_equal(&found, &version));
	}
	__atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
	must(pthread_join(thread, NULL) == 0);
	cr_assert_eq(census().damaged, 0);
}

/* ---- what else lies in the directory ---- */

Test(contents, strangers_are_harmless)
{
	struct version victim = keep("victim", 500, 1), version;
	char elsewhere[200], name[CONTENTS_NAME_BYTES];

	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/outside", world.root);
	write_path(elsewhere, "precious", 8);
	/* links, directories and FIFOs under the names of contents */
	fill("f", 700, 2);
	version = version_of(world_path(&world, "f"));
	contents_name(&version, name);
	cr_assert_eq(symlink(elsewhere, content_path(name)), 0);
	cr_assert(!contents_has(&world.segment, &version));
	cr_assert_eq(contents_open(&world.segment, &version), -EBADMSG);
	cr_assert_eq(save("f", &version), 0); /* it takes the link's place */
	cr_assert(contents_has(&world.segment, &version));
	fill("g", 800, 3);
	version = version_of(world_path(&world, "g"));
	contents_name(&version, name);
	cr_assert_eq(mkdir(content_path(name), 0700), 0);
	cr_assert(!contents_has(&world.segment, &version));
	cr_assert_lt(save("g", &version), 0);
	fill("h", 0, 4);
	version = version_of(world_path(&world, "h"));
	contents_name(&version, name);
	cr_assert_eq(mkfifo(content_path(name), 0600), 0);
	cr_assert_eq(contents_open(&world.segment, &version), -EBADMSG);
	cr_assert_eq(save("h", &version), 0);
	/* what is none is neither counted nor dropped */
	write_path(content_path("foreign"), "mine", 4);
	cr_assert_eq(mkdir(content_path("folder"), 0700), 0);
	cr_assert_eq(symlink("/nonexistent", content_path("link")), 0);
	contents_recount(&world.segment);
	cr_assert_eq(kept_bytes(), 1200);
	world.settings->content_max_bytes = 1200;
	fill("i", 1000, 5);
	cr_assert_eq(save("i", &version), 0);
	cr_assert(!contents_has(&world.segment, &victim));
	cr_assert_eq(access(content_path("foreign"), F_OK), 0);
	cr_assert_eq(access(content_path("folder"), F_OK), 0);
	struct stat stat;
	cr_assert_eq(lstat(content_path("link"), &stat), 0);
	struct version precious = version_of(elsewhere), same = version_of_bytes("precious", 8);
	cr_assert(version_equal(&precious, &same));
}

Test(contents, a_damaged_one_is_replaced)
{
	struct version version = keep("f", 500, 1);
	char bytes[500] = { 0 };

	cr_assert_eq(chmod(path_of(&version), 0600), 0);
	write_path(path_of(&version), bytes, sizeof(bytes));
	cr_assert_eq(census().damaged, 1);
	cr_assert_eq(save("f", &version), 0);
	cr_assert_eq(census().damaged, 0);
	cr_assert_eq(kept_bytes(), 500);
	/* of another size, too */
	cr_assert_eq(chmod(path_of(&version), 0600), 0);
	write_path(path_of(&version), bytes, 10);
	cr_assert(!contents_has(&world.segment, &version));
	cr_assert_eq(save("f", &version), 0);
	cr_assert_eq(census().damaged, 0);
}

Test(contents, an_index_that_is_none)
{
	char elsewhere[200];
	struct version version;

	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/outside", world.root);
	write_path(elsewhere, "precious", 8);
	cr_assert_eq(symlink(elsewhere, content_path(CONTENTS_INDEX)), 0);
	fill("f", 10, 1);
	cr_assert_eq(save("f", &version), 0);
	cr_assert_eq(unlink(content_path(CONTENTS_INDEX)), 0);
	cr_assert_eq(link(elsewhere, content_path(CONTENTS_INDEX)), 0);
	cr_assert_eq(save("f", &version), 0);
	cr_assert_eq(unlink(content_path(CONTENTS_INDEX)), 0);
	cr_assert_eq(mkfifo(content_path(CONTENTS_INDEX), 0600), 0);
	cr_assert_eq(save("f", &version), 0);
	struct version precious = version_of(elsewhere), same = version_of_bytes("precious", 8);
	cr_assert(version_equal(&precious, &same));
}

Test(contents, a_directory_that_is_a_link_or_anothers)
{
	char elsewhere[200];
	struct version version;

	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", world.root);
	fill("f", 10, 1);
	cr_assert_eq(rename(world.contents, elsewhere), 0);
	cr_assert_eq(symlink(elsewhere, world.contents), 0);
	cr_assert_eq(save("f", &version), -ENOTDIR);
	cr_assert_eq(unlink(world.contents), 0);
	cr_assert_eq(rename(elsewhere, world.contents), 0);
	if (geteuid() == 0) {
		cr_assert_eq(chown(world.contents, 12345, 12345), 0);
		cr_assert_eq(save("f", &version), -EPERM);
	}
	cr_assert_eq(census().contents, 0);
}

/* ---- bringing back ---- */

Test(contents, restored_as_it_was)
{
	static const size_t SIZES[] = { 0, 1, 5000, 150000 };

	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < 4; j++) {
			struct version version = keep("f", SIZES[i], i);
			fill("f", SIZES[j], 77);
			int fd = open(world_path(&world, "f"), O_RDWR | O_CLOEXEC);
			cr_assert_eq(lseek(fd, 1, SEEK_SET), 1);
			cr_assert_eq(contents_restore(&world.segment, &version, fd), 0);
			cr_assert_eq(lseek(fd, 0, SEEK_CUR), 1);
			cr_assert_eq(close(fd), 0);
			struct version found = version_of(world_path(&world, "f"));
			cr_assert(version_equal(&found, &version));
		}
}

static int restore_with_limit(void *data)
{
	struct rlimit limit = { .rlim_cur = 100, .rlim_max = 100 };
	int fd = open(world_path(&world, "f"), O_RDWR | O_CLOEXEC);
	must(fd >= 0 && setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return -contents_restore(&world.segment, data, fd);
}

Test(contents, what_cannot_be_restored_leaves_the_file)
{
	struct version version = keep("f", 5000, 1), gone = version;

	fill("f", 100, 2);
	struct version before = version_of(world_path(&world, "f")), after;
	int fd = open(world_path(&world, "f"), O_RDWR | O_CLOEXEC);
	gone.low++;
	cr_assert_eq(contents_restore(&world.segment, &gone, fd), -ENOENT);
	cr_assert_eq(in_child(restore_with_limit, &version), EFBIG);
	cr_assert_eq(chmod(path_of(&version), 0600), 0);
	int kept = open(path_of(&version), O_WRONLY | O_CLOEXEC);
	must(pwrite(kept, "X", 1, 4000) == 1 && close(kept) == 0);
	cr_assert_eq(contents_restore(&world.segment, &version, fd), -EBADMSG);
	cr_assert_eq(close(fd), 0);
	after = version_of(world_path(&world, "f"));
	cr_assert(version_equal(&before, &after));
}

Test(contents, on_a_full_disk_the_file_stays)
{
	struct version version = keep("f", 150000, 1), before, after;
	char directory[200], path[300];

	(void)snprintf(directory, sizeof(directory), "%s/small", world.root);
	(void)snprintf(path, sizeof(path), "%s/f", directory);
	cr_assert_eq(mkdir(directory, 0700), 0);
	if (geteuid() != 0 || mount("none", directory, "tmpfs", 0, "size=64k") < 0)
		cr_skip_test("needs the right to mount");
	write_path(path, "what was there", 14);
	before = version_of(path);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	int error = contents_restore(&world.segment, &version, fd);
	(void)close(fd);
	after = version_of(path);
	cr_assert_eq(umount(directory), 0);
	cr_assert_eq(error, -ENOSPC);
	cr_assert(version_equal(&before, &after));
}

/* The store's directory is descriptor 0 for a moment. */
Test(contents, without_standard_input)
{
	struct version version = keep("f", 1000, 1);
	struct content content;

	must(close(0) == 0);
	int fd = contents_open(&world.segment, &version);
	cr_assert_geq(fd, 0);
	cr_assert_eq(content_of_descriptor(fd, UINT64_MAX, &content), 0);
	cr_assert(version_equal(&content.version, &version));
}
