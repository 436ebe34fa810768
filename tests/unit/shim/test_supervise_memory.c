/* shim/supervise/memory.h: reading of a process that passes unusual addresses.  The process is a child that waits, made when the page was
 * laid out: addresses are the same in it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "shim/supervise/memory.h"
#include "support.h"

enum { PAGE = 4096, PAGES = 6, PATH_BYTES = 4096 };

#define KERNEL UINT64_C(0xffffffff81000000)

static char *area; /* PAGES pages, behind which there is nothing */
static pid_t child;

static void start(void)
{
	area = mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	must(area != MAP_FAILED && munmap(area + PAGES * PAGE, PAGE) == 0);
	child = 0;
}

/* The child has the area as it is now; here it is empty from then on. */
static void start_child(void)
{
	child = fork();
	must(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	memset(area, 0x55, PAGES * PAGE);
}

static void stop(void)
{
	if (child > 0) {
		(void)kill(child, SIGKILL);
		must(waitpid(child, NULL, 0) == child);
	}
}

TestSuite(supervise_memory, .init = start, .fini = stop);

static char *near_limit(size_t before)
{
	return area + PAGES * PAGE - before;
}

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

Test(supervise_memory, read)
{
	char bytes[3 * PAGE];

	for (int i = 0; i < PAGES * PAGE; i++)
		area[i] = (char)(i * 7 + i / PAGE);
	char first = area[0], crossing = area[PAGE - 1], after = area[PAGE];
	start_child();
	cr_expect_eq(memory_read(child, address(area), bytes, 1), 1);
	cr_expect_eq(bytes[0], first);
	cr_expect_eq(memory_read(child, address(area + PAGE - 1), bytes, 2), 2);
	cr_expect(bytes[0] == crossing && bytes[1] == after);
	cr_expect_eq(memory_read(child, address(area), bytes, sizeof(bytes)), sizeof(bytes));
	cr_expect_eq(memory_read(child, address(area + 9), bytes, sizeof(bytes)), sizeof(bytes));
	/* Up to where there is nothing. */
	for (size_t left = 1; left < 300; left += 7)
		cr_expect_eq(memory_read(child, address(near_limit(left)), bytes, sizeof(bytes)),
			     left);
	cr_expect_eq(memory_read(child, address(near_limit(PAGE + 1)), bytes, sizeof(bytes)),
		     PAGE + 1);
	cr_expect_eq(memory_read(child, address(near_limit(0)), bytes, 1), -EFAULT);
	cr_expect_eq(memory_read(child, 0, bytes, 1), -EFAULT);
	cr_expect_eq(memory_read(child, 1, bytes, 8), -EFAULT);
	cr_expect_eq(memory_read(child, KERNEL, bytes, 8), -EFAULT);
	cr_expect_eq(memory_read(child, UINT64_MAX, bytes, 1), -EFAULT);
	cr_expect_lt(memory_read(child, UINT64_MAX - 1, bytes, 8), 0);
	cr_expect_lt(memory_read(child, UINT64_C(1) << 63, bytes, 8), 0);
}

Test(supervise_memory, gone)
{
	char bytes[8];
	bool cut;

	start_child();
	pid_t gone = child;
	stop();
	child = 0;
	cr_expect_eq(memory_read(gone, address(area), bytes, 1), -ESRCH);
	cr_expect_eq(memory_text(gone, address(area), bytes, sizeof(bytes)), -ESRCH);
	cr_expect_eq(memory_words(gone, address(area), bytes, sizeof(bytes), &cut), 0);
	cr_expect(cut);
	cr_expect_eq(proc_link(gone, "cwd", bytes, sizeof(bytes)), -ENOENT);
	cr_expect_eq(proc_open_path(gone, "root"), -ENOENT);
}

/* A text of that length that ends by NUL `gap` bytes before the end. */
static const char *write_text(size_t length, size_t gap)
{
	char *text = near_limit(gap + length + 1);
	memset(text, 'x', length);
	text[length] = '\0';
	return text;
}

Test(supervise_memory, text_up_to_the_end)
{
	static const size_t LENGTHS[] = { 0, 1, 255, 256, 257, 511, 4094, 4095 };
	char text[PATH_BYTES];

	for (size_t i = 0; i < sizeof(LENGTHS) / sizeof(LENGTHS[0]); i++) {
		for (size_t gap = 0; gap < 3; gap++) {
			const char *at = write_text(LENGTHS[i], gap);
			start_child();
			memset(text, '?', sizeof(text));
			cr_expect_eq(memory_text(child, address(at), text, sizeof(text)),
				     LENGTHS[i]);
			cr_expect_eq(strlen(text), LENGTHS[i]);
			cr_expect_eq(strspn(text, "x"), LENGTHS[i]);
			stop();
			child = 0;
		}
	}
}

/* Across each border of pages, at each place. */
Test(supervise_memory, text_across_pages)
{
	char text[PATH_BYTES];

	memset(area, 'y', PAGES * PAGE);
	for (int i = 1; i < 4; i++)
		area[i * PAGE + 7] = '\0';
	start_child();
	for (int before = 0; before < 600; before += 13) {
		cr_expect_eq(memory_text(child, address(area + PAGE - before), text, sizeof(text)),
			     before + 7);
		cr_expect_eq(strspn(text, "y"), before + 7);
	}
}

Test(supervise_memory, text_too_long)
{
	char text[PATH_BYTES + 1];

	const char *at = write_text(4096, 0);
	start_child();
	text[PATH_BYTES] = '?';
	cr_expect_eq(memory_text(child, address(at), text, PATH_BYTES), -ENAMETOOLONG);
	cr_expect_eq(text[PATH_BYTES], '?');
	cr_expect_eq(memory_text(child, address(at), text, 10), -ENAMETOOLONG);
	cr_expect_eq(memory_text(child, address(at), text, 0), -ENAMETOOLONG);
}

Test(supervise_memory, text_without_an_end)
{
	char text[PATH_BYTES];

	memset(area, 'z', PAGES * PAGE);
	start_child();
	static const size_t LEFT[] = { 1, 2, 255, 256, 257, 512, 4095 };
	for (size_t i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++)
		cr_expect_eq(memory_text(child, address(near_limit(LEFT[i])), text, sizeof(text)),
			     -EFAULT, "%zu", LEFT[i]);
	/* Neither of both is wrong. */
	cr_expect_lt(memory_text(child, address(near_limit(4096)), text, sizeof(text)), 0);
	cr_expect_eq(memory_text(child, address(near_limit(0)), text, sizeof(text)), -EFAULT);
	cr_expect_eq(memory_text(child, 0, text, sizeof(text)), -EFAULT);
	cr_expect_eq(memory_text(child, 8, text, sizeof(text)), -EFAULT);
	cr_expect_eq(memory_text(child, KERNEL, text, sizeof(text)), -EFAULT);
	cr_expect_eq(memory_text(child, UINT64_MAX - 10, text, sizeof(text)), -EFAULT);
}

Test(supervise_memory, unreadable_page)
{
	char text[64];

	strcpy(area + PAGE - 3, "abcdef");
	must(mprotect(area + PAGE, PAGE, PROT_NONE) == 0);
	child = fork();
	must(child >= 0);
	if (child == 0)
		for (;;)
			(void)pause();
	cr_expect_eq(memory_text(child, address(area + PAGE - 3), text, sizeof(text)), -EFAULT);
}

Test(supervise_memory, words)
{
	char bytes[256];
	bool cut = true;

	const char **array = (const char **)(void *)area;
	array[0] = strcpy(area + PAGE, "one");
	array[1] = strcpy(area + PAGE + 50, "");
	array[2] = strcpy(area + PAGE + 100, "three");
	array[3] = NULL;
	array[4] = array[0];
	start_child();
	cr_expect_eq(memory_words(child, address(area), bytes, sizeof(bytes), &cut), 11);
	cr_expect_not(cut);
	cr_expect_eq(memcmp(bytes, "one\0\0three", 11), 0);
	cr_expect_eq(
		memory_words(child, address(area) + 3 * sizeof(*array), bytes, sizeof(bytes), &cut),
		0);
	cr_expect_not(cut);
	/* Linux takes NULL for an empty array. */
	cr_expect_eq(memory_words(child, 0, bytes, sizeof(bytes), &cut), 0);
	cr_expect_not(cut);
	/* No room. */
	for (size_t room = 0; room < 11; room++) {
		memset(bytes, '?', sizeof(bytes));
		size_t used = memory_words(child, address(area), bytes, room, &cut);
		cr_expect(cut, "%zu", room);
		cr_expect_eq(used, room < 4 ? 0 : room < 5 ? 4 : 5, "%zu", room);
		cr_expect_eq(bytes[room], '?');
	}
	cr_expect_eq(memory_words(child, address(area), bytes, 11, &cut), 11);
	cr_expect_not(cut);
}

Test(supervise_memory, words_with_a_bad_pointer)
{
	static const uint64_t BAD[] = { 1, 4096, KERNEL, UINT64_MAX };
	char bytes[256];
	bool cut;

	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		uint64_t *array = (uint64_t *)(void *)area;
		memset(area, 0, PAGES * PAGE);
		array[0] = address(strcpy(area + PAGE, "one"));
		array[1] = BAD[i];
		array[2] = array[0];
		start_child();
		cr_expect_eq(memory_words(child, address(area), bytes, sizeof(bytes), &cut), 4);
		cr_expect(cut);
		cr_expect_str_eq(bytes, "one");
		stop();
		child = 0;
	}
	start_child();
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		cr_expect_eq(memory_words(child, BAD[i], bytes, sizeof(bytes), &cut), 0);
		cr_expect(cut);
	}
}

/* The array ends where the memory ends. */
Test(supervise_memory, words_up_to_the_end)
{
	char bytes[16384];
	bool cut;

	for (size_t count = 1; count < 600; count += 37) {
		uint64_t *array = (uint64_t *)(void *)near_limit((count + 1) * sizeof(*array));
		memset(area, 0, PAGES * PAGE);
		char *word = strcpy(area, "ab");
		for (size_t i = 0; i < count; i++)
			array[i] = address(word);
		array[count] = 0;
		start_child();
		cr_expect_eq(memory_words(child, address(array), bytes, sizeof(bytes), &cut),
			     3 * count);
		cr_expect_not(cut);
		stop();
		/* Without its end. */
		memset(area, 0, PAGES * PAGE);
		(void)strcpy(area, "ab");
		for (size_t i = 0; i <= count; i++)
			array[i] = address(word);
		start_child();
		cr_expect_eq(memory_words(child, address(array), bytes, sizeof(bytes), &cut),
			     3 * (count + 1));
		cr_expect(cut);
		stop();
		child = 0;
	}
}

Test(supervise_memory, write)
{
	char bytes[8];

	start_child();
	cr_expect_eq(memory_write(child, address(area + PAGE - 2), "abcd", 4), 0);
	cr_expect_eq(memory_read(child, address(area + PAGE - 2), bytes, 4), 4);
	cr_expect_eq(memcmp(bytes, "abcd", 4), 0);
	cr_expect_neq(area[PAGE - 2], 'a');
	cr_expect_eq(memory_write(child, 0, "abcd", 4), -EFAULT);
	cr_expect_eq(memory_write(child, KERNEL, "abcd", 4), -EFAULT);
	cr_expect_eq(memory_write(child, address(near_limit(2)), "abcd", 4), -EFAULT);
}

/* ---- how many inspect at a time ---- */

static void *finish_later(void *microseconds)
{
	(void)usleep(*(const useconds_t *)microseconds);
	inspection_finish();
	return NULL;
}

/* Who may wait gets the place of one who is done.  Where none is, all who wait do so once, together: what
 * they wait for may wait for one of them. */
Test(supervise_memory, inspections)
{
	struct timespec before, after;
	pthread_t thread;
	useconds_t soon = 50000, late = 400000;

	cr_assert(inspection_start() && inspection_start());
	cr_expect_not(inspection_start());
	must(pthread_create(&thread, NULL, finish_later, &soon) == 0);
	cr_expect(inspection_wait());
	must(pthread_join(thread, NULL) == 0);
	(void)clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < 20; i++)
		cr_expect_not(inspection_wait());
	(void)clock_gettime(CLOCK_MONOTONIC, &after);
	cr_expect_lt(after.tv_sec - before.tv_sec, 3); /* 20 times 200 ms is 4 s */
	inspection_finish();
	cr_expect(inspection_wait());
	must(pthread_create(&thread, NULL, finish_later, &late) == 0);
	cr_expect(inspection_wait_for_rules());
	must(pthread_join(thread, NULL) == 0);
}

Test(supervise_memory, links)
{
	char place[] = "/tmp/seen-test-XXXXXX", path[PATH_BYTES], name[64];

	must(mkdtemp(place) && chdir(place) == 0);
	int fd = open("f", O_RDWR | O_CREAT, 0600), directory = open(".", O_RDONLY), pipes[2];
	must(fd >= 0 && directory >= 0 && pipe(pipes) == 0);
	start_child();
	cr_expect_eq(proc_link(child, "cwd", path, sizeof(path)), strlen(place));
	cr_expect_str_eq(path, place);
	cr_expect_eq(proc_directory(child, AT_FDCWD, path, sizeof(path)), strlen(place));
	cr_expect_eq(proc_directory(child, directory, path, sizeof(path)), strlen(place));
	cr_expect_str_eq(path, place);
	cr_expect_eq(proc_directory(child, pipes[0], path, sizeof(path)), -ENOTDIR);
	cr_expect_eq(proc_directory(child, 900, path, sizeof(path)), -ENOENT);
	cr_expect_eq(proc_directory(child, -1, path, sizeof(path)), -ENOENT);
	cr_expect_eq(proc_link(child, "cwd", path, strlen(place)), -ENAMETOOLONG);
	cr_expect_eq(proc_link(child, "cwd", path, strlen(place) + 2), strlen(place));
	must(unlink("f") == 0);
	(void)snprintf(name, sizeof(name), "fd/%d", fd);
	cr_expect_eq(proc_link(child, name, path, sizeof(path)), -ENOENT);
	must(chdir("/") == 0 && rmdir(place) == 0);
	cr_expect_eq(proc_directory(child, AT_FDCWD, path, sizeof(path)), -ENOENT);
}
