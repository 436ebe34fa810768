/* notice.h: one line, with the nonce, safe to show. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "failing_calls.h"

static const struct content CONTENT = {
	.version = { .low = 1, .high = 0x0123456789abcdef, .size_bytes = 1234 },
	.lines = 56,
	.text = true
};

Test(notice, as_documented)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	world_open(&world, NULL);
	int length = notice_render(&world.segment, "src/a.c", &CONTENT, -1, text, sizeof(text));
	world_close(&world);
	cr_assert_str_eq(text, "[File previously read: src/a.c. Content unchanged since last read. "
			       "If it is not in your "
			       "context, repeat the same command to get it in full. (56 lines, "
			       "1234 bytes, version "
			       "0123456789ab, seen-0011223344556677)]\n");
	cr_assert_eq(length, (int)strlen(text));
}

Test(notice, is_one_line_whatever_the_name)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	world_open(&world, NULL);
	int length = notice_render(&world.segment, "a\nb\x1b[2J\\\xff{nonce}{path}", &CONTENT, -1,
				   text, sizeof(text));
	world_close(&world);
	cr_assert_gt(length, 0);
	cr_assert_eq(strchr(text, '\n') - text, length - 1);
	cr_assert_not_null(strstr(text, "a\\nb\\x1b[2J\\\\\\xff{nonce}{path}. Content"));
}

Test(notice, capacity_exactly_and_one_less)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	world_open(&world, "notice.template={lines} {nonce}", NULL);
	int length = notice_render(&world.segment, "f", &CONTENT, -1, text, sizeof(text));
	cr_assert_str_eq(text, "56 seen-0011223344556677\n");
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, -1, text, (size_t)length + 1),
		     length);
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, -1, text, (size_t)length),
		     -ENAMETOOLONG);
	for (size_t capacity = 0; capacity <= (size_t)length; capacity++) {
		memset(text, 'Z', sizeof(text));
		cr_assert_lt(notice_render(&world.segment, "f", &CONTENT, -1, text, capacity), 0);
		cr_assert_eq(text[capacity], 'Z');
	}
	world_close(&world);
}

Test(notice, long_path_does_not_fit)
{
	struct world world;
	static char path[SEGMENT_PATH_BYTES], text[NOTICE_BYTES_MAX];
	memset(path, 1, sizeof(path) - 1);
	world_open(&world, NULL);
	cr_assert_eq(notice_render(&world.segment, path, &CONTENT, -1, text, sizeof(text)),
		     -ENAMETOOLONG);
	world_close(&world);
}

Test(notice, unknown_braces_stay)
{
	struct world world;
	char text[200];
	world_open(&world, "notice.template={x} { {nonce}{", NULL);
	(void)notice_render(&world.segment, "f", &CONTENT, -1, text, sizeof(text));
	world_close(&world);
	cr_assert_str_eq(text, "{x} { seen-0011223344556677{\n");
}

/* A file in memory, of that text, and what is known of it. */
static int file_of(const char *text, struct content *ret_content)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	must(content_of_descriptor(fd, UINT64_MAX, ret_content) == 0);
	return fd;
}

/* Renders `template` with an excerpt of `file`, into at most `capacity` bytes. */
static int render_excerpt(const char *template, const char *characters, const char *file,
			  char *ret_text, size_t capacity)
{
	struct world world;
	struct content content;
	char option[300], limit[60];
	int fd = file_of(file, &content);

	(void)snprintf(option, sizeof(option), "notice.template=%s", template);
	(void)snprintf(limit, sizeof(limit), "history.result_max_length=%s", characters);
	world_open(&world, option, limit, NULL);
	int length = notice_render(&world.segment, "f", &content, fd, ret_text, capacity);
	world_close(&world);
	(void)close(fd);
	return length;
}

Test(notice, excerpt)
{
	char text[NOTICE_BYTES_MAX], file[200];
	memset(file, 'x', 150);
	file[150] = '\0';
	cr_assert_gt(render_excerpt("{excerpt} {nonce}", "150", file, text, sizeof(text)), 0);
	cr_assert_eq(strncmp(text, file, 150), 0);
	cr_assert_str_eq(text + 150, " seen-0011223344556677\n");
	cr_assert_gt(render_excerpt("{excerpt} {nonce}", "149", file, text, sizeof(text)), 0);
	cr_assert_str_eq(text + 149, "... [truncated] seen-0011223344556677\n");
	cr_assert_gt(render_excerpt("<{excerpt}> {nonce}", "149", "", text, sizeof(text)), 0);
	cr_assert_str_eq(text, "<> seen-0011223344556677\n");
}

Test(notice, excerpt_is_one_line)
{
	char text[NOTICE_BYTES_MAX];
	int length = render_excerpt("{excerpt}{nonce}", "500",
				    "a\nb\r\t\x1b[2J\\\xff\xc2\x9b{nonce}\n", text, sizeof(text));
	cr_assert_str_eq(text,
			 "a\\nb\\r\\t\\x1b[2J\\\\\\xff\\xc2\\x9b{nonce}\\nseen-0011223344556677\n");
	cr_assert_eq(length, (int)strlen(text));
}

/* Every place of a cut, behind and before each border of what is read at a time. */
Test(notice, excerpt_is_cut_between_characters)
{
	static const char *const PIECES[] = { "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
	static char file[4 * 700 + 1], text[NOTICE_BYTES_MAX];
	struct world world;
	struct content content;

	world_open(&world, "notice.template={excerpt}{nonce}", NULL);
	for (int piece = 0; piece < 4; piece++) {
		const size_t bytes = strlen(PIECES[piece]);
		for (size_t shift = 0; shift < 4; shift++) {
			memset(file, 'a', shift);
			for (size_t i = 0; i < 600; i++)
				memcpy(file + shift + i * bytes, PIECES[piece], bytes);
			file[shift + 600 * bytes] = '\0';
			int fd = file_of(file, &content);
			for (size_t n = 100; n <= 600; n++) {
				world.settings->history_result_max_length = n;
				cr_assert_gt(notice_render(&world.segment, "f", &content, fd, text,
							   sizeof(text)),
					     0);
				size_t end = shift + (n - shift) * bytes;
				cr_assert_eq(memcmp(text, file, end), 0);
				cr_assert_eq(
					strncmp(text + end, shift + 600 > n ? "... [" : "seen-", 5),
					0, "%d %zu %zu", piece, shift, n);
			}
			(void)close(fd);
		}
	}
	world_close(&world);
}

/* What does not fit is cut: the notice is as long as it may be, and whole otherwise. */
Test(notice, excerpt_fits)
{
	static char file[10001], text[NOTICE_BYTES_MAX];
	static const char END[] = "... [truncated] seen-0011223344556677\n";

	memset(file, '\n', 10000); /* each two bytes */
	for (size_t capacity = 60; capacity < 70; capacity++) {
		memset(text, 'Z', sizeof(text));
		int length = render_excerpt("{excerpt} {nonce}", "10000", file, text, capacity);
		cr_assert_gt(length, 0);
		cr_assert_leq((size_t)length, capacity - 1);
		cr_assert_geq((size_t)length, capacity - 3);
		cr_assert_eq(text[capacity], 'Z');
		cr_assert_str_eq(text + length - (int)strlen(END), END);
	}
	int length = render_excerpt("{excerpt} {excerpt} {nonce}", "10000", file, text,
				    sizeof(text));
	cr_assert_gt(length, NOTICE_BYTES_MAX - 10);
	cr_assert_lt(length, NOTICE_BYTES_MAX);
	/* Room for the rest alone. */
	length = render_excerpt("{excerpt} {nonce}", "10000", file, text, 30);
	cr_assert_str_eq(text, " seen-0011223344556677\n");
	cr_assert_eq(render_excerpt("{excerpt} {nonce}", "10000", file, text, 20), -ENAMETOOLONG);
}

Test(notice, no_excerpt_where_none_may_be)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	world_open(&world, "notice.template=<{excerpt}> {nonce}", NULL);
	(void)notice_render(&world.segment, "f", &CONTENT, -1, text, sizeof(text));
	world_close(&world);
	cr_assert_str_eq(text, "<> seen-0011223344556677\n");
}

/* Puts another template over the segment's, as damage would. */
static int render_damaged(const char *template)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	world_open(&world, NULL);
	struct settings_text *at = &world.settings->notice_template;
	memcpy((char *)(uintptr_t)world.segment.text + at->offset, template, strlen(template) + 1);
	at->size_bytes = (uint32_t)strlen(template) + 1;
	int length = notice_render(&world.segment, "f", &CONTENT, -1, text, sizeof(text));
	world_close(&world);
	return length;
}

Test(notice, template_without_nonce_is_refused)
{
	cr_assert_eq(render_damaged("[{path} unchanged]"), -EINVAL);
	cr_assert_eq(render_damaged(""), -EINVAL);
	cr_assert_eq(render_damaged("{nonc"), -EINVAL);
	cr_assert_gt(render_damaged("{nonce}"), 0);
}

Test(notice, template_with_a_newline_is_refused)
{
	cr_assert_eq(render_damaged("a\n{nonce}"), -EINVAL);
	cr_assert_eq(render_damaged("{nonce}\n"), -EINVAL);
}

Test(notice, lost_template_is_refused)
{
	struct world world;
	char text[100];
	world_open(&world, NULL);
	world.settings->notice_template.offset = UINT32_MAX;
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, -1, text, sizeof(text)), -EINVAL);
	world_close(&world);
}

Test(notice, lost_nonce_is_refused)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	world_open(&world, NULL);
	memset(world.segment.header->nonce, 0, SEGMENT_NONCE_BYTES);
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, -1, text, sizeof(text)), -EINVAL);
	world_close(&world);
}

Test(notice, as_a_file)
{
	char text[100];
	int fd = notice_file("a notice\n", 9);
	cr_assert_geq(fd, 0);
	cr_assert_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	cr_assert_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cr_assert_eq(lseek(fd, 0, SEEK_CUR), 0);
	cr_assert_eq(read(fd, text, sizeof(text)), 9);
	cr_assert_eq(memcmp(text, "a notice\n", 9), 0);
	cr_assert_eq(fcntl(fd, F_GET_SEALS),
		     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	cr_assert_eq(close(fd), 0);
}

static int limited(void *data)
{
	const struct rlimit limit = { 9, 9 };
	(void)data;
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	must(notice_file("a notice\n!", 10) == -EFBIG); /* and no signal */
	must(notice_file("a notice\n", 9) >= 0);
	return 0;
}

Test(notice, as_a_file_beyond_the_limit)
{
	cr_assert_eq(in_child(limited, NULL), 0);
}

static int without_writes(void *data)
{
	(void)data;
	refuse_calls(SYS_write, ENOSPC);
	return -notice_file("a notice\n", 9);
}

Test(notice, as_a_file_without_room)
{
	cr_assert_eq(in_child(without_writes, NULL), EIO);
}

/* A word stands bare where a shell takes each of its bytes for what it is. */
Test(notice, words_of_a_command)
{
	for (int byte = 1; byte < 256; byte++) {
		char word[] = { 'x', (char)byte, '\0' }, text[32], *words[] = { word, NULL };
		bool plain = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
			     (byte >= 'A' && byte <= 'Z') || byte >= 128 ||
			     strchr("%+,-./:=@_^", byte);

		notice_command(words, text, sizeof(text));
		cr_assert_eq(text[0] != '\'', plain, "%02x: %s", (unsigned)byte, text);
	}
}

/* No notice is without the session's nonce, which a damaged segment has lost. */
Test(notice, without_a_nonce)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];

	world_open(&world, NULL);
	cr_assert_eq(notice_lines(&world.segment, "f", &CONTENT, 1, 5, text, 0), -EINVAL);
	cr_assert_eq(notice_request(&world.segment, "ls", true, 9, 0, text, 0), -EINVAL);
	cr_assert_lt(notice_lines(&world.segment, "long-name", &CONTENT, 1, 5, text, 30), 0);
	world.segment.header->nonce[0] = '\0';
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, -1, text, sizeof(text)), -EINVAL);
	cr_assert_eq(notice_lines(&world.segment, "f", &CONTENT, 1, 5, text, sizeof(text)),
		     -EINVAL);
	cr_assert_eq(notice_request(&world.segment, "ls", true, 9, 0, text, sizeof(text)), -EINVAL);
	world_close(&world);
}

Test(notice, a_file_that_cannot_be_made)
{
	struct rlimit none = { 0, 0 };
	struct rlimit before;

	must(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none.rlim_max = before.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &none) == 0);
	int fd = notice_file("x\n", 2);
	must(setrlimit(RLIMIT_NOFILE, &before) == 0);
	cr_assert_eq(fd, -EMFILE);
	/* What is no file in memory cannot be sealed, and is closed. */
	int pipes[2];
	must(pipe(pipes) == 0);
	cr_assert_lt(notice_seal(pipes[1]), 0);
	cr_assert_eq(fcntl(pipes[1], F_GETFD), -1);
	must(close(pipes[0]) == 0);
}

/* An excerpt has no more than fits, and none of what cannot be read. */
Test(notice, excerpts_that_do_not_fit)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	int pipes[2];

	world_open(&world, "notice.template={excerpt} {nonce}", NULL);
	write_path(world_path(&world, "f"), "\xe2\x82\xac\x01\x02 and more of it", 21);
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	for (size_t capacity = 0; capacity < 100; capacity++) {
		int length = notice_render(&world.segment, "f", &CONTENT, fd, text, capacity);
		cr_assert(length < 0 || ((size_t)length < capacity && text[length - 1] == '\n' &&
					 strlen(text) == (size_t)length));
	}
	must(close(fd) == 0 && pipe(pipes) == 0);
	cr_assert_gt(notice_render(&world.segment, "f", &CONTENT, pipes[0], text, sizeof(text)), 0);
	cr_assert(strncmp(text, "... [truncated] seen-", 21) == 0, "%s", text);
	/* cut meanwhile, in its first character */
	write_path(world_path(&world, "f"), "\xe2", 1);
	fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	cr_assert_gt(notice_render(&world.segment, "f", &CONTENT, fd, text, sizeof(text)), 0);
	cr_assert(strncmp(text, "\\xe2... [truncated] seen-", 25) == 0, "%s", text);
	(void)close(fd);
	world_close(&world);
}

Test(notice, commands_that_do_not_fit)
{
	char word[] = "word", *words[] = { word, word, word, NULL }, text[64];

	for (size_t capacity = 8; capacity < sizeof(text); capacity++) {
		memset(text, 'Z', sizeof(text));
		notice_command(words, text, capacity);
		cr_assert_lt(strlen(text), capacity);
		cr_assert(strcmp(text, "word word word") == 0 ||
			  strcmp(text + strlen(text) - 3, "...") == 0);
	}
}
