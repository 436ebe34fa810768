/* notice.h: one line, with the nonce, safe to show. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/resource.h>

#include "support.h"

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
	int length = notice_render(&world.segment, "src/a.c", &CONTENT, text, sizeof(text));
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
	int length = notice_render(&world.segment, "a\nb\x1b[2J\\\xff{nonce}{path}", &CONTENT, text,
				   sizeof(text));
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
	int length = notice_render(&world.segment, "f", &CONTENT, text, sizeof(text));
	cr_assert_str_eq(text, "56 seen-0011223344556677\n");
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, text, (size_t)length + 1),
		     length);
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, text, (size_t)length),
		     -ENAMETOOLONG);
	for (size_t capacity = 0; capacity <= (size_t)length; capacity++) {
		memset(text, 'Z', sizeof(text));
		cr_assert_lt(notice_render(&world.segment, "f", &CONTENT, text, capacity), 0);
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
	cr_assert_eq(notice_render(&world.segment, path, &CONTENT, text, sizeof(text)),
		     -ENAMETOOLONG);
	world_close(&world);
}

Test(notice, unknown_braces_stay)
{
	struct world world;
	char text[200];
	world_open(&world, "notice.template={x} { {nonce}{", NULL);
	(void)notice_render(&world.segment, "f", &CONTENT, text, sizeof(text));
	world_close(&world);
	cr_assert_str_eq(text, "{x} { seen-0011223344556677{\n");
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
	int length = notice_render(&world.segment, "f", &CONTENT, text, sizeof(text));
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
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, text, sizeof(text)), -EINVAL);
	world_close(&world);
}

Test(notice, lost_nonce_is_refused)
{
	struct world world;
	char text[NOTICE_BYTES_MAX];
	world_open(&world, NULL);
	memset(world.segment.header->nonce, 0, SEGMENT_NONCE_BYTES);
	cr_assert_eq(notice_render(&world.segment, "f", &CONTENT, text, sizeof(text)), -EINVAL);
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
