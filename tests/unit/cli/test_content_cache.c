/* content_cache.h: bounds by number and by bytes, the least recently used out first, and a version that is no longer there. */
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
