/* contents.h: what is kept is whole or absent, whichever process is killed, whatever lies in the directory, and however little room there is. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "support.h"
#include "tracker/content/contents.h"
#include "tracker/content/contents_bound.h"
#include "tracker/content/contents_name.h"

static struct world world;

static void start(void)
{
	world_open(&world, "content.max_bytes=1000000", "content.max_file_bytes=200000", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(contents, .init = start, .fini = stop);

/* ---- helpers ---- */

/* A file of the workspace: another one for each seed, if it has room for that. */
static void fill(const char *name, size_t size_bytes, unsigned seed)
{
	char digits[16];
	int count = snprintf(digits, sizeof(digits), "%08x", seed);

	world_fill(&world, name, size_bytes, seed);
	int fd = open(world_path(&world, name), O_WRONLY | O_CLOEXEC);
	must(fd >= 0);
	if (size_bytes >= (size_t)count)
		must(pwrite(fd, digits, (size_t)count, 0) == count);
	must(close(fd) == 0);
}

static int save(const char *name, struct version *ret_version)
{
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	int error = contents_save(&world.segment, fd, world_path(&world, name), CONTENTS_DESTROYED,
				  ret_version);
	must(lseek(fd, 0, SEEK_CUR) == 0);
	must(close(fd) == 0);
	return error;
}

static struct version keep(const char *name, size_t size_bytes, unsigned seed)
{
	struct version version;
	fill(name, size_bytes, seed);
	cr_assert_eq(save(name, &version), 0);
	return version;
}

static const char *content_path(const char *name)
{
	static char path[400];
	(void)snprintf(path, sizeof(path), "%s/%s", world.contents, name);
	return path;
}

static const char *path_of(const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];
	contents_name(version, name);
	return content_path(name);
}

static struct version version_of(const char *path)
{
	struct content content = { .lines = 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	return content.version;
}

struct census {
	unsigned contents, temporaries, damaged;
	uint64_t size_bytes;
};

/* Checks everything in the directory. */
static struct census census(void)
{
	struct census all = { .contents = 0 };
	DIR *directory = opendir(world.contents);
	must(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		struct version named;
		uint64_t pid;
		all.temporaries += contents_is_temporary(entry->d_name, &pid);
		if (!contents_version(entry->d_name, &named))
			continue;
		struct version found = version_of(content_path(entry->d_name));
		all.contents++;
		all.damaged += !version_equal(&named, &found);
		all.size_bytes += found.size_bytes;
	}
	must(closedir(directory) == 0);
	return all;
}

static uint64_t kept_bytes(void)
{
	return world.segment.header->contents_bytes;
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;
	DIR *directory = opendir("/proc/self/fd");
	must(directory);
	while (readdir(directory))
		count++;
	must(closedir(directory) == 0);
	return count;
}

static char *read_index(void)
{
	static char text[1 << 20];
	int fd = open(content_path(CONTENTS_INDEX), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	ssize_t got = read(fd, text, sizeof(text) - 1);
	must(got >= 0 && close(fd) == 0);
	text[got] = '\0';
	return text;
}

/* ---- names ---- */

Test(contents, names_are_distinguished_from_others)
{
	static const char *const OTHERS[] = {
		"",
		".",
		"..",
		"index",
		"0",
		"00112233445566778899aabbccddeeff",
		"00112233445566778899aabbccddeeff-",
		"00112233445566778899aabbccddeeff-01",
		"00112233445566778899aabbccddeeff-1x",
		"00112233445566778899AABBCCDDEEFF-1",
		"00112233445566778899aabbccddeeff--1",
		"0112233445566778899aabbccddeeff-1",
		"00112233445566778899aabbccddeeff-99999999999999999999999",
		".1",
		".1.",
		"..1",
		".1.2.",
		".1.2x",
		".x.2",
		"1.2",
	};
	char name[CONTENTS_NAME_BYTES];
	struct version version = { 0x8899aabbccddeeff, 0x0011223344556677, 5 }, parsed;
	uint64_t pid = 0;

	contents_name(&version, name);
	cr_assert_str_eq(name, "00112233445566778899aabbccddeeff-5");
	cr_assert(contents_version(name, &parsed) && version_equal(&parsed, &version));
	version.size_bytes = UINT64_MAX / 16;
	contents_name(&version, name);
	cr_assert(contents_version(name, &parsed) && version_equal(&parsed, &version));
	version.size_bytes = 0;
	contents_name(&version, name);
	cr_assert(contents_version(name, &parsed) && version_equal(&parsed, &version));
	cr_assert(contents_is_temporary(".17.4", &pid));
	cr_assert_eq(pid, 17);
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
		cr_assert(!contents_version(OTHERS[i], &parsed), "%s", OTHERS[i]);
		cr_assert(!contents_is_temporary(OTHERS[i], &pid), "%s", OTHERS[i]);
	}
	cr_assert_str_eq(contents_reason_name(CONTENTS_DESTROYED), "destroyed");
	cr_assert_str_eq(contents_reason_name(CONTENTS_GIVEN), "given");
	cr_assert_str_eq(contents_reason_name(CONTENTS_RESTORED), "replaced");
	cr_assert_str_eq(contents_reason_name((enum contents_reason)77), "unknown");
}

/* ---- keeping ---- */

Test(contents, what_is_kept_is_what_was_there)
{
	static const size_t SIZES[] = { 0, 1, 8191, 8192, 16384, 16385, 100000, 200000 };
	unsigned before = open_descriptors();
	uint64_t sum = 0;

	for (unsigned i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
		struct version version = keep("f", SIZES[i], i);
		struct version file = version_of(world_path(&world, "f"));
		struct version kept = version_of(path_of(&version));
		struct stat stat;
		cr_assert(version_equal(&version, &file) && version_equal(&version, &kept));
		cr_assert(contents_has(&world.segment, &version));
		cr_assert_eq(lstat(path_of(&version), &stat), 0);
		cr_assert_eq(stat.st_mode & 07777, 0400);
		sum += SIZES[i];
	}
	cr_assert_eq(kept_bytes(), sum);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_contents_kept), 8);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 0);
	cr_assert_eq(census().temporaries, 0);
	cr_assert_eq(open_descriptors(), before);
}

Test(contents, a_mask_and_errno_are_left_alone)
{
	(void)umask(0777);
	errno = 4242;
	fill("f", 100, 1);
	cr_assert_eq(chmod(world_path(&world, "f"), 0600), 0);
	struct version version;
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	errno = 4242;
	cr_assert_eq(contents_save(&world.segment, fd, "/f", CONTENTS_GIVEN, &version), 0);
	cr_assert_eq(errno, 4242);
	cr_assert_eq(close(fd), 0);
	struct stat stat;
	cr_assert_eq(lstat(path_of(&version), &stat), 0);
	cr_assert_eq(stat.st_mode & 07777, 0400);
}

Test(contents, the_same_again_is_kept_once)
{
	struct version first = keep("a", 5000, 1);
	struct version second = keep("b", 5000, 1);
	cr_assert(version_equal(&first, &second));
	cr_assert_eq(census().contents, 1);
	cr_assert_eq(kept_bytes(), 5000);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_contents_kept), 1);
	char *index = read_index();
	cr_assert(strstr(index, "/w/a\n") && strstr(index, "/w/b\n"));
}

Test(contents, a_line_for_each)
{
	char expected[600], *index;
	struct version version;
	int number = 0;

	fill("f", 10, 1);
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	must(fchmod(fd, 0640) == 0);
	cr_assert_eq(contents_save(&world.segment, fd, "/a b\n\xff\\", CONTENTS_GIVEN, &version),
		     0);
	cr_assert_eq(contents_save(&world.segment, fd, "/b", CONTENTS_RESTORED, &version), 0);
	index = read_index();
	contents_name(&version, expected);
	(void)strcat(expected, " given 0640 /a b\\n\\xff\\\\\n");
	char *line = strchr(index, ' ');
	cr_assert(line && strncmp(line + 1, expected, strlen(expected)) == 0, "%s", index);
	uint64_t then = strtoull(index, NULL, 10);
	cr_assert(then > 1700000000000000000u);
	for (char *at = index; *at; at++)
		number += *at == '\n';
	cr_assert_eq(number, 2);
	/* the longest path there can be, none of whose bytes may be shown as they are */
	char *longest = malloc(4096);
	must(longest);
	memset(longest, 1, 4095);
	longest[0] = '/';
	longest[4095] = '\0';
	cr_assert_eq(contents_save(&world.segment, fd, longest, CONTENTS_GIVEN, &version), 0);
	index = read_index();
	cr_assert_eq(index[strlen(index) - 1], '\n');
	cr_assert_gt(strlen(index), 4 * 4094);
	free(longest);
	cr_assert_eq(close(fd), 0);
}

Test(contents, behind_a_torn_line_a_new_one_begins)
{
	(void)keep("a", 10, 1);
	int fd = open(content_path(CONTENTS_INDEX), O_WRONLY | O_APPEND | O_CLOEXEC);
	must(write(fd, "17223 00112233", 14) == 14 && close(fd) == 0);
	(void)keep("b", 10, 2);
	char *torn = strstr(read_index(), "17223 00112233\n");
	cr_assert(torn && strstr(torn, " destroyed "));
}

Test(contents, what_is_too_large_is_not_kept)
{
	struct version version = { 1, 2, 3 };
	fill("f", 200001, 1);
	cr_assert_eq(save("f", &version), -EFBIG);
	cr_assert_eq(version.size_bytes, 3);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 1);
	world.settings->content_max_bytes = 100;
	fill("f", 101, 1);
	cr_assert_eq(save("f", &version), -EFBIG);
	fill("f", 100, 1);
	cr_assert_eq(save("f", &version), 0);
	cr_assert_eq(census().contents, 1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 2);
}

Test(contents, no_store_is_no_loss)
{
	struct version version;
	fill("f", 10, 1);
	world.settings->content_max_bytes = 0;
	cr_assert_eq(save("f", &version), -ENOENT);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 0);
	cr_assert_eq(census().contents, 0);
	world.settings->content_max_bytes = 1000;
	cr_assert_eq(rmdir(world.contents), 0);
	/* one that was removed is another matter */
	cr_assert_eq(save("f", &version), -ENOENT);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 1);
	cr_assert(!contents_has(&world.segment, &version));
	cr_assert_eq(contents_open(&world.segment, &version), -ENOENT);
}

Test(contents, only_regular_files)
{
	struct version version;
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(contents_save(&world.segment, ends[0], "/p", CONTENTS_GIVEN, &version),
		     -EINVAL);
	int fd = open(world.workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(contents_save(&world.segment, fd, "/p", CONTENTS_GIVEN, &version), -EINVAL);
	cr_assert_eq(contents_save(&world.segment, -1, "/p", CONTENTS_GIVEN, &version), -EBADF);
	cr_assert_eq(census().contents, 0);
}

/* ---- no room ---- */

static int save_with_limit(void *data)
{
	struct rlimit limit = { .rlim_cur = *(rlim_t *)data, .rlim_max = *(rlim_t *)data };
	struct version version;
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return -save("f", &version); /* a signal would end this process */
}

Test(contents, a_limit_on_files_costs_no_signal)
{
	rlim_t limit = 999;
	fill("f", 1000, 1);
	cr_assert_eq(in_child(save_with_limit, &limit), EFBIG);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 1);
	cr_assert_eq(census().contents + census().temporaries, 0);
	/* the index is longer than that by now: the content is kept without a line */
	for (unsigned i = 0; i < 12; i++)
		(void)keep("g", 10, i);
	size_t length = strlen(read_index());
	cr_assert_gt(length, 1000);
	limit = 1000;
	cr_assert_eq(in_child(save_with_limit, &limit), 0);
	cr_assert_eq(strlen(read_index()), length);
	cr_assert_eq(census().contents, 13);
}

Test(contents, a_full_disk_keeps_nothing)
{
	struct version version;

	if (geteuid() != 0 || mount("none", world.contents, "tmpfs", 0, "size=256k") < 0)
		cr_skip_test("needs the right to mount");
	struct version small = keep("small", 1000, 1);
	int filler = open(content_path("filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(filler >= 0 && fallocate(filler, 0, 0, 150000) == 0 && close(filler) == 0);
	uint64_t before = kept_bytes();
	fill("f", 150000, 2);
	int error = save("f", &version);
	struct census all = census();
	int again = 0;
	/* and with not even a page left */
	while (again == 0 && all.contents < 200) {
		fill("f", 4096, 3 + all.contents);
		again = save("f", &version);
		all = census();
	}
	uint64_t after = kept_bytes();
	bool whole = contents_has(&world.segment, &small);
	cr_assert_eq(umount(world.contents), 0);
	cr_assert_eq(error, -ENOSPC);
	cr_assert_eq(again, -ENOSPC);
	cr_assert_eq(all.damaged + all.temporaries, 0);
	cr_assert_eq(after - before, all.size_bytes - 1000);
	cr_assert(whole);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 2);
}

/* ---- the oldest first out ---- */

Test(contents, the_oldest_go_first)
{
	struct version versions[20];

	world.settings->content_max_bytes = 10000;
	for (unsigned i = 0; i < 10; i++)
		versions[i] = keep("f", 900, i);
	cr_assert_eq(census().contents, 10);
	/* kept again: it is the youngest */
	versions[0] = keep("f", 900, 0);
	for (unsigned i = 10; i < 14; i++)
		versions[i] = keep("f", 900, i);
	/* 11 have room: 1, 2 and 3 had to go */
	for (unsigned i = 0; i < 14; i++)
		cr_assert_eq(contents_has(&world.segment, &versions[i]), i == 0 || i > 3, "%u", i);
	cr_assert_eq(kept_bytes(), census().size_bytes);
	cr_assert_leq(kept_bytes(), 10000);
}

Test(contents, a_large_one_puts_all_others_out)
{
	world.settings->content_max_bytes = 10000;
	for (unsigned i = 0; i < 20; i++)
		(void)keep("f", 400, i);
	struct version large = keep("f", 10000, 99);
	cr_assert(contents_has(&world.segment, &large));
	cr_assert_eq(census().contents, 1);
	cr_assert_eq(kept_bytes(), 10000);
}

Test(contents, a_wrong_number_drops_nothing)
{
	world.settings->content_max_bytes = 10000;
	for (unsigned i = 0; i < 5; i++)
		(void)keep("f", 1000, i);
	world.segment.header->contents_bytes = UINT64_MAX - 10;
	(void)keep("f", 1000, 5);
	world.segment.header->contents_bytes = 20000;
	(void)keep("f", 1000, 6);
	cr_assert_eq(census().contents, 7);
	cr_assert_eq(kept_bytes(), 7000);
	/* one that is too small is found by a count */
	world.segment.header->contents_bytes = 0;
	contents_recount(&world.segment);
	cr_assert_eq(kept_bytes(), 7000);
}

Test(contents, many_go_at_once)
{
	for (unsigned i = 0; i < 500; i++)
		(void)keep("f", 100, i);
	world.settings->content_max_bytes = 1000;
	(void)keep("f", 100, 1000);
	cr_assert_leq(census().contents, 10);
	cr_assert_geq(census().contents, 8);
	cr_assert_eq(kept_bytes(), census().size_bytes);
}

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

	for (unsigned round = 0; round < 200; round++) {
		(void)fflush(NULL);
		pid_t child = fork();
		must(child >= 0);
		if (child == 0)
			save_for_ever();
		struct timespec pause = { .tv_nsec = (long)(next_random(&state) % 5000000) };
		(void)nanosleep(&pause, NULL);
		must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
		if (round % 20 != 19)
			continue;
		struct census all = census();
		cr_assert_eq(all.damaged, 0);
		temporaries = all.temporaries;
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
