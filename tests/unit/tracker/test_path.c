/* path.h: globs, normal form, the workspace, keys, text that is safe to show. */
#include <criterion/criterion.h>
#include <errno.h>

#include "support.h"
#include "tracker/path/glob.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

Test(path, base)
{
	cr_assert_str_eq(path_base("/a/b"), "b");
	cr_assert_str_eq(path_base("b"), "b");
	cr_assert_str_eq(path_base("/a/"), "");
}

Test(path, glob)
{
	static const struct {
		const char *pattern, *text;
		bool fold, match;
	} CASES[] = {
		{ "", "", false, true },
		{ "", "a", false, false },
		{ "a", "a", false, true },
		{ "a", "A", false, false },
		{ "a", "A", true, true },
		{ "A", "a", true, true },
		{ "*", "", false, true },
		{ "*", "abc", false, true },
		{ "*", "a/b", false, false },
		{ "**", "a/b", false, true },
		{ "*.c", "x.c", false, true },
		{ "*.c", "d/x.c", false, false },
		{ "**/x.c", "d/e/x.c", false, true },
		{ "**/x.c", "x.c", false, true },
		{ "**/x.c", "yx.c", false, false },
		{ "a/**", "a/b/c", false, true },
		{ "a/**", "a", false, false },
		{ "a/**/b", "a/b", false, true },
		{ "a/**/b", "a/x/y/b", false, true },
		{ "a/*/b", "a/x/y/b", false, false },
		{ "?", "a", false, true },
		{ "?", "", false, false },
		{ "?", "/", false, false },
		{ "a?c", "abc", false, true },
		{ "[abc]", "b", false, true },
		{ "[abc]", "d", false, false },
		{ "[a-c]", "b", false, true },
		{ "[a-c]", "d", false, false },
		{ "[a-c]", "B", true, true },
		{ "[!abc]", "d", false, true },
		{ "[^abc]", "a", false, false },
		{ "[]a]", "]", false, true },
		{ "[!]a]", "]", false, false },
		{ "[a-]", "-", false, true },
		{ "[!a]", "/", false, false },
		{ "[.-0]", "/", false, false },
		{ "[abc", "[abc", false, true },
		{ "[abc", "a", false, false },
		{ "\\*", "*", false, true },
		{ "\\*", "a", false, false },
		{ "\\", "\\", false, true },
		{ "a\\", "a\\", false, true },
		{ "***", "a/b", false, true },
		{ "*a*b*", "xxaxxbxx", false, true },
		{ "*a*b*", "xxbxxaxx", false, false },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_eq(path_glob(CASES[i].pattern, CASES[i].text, CASES[i].fold),
			     CASES[i].match, "%s against %s", CASES[i].pattern, CASES[i].text);
}

Test(path, glob_has_a_budget, .timeout = 5)
{
	static char text[4000];
	memset(text, 'a', sizeof(text) - 1);
	cr_assert(!path_glob("*a*a*a*a*a*a*a*a*a*a*a*b", text, false));
	cr_assert(!path_glob("**a**a**a**a**a**a**a**b", text, false));
	cr_assert(path_glob("*a", text, false));
}

Test(path, matches_glob)
{
	static const struct {
		const char *glob, *relative;
		bool fold, match;
	} CASES[] = {
		{ "a.c", "a.c", false, true },
		{ "a.c", "src/a.c", false, true },
		{ "a.c", "src/ba.c", false, false },
		{ "src/*.c", "lib/src/a.c", false, true },
		{ "src/*.c", "src/lib/a.c", false, false },
		{ "/src/*.c", "src/a.c", false, true },
		{ "/src/*.c", "lib/src/a.c", false, false },
		{ "src", "src/lib/a.c", false, true },
		{ "/src", "src/lib/a.c", false, true },
		{ "sr", "src/lib/a.c", false, false },
		{ "SRC", "src/a.c", false, false },
		{ "SRC", "src/a.c", true, true },
		{ "/**", "a/b", false, true },
		{ "a", "", false, false },
		{ "*", "", false, true },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_eq(path_matches_glob(CASES[i].glob, CASES[i].relative, CASES[i].fold),
			     CASES[i].match, "%s against %s", CASES[i].glob, CASES[i].relative);
}

Test(path, a_glob_that_takes_too_long_does_not_match, .timeout = 5)
{
	static char text[4000];
	memset(text, 'a', sizeof(text) - 1);
	cr_assert(!path_matches_glob("/*a*a*a*a*a*a*a*a*a*a*a*b", text, false));
}

Test(path, normalize)
{
	static const struct {
		const char *directory, *path, *normal;
	} CASES[] = {
		{ NULL, "/", "/" },
		{ NULL, "/a/b", "/a/b" },
		{ NULL, "//a///b//", "/a/b" },
		{ NULL, "/a/./b/.", "/a/b" },
		{ NULL, "/a/../b", "/b" },
		{ NULL, "/../..", "/" },
		{ NULL, "/a/b/../../..", "/" },
		{ NULL, "/...", "/..." },
		{ NULL, "/a/..b", "/a/..b" },
		{ NULL, "/a/.b/..c/...d", "/a/.b/..c/...d" },
		{ NULL, "/a/b/..", "/a" },
		{ NULL, "/a/b/.", "/a/b" },
		{ NULL, "/a/b/", "/a/b" },
		{ NULL, "/a//b", "/a/b" },
		{ "/d//e", "f", "/d/e/f" },
		{ "/d/../e", "f/../g", "/e/g" },
		{ "/d/e", "f", "/d/e/f" },
		{ "/d/e", "../f", "/d/f" },
		{ "/d/e/", "./f/", "/d/e/f" },
		{ "/d/e", "", "/d/e" },
		{ "/d", "/x", "/x" },
		{ "/", "..", "/" },
	};
	char normal[64];
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		int length = path_normalize(CASES[i].directory, CASES[i].path, normal,
					    sizeof(normal));
		cr_expect_eq(length, (int)strlen(CASES[i].normal), "%s: %d", CASES[i].path, length);
		cr_expect_str_eq(normal, CASES[i].normal);
	}
	cr_assert_eq(path_normalize(NULL, "a", normal, sizeof(normal)), -EINVAL);
	cr_assert_eq(path_normalize("b", "a", normal, sizeof(normal)), -EINVAL);
}

Test(path, normalize_capacity_exactly_and_one_less)
{
	char normal[8];
	cr_assert_eq(path_normalize(NULL, "/abc", normal, 5), 4);
	cr_assert_eq(path_normalize(NULL, "/abc", normal, 4), -ENAMETOOLONG);
	cr_assert_eq(path_normalize(NULL, "/", normal, 2), 1);
	cr_assert_eq(path_normalize(NULL, "/", normal, 1), -ENAMETOOLONG);
}

static struct world world;

static void start(void)
{
	world_open(&world, "paths.exclude=secret *.key /top/**", "agent x.state=/st/**", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(path_workspace, .init = start, .fini = stop);

Test(path_workspace, is_the_root_and_what_is_below)
{
	char sibling[128];
	(void)snprintf(sibling, sizeof(sibling), "%sx/f", world.workspace);
	cr_assert(path_in_workspace(&world.segment, world.workspace));
	cr_assert(path_in_workspace(&world.segment, world_path(&world, "f")));
	cr_assert(!path_in_workspace(&world.segment, sibling));
	cr_assert(!path_in_workspace(&world.segment, world.root));
	cr_assert(!path_in_workspace(&world.segment, "/"));
	cr_assert_str_eq(path_relative(&world.segment, world_path(&world, "d/f")), "d/f");
	cr_assert_str_eq(path_relative(&world.segment, sibling), sibling);
}

Test(path_workspace, exclude_at_any_depth_and_from_the_root)
{
	static const struct {
		const char *name;
		bool tracked;
	} CASES[] = {
		{ "f", true },
		{ "a.key", false },
		{ "d/e/a.key", false },
		{ "a.keys", true },
		{ "secret", false },
		{ "d/secret", false },
		{ "top/f", false },
		{ "d/top/f", true },
		{ ".git/config", false },
		{ "d/.git/x/y", false },
		{ "node_modules/p/i.js", false },
		{ "patch.txt", false },
		{ "d/x.diff", false },
		{ "x.patch", false },
		{ ".claude/y", false },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_eq(path_is_tracked(&world.segment, world_path(&world, CASES[i].name)),
			     CASES[i].tracked, "%s", CASES[i].name);
	cr_assert(!path_is_tracked(&world.segment, "/etc/passwd"));
}

/* A glob that takes too long may mean the file: it is left alone. */
Test(path_workspace, what_an_exclude_may_mean_is_not_tracked)
{
	static char path[4000];

	world_close(&world);
	world_open(&world, "paths.exclude=/*a*a*a*a*a*a*a*a*a*a*a*b", NULL);
	memset(path, 'a', sizeof(path) - 1);
	memcpy(path, world.workspace, strlen(world.workspace));
	path[strlen(world.workspace)] = '/';
	cr_assert_not(path_is_tracked(&world.segment, path));
	cr_assert_not(path_matches_list(&world.segment, world.settings->paths_exclude, path));
}

Test(path_workspace, include_narrows)
{
	struct world narrow;
	world_open(&narrow, "paths.include=src/** *.md", NULL);
	cr_assert(path_is_tracked(&narrow.segment, world_path(&narrow, "src/a.c")));
	cr_assert(path_is_tracked(&narrow.segment, world_path(&narrow, "d/a.md")));
	cr_assert(!path_is_tracked(&narrow.segment, world_path(&narrow, "a.c")));
	cr_assert(!path_is_tracked(&narrow.segment, world_path(&narrow, "src/x.patch")));
	world_close(&narrow);
}

/* What rules most globs out at once rules none out that matches: of globs and paths made of pieces by chance. */
Test(path_workspace, a_list_matches_what_its_globs_match)
{
	static const char *const GLOBS[] = { "a",     "abc",  "*.pem", "**", "?",       "[ab]",
					     "x*yzw", ".env", "A*",    "*",  "ab[c/]d", "abc*",
					     "\\a*b", "***",  "e?fgh", ".",  "b**cde",  "[a" };
	static const char *const NAMES[] = { "a",   "abc",    "k.pem", "b",    ".env", "xyzw",
					     "ABC", "xx.yzw", "e-fgh", "abcd", "a*b",  "bcde",
					     "[a",  "b",      "ab[c",  "dcde" };
	unsigned seed = 7;
	int tracked = 0;

	for (int round = 0; round < 80; round++) {
		char globs[2][64] = { "", "" }, setting[160];
		bool fold = round % 2;
		struct world listed;

		for (int k = 0; k < 2; k++) {
			if (rand_r(&seed) % 2)
				(void)strcat(globs[k], "/");
			for (int i = 0, count = rand_r(&seed) % 3; i <= count; i++) {
				(void)strcat(globs[k], GLOBS[(size_t)rand_r(&seed) %
							     (sizeof(GLOBS) / sizeof(GLOBS[0]))]);
				if (i < count || rand_r(&seed) % 8 == 0)
					(void)strcat(globs[k], "/");
			}
		}
		(void)snprintf(setting, sizeof(setting), "paths.include=%s %s", globs[0], globs[1]);
		world_open(&listed, setting,
			   fold ? "paths.case_insensitive=yes" : "paths.case_insensitive=no", NULL);
		for (int i = 0; i < 500; i++) {
			char path[64] = "";
			for (int names = rand_r(&seed) % 3; names >= 0; names--) {
				(void)strcat(path, path[0] ? "/" : "");
				(void)strcat(path, NAMES[(size_t)rand_r(&seed) %
							 (sizeof(NAMES) / sizeof(NAMES[0]))]);
			}
			bool matches = path_matches_glob(globs[0], path, fold) ||
				       path_matches_glob(globs[1], path, fold);
			cr_assert_eq(path_is_tracked(&listed.segment, world_path(&listed, path)),
				     matches, "%s, %s: %s", globs[0], globs[1], path);
			tracked += matches;
		}
		world_close(&listed);
	}
	cr_assert_gt(tracked, 4000);
	cr_assert_lt(tracked, 36000);
}

Test(path_workspace, state_of_agents_is_never_tracked)
{
	char state[128];
	struct world own;
	(void)snprintf(state, sizeof(state), "agent x.state=logs/**");
	world_open(&own, state, NULL);
	cr_assert(!path_is_tracked(&own.segment, world_path(&own, "logs/a")));
	cr_assert(path_is_tracked(&own.segment, world_path(&own, "log/a")));
	world_close(&own);
}

Test(path_workspace, keys)
{
	const char *lower = world_path(&world, "readme"), *upper = world_path(&world, "README");
	struct world folded;
	cr_assert_neq(path_key(&world.segment, lower), 0);
	cr_assert_neq(path_key(&world.segment, lower), path_key(&world.segment, upper));
	world_open(&folded, "paths.case_insensitive=yes", NULL);
	cr_assert_eq(path_key(&folded.segment, lower), path_key(&folded.segment, upper));
	cr_assert_neq(path_key(&folded.segment, lower),
		      path_key(&folded.segment, world_path(&world, "readmf")));
	/* only ASCII: two bytes that differ in bit 5 alone, above 0x7f */
	cr_assert_neq(path_key(&folded.segment, "/\xc3\xa9"),
		      path_key(&folded.segment, "/\xc3\x89"));
	char shouted[sizeof(folded.workspace)];
	for (size_t i = 0; i < sizeof(shouted); i++)
		shouted[i] = folded.workspace[i] >= 'a' && folded.workspace[i] <= 'z'
				     ? (char)(folded.workspace[i] - 32)
				     : folded.workspace[i];
	cr_assert(path_in_workspace(&folded.segment, shouted));
	cr_assert(!path_is_tracked(&folded.segment, world_path(&folded, "X.PATCH")));
	cr_assert(!path_in_workspace(&world.segment, shouted));
	world_close(&folded);
}

Test(path, utf8)
{
	static const struct {
		const char *bytes;
		size_t length;
	} CASES[] = {
		{ "a", 1 },
		{ "\xc3\xa9", 2 },
		{ "\xe2\x82\xac", 3 },
		{ "\xf0\x9f\x98\x80", 4 },
		{ "\x80", 0 },
		{ "\xc3", 0 },
		{ "\xc0\xaf", 0 },
		{ "\xc1\xbf", 0 },
		{ "\xe0\x9f\xbf", 0 },
		{ "\xe0\xa0\x80", 3 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xed\xa0\x80", 0 },
		{ "\xf0\x8f\xbf\xbf", 0 },
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 },
		{ "\xff", 0 },
		{ "\xe2\x82", 0 },
		{ "\xe2"
		  "a",
		  0 },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_eq(path_utf8_length(CASES[i].bytes), CASES[i].length, "case %zu", i);
}

Test(path, escape)
{
	static const struct {
		const char *bytes, *text;
	} CASES[] = {
		{ "", "" },
		{ "a b.c", "a b.c" },
		{ "a\nb", "a\\nb" },
		{ "\t\r\\", "\\t\\r\\\\" },
		{ "\x1b[31m", "\\x1b[31m" },
		{ "\x7f", "\\x7f" },
		{ "\x01", "\\x01" },
		{ "\xc3\xa9", "\xc3\xa9" },
		{ "\xff", "\\xff" },
		{ "\xc2\x9b", "\\xc2\\x9b" },
		{ "\xc2\xa0", "\xc2\xa0" },
		{ "\xc3", "\\xc3" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },
	};
	char text[64];
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		cr_expect_eq(path_escape(CASES[i].bytes, text, sizeof(text)),
			     (int)strlen(CASES[i].text));
		cr_expect_str_eq(text, CASES[i].text);
	}
}

Test(path, escape_never_writes_beyond)
{
	char text[64];
	for (size_t capacity = 0; capacity < 40; capacity++) {
		memset(text, 'Z', sizeof(text));
		int length = path_escape("a\n\x01\xff\xc3\xa9zzzz", text, capacity);
		if (length >= 0)
			cr_assert_lt((size_t)length, capacity);
		for (size_t i = capacity; i < sizeof(text); i++)
			cr_assert_eq(text[i], 'Z');
	}
}

Test(path, other_names_of_the_workspace)
{
	char path[SEGMENT_PATH_BYTES], wanted[SEGMENT_PATH_BYTES];

	world_open(&world, NULL);
	cr_assert_null(path_behind_alias(&world.segment, "/home/u/proj/f"));
	cr_assert_eq(path_add_alias(&world.segment, "/home/u/proj"), 0);
	cr_assert_eq(path_add_alias(&world.segment, "/home/u/proj"), 0);
	cr_assert_eq(path_add_alias(&world.segment, "/p"), 0);
	cr_assert_eq(world.segment.header->aliases[2], 0, "each once");
	cr_assert_str_eq(path_behind_alias(&world.segment, "/home/u/proj/d/f"), "/d/f");
	cr_assert_str_eq(path_behind_alias(&world.segment, "/p"), "");
	cr_assert_null(path_behind_alias(&world.segment, "/pq"));
	(void)snprintf(path, sizeof(path), "/p/d/f");
	(void)snprintf(wanted, sizeof(wanted), "%s/d/f", world.workspace);
	path_use_root(&world.segment, path, sizeof(path));
	cr_assert_str_eq(path, wanted);
	(void)snprintf(path, sizeof(path), "/p/f");
	path_use_root(&world.segment, path, 5); /* no room: left as it is */
	cr_assert_str_eq(path, "/p/f");
	cr_assert_eq(path_add_alias(&world.segment, "/q"), 0);
	cr_assert_eq(path_add_alias(&world.segment, "/r"), 0);
	cr_assert_eq(path_add_alias(&world.segment, "/s"), -ENOSPC);
	world_close(&world);
}

Test(path, behind_the_current_directory)
{
	cr_assert_str_eq(path_behind_directory("/proc/self/cwd/f", 0), "f");
	cr_assert_str_eq(path_behind_directory("/proc/thread-self/cwd//d/f", 0), "d/f");
	cr_assert_str_eq(path_behind_directory("/proc/12/cwd/f", 12), "f");
	cr_assert_null(path_behind_directory("/proc/12/cwd/f", 13));
	cr_assert_null(path_behind_directory("/proc/self/cwd", 12));
	cr_assert_null(path_behind_directory("/proc/self/cwd/", 12));
	cr_assert_null(path_behind_directory("/proc/self/cwdx/f", 12));
}
