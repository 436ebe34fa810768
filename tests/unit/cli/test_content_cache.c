/* content_cache.h: bounds by number and by bytes, the least recently used out first, a version that is no longer there, and what is
 * left in the session. */
#include <criterion/criterion.h>

#include "cli/files/content_cache.h"
#include "support.h"

static struct world world;
static struct content_cache *cache;

static void start(void)
{
	world_open(&world, NULL);
}

static void stop(void)
{
	content_cache_free(cache);
	world_close(&world);
}

TestSuite(content_cache, .init = start, .fini = stop);

/* Gets a file; returns the error.  closes: what it reads from is closed before, so that only what is kept can be had. */
static int get(const char *name, bool closed, struct cached_content *ret_content)
{
	struct stat stat;
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && fstat(fd, &stat) == 0);
	if (closed)
		(void)close(fd);
	int error = content_cache_get(cache, closed ? -1 : fd, &stat, ret_content);
	if (!closed)
		(void)close(fd);
	return error;
}

static bool is_kept(const char *name)
{
	struct cached_content content;
	return get(name, true, &content) == 0;
}

static void fill_and_get(const char *name, size_t bytes, unsigned seed)
{
	struct cached_content content;
	world_fill(&world, name, bytes, seed);
	must(get(name, false, &content) == 0);
}

Test(content_cache, gives_what_is_in_the_file)
{
	struct cached_content content;
	struct content whole;
	char bytes[100];

	cache = content_cache_new(2, 1000);
	world_fill(&world, "a", 100, 1);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(get("a", i == 1, &content), 0);
		cr_assert_eq(content.version.size_bytes, 100);
		int fd = open(world_path(&world, "a"), O_RDONLY | O_CLOEXEC);
		cr_assert_eq(read(fd, bytes, 100), 100);
		cr_assert_eq(content_of_descriptor(fd, UINT64_MAX, &whole), 0);
		(void)close(fd);
		cr_expect_eq(memcmp(bytes, content.bytes, 100), 0);
		cr_expect(version_equal(&whole.version, &content.version));
		cr_expect(content.is_text);
	}
	cr_expect_eq(content_cache_entries(cache), 1);
	cr_expect_eq(content_cache_bytes(cache), 100);
	write_path(world_path(&world, "b"), "a\0b", 3);
	cr_assert_eq(get("b", false, &content), 0);
	cr_expect(!content.is_text);
	write_path(world_path(&world, "none"), "", 0);
	cr_assert_eq(get("none", false, &content), 0);
	cr_expect(content.is_text && content.bytes && content.version.size_bytes == 0);
}

Test(content_cache, as_many_as_there_is_room_for)
{
	char name[16];

	cache = content_cache_new(CONTENT_CACHE_ENTRIES, CONTENT_CACHE_BYTES);
	for (int i = 0; i < 51; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		if (i == 50) /* used again: the next one is the oldest */
			cr_assert(is_kept("f0"));
		fill_and_get(name, 10, (unsigned)i);
		cr_assert_eq(content_cache_entries(cache), i < 50 ? i + 1 : 50);
	}
	cr_expect(is_kept("f0") && !is_kept("f1") && is_kept("f2") && is_kept("f50"));
}

Test(content_cache, as_many_bytes_as_there_is_room_for)
{
	cache = content_cache_new(50, 1000);
	fill_and_get("a", 400, 1);
	fill_and_get("b", 400, 2);
	fill_and_get("c", 200, 3);
	cr_expect(is_kept("a") && is_kept("b") && is_kept("c"));
	cr_expect_eq(content_cache_bytes(cache), 1000);
	fill_and_get("d", 1, 4);
	cr_expect(!is_kept("a") && is_kept("b") && is_kept("c") && is_kept("d"));
	cr_expect_eq(content_cache_bytes(cache), 601);
	fill_and_get("e", 1000, 5);
	cr_expect_eq(content_cache_entries(cache), 1);
	cr_expect_eq(content_cache_bytes(cache), 1000);
}

Test(content_cache, what_is_too_large_is_not_read)
{
	struct cached_content content;

	cache = content_cache_new(50, 1000);
	fill_and_get("a", 400, 1);
	world_fill(&world, "large", 1001, 1);
	cr_expect_eq(get("large", false, &content), -EFBIG);
	cr_expect(is_kept("a"));
}

Test(content_cache, another_version_is_read_anew)
{
	struct cached_content content;
	struct version before;

	cache = content_cache_new(50, 1000);
	world_fill(&world, "a", 400, 1);
	cr_assert_eq(get("a", false, &content), 0);
	before = content.version;
	world_fill(&world, "a", 300, 2);
	cr_expect_neq(get("a", true, &content), 0);
	cr_expect_eq(content_cache_entries(cache), 0);
	cr_expect_eq(content_cache_bytes(cache), 0);
	cr_assert_eq(get("a", false, &content), 0);
	cr_expect_eq(content.version.size_bytes, 300);
	cr_expect(!version_equal(&before, &content.version));
	cr_expect_eq(content_cache_bytes(cache), 300);
}

Test(content_cache, one_that_is_another_size_than_said_is_not_taken)
{
	struct cached_content content;
	struct stat stat;

	cache = content_cache_new(50, 1000);
	world_fill(&world, "a", 400, 1);
	int fd = open(world_path(&world, "a"), O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &stat) == 0);
	stat.st_size = 399;
	cr_expect_eq(content_cache_get(cache, fd, &stat, &content), -ESTALE);
	stat.st_size = 401;
	cr_expect_eq(content_cache_get(cache, fd, &stat, &content), -ESTALE);
	cr_expect_eq(content_cache_entries(cache), 0);
	(void)close(fd);
}

/* ---- in the session ---- */

/* Another process, after this one left what it has. */
static void next_process(size_t entries_max, size_t bytes_max)
{
	if (cache)
		content_cache_leave(cache, world.root);
	content_cache_free(cache);
	cache = content_cache_new(entries_max, bytes_max);
	content_cache_load(cache, world.root);
}

static const char *left_path(void)
{
	static char path[4200];
	(void)snprintf(path, sizeof(path), "%s/instructions", world.root);
	return path;
}

static void grow_old(void)
{
	(void)usleep(2100000);
}

Test(content_cache, is_left_for_the_next_process)
{
	struct cached_content content;
	struct stat stat_left;

	world_fill(&world, "a", 400, 1);
	world_fill(&world, "b", 500, 2);
	grow_old();
	next_process(50, 1000);
	cr_expect_eq(get("a", false, &content), 0);
	struct version version = content.version;
	world_fill(&world, "c", 10, 3); /* so young that a change of it might not be seen */
	cr_expect_eq(get("c", false, &content), 0);
	next_process(50, 1000);
	cr_assert_eq(stat(left_path(), &stat_left), 0);
	cr_expect_eq(stat_left.st_mode & 0777, 0600);
	cr_assert_eq(get("a", true, &content), 0, "read again");
	cr_expect(version_equal(&version, &content.version) && content.is_text);
	cr_expect(!is_kept("c"));
	cr_expect_eq(get("b", false, &content), 0);
	next_process(50, 1000);
	cr_expect(is_kept("b") && is_kept("a"));
	/* a change is noticed */
	world_fill(&world, "a", 400, 9);
	cr_expect(!is_kept("a"));
	next_process(50, 1000);
	cr_expect(!is_kept("a") && is_kept("b"));
	cr_expect_eq(content_cache_bytes(cache), 500);
}

Test(content_cache, what_is_left_has_the_same_bounds)
{
	struct cached_content content;
	char name[16];

	for (int i = 0; i < 51; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		world_fill(&world, name, 10, (unsigned)i);
	}
	grow_old();
	for (int i = 0; i < 51; i++) { /* each a process of its own */
		next_process(CONTENT_CACHE_ENTRIES, CONTENT_CACHE_BYTES);
		if (i == 50) { /* used by one that changes nothing: the next one is the oldest */
			cr_assert(is_kept("f0"));
			next_process(CONTENT_CACHE_ENTRIES, CONTENT_CACHE_BYTES);
		}
		(void)snprintf(name, sizeof(name), "f%d", i);
		cr_assert_eq(get(name, false, &content), 0);
	}
	next_process(CONTENT_CACHE_ENTRIES, CONTENT_CACHE_BYTES);
	cr_expect_eq(content_cache_entries(cache), 50);
	cr_expect(is_kept("f0") && !is_kept("f1") && is_kept("f2") && is_kept("f50"));
	next_process(50, 100); /* one that holds less */
	cr_expect_eq(content_cache_entries(cache), 10);
	cr_expect_eq(content_cache_bytes(cache), 100);
	next_process(7, 1000);
	cr_expect_leq(content_cache_entries(cache), 7);
}

/* Each byte of what was left is changed, and each length of it cut: what is given is what is in the file. */
Test(content_cache, what_is_left_and_damaged_gives_nothing_wrong)
{
	struct cached_content content;
	char left[1024], bytes[50];

	world_fill(&world, "a", 50, 1);
	world_fill(&world, "b", 50, 2);
	grow_old();
	next_process(50, 1000);
	must(get("a", false, &content) == 0 && get("b", false, &content) == 0);
	next_process(50, 1000);
	int fd = open(left_path(), O_RDONLY | O_CLOEXEC);
	ssize_t length = read(fd, left, sizeof(left));
	must(length > 100 && length < (ssize_t)sizeof(left));
	(void)close(fd);
	fd = open(world_path(&world, "a"), O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && read(fd, bytes, 50) == 50);
	(void)close(fd);
	for (ssize_t i = 0; i < 2 * length; i++) {
		left[i / 2] ^= 0x41;
		write_path(left_path(), left, (size_t)(i % 2 ? i / 2 : length));
		left[i / 2] ^= 0x41;
		content_cache_free(cache);
		cache = content_cache_new(50, 1000);
		content_cache_load(cache, world.root);
		if (get("a", true, &content) == 0) {
			cr_assert_eq(content.version.size_bytes, 50);
			cr_assert_eq(memcmp(bytes, content.bytes, 50), 0, "byte %zd", i / 2);
		}
		cr_assert_eq(get("a", false, &content), 0);
		cr_assert_eq(memcmp(bytes, content.bytes, 50), 0);
	}
	/* what others may write to is not believed */
	write_path(left_path(), left, (size_t)length);
	must(chmod(left_path(), 0620) == 0);
	content_cache_free(cache);
	cache = content_cache_new(50, 1000);
	content_cache_load(cache, world.root);
	cr_expect(!is_kept("a"));
	next_process(50, 1000);
	cr_expect(!is_kept("a"));
}
