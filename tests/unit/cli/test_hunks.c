/* hunks.h: hunks_bytes(), as long as what diff(1) prints. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files/hunks.h"

enum { LINES = 200 };

/* Line `word`: as many bytes as its number has digits. */
static struct line_key line_of(uint32_t word)
{
	char text[16];
	return (struct line_key){ word, (uint32_t)snprintf(text, sizeof(text), "%u", word) };
}

static void write_lines(const char *path, const uint32_t *words, size_t count)
{
	FILE *file = fopen(path, "w");
	cr_assert_not_null(file);
	for (size_t i = 0; i < count; i++)
		(void)fprintf(file, "%u\n", words[i]);
	(void)fclose(file);
}

static uint64_t count_changed(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count)
{
	static struct line_key left[8 * LINES], right[8 * LINES];

	for (size_t i = 0; i < a_count; i++)
		left[i] = line_of(a[i]);
	for (size_t i = 0; i < b_count; i++)
		right[i] = line_of(b[i]);
	struct line_script script;
	cr_assert_eq(line_script_of_keys(left, a_count, right, b_count, &script), 0);
	uint64_t bytes = hunks_bytes(&script);
	line_script_free(&script);
	return bytes;
}

/* Bytes behind the header of `diff -u`, with the fewest lines. */
static uint64_t theirs(const char *directory, const uint32_t *a, size_t a_count, const uint32_t *b,
		       size_t b_count)
{
	char left[128], right[128], command[512];
	unsigned long long bytes = 0;

	(void)snprintf(left, sizeof(left), "%s/a", directory);
	(void)snprintf(right, sizeof(right), "%s/b", directory);
	write_lines(left, a, a_count);
	write_lines(right, b, b_count);
	(void)snprintf(command, sizeof(command), "diff -u --minimal %s %s | tail -n +3 | wc -c",
		       left, right);
	FILE *pipe = popen(command, "r");
	cr_assert_not_null(pipe);
	cr_assert_eq(fscanf(pipe, "%llu", &bytes), 1);
	(void)pclose(pipe);
	(void)unlink(left);
	(void)unlink(right);
	return bytes;
}

Test(hunks_bytes, as_long_as_diff)
{
	char directory[] = "/tmp/seen-diff-XXXXXX";
	uint32_t a[LINES], b[2 * LINES];

	cr_assert_not_null(mkdtemp(directory));
	srand(5);
	for (int round = 0; round < 120; round++) {
		size_t a_count = (size_t)(rand() % LINES), b_count = 0;
		/* Each line is another one, so that there is one shortest diff, but for where blocks lie. */
		for (size_t i = 0; i < a_count; i++)
			a[i] = (uint32_t)(i + 1);
		int chance = 1 + rand() % 30;
		for (size_t i = 0; i < a_count; i++) {
			int edit = rand() % chance;
			if (edit == 0 && chance > 2)
				continue; /* deleted */
			if (edit == 1)
				b[b_count++] = (uint32_t)(5000 + i); /* added */
			b[b_count++] = edit == 2 ? (uint32_t)(9000 + i) : a[i];
		}
		cr_expect_eq(count_changed(a, a_count, b, b_count),
			     theirs(directory, a, a_count, b, b_count),
			     "round %d, %zu lines: %llu, diff says %llu", round, a_count,
			     (unsigned long long)count_changed(a, a_count, b, b_count),
			     (unsigned long long)theirs(directory, a, a_count, b, b_count));
	}
	(void)rmdir(directory);
}

Test(hunks_bytes, few_words)
{
	/* Lines that are alike: the diff is one of several as short, of as many lines. */
	uint32_t a[LINES], b[LINES];

	srand(6);
	for (int round = 0; round < 500; round++) {
		size_t a_count = (size_t)(rand() % 20), b_count = (size_t)(rand() % 20);
		for (size_t i = 0; i < a_count; i++)
			a[i] = (uint32_t)(rand() % 3);
		for (size_t i = 0; i < b_count; i++)
			b[i] = (uint32_t)(rand() % 3);
		bool same = a_count == b_count && memcmp(a, b, a_count * sizeof(*a)) == 0;
		uint64_t bytes = count_changed(a, a_count, b, b_count);
		cr_expect_eq(bytes == 0, same);
		cr_expect_lt(bytes, (a_count + b_count) * 3 + 64);
	}
}

Test(hunks_bytes, ends)
{
	const uint32_t a[] = { 1, 2, 3 }, b[] = { 1, 2, 4 };

	cr_expect_eq(count_changed(a, 0, b, 0), 0u);
	cr_expect_eq(count_changed(a, 3, a, 3), 0u);
	/* @@ -1,3 +1,3 @@, two lines of context, one out, one in */
	cr_expect_eq(count_changed(a, 3, b, 3), 16u + 4 * 3);
	/* @@ -0,0 +1,3 @@ */
	cr_expect_eq(count_changed(a, 0, b, 3), 16u + 3 * 3);
}
