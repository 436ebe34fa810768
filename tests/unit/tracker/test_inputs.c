/* inputs.h: what is inspected, what a difference is, what a list may hold. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <utime.h>

#include "support.h"
#include "tracker/content/inputs.h"
#include "tracker/sys/sys.h"

static struct world world;
static struct inputs inputs;

static void start(void)
{
	world_open(&world, NULL);
	must(chdir(world.workspace) == 0);
	must(inputs_init(&inputs) == 0);
}

static void stop(void)
{
	inputs_done(&inputs);
	world_close(&world);
}

TestSuite(inputs, .init = start, .fini = stop);

static void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

static int add(enum input_kind kind, const char *name)
{
	return inputs_add(&inputs, kind, 0, name, -1, 0);
}

static bool are_same(void)
{
	return inputs_are_same(&inputs, true);
}

Test(inputs, nothing_is_the_same)
{
	cr_assert(are_same());
	cr_assert_eq(inputs_length(&inputs), 0);
}

Test(inputs, content)
{
	write_file("f", "one");
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	cr_assert(are_same() && inputs_are_same(&inputs, false));
	utime("f", NULL);
	chmod("f", 0644);
	cr_assert(are_same());
	cr_assert_not(inputs_are_same(&inputs, false));
	write_file("f", "two");
	cr_assert_not(are_same());
	write_file("f", "one");
	cr_assert(are_same());
	unlink("f");
	cr_assert_not(are_same());
	mkdir("f", 0700);
	cr_assert_not(are_same());
}

Test(inputs, content_behind_an_equal_stamp)
{
	write_file("f", "one");
	int fd = open("f", O_RDWR);
	char *bytes = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bytes[0] = 'O';
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	bytes[0] = 'o';
	cr_assert(inputs_are_same(&inputs, false), "the test needs a store that leaves the stamp");
	cr_assert_not(are_same());
}

Test(inputs, what_is_no_file)
{
	mkfifo("fifo", 0600);
	mkdir("d", 0700);
	cr_assert_eq(add(INPUT_CONTENT, "fifo"), -EINVAL);
	cr_assert_eq(add(INPUT_CONTENT, "d"), -EINVAL);
	cr_assert_eq(add(INPUT_CONTENT, "/proc/self/status"), -EINVAL);
	cr_assert_eq(add(INPUT_CONTENT, "nothing"), -ENOENT);
	cr_assert_eq(add(INPUT_NAMES, "fifo"), -ENOTDIR);
}

Test(inputs, absent)
{
	cr_assert_eq(inputs_add(&inputs, INPUT_ABSENT, 0, "f", -1, ENOENT), 0);
	cr_assert(are_same() && inputs_are_same(&inputs, false));
	write_file("f", "");
	cr_assert_not(are_same());
	cr_assert_not(inputs_are_same(&inputs, false));
}

Test(inputs, type)
{
	write_file("f", "");
	symlink("f", "link");
	cr_assert_eq(add(INPUT_TYPE, "f"), 0);
	cr_assert_eq(add(INPUT_TYPE, "link"), 0);
	cr_assert_eq(add(INPUT_TYPE, "none"), 0);
	write_file("f", "more");
	cr_assert(are_same());
	unlink("f");
	cr_assert_not(are_same());
	mkdir("f", 0700);
	cr_assert_not(are_same());
	rmdir("f");
	write_file("f", "");
	cr_assert(are_same());
	write_file("none", "");
	cr_assert_not(are_same());
}

Test(inputs, names)
{
	mkdir("d", 0700);
	write_file("d/a", "");
	cr_assert_eq(add(INPUT_NAMES, "d"), 0);
	write_file("d/a", "other");
	cr_assert(are_same());
	write_file("d/b", "");
	cr_assert_not(are_same());
	unlink("d/b");
	cr_assert(are_same());
	unlink("d/a");
	symlink("b", "d/a");
	cr_assert_not(are_same());
}

Test(inputs, details)
{
	mkdir("d", 0700);
	write_file("d/a", "");
	cr_assert_eq(add(INPUT_DETAILS, "d"), 0);
	cr_assert(are_same());
	write_file("d/a", "1");
	cr_assert_not(are_same());
}

Test(inputs, where_a_link_leads)
{
	mkdir("d", 0700);
	write_file("f", "");
	symlink("../f", "d/a");
	cr_assert_eq(add(INPUT_DETAILS, "d"), 0);
	cr_assert_eq(add(INPUT_WORD, "d/a"), 0);
	cr_assert(are_same());
	chmod("f", 0400);
	cr_assert_not(are_same());
}

/* Is what a list has about a file still so, that much later? */
static bool is_same_at(int64_t seconds)
{
	uint64_t now_ns = inputs.now_ns;
	inputs.now_ns = (uint64_t)((int64_t)now_ns + seconds * 1000000000);
	bool same = are_same();
	inputs.now_ns = now_ns;
	return same;
}

/* A file's time is printed in another way from then on. */
static void turns_at(int64_t age_s, unsigned flags)
{
	inputs_clear(&inputs);
	inputs.now_ns = (uint64_t)((int64_t)sys_realtime_ns() + (age_s - 100) * 1000000000);
	cr_assert_eq(inputs_add(&inputs, INPUT_WORD, flags, "f", -1, 0), 0);
	cr_assert(is_same_at(0) && is_same_at(20) && is_same_at(-20));
	cr_assert_not(is_same_at(110), "after %ld s", (long)age_s);
	for (int64_t near = 99; near <= 101; near++)
		cr_assert_not(is_same_at(near), "about when it is %ld s", (long)age_s);
	inputs_clear(&inputs);
	inputs.now_ns = (uint64_t)((int64_t)sys_realtime_ns() + age_s * 1000000000);
	cr_assert_eq(inputs_add(&inputs, INPUT_WORD, flags, "f", -1, 0), 0);
	cr_assert_not(is_same_at(0) && is_same_at(1));
}

Test(inputs, ages)
{
	static const int64_t AGES_S[] = { -3600, 15552000, 15778476, 16070400 };

	write_file("f", "");
	for (size_t i = 0; i < sizeof(AGES_S) / sizeof(AGES_S[0]); i++)
		turns_at(AGES_S[i], 0);
	inputs_clear(&inputs);
	inputs.now_ns -= UINT64_C(60000000000);
	cr_assert_eq(add(INPUT_WORD, "f"), 0);
	cr_assert(is_same_at(10));
	cr_assert_not(is_same_at(70), "ls -l shows the year of times to come");
}

/* From two seconds before that to two seconds behind it no list is the same. */
Test(inputs, about_an_age)
{
	static const int64_t DAYS_180 = 15552000;
	const struct {
		int64_t seconds;
		bool is_same;
	} CASES[] = { { -3, true }, { -2, false }, { 2, false }, { 3, true } };
	time_t past = time(NULL) - 100000;

	write_file("f", "");
	must(utimensat(AT_FDCWD, "f", (struct timespec[2]){ { past, 0 }, { past, 0 } }, 0) == 0);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		inputs_clear(&inputs);
		inputs.now_ns = (uint64_t)(past + DAYS_180 + CASES[i].seconds) * 1000000000u;
		cr_assert_eq(inputs_add(&inputs, INPUT_WORD, 0, "f", -1, 0), 0);
		inputs.now_ns += 1000;
		cr_expect_eq(are_same(), CASES[i].is_same, "%ld s", (long)CASES[i].seconds);
	}
}

Test(inputs, ages_of_access)
{
	struct timespec past = { .tv_sec = (time_t)(sys_realtime_ns() / 1000000000) - 15778470 };

	write_file("f", "");
	must(utimensat(AT_FDCWD, "f", (struct timespec[2]){ past, { 0, UTIME_OMIT } }, 0) == 0);
	inputs.now_ns += UINT64_C(1000000000);
	cr_assert_eq(add(INPUT_WORD, "f"), 0);
	cr_assert(is_same_at(100));
	inputs_clear(&inputs);
	inputs.now_ns = sys_realtime_ns() - UINT64_C(60000000000);
	cr_assert_eq(inputs_add(&inputs, INPUT_WORD, INPUT_ACCESS_TIME, "f", -1, 0), 0);
	cr_assert(is_same_at(10));
	cr_assert_not(is_same_at(100), "ls -lu shows the year now");
}

Test(inputs, access_time)
{
	struct inputs without;
	write_file("f", "one");
	/* reading sets nothing but the time of it, where it was older than the last change */
	must(utimensat(AT_FDCWD, "f", (struct timespec[2]){ { 5, 0 }, { 0, UTIME_OMIT } }, 0) == 0);
	must(inputs_init(&without) == 0);
	cr_assert_eq(inputs_add(&without, INPUT_WORD, 0, "f", -1, 0), 0);
	cr_assert_eq(inputs_add(&inputs, INPUT_WORD, INPUT_ACCESS_TIME, "f", -1, 0), 0);
	cr_assert(are_same());
	struct stat stat_now;
	char byte;
	int fd = open("f", O_RDONLY);
	must(read(fd, &byte, 1) == 1 && fstat(fd, &stat_now) == 0 && close(fd) == 0);
	cr_assert(inputs_are_same(&without, true));
	if (stat_now.st_atim.tv_sec != 5) /* not below noatime */
		cr_assert_not(are_same());
	inputs_done(&without);
}

Test(inputs, another_directory_than_the_one_opened)
{
	mkdir("d", 0700);
	mkdir("e", 0700);
	int fd = open("e", O_RDONLY | O_DIRECTORY);
	cr_assert_eq(inputs_add(&inputs, INPUT_NAMES, 0, "d", fd, 0), -EINVAL);
	cr_assert_eq(inputs_add(&inputs, INPUT_NAMES, 0, "e", fd, 0), 0);
}

Test(inputs, as_many_as_may_be)
{
	for (int i = 0; i < INPUTS_MAX; i++)
		cr_assert_eq(add(INPUT_TYPE, "f"), 0, "%d", i);
	cr_assert_eq(add(INPUT_TYPE, "f"), -E2BIG);
	cr_assert(are_same());
}

Test(inputs, entries_count_where_each_is_inspected)
{
	char name[16];
	mkdir("d", 0700);
	for (int i = 0; i < 9; i++) {
		(void)snprintf(name, sizeof(name), "d/%d", i);
		write_file(name, "");
	}
	for (int i = 0; i < INPUTS_MAX - 10; i++)
		cr_assert_eq(add(INPUT_TYPE, "f"), 0);
	cr_assert_eq(add(INPUT_DETAILS, "d"), 0); /* these, and the directory itself */
	cr_assert_eq(add(INPUT_TYPE, "f"), -E2BIG);
}

/* fts(3) of grep, find and du reads larger directories by inode numbers. */
Test(inputs, a_directory_with_too_many_names)
{
	char name[16];

	mkdir("d", 0700);
	for (int i = 0; i < 9998; i++) { /* with . and .. 10,000 */
		(void)snprintf(name, sizeof(name), "d/%d", i);
		must(mknod(name, S_IFREG | 0600, 0) == 0);
	}
	cr_assert_eq(add(INPUT_NAMES, "d"), 0);
	must(mknod("d/one", S_IFREG | 0600, 0) == 0);
	cr_assert_eq(add(INPUT_NAMES, "d"), -E2BIG);
}

/* What seen inspects shows in no access time that a program could print. */
Test(inputs, leaves_no_access_time)
{
	const struct timespec past[2] = { { 5, 0 }, { 0, UTIME_OMIT } };
	struct stat directory, file;

	mkdir("d", 0700);
	write_file("f", "one");
	must(utimensat(AT_FDCWD, "d", past, 0) == 0 && utimensat(AT_FDCWD, "f", past, 0) == 0);
	cr_assert_eq(add(INPUT_NAMES, "d"), 0);
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	cr_assert(are_same());
	must(stat("d", &directory) == 0 && stat("f", &file) == 0);
	cr_assert(directory.st_atim.tv_sec == 5 && file.st_atim.tv_sec == 5);
}

enum { THREADS = 4, OF_EACH = 200 };

static void *add_many(void *data)
{
	(void)data;
	for (int i = 0; i < OF_EACH; i++)
		must(inputs_add(&inputs, i % 2 ? INPUT_CONTENT : INPUT_TYPE, 0, "f", -1, 0) == 0);
	return NULL;
}

Test(inputs, several_threads)
{
	pthread_t threads[THREADS];

	write_file("f", "one");
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, add_many, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		must(pthread_join(threads[i], NULL) == 0);
	cr_assert_eq(inputs_length(&inputs), THREADS * OF_EACH);
	cr_assert(are_same());
	write_file("f", "two");
	cr_assert_not(are_same());
}

/* One that has a place and is not there yet makes a list that is not believed. */
Test(inputs, unfinished)
{
	write_file("f", "one");
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	inputs.size_bytes += 64;
	cr_assert_not(are_same());
	inputs_clear(&inputs);
	cr_assert(are_same());
	cr_assert_eq(inputs_length(&inputs), 0);
}

Test(inputs, large_files)
{
	write_file("f", "");
	must(truncate("f", INPUTS_READ_BYTES_MAX) == 0);
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	must(truncate("f", INPUTS_READ_BYTES_MAX + 1) == 0);
	cr_assert_eq(add(INPUT_CONTENT, "f"), -E2BIG);
	must(truncate("f", INPUTS_READ_BYTES_MAX) == 0);
	for (int i = 1; i < INPUTS_READ_BYTES_ALL_MAX / INPUTS_READ_BYTES_MAX; i++)
		cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	write_file("f", "1");
	cr_assert_eq(add(INPUT_CONTENT, "f"), -E2BIG);
}

Test(inputs, damaged)
{
	write_file("f", "one");
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	size_t whole = inputs.size_bytes;
	for (size_t size = 1; size < whole; size++) {
		inputs.size_bytes = size;
		if (size != whole / 2)
			cr_assert_not(are_same(), "%zu", size);
	}
	inputs.size_bytes = whole;
	unsigned seed = 1;
	for (int i = 0; i < 20000; i++) { /* nothing is read beyond, and no loop is endless */
		size_t at = (size_t)rand_r(&seed) % whole;
		char kept = inputs.bytes[at];
		inputs.bytes[at] = (char)rand_r(&seed);
		(void)are_same();
		(void)inputs_length(&inputs);
		inputs.bytes[at] = kept;
	}
	cr_assert(are_same());
}

/* What a name is and what it leads to, whose both are, and their modes. */
Test(inputs, owner)
{
	write_file("f", "");
	must(symlink("f", "link") == 0 && symlink("none", "hanging") == 0);
	cr_assert_eq(add(INPUT_OWNER, "link"), 0);
	cr_assert_eq(add(INPUT_OWNER, "hanging"), 0);
	write_file("f", "more");
	cr_assert(are_same());
	chmod("f", 0640);
	cr_assert_not(are_same(), "what a link leads to has another mode");
	chmod("f", 0600);
	cr_assert(are_same());
	write_file("none", "");
	cr_assert_not(are_same(), "a link leads to something now");
	unlink("none");
	cr_assert(are_same());
	unlink("link");
	cr_assert_not(are_same());
	write_file("link", "");
	cr_assert_not(are_same(), "it is no link any more");
}

Test(inputs, of_no_kind)
{
	write_file("f", "one");
	cr_assert_eq(add(INPUT_CONTENT, "f"), 0);
	((struct input *)(void *)inputs.bytes)->kind = INPUT_KINDS;
	cr_assert_not(are_same());
	cr_assert_eq(inputs_length(&inputs), 0);
}
