/* A stream whose bytes stay in memory. */
#include "cli/base/memory_stream.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

TestSuite(memory_stream, .timeout = 10);

Test(memory_stream, keeps_what_was_written)
{
	char *text = NULL;
	size_t size = 99;
	FILE *file = memory_stream_open(&text, &size);

	cr_assert(file);
	for (int i = 0; i < 10000; i++)
		cr_assert_eq(fprintf(file, "%05d\n", i), 6);
	cr_assert_eq(ftell(file), 60000);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(size, 60000);
	cr_assert_eq(strlen(text), size);
	cr_assert_eq(strncmp(text + 6 * 4321, "04321\n", 6), 0);
	free(text);
}

Test(memory_stream, of_nothing_is_an_empty_text)
{
	char *text = NULL;
	size_t size = 99;
	FILE *file = memory_stream_open(&text, &size);

	cr_assert(file);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(size, 0);
	cr_assert_str_eq(text, "");
	free(text);
}

/* What comes behind a part that had no room would stand in its place. */
Test(memory_stream, is_cut_for_good_where_memory_ends)
{
	static char part[1 << 20];
	struct rlimit limit = { .rlim_cur = 64 << 20, .rlim_max = 64 << 20 };
	char *text = NULL;
	size_t size = 0;

#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("its memory is beyond the limit");
#endif
	FILE *file = memory_stream_open(&text, &size);
	cr_assert(file);
	memset(part, 'x', sizeof(part));
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	for (int i = 0; i < 128; i++)
		(void)fwrite(part, 1, sizeof(part), file);
	cr_assert(ferror(file));
	size_t before = size;
	cr_assert_neq(fclose(file), 0);
	cr_assert_eq(errno, ENOMEM);
	cr_assert_eq(size, before);
	free(text);
}
