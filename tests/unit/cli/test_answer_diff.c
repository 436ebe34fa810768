/*
 * answer_diff.h: what is given, and that it leads to the file.
 *
 * The property: whatever was edited, what is given, applied to the old version by patch(1), gives the new one, byte for
 * byte; and it is given exactly where it is short.  200 random edits, 10,000 with SEEN_LONG.
 */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <time.h>

#include "cli/files/answer_diff.h"
#include "cli/files/unified.h"
#include "support.h"
#include "tracker/content/contents.h"
#include "tracker/content/contents_name.h"

enum { TEXT_MAX = 1 << 18 };

struct text {
	char bytes[TEXT_MAX];
	size_t count;
};

static struct world world;
static struct text old, new, given, made;

static void start(void)
{
	world_open(&world, "notice.max_bytes=200000", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(answer_diff, .init = start, .fini = stop, .timeout = 1800);

static struct version keep(const char *bytes, size_t count)
{
	struct version version;
	write_path(world_path(&world, "old"), bytes, count);
	int fd = open(world_path(&world, "old"), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	must(contents_save(&world.segment, fd, world_path(&world, "f"), CONTENTS_GIVEN, &version) ==
	     0);
	must(close(fd) == 0);
	return version;
}

static void get(int fd, struct text *ret_text)
{
	ssize_t count = pread(fd, ret_text->bytes, TEXT_MAX, 0);
	must(count >= 0 && count < TEXT_MAX);
	ret_text->count = (size_t)count;
}

/* Asks for what changed from `old` to `new`; the text is in `given`. */
static int ask(struct version before, struct version now)
{
	struct diff_question question = { before, now, 1000000000, "f", false };

	write_path(world_path(&world, "f"), new.bytes, new.count);
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	int out = memfd_create("out", MFD_CLOEXEC);
	must(fd >= 0 && out >= 0);
	must(lseek(fd, 3, SEEK_SET) == 3);
	int status = answer_diff(&world.segment, &question, fd, out);
	must(lseek(fd, 0, SEEK_CUR) == 3);
	get(out, &given);
	must(close(fd) == 0 && close(out) == 0);
	return status;
}

static int ask_both(void)
{
	return ask(keep(old.bytes, old.count), version_of_bytes(new.bytes, new.count));
}

static void set(struct text *text, const char *bytes, size_t count)
{
	must(count <= TEXT_MAX);
	memcpy(text->bytes, bytes, count);
	text->count = count;
}

static void add(struct text *text, const char *bytes, size_t count)
{
	must(text->count + count <= TEXT_MAX);
	memcpy(text->bytes + text->count, bytes, count);
	text->count += count;
}

/* Numbered lines. */
static void fill(struct text *text, unsigned count)
{
	char line[64];
	text->count = 0;
	for (unsigned i = 0; i < count; i++)
		add(text, line, (size_t)snprintf(line, sizeof(line), "line %u of the file\n", i));
}

/* Runs a program below the workspace; its exit status. */
static int run(const char *const words[])
{
	(void)fflush(NULL);
	pid_t child = fork();
	int status;
	if (child == 0) {
		if (chdir(world.workspace) == 0)
			(void)execv(words[0], (char *const *)(uintptr_t)words);
		_exit(127);
	}
	must(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* Does that diff make the new text of the old one? */
static bool leads_to_new(const char *diff, size_t count)
{
	static const char *const WORDS[] = { "/usr/bin/patch", "-s", "-f",   "-F0",
					     "--binary",       "-o", "made", "old",
					     "patch",          NULL };

	write_path(world_path(&world, "patch"), diff, count);
	write_path(world_path(&world, "made"), "", 0);
	if (run(WORDS) != 0)
		return false;
	int fd = open(world_path(&world, "made"), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	get(fd, &made);
	must(close(fd) == 0);
	return made.count == new.count &&memcmp(made.bytes, new.bytes, new.count) == 0;
}

static bool has_patch(void)
{
	return access("/usr/bin/patch", X_OK) == 0;
}

/* Does what was given, without its first line?  Where there is patch(1). */
static bool is_patch(void)
{
	const char *line = memchr(given.bytes, '\n', given.count);
	must(line);
	if (!has_patch())
		return true;
	line++;
	return leads_to_new(line, given.count - (size_t)(line - given.bytes));
}

/* Does what was not given, because it is too long?  And is it? */
static bool is_long_patch(void)
{
	enum { LINE_BYTES_MAX = 400, LABEL_BYTES = 2 * 22 };
	static const char *const WORDS[] = { "/bin/sh", "-c", "exec diff -u -L f -L f old f > diff",
					     NULL };
	static struct text diff;
	int differs = run(WORDS);
	int in = open(world_path(&world, "diff"), O_RDONLY | O_CLOEXEC);

	must(in >= 0);
	get(in, &diff);
	must(close(in) == 0);
	return differs == 1 &&
	       unified_leads_to(old.bytes, old.count, diff.bytes, diff.count, new.bytes,
				new.count) &&
	       leads_to_new(diff.bytes, diff.count) &&
	       2 * (diff.count + LINE_BYTES_MAX + LABEL_BYTES) >= new.count;
}

Test(answer_diff, what_it_says)
{
	static const char END[] = " line 48 of the file\n line 49 of the file\n+more\n";
	char expected[1024], a[VERSION_DIGITS + 1], b[VERSION_DIGITS + 1];
	struct version before, now;

	fill(&old, 50);
	new = old;
	add(&new, "more\n", 5);
	cr_assert_eq(ask_both(), DIFF_MADE);
	before = version_of_bytes(old.bytes, old.count);
	now = version_of_bytes(new.bytes, new.count);
	version_digits(&before, a);
	version_digits(&now, b);
	(void)snprintf(expected, sizeof(expected),
		       "[File changed since last read: f. Below is not the file but what changed "
		       "in it, a unified diff against version %s, given "
		       "to you since 1970-01-01T00:00:01.000Z. If that is not in your context, "
		       "repeat the same command to get the file in full. "
		       "(%zu bytes, version %s, seen-0011223344556677)]\n--- f\t(version %s)\n+++ "
		       "f\t(version %s)\n@@ -48,3 +48,4 @@\n line 47 of "
		       "the file\n%s",
		       a, new.count, b, a, b, END);
	given.bytes[given.count] = '\0';
	cr_assert_str_eq(given.bytes, expected);
	cr_assert(is_patch());
}

Test(answer_diff, without_the_offer_to_ask_again)
{
	world.settings->notice_yield = NOTICE_YIELD_NEVER;
	fill(&old, 50);
	new = old;
	add(&new, "more\n", 5);
	cr_assert_eq(ask_both(), DIFF_MADE);
	given.bytes[given.count] = '\0';
	cr_assert_not_null(
		strstr(given.bytes, "run `seen forget` on it and repeat the command to"));
}

/* A new text of that size: what changed in it is as long whatever the size. */
static void fill_to(size_t size_bytes)
{
	old.count = 0;
	while (old.count + 66 < size_bytes)
		add(&old, "x", 1);
	for (int i = 0; i < 3; i++)
		add(&old, i ? "line 10 of the file\n" : "\nline 10 of the file\n", 20 + !i);
	new = old;
	add(&new, "more\n", 5);
	must(new.count == size_bytes);
}

/* Given where it is less than half as long, and not where it is exactly half. */
Test(answer_diff, half_as_long)
{
	fill_to(999);
	cr_assert_eq(ask_both(), DIFF_MADE);
	size_t length = given.count;
	for (size_t size = 2 * length - 3; size <= 2 * length + 3; size++) {
		fill_to(size);
		int status = ask_both();
		cr_assert_eq(status, size > 2 * length ? DIFF_MADE : DIFF_LONG, "%zu of %zu: %d",
			     length, size, status);
		cr_assert_eq(given.count, status == DIFF_MADE ? length : 0);
	}
}

Test(answer_diff, not_those_versions)
{
	fill(&old, 50);
	new = old;
	add(&new, "more\n", 5);
	struct version before = keep(old.bytes, old.count), other = before;
	struct version now = version_of_bytes(new.bytes, new.count);
	struct version unlike = now;
	unlike.low ^= 1;
	cr_assert_eq(ask(before, now), DIFF_MADE);
	cr_assert_eq(ask(before, unlike), DIFF_FAILED, "the file is another one by now");
	unlike = now;
	unlike.size_bytes--;
	cr_assert_eq(ask(before, unlike), DIFF_FAILED);
	other.high ^= 1;
	cr_assert_eq(ask(other, now), DIFF_FAILED, "not kept");
	cr_assert_eq(ask(before, before), DIFF_FAILED, "the file is not that");
	set(&new, old.bytes, old.count);
	cr_assert_eq(ask(before, before), DIFF_FAILED, "no change");
	cr_assert_eq(given.count, 0);

	/* What is kept is damaged. */
	char name[CONTENTS_NAME_BYTES], path[256];
	contents_name(&before, name);
	(void)snprintf(path, sizeof(path), "%s/%s", world.contents, name);
	must(chmod(path, 0600) == 0);
	old.bytes[0] ^= 1;
	write_path(path, old.bytes, old.count);
	add(&new, "more\n", 5);
	cr_assert_eq(ask(before, now), DIFF_FAILED);
	cr_assert_eq(given.count, 0);
}

Test(answer_diff, binary_now_or_before)
{
	fill(&old, 100);
	new = old;
	new.bytes[100] = '\0';
	cr_assert_eq(ask_both(), DIFF_FAILED);
	set(&new, old.bytes, old.count);
	old.bytes[100] = '\0';
	cr_assert_eq(ask_both(), DIFF_FAILED);
	old.bytes[100] = '\x01';
	cr_assert_eq(ask_both(), DIFF_MADE);
	cr_assert(is_patch());
}

Test(answer_diff, too_large)
{
	fill(&old, 50);
	new = old;
	add(&new, "more\n", 5);
	world.settings->notice_max_bytes = new.count;
	cr_assert_eq(ask_both(), DIFF_MADE);
	world.settings->notice_max_bytes = new.count - 1;
	cr_assert_eq(ask_both(), DIFF_FAILED);
	struct text swap = old;
	old = new, new = swap;
	cr_assert_eq(ask_both(), DIFF_FAILED, "the old one");
}

/* ---- random edits ---- */

static uint64_t seed = 20261122;

static unsigned below(unsigned count)
{
	return count ? (unsigned)(next_random(&seed) >> 33) % count : 0;
}

static void add_line(struct text *text)
{
	static const char *const UNUSUAL[] = {
		"--- a/f\n",
		"+++ b/f\n",
		"@@ -1,3 +1,3 @@\n",
		"\\ No newline at end of file\n",
		"diff -u a b\n",
		"\n",
		"\r\n",
		"\r",
		"-\n",
		"+\n",
		" \n",
		"\t\n",
		"Only in a: b\n",
		"caf\xc3\xa9 \xe2\x82\xac\n",
		"\xff\xfe\x80\n",
		"\x1b[31mred\x1b[0m\n",
		"Index: f\n",
		"*** 1,2 ****\n",
		"1c1\n",
		"< a\n",
		"> b\n",
		"---\n",
		"# dead beef\n",
		"Prereq: 1.2\n",
	};
	char line[64];
	unsigned kind = below(20);

	if (kind == 0) { /* a long one */
		for (unsigned left = below(3000); left; left--)
			add(text, &"abcdefgh ijkl"[below(13)], 1);
		add(text, "\n", 1);
	} else if (kind < 5) {
		const char *unusual = UNUSUAL[below(sizeof(UNUSUAL) / sizeof(UNUSUAL[0]))];
		add(text, unusual, strlen(unusual));
	} else {
		int length = snprintf(line, sizeof(line), "%s%u%s", kind < 10 ? "\tcall_" : "word ",
				      below(kind < 12 ? 5 : 100000), kind == 6 ? ";\r\n" : ";\n");
		add(text, line, (size_t)length);
	}
}

/* Offset of the beginning of a line. */
static size_t some_line(const struct text *text)
{
	size_t at = below((unsigned)text->count + 1);
	while (at > 0 && text->bytes[at - 1] != '\n')
		at--;
	return at;
}

static void edit(void)
{
	static struct text before;
	before = new;
	size_t from = some_line(&before), to = from;
	unsigned kind = below(12);

	for (unsigned lines = below(3) + 1; lines && to < before.count; lines--) {
		const char *newline = memchr(before.bytes + to, '\n', before.count - to);
		to = newline ? (size_t)(newline - before.bytes) + 1 : before.count;
	}
	switch (kind) {
	case 0: /* at the end */
		add_line(&new);
		return;
	case 1: /* the last newline */
		if (new.count &&new.bytes[new.count - 1] == '\n')
			new.count--;
		else
			add(&new, "\n", 1);
		return;
	case 2: /* one byte */
		if (new.count)
			new.bytes[below((unsigned)new.count)] = (char)(below(255) + 1);
		return;
	case 3: /* as another system ends lines */
		if (to > from && before.bytes[to - 1] == '\n') {
			new.count = to - 1;
			add(&new, "\r\n", 2);
			add(&new, before.bytes + to, before.count - to);
		}
		return;
	case 4: /* at the beginning */
		from = to = 0;
		break;
	case 5: /* moved to the end */
		new.count = from;
		add(&new, before.bytes + to, before.count - to);
		add(&new, before.bytes + from, to - from);
		return;
	case 6: /* twice */
		new.count = to;
		add(&new, before.bytes + from, before.count - from);
		return;
	case 7: /* removed */
		new.count = from;
		add(&new, before.bytes + to, before.count - to);
		return;
	case 8: /* cut off: below a quarter goes, or nearly all is left out */
		if (below(4) == 0)
			new.count = from;
		return;
	default:
		break;
	}
	/* added, or in the place of others */
	new.count = from;
	for (unsigned lines = below(4) + 1; lines; lines--)
		add_line(&new);
	if (kind % 2)
		to = from;
	add(&new, before.bytes + to, before.count - to);
}

Test(answer_diff, applied_to_the_old_it_gives_the_new)
{
	unsigned edits = getenv("SEEN_LONG") ? 10000 : 200;
	unsigned counts[DIFF_FAILED + 1] = { 0 }, empty = 0, binary = 0, unended = 0;
	uint64_t given_bytes = 0, new_bytes = 0;
	struct timespec began, ended;

	if (!has_patch())
		cr_skip_test("no patch(1)");
	if (getenv("SEEN_SEED"))
		seed = strtoull(getenv("SEEN_SEED"), NULL, 10);
	(void)clock_gettime(CLOCK_MONOTONIC, &began);
	for (unsigned i = 0; i < edits; i++) {
		old.count = 0;
		unsigned lines = below(8) ? 40 + below(400) : below(6);
		while (lines--)
			add_line(&old);
		if (old.count && below(4) == 0) /* no newline at the end */
			old.count--;
		if (old.count && below(40) == 0)
			old.bytes[below((unsigned)old.count)] = '\0';
		new = old;
		for (unsigned count = below(8) ? below(4) + 1 : below(60) + 1; count; count--)
			edit();
		if (new.count && below(40) == 0)
			new.bytes[below((unsigned)new.count)] = '\0';
		if (below(100) == 0)
			new.count = 0;
		if (old.count > 200000 || new.count > 200000 ||
		    (new.count == old.count &&memcmp(new.bytes, old.bytes, new.count) == 0))
			continue;
		bool is_text = !memchr(old.bytes, '\0', old.count) &&
			       !memchr(new.bytes, '\0', new.count);
		int status = ask_both();
		counts[status]++;
		empty += !old.count || !new.count;
		binary += !is_text;
		unended += (old.count && old.bytes[old.count - 1] != '\n') ||
			   (new.count &&new.bytes[new.count - 1] != '\n');
		cr_assert_eq(status == DIFF_FAILED, !is_text, "edit %u: %d", i, status);
		if (status == DIFF_MADE) {
			cr_assert_lt(2 * given.count, new.count, "edit %u", i);
			cr_assert(is_patch(), "edit %u", i);
			given_bytes += given.count;
			new_bytes += new.count;
		} else {
			cr_assert_eq(given.count, 0, "edit %u", i);
			cr_assert(!is_text || is_long_patch(), "edit %u", i);
		}
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &ended);
	(void)fprintf(
		stderr,
		"%u edits in %ld s: %u diffs, %u too long to be given; each gave the new version; "
		"%u not text; %u with an empty side, %u binary, %u without a last newline; a diff "
		"is %.1f%% of its file\n",
		edits, (long)(ended.tv_sec - began.tv_sec), counts[DIFF_MADE], counts[DIFF_LONG],
		counts[DIFF_FAILED], empty, binary, unended,
		new_bytes ? 100.0 * (double)given_bytes / (double)new_bytes : 0.0);
	cr_assert_gt(counts[DIFF_MADE], edits / 4);
	cr_assert_gt(counts[DIFF_LONG], 0);
	cr_assert_gt(binary, 0);
}
