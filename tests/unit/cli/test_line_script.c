/* line_script.h, hunks.h: random texts; the hunks lead from the one to the other, and are few where few lines were changed. */
#include <criterion/criterion.h>
#include <time.h>

#include "cli/files/hunks.h"
#include "cli/files/unified.h"
#include "support.h"

enum { LINES_MAX = 400, ROUNDS = 300, TEXT_MAX = 1 << 16 };

struct text {
	char bytes[TEXT_MAX];
	size_t size;
};

static struct text old, new;
static uint64_t seed;

static uint32_t chance(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33) % below;
}

static void add_line(struct text *text, uint32_t kinds)
{
	text->size += (size_t)sprintf(text->bytes + text->size, "line %u%s\n", chance(kinds),
				      chance(5) ? "" : "\r");
}

static void make_old(uint32_t lines, uint32_t kinds)
{
	old.size = 0;
	for (uint32_t i = 0; i < lines; i++)
		add_line(&old, kinds);
}

/* Lines taken out, put in, replaced; perhaps without the last newline. */
static void edit(uint32_t one_of, uint32_t kinds)
{
	const char *end = old.bytes + old.size;

	new.size = 0;
	for (const char *at = old.bytes; at < end;) {
		size_t length = (size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) + 1 -
					 at);
		uint32_t what = chance(one_of);
		if (what == 0 || what == 1)
			add_line(&new, kinds);
		if (what != 1 && what != 2) {
			memcpy(new.bytes + new.size, at, length);
			new.size += length;
		}
		at += length;
	}
	if (new.size && chance(4) == 0)
		new.size--;
	if (old.size && chance(4) == 0)
		old.size--;
}

/* The hunks, behind two lines of names, as unified_leads_to() takes them. */
static void check(struct line_script *script)
{
	char *made = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&made, &size);

	must(file != NULL);
	(void)fputs("--- a\n+++ b\n", file);
	hunks_write(file, script, &HUNKS_PLAIN);
	must(fclose(file) == 0);
	cr_assert(unified_leads_to(old.bytes, old.size, made, size, new.bytes, new.size), "%s",
		  made);
	free(made);
}

Test(line_script, leads_from_one_to_the_other)
{
	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct line_script script;
		seed = round;
		make_old(chance(LINES_MAX), 1 + chance(500));
		edit(3 + chance(40), 1 + chance(500));
		cr_assert_eq(line_script_make(old.bytes, old.size, new.bytes, new.size, &script),
			     0);
		check(&script);
		cr_assert_eq(script.old.count - script.removed, script.new.count - script.added);
		line_script_free(&script);
	}
}

static void compare(const char *one, const char *other, size_t removed, size_t added,
		    unsigned similarity)
{
	struct line_script script;

	old.size = (size_t)sprintf(old.bytes, "%s", one);
	new.size = (size_t)sprintf(new.bytes, "%s", other);
	cr_assert_eq(line_script_make(old.bytes, old.size, new.bytes, new.size, &script), 0);
	cr_assert_eq(script.removed, removed, "%s %s", one, other);
	cr_assert_eq(script.added, added, "%s %s", one, other);
	cr_assert_eq(hunks_similarity(&script), similarity, "%u", hunks_similarity(&script));
	line_script_free(&script);
}

Test(line_script, counts)
{
	compare("", "", 0, 0, 100);
	compare("a\n", "", 1, 0, 0);
	compare("", "a\nb", 0, 2, 0);
	compare("a\nb\nc\n", "a\nb\nc\n", 0, 0, 100);
	compare("a\nb\nc\n", "a\nB\nc\n", 1, 1, 66);
	compare("a\nb\nc\n", "b\nc\na\n", 1, 1, 66);
	compare("a", "a\n", 1, 1, 0);
	/* The shortest script of Myers' paper has five edits. */
	compare("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 3, 2, 57);
}

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) * 1e-9;
}

/* As long as it takes to make them some hundred times: the processor may be an emulated one. */
Test(line_script, two_that_share_little_take_no_time)
{
	static char one[1 << 21], other[1 << 21];
	size_t sizes[2] = { 0, 0 };
	struct line_script script;
	struct timespec begin, from, to;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (int i = 0; i < 150000; i++) {
		sizes[0] += (size_t)sprintf(one + sizes[0], "%u\n", chance(5000));
		sizes[1] += (size_t)sprintf(other + sizes[1], "%u\n", chance(5000));
	}
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	cr_assert_eq(line_script_make(one, sizes[0], other, sizes[1], &script), 0);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	double making = seconds_between(&begin, &from), taken = seconds_between(&from, &to);
	cr_assert_lt(taken, 300 * making, "%.3f s, %.3f s to make them", taken, making);
	cr_assert_eq(script.old.count - script.removed, script.new.count - script.added);
	line_script_free(&script);
}
