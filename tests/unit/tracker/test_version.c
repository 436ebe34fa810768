/* version.h: versions by bytes, stamps by stat, what hashing of content states. */
#include <criterion/criterion.h>

#include "support.h"

static struct world world;

static void start(void)
{
	world_open(&world, NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(version, .init = start, .fini = stop);

static int hash_file(const char *name, uint64_t max_bytes, struct content *ret_content)
{
	int fd = open(world_path(&world, name), O_RDONLY);
	cr_assert_geq(fd, 0);
	int error = content_of_descriptor(fd, max_bytes, ret_content);
	cr_assert_eq(close(fd), 0);
	return error;
}

Test(version, stream_equals_whole_however_it_is_cut)
{
	static char bytes[100000];
	struct version whole = version_of_bytes(bytes, sizeof(bytes));
	for (size_t step = 1; step < sizeof(bytes); step = step * 3 + 1) {
		struct version_stream stream;
		version_stream_init(&stream);
		for (size_t at = 0; at < sizeof(bytes); at += step)
			version_stream_add(&stream, bytes + at,
					   sizeof(bytes) - at < step ? sizeof(bytes) - at : step);
		struct version version = version_stream_finish(&stream);
		cr_assert(version_equal(&version, &whole), "step %zu", step);
	}
}

Test(version, size_and_every_byte_count)
{
	char bytes[64] = { 0 };
	struct version a = version_of_bytes(bytes, 64), b = version_of_bytes(bytes, 63);
	cr_assert(!version_equal(&a, &b));
	for (int i = 0; i < 64; i++) {
		bytes[i] = 1;
		b = version_of_bytes(bytes, 64);
		cr_assert(!version_equal(&a, &b));
		bytes[i] = 0;
	}
	b = a;
	b.size_bytes++;
	cr_assert(!version_equal(&a, &b));
}

Test(version, none_is_no_files_version)
{
	struct version none = { 0 }, empty = version_of_bytes("", 0);
	cr_assert(version_is_none(&none));
	cr_assert(!version_is_none(&empty));
}

Test(version, stamp_has_five_parts)
{
	struct stat stat = { 0 };
	stat.st_dev = 1, stat.st_ino = 2, stat.st_size = 3;
	stat.st_mtim = (struct timespec){ 4, 5 };
	stat.st_ctim = (struct timespec){ 6, 7 };
	struct stamp stamp = stamp_of(&stat);
	cr_assert_eq(stamp.mtime_ns, 4000000005);
	for (int part = 0; part < 5; part++) {
		struct stamp other = stamp;
		((uint64_t *)&other)[part]++;
		cr_assert(!stamp_equal(&stamp, &other), "part %d", part);
	}
	cr_assert(stamp_equal(&stamp, &stamp));
}

Test(version, content_lines)
{
	static const struct {
		const char *text;
		uint64_t lines;
	} CASES[] = { { "", 0 }, { "a", 1 }, { "a\n", 1 }, { "a\nb", 2 }, { "\n\n", 2 } };
	struct content content;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		write_path(world_path(&world, "f"), CASES[i].text, strlen(CASES[i].text));
		cr_assert_eq(hash_file("f", 100, &content), 0);
		cr_assert_eq(content.lines, CASES[i].lines, "case %zu", i);
		cr_assert(content.text);
	}
}

Test(version, nul_byte_anywhere_is_binary)
{
	static char bytes[70000];
	struct content content;
	size_t places[] = { 0, 32767, 32768, sizeof(bytes) - 1 };
	for (size_t i = 0; i < 4; i++) {
		memset(bytes, 'x', sizeof(bytes));
		bytes[places[i]] = '\0';
		write_path(world_path(&world, "f"), bytes, sizeof(bytes));
		cr_assert_eq(hash_file("f", sizeof(bytes), &content), 0);
		cr_assert(!content.text, "at %zu", places[i]);
	}
}

Test(version, content_limit_exactly_and_one_beyond)
{
	struct content content;
	world_fill(&world, "f", 40000, 1);
	cr_assert_eq(hash_file("f", 40000, &content), 0);
	cr_assert_eq(content.version.size_bytes, 40000);
	cr_assert_eq(hash_file("f", 39999, &content), -EFBIG);
}

Test(version, content_leaves_the_offset)
{
	struct content content;
	world_fill(&world, "f", 1000, 1);
	int fd = open(world_path(&world, "f"), O_RDONLY);
	cr_assert_eq(lseek(fd, 10, SEEK_SET), 10);
	cr_assert_eq(content_of_descriptor(fd, 5000, &content), 0);
	cr_assert_eq(content.version.size_bytes, 1000);
	cr_assert_eq(lseek(fd, 0, SEEK_CUR), 10);
	cr_assert_eq(close(fd), 0);
	cr_assert_eq(content_of_descriptor(fd, 5000, &content), -EBADF);
}

/* The same by going through it byte by byte. */
static struct shape plain_shape(const char *bytes, size_t size)
{
	struct shape shape = { .bytes = size };
	for (size_t i = 0; i < size; i++) {
		shape.open_bytes = bytes[i] == '\n' ? 0 : shape.open_bytes + 1;
		shape.newlines += bytes[i] == '\n';
		if (shape.longest < shape.open_bytes)
			shape.longest = shape.open_bytes;
	}
	if (shape.longest < SHAPE_LINE_BYTES)
		shape.longest = size < SHAPE_LINE_BYTES ? size : SHAPE_LINE_BYTES;
	return shape;
}

Test(version, shape_of_any_text_in_any_pieces)
{
	char bytes[3000];
	unsigned seed = 1;

	for (int round = 0; round < 2000; round++) {
		struct shape shape = { 0 };
		size_t size = (size_t)rand_r(&seed) % sizeof(bytes);
		int mean = 1 << rand_r(&seed) % 12;
		for (size_t i = 0; i < size; i++)
			bytes[i] = rand_r(&seed) % mean == 0 ? '\n' : 'a';
		for (size_t at = 0; at < size;) {
			size_t piece = 1 + (size_t)rand_r(&seed) % (round % 2 ? 40 : 2000);
			if (piece > size - at)
				piece = size - at;
			shape_add(&shape, bytes + at, piece);
			at += piece;
		}
		struct shape plain = plain_shape(bytes, size);
		cr_assert_eq(memcmp(&shape, &plain, sizeof(shape)), 0,
			     "round %d: %lu newlines %lu, longest %lu %lu, open %lu %lu", round,
			     shape.newlines, plain.newlines, shape.longest, plain.longest,
			     shape.open_bytes, plain.open_bytes);
	}
	struct shape unseen = { .bytes = 3, .newlines = 1, .longest = 2, .open_bytes = 1 };
	shape_unseen(&unseen, 10);
	cr_assert_eq(unseen.bytes, 13);
	cr_assert_eq(unseen.longest, 11);
	cr_assert_eq(shape_lines(&unseen), 12);
}
