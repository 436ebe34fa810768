/* inputs.h: what is inspected, what a difference is, what a list may hold, and which invocations' inputs are known. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <utime.h>

#include "support.h"
#include "tracker/content/inputs.h"

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

Test(inputs, half_a_year)
{
	write_file("f", "");
	inputs.now_ns += 1000000000;
	cr_assert_eq(add(INPUT_WORD, "f"), 0);
	inputs.now_ns += UINT64_C(15778470) * 1000000000;
	cr_assert(are_same());
	inputs.now_ns += UINT64_C(100) * 1000000000;
	cr_assert_not(are_same(), "ls -l shows the year now");
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

static const char *plan_of(const char *line)
{
	static char text[32];
	char words[200], *argv[20];
	struct inputs_needed plan = { .flags = 0 };
	int count = 0;

	(void)snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[count++] = word;
	argv[count] = NULL;
	if (!inputs_needed(argv[0], argv, &plan))
		return "never";
	(void)snprintf(text, sizeof(text), "%s%s%s",
		       plan.content   ? "content"
		       : plan.details ? "details"
				      : "names",
		       plan.flags & INPUT_ACCESS_TIME ? " access" : "",
		       plan.flags & INPUT_PARENT ? " parent" : "");
	return text;
}

Test(inputs, plans)
{
	static const char *const CASES[][2] = {
		{ "grep -rn pat src", "content" },
		{ "sed -n 1,5p f", "content" },
		{ "rg pat", "content" },
		{ "bfs .", "never" },
		{ "readlink f", "never" },
		{ "make", "never" },
		{ "ls", "names" },
		{ "ls -R d", "names" },
		{ "ls -a", "names parent" },
		{ "ls -la", "details parent" },
		{ "ls -l", "details" },
		{ "ls -F", "details" },
		{ "ls -t", "details" },
		{ "ls -lu", "details access" },
		{ "ls --time=atime", "details access parent" },
		{ "ls --color=always", "details parent" },
		{ "ls -- -l", "details parent" },
		{ "find . -name x -type f", "names" },
		{ "find . -maxdepth 2 -not -path x", "names" },
		{ "find -L .", "details access" },
		{ "find . -newer f", "details access" },
		{ "find . -size +1k", "details access" },
		{ "find . -empty", "details access" },
		{ "du -a", "details" },
		{ "diff -u a b", "details" },
		{ "stat f", "details access" },
		{ "tree -d", "details" },
		{ "tree -L 2", "details" },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_assert_str_eq(plan_of(CASES[i][0]), CASES[i][1], "%s", CASES[i][0]);
}
