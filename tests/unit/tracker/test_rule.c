/* rule.h: what rules decide about an access, and what makes a line of it. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/guard/rule.h"
#include "tracker/path/glob.h"
#include "tracker/segment/workspace.h"

static struct world world;

/* Rules are given as -c would; the workspace is world.workspace. */
#define OPEN(...) world_open(&world, __VA_ARGS__, NULL)

static void close_world(void)
{
	world_close(&world);
}

TestSuite(rule, .fini = close_world);

static struct rule_program program_of(const char *executable, const char *name)
{
	struct rule_program program;

	rule_program(&world.segment, executable, name, &program);
	return program;
}

/* What the rules decide about an access to a path, of a program that bears no name of interest.  path: "w/..." is in the workspace. */
static struct rule_answer judged(uint32_t ops, const char *path)
{
	struct rule_program program = program_of("/usr/bin/tool", "tool");
	struct rule_question question = { .ops = ops };
	struct rule_answer answer;
	char full[512];

	(void)snprintf(full, sizeof(full), "%s%s", path[0] == 'w' ? world.workspace : "",
		       path[0] == 'w' ? path + 1 : path);
	question.path = full;
	rule_judge(&world.segment, &program, &question, &answer);
	return answer;
}

static bool holds(const char *path)
{
	return judged(RULE_READ, path).action != RULE_ACTION_OFF;
}

Test(rule, without_any)
{
	world_open(&world, NULL);
	struct rule_program program = program_of("/usr/bin/cat", "cat");

	cr_assert_eq(program.rules, 0);
	cr_assert_eq(program.ops, 0);
	cr_assert_not(rule_may_hold(&program, RULE_ANY));
	cr_assert_eq(judged(RULE_ANY, "w/a").action, RULE_ACTION_OFF);
	cr_assert_str_eq(rule_name(&world.segment, 0), "");
}

Test(rule, globs)
{
	OPEN("rule r.op=read", "rule r.path=name x/y ./top ./*.c /abs /etc/*.conf [!a]b dir/**");
	static const char *const in[] = { "w/name",   "w/d/name",   "w/name/below", "w/d/name/e/f",
					  "/name",    "/o/name",    "w/x/y",        "w/d/x/y",
					  "/o/x/y/z", "w/top",      "w/top/a",      "w/a.c",
					  "/abs",     "/abs/below", "/etc/a.conf",  "w/cb",
					  "w/d/cb",   "w/dir/a",    "w/d/dir/a" };
	static const char *const out[] = { "w",      "w/names", "w/nam",         "w/d/top",
					   "/top",   "w/d/a.c", "/a.c",          "/absx",
					   "/d/abs", "w/abs",   "/etc/d/a.conf", "w/ab",
					   "w/dir",  "w/xy",    "w/x/d/y" };

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		cr_expect(holds(in[i]), "%s", in[i]);
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
		cr_expect_not(holds(out[i]), "%s", out[i]);
}

Test(rule, the_workspace_itself)
{
	OPEN("rule r.op=read", "rule r.path=.");
	cr_expect(holds("w"));
	cr_expect(holds("w/a"));
	cr_expect_not(holds("/a"));
	/* a directory beside it whose name begins alike */
	cr_expect_not(holds("wx/a"));
}

Test(rule, where_and_except)
{
	OPEN("rule in.op=read", "rule in.where=workspace", "rule in.except=a ./b /etc",
	     "rule out.op=write", "rule out.where=outside", "rule out.except=a /dev");
	cr_expect(holds("w/c"));
	cr_expect(holds("w"));
	cr_expect_not(holds("w/a"));
	cr_expect_not(holds("w/d/a/x"));
	cr_expect_not(holds("w/b"));
	cr_expect(holds("w/d/b"));
	cr_expect_not(holds("/c"));
	cr_expect_eq(judged(RULE_WRITE, "/c").action, RULE_ACTION_LOG);
	cr_expect_eq(judged(RULE_WRITE, "/").action, RULE_ACTION_LOG);
	cr_expect_eq(judged(RULE_WRITE, "/d/a").action, RULE_ACTION_OFF);
	cr_expect_eq(judged(RULE_WRITE, "/dev/null").action, RULE_ACTION_OFF);
	cr_expect_eq(judged(RULE_WRITE, "w/c").action, RULE_ACTION_OFF);
}

Test(rule, ops)
{
	OPEN("rule r.op=delete rename", "rule all.op=any", "rule all.path=all");
	for (uint32_t op = 1; op <= RULE_EXEC; op <<= 1) {
		bool mine = op == RULE_DELETE || op == RULE_RENAME;

		cr_expect_eq(judged(op, "w/a").action != RULE_ACTION_OFF, mine, "%s",
			     rule_op_name(op));
		cr_expect_eq(judged(op, "w/all").action, RULE_ACTION_LOG);
		cr_assert_not_null(rule_op_name(op));
	}
	/* the first one of both decides */
	cr_expect_eq(judged(RULE_READ | RULE_RENAME | RULE_DELETE, "w/a").op, RULE_DELETE);
	cr_assert_null(rule_op_name(0));
	cr_assert_null(rule_op_name(3));
	cr_assert_null(rule_op_name(RULE_EXEC << 1));
	cr_assert_str_eq(rule_op_name(RULE_METADATA), "metadata");
	cr_assert_str_eq(rule_action_name(RULE_ACTION_DENY), "deny");
	cr_assert_null(rule_action_name(RULE_ACTION_DENY + 1));
}

Test(rule, the_strictest_holds)
{
	OPEN("rule a.op=read", "rule a.action=warn", "rule b.op=read", "rule b.action=deny",
	     "rule b.path=b", "rule c.op=read", "rule c.action=deny", "rule d.op=read",
	     "rule d.action=fail", "rule c.path=b c", "rule e.op=any", "rule e.action=off");
	struct rule_answer answer = judged(RULE_READ, "w/b");

	cr_assert_eq(answer.action, RULE_ACTION_DENY);
	cr_assert_str_eq(rule_name(&world.segment, answer.rule), "b");
	answer = judged(RULE_READ, "w/c");
	cr_assert_str_eq(rule_name(&world.segment, answer.rule), "c");
	answer = judged(RULE_READ, "w/d");
	cr_assert_eq(answer.action, RULE_ACTION_FAIL);
	cr_assert_str_eq(rule_name(&world.segment, answer.rule), "d");
	cr_assert_eq(judged(RULE_EXEC, "w/d").action, RULE_ACTION_OFF);
}

Test(rule, programs)
{
	OPEN("rule a.op=read", "rule a.exe=cat py*", "rule b.op=write", "rule b.exe=/opt/**",
	     "rule c.op=exec", "rule c.except_exe=git ./tools/x", "rule d.op=list",
	     "rule d.exe=**");
	char tool[128];

	cr_expect_eq(program_of("/bin/cat", "cat").ops, RULE_READ | RULE_EXEC | RULE_LIST);
	/* by what the script is called, or by its interpreter */
	cr_expect_eq(program_of("/usr/bin/node", "pyx").ops, RULE_READ | RULE_EXEC | RULE_LIST);
	cr_expect_eq(program_of("/usr/bin/python3", "x").ops, RULE_READ | RULE_EXEC | RULE_LIST);
	cr_expect_eq(program_of("/opt/x/y", "y").ops, RULE_WRITE | RULE_EXEC | RULE_LIST);
	cr_expect_eq(program_of("/usr/opt", "opt").ops, RULE_EXEC | RULE_LIST);
	cr_expect_eq(program_of("/usr/bin/git", "git").ops, RULE_LIST);
	(void)snprintf(tool, sizeof(tool), "%s/tools/x", world.workspace);
	cr_expect_eq(program_of(tool, "x").ops, RULE_LIST);
	/* one that is not known */
	cr_expect_eq(program_of("", "").ops & (RULE_READ | RULE_WRITE), 0);
	cr_expect_eq(program_of("", "").ops & RULE_EXEC, RULE_EXEC);
}

Test(rule, open_flags)
{
	static const struct {
		int flags;
		uint32_t ops;
	} CASES[] = {
		{ O_RDONLY, RULE_READ },
		{ O_WRONLY, RULE_WRITE },
		{ O_RDWR, RULE_READ | RULE_WRITE },
		{ O_RDONLY | O_TRUNC, RULE_READ | RULE_WRITE },
		{ O_WRONLY | O_CREAT, RULE_WRITE | RULE_CREATE },
		{ O_RDONLY | O_CREAT, RULE_READ | RULE_CREATE },
		{ O_WRONLY | O_CREAT | O_EXCL, RULE_WRITE | RULE_CREATE | RULE_ONLY_NEW },
		{ O_WRONLY | O_TMPFILE | O_EXCL, RULE_WRITE | RULE_CREATE },
		{ O_RDONLY | O_DIRECTORY, RULE_LIST },
		{ O_RDWR | O_TMPFILE, RULE_READ | RULE_WRITE | RULE_CREATE },
		{ O_WRONLY | O_TMPFILE, RULE_WRITE | RULE_CREATE },
		{ O_PATH, 0 },
		{ O_PATH | O_DIRECTORY, 0 },
		{ O_RDONLY | O_CLOEXEC | O_NOFOLLOW, RULE_READ },
	};

	world_open(&world, NULL);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		cr_expect_eq(rule_ops_of_open(CASES[i].flags), CASES[i].ops, "%x", CASES[i].flags);
}

Test(rule, ops_of_rename)
{
	static const struct {
		unsigned flags;
		uint32_t old_name, new_name;
	} CASES[] = {
		{ 0, RULE_RENAME | RULE_DELETE, RULE_RENAME | RULE_WRITE | RULE_CREATE },
		{ RENAME_NOREPLACE, RULE_RENAME | RULE_DELETE,
		  RULE_RENAME | RULE_WRITE | RULE_CREATE | RULE_ONLY_NEW },
		{ RENAME_EXCHANGE, RULE_RENAME | RULE_WRITE, RULE_RENAME | RULE_WRITE },
	};

	world_open(&world, NULL);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		uint32_t old_name = 0, new_name = 0;
		rule_ops_of_rename(CASES[i].flags, &old_name, &new_name);
		cr_expect_eq(old_name, CASES[i].old_name, "%x", CASES[i].flags);
		cr_expect_eq(new_name, CASES[i].new_name, "%x", CASES[i].flags);
	}
}

Test(rule, what_is_there)
{
	OPEN("rule new.op=create", "rule new.action=deny", "rule old.op=write delete read",
	     "rule old.action=warn");
	struct rule_program program = program_of("/bin/x", "x");
	struct rule_question question = { .ops = RULE_WRITE | RULE_CREATE, .path = "/a" };
	struct rule_answer answer;

	/* new: the rule about what is new; there: the other one */
	rule_judge(&world.segment, &program, &question, &answer);
	cr_assert(answer.needs_lookup);
	struct rule_answer now = answer;
	rule_complete(&world.segment, &program, &question, false, &now);
	cr_assert_eq(now.action, RULE_ACTION_DENY);
	cr_assert_not(now.needs_lookup);
	rule_complete(&world.segment, &program, &question, true, &answer);
	cr_assert_eq(answer.action, RULE_ACTION_WARN);
	cr_assert_eq(answer.op, RULE_WRITE);
	cr_assert_not(answer.needs_lookup);

	/* nothing is there, and nothing would be made: no rule */
	for (uint32_t op = RULE_READ; op <= RULE_DELETE; op <<= 1) {
		question.ops = op;
		rule_judge(&world.segment, &program, &question, &answer);
		if (op == RULE_CREATE)
			continue;
		cr_assert(answer.needs_lookup, "%u", op);
		rule_complete(&world.segment, &program, &question, false, &answer);
		cr_assert_eq(answer.action, RULE_ACTION_OFF);
	}
	/* it would be made, and a rule that asks for no look holds */
	world_close(&world);
	OPEN("rule w.op=write", "rule w.action=deny");
	program = program_of("/bin/x", "x");
	question.ops = RULE_WRITE | RULE_CREATE;
	rule_judge(&world.segment, &program, &question, &answer);
	cr_assert_eq(answer.action, RULE_ACTION_DENY);
	cr_assert_not(answer.needs_lookup);
}

/* mkdir and similar: where something is there, nothing is done, whatever the rule speaks of. */
Test(rule, what_only_makes)
{
	OPEN("rule r.op=write create link", "rule r.action=deny");
	struct rule_program program = program_of("/bin/x", "x");

	for (uint32_t op = RULE_WRITE; op <= RULE_LINK; op <<= 1) {
		struct rule_question question = { .ops = op | RULE_CREATE | RULE_ONLY_NEW,
						  .path = "/a" };
		struct rule_answer answer, there;

		rule_judge(&world.segment, &program, &question, &answer);
		cr_assert(answer.needs_lookup, "%u", op);
		there = answer;
		rule_complete(&world.segment, &program, &question, true, &there);
		cr_assert_eq(there.action, RULE_ACTION_OFF, "%u", op);
		rule_complete(&world.segment, &program, &question, false, &answer);
		cr_assert_eq(answer.action, RULE_ACTION_DENY, "%u", op);
	}
}

Test(rule, case_ignored)
{
	OPEN("rule r.op=read", "rule r.path=Name", "paths.case_insensitive=yes");
	cr_expect(holds("w/NAME"));
	cr_expect(holds("w/d/name"));
}

Test(rule, counted)
{
	world_open(&world, NULL);
	rule_count(&world.segment, &(struct rule_answer){ .action = RULE_ACTION_OFF });
	for (unsigned action = 0; action < 7; action++) {
		struct rule_answer answer = { .action = (enum rule_action)action };

		for (unsigned i = 0; i < action; i++)
			rule_count(&world.segment, &answer);
	}
	cr_assert_eq(segment_counter(&world.segment, COUNTER_rules_logged), RULE_ACTION_LOG);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_rules_warned), RULE_ACTION_WARN);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_rules_failed), RULE_ACTION_FAIL);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_rules_denied), RULE_ACTION_DENY);
}

Test(rule, said)
{
	OPEN("rule no.op=any", "rule no.action=deny", "rule no.path=no", "rule careful.op=any",
	     "rule careful.action=warn");
	char line[256], path[256];
	static const struct {
		uint32_t op;
		const char *denied, *warned;
	} CASES[] = {
		{ RULE_READ, "not read", "read" },
		{ RULE_WRITE, "not written", "written" },
		{ RULE_CREATE, "not made", "made" },
		{ RULE_DELETE, "not removed", "removed" },
		{ RULE_RENAME, "not renamed", "renamed" },
		{ RULE_LINK, "not linked", "linked" },
		{ RULE_METADATA, "not changed", "changed" },
		{ RULE_LIST, "not listed", "listed" },
		{ RULE_EXEC, "not run", "run" },
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct rule_answer answer = judged(CASES[i].op, "w/no");
		char expected[256];

		(void)snprintf(path, sizeof(path), "%s/no", world.workspace);
		(void)snprintf(expected, sizeof(expected),
			       "seen: no: %s: rule no does not allow it\n", CASES[i].denied);
		cr_assert_eq(rule_format_message(&world.segment, &answer, path, line, sizeof(line)),
			     strlen(expected));
		cr_assert_str_eq(line, expected);
		answer = judged(CASES[i].op, "/x\ny");
		(void)snprintf(expected, sizeof(expected),
			       "seen: /x\\ny: %s, which rule careful warns of\n", CASES[i].warned);
		cr_assert_eq(
			rule_format_message(&world.segment, &answer, "/x\ny", line, sizeof(line)),
			strlen(expected));
		cr_assert_str_eq(line, expected);
	}
	/* what does not fit is cut, and still one line */
	struct rule_answer answer = judged(RULE_READ, "w/no");
	for (size_t capacity = 0; capacity < 60; capacity++) {
		memset(line, 'x', sizeof(line));
		size_t length = rule_format_message(&world.segment, &answer, "/no", line, capacity);

		cr_assert(length == 0 || (length < capacity && line[length - 1] == '\n' &&
					  strlen(line) == length));
		cr_assert_eq(line[capacity], 'x');
	}
	answer.action = RULE_ACTION_FAIL;
	cr_assert_eq(rule_format_message(&world.segment, &answer, "/no", line, sizeof(line)), 0);
	/* of what is no single bit */
	answer.action = RULE_ACTION_WARN;
	for (int i = 0; i < 2; i++) {
		answer.op = i ? RULE_ANY : (enum rule_op)0;
		cr_assert_gt(
			rule_format_message(&world.segment, &answer, "/no", line, sizeof(line)), 0);
		cr_assert(strstr(line, "/no: touched, which rule"), "%s", line);
	}
}

/* Of an agent's ignore file one line is printed, of other rules one for each path. */
Test(rule, said_once)
{
	OPEN("rule ignore.codex.op=any", "rule ignore.codex.action=deny", "rule no.op=any",
	     "rule no.action=deny");
	struct rule_answer answer = { .action = RULE_ACTION_DENY, .rule = 0 };
	const char *first = rule_name(&world.segment, 0);
	uint32_t ignore = strcmp(first, "no") == 0;

	answer.rule = ignore;
	cr_assert_eq(rule_message_key(&world.segment, &answer, "/a"),
		     rule_message_key(&world.segment, &answer, "/b"));
	answer.rule = !ignore;
	cr_assert_neq(rule_message_key(&world.segment, &answer, "/a"),
		      rule_message_key(&world.segment, &answer, "/b"));
}

/* The workspace by another name of its root. */
Test(rule, aliases)
{
	OPEN("rule r.op=read", "rule r.path=/other/secret /other/d", "rule all.op=write",
	     "rule all.path=/third");
	cr_expect_not(holds("w/secret"));
	must(path_add_alias(&world.segment, "/other") == 0);
	must(path_add_alias(&world.segment, "/third") == 0);
	cr_expect(holds("w/secret"));
	cr_expect(holds("w/d/below"));
	cr_expect_not(holds("w/plain"));
	cr_expect(holds("/other/secret"));
	cr_expect_eq(judged(RULE_WRITE, "w/any").action, RULE_ACTION_LOG);
	cr_expect_eq(judged(RULE_WRITE, "w").action, RULE_ACTION_LOG);
	cr_expect_eq(judged(RULE_WRITE, "/elsewhere").action, RULE_ACTION_OFF);
}

Test(rule, the_whole_file_system_is_the_workspace)
{
	OPEN("paths.workspace=/", "rule r.op=read", "rule r.path=./etc", "rule in.op=write",
	     "rule in.where=workspace");
	cr_expect_eq(judged(RULE_WRITE, "/").action, RULE_ACTION_LOG);
	cr_expect_not(holds("/"));
	cr_expect(holds("/etc/passwd"));
	cr_expect_not(holds("/usr/etc"));
}

/* Rules that deny, whatever the program; which of them mean a path, and which except it. */
Test(rule, those_that_deny)
{
	OPEN("rule a.op=read", "rule a.path=*.pem", "rule a.except=public.pem",
	     "rule a.action=deny", "rule b.op=write", "rule b.path=[k]ey", "rule b.action=deny",
	     "rule b.exe=cat", "rule c.op=read", "rule d.op=any", "rule d.action=deny");
	struct rule_program program;
	struct rule_answer answer;

	rule_program_denying(&world.segment, &program);
	cr_assert_eq(program.rules, 1 | 2 | 8);
	cr_assert_eq(program.denies, 1 | 2, "d is of no file");
	cr_assert_eq(program.file_ops, RULE_READ | RULE_WRITE);
	cr_assert_eq(rule_meaning(&world.segment, &program, "/x/a.pem"), 1);
	cr_assert_eq(rule_meaning(&world.segment, &program, "/x/public.pem"), 0);
	cr_assert_eq(rule_meaning(&world.segment, &program, "/x/key"), 2);
	cr_assert_eq(rule_meaning(&world.segment, &program, "/x/other"), 0);
	cr_assert_eq(rule_excepting(&world.segment, 1 | 2 | 64, "/x/public.pem"), 1);
	cr_assert_eq(rule_excepting(&world.segment, 1 | 2, "/x/a.pem"), 0);

	cr_assert(rule_judge_file(&world.segment, &program, RULE_READ, 1, &answer));
	cr_assert_eq(answer.action, RULE_ACTION_DENY);
	cr_assert_eq(answer.op, RULE_READ);
	cr_assert_not(rule_judge_file(&world.segment, &program, RULE_WRITE, 1, &answer));
	cr_assert_not(rule_judge_file(&world.segment, &program, RULE_READ, 8, &answer));
	cr_assert_not(rule_judge_file(&world.segment, &program, RULE_READ, 0, &answer));

	struct rule_question question = { .ops = RULE_READ, .path = "/x/a.pem", .denies = true };
	rule_judge(&world.segment, &program, &question, &answer);
	cr_assert_eq(answer.action, RULE_ACTION_DENY);
	question.path = "/x/other";
	rule_judge(&world.segment, &program, &question, &answer);
	cr_assert_eq(answer.action, RULE_ACTION_OFF);

	/* a configuration that is there no more, or has no paths any more */
	world.settings->rules[0].path.count = 0;
	cr_assert_eq(rule_meaning(&world.segment, &program, "/x/a.pem"), 0);
	world.settings->rule_count = 0;
	cr_assert_eq(rule_meaning(&world.segment, &program, "/x/a.pem"), 0);
	cr_assert_not(rule_judge_file(&world.segment, &program, RULE_READ, 1, &answer));
	world.settings->rule_count = UINT64_MAX;
	rule_program_denying(&world.segment, &program);
	cr_assert_eq(program.rules, 1 | 2 | 8);
}

/* What a sketch rules out, no glob matches: of globs and paths made of pieces by chance. */
Test(rule, sketch)
{
	static const char *const GLOBS[] = { "a",     "abc",     "*.pem",    "**",      "?",
					     "[ab]",  "abcd[x]", "abc*pemx", "./abc",   "x*yzw",
					     ".env",  "A*",      "*",        "ab[c/]d", "abc*",
					     "\\a*b", "***",     "e?fgh",    ".",       "b**cde",
					     "[a" };
	static const char *const NAMES[] = { "a",   "abc",    "k.pem", "b",    ".env", "xyzw",
					     "ABC", "xx.yzw", "e-fgh", "abcd", "a*b",  "bcde",
					     "[a",  "b",      "ab[c",  "dcde" };
	unsigned seed = 7;
	int matched = 0, ruled_out = 0;

	world_open(&world, NULL);
	for (int round = 0; round < 200000; round++) {
		struct rule_sketch sketch = { 0 };
		char glob[64] = "", path[64] = "";
		int names = rand_r(&seed) % 3;

		if (rand_r(&seed) % 2)
			(void)strcat(glob, "/");
		for (int i = 0, count = rand_r(&seed) % 3; i <= count; i++) {
			(void)strcat(
				glob,
				GLOBS[(size_t)rand_r(&seed) % (sizeof(GLOBS) / sizeof(GLOBS[0]))]);
			if (i < count || rand_r(&seed) % 8 == 0)
				(void)strcat(glob, "/");
		}
		for (int i = 0; i <= names; i++) {
			(void)strcat(path, "/");
			(void)strcat(
				path,
				NAMES[(size_t)rand_r(&seed) % (sizeof(NAMES) / sizeof(NAMES[0]))]);
		}
		bool fold = rand_r(&seed) % 2;
		bool match = glob[0] == '/' ? path_covers(glob, path, fold)
					    : path_matches_glob(glob, path, fold);
		bool may = !rule_sketch_add(&sketch, glob) || rule_sketch_may_match(&sketch, path);

		cr_assert(may || !match, "%s matches %s", glob, path);
		matched += match;
		ruled_out += !may;
	}
	cr_assert_gt(matched, 5000);
	cr_assert_gt(ruled_out, 40000);
}

/* Of many globs together, most paths are ruled out. */
Test(rule, sketch_of_many)
{
	struct rule_sketch sketch = { 0 };
	char text[64];
	int passed = 0;

	world_open(&world, NULL);
	for (int i = 0; i < 150; i++) {
		(void)snprintf(text, sizeof(text), i % 5 ? "~/.name-%d/x-%d" : "*.end-%d%d", i, i);
		cr_assert(rule_sketch_add(&sketch, text));
	}
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(text, sizeof(text), "/home/u/src/part-%d/file-%d.c", i, i * 7);
		passed += rule_sketch_may_match(&sketch, text);
	}
	cr_assert_lt(passed, 1000, "%d", passed);
	cr_assert_not(rule_sketch_add(&sketch, "**"));
	cr_assert_not(rule_sketch_add(&sketch, "*.c"));
	cr_assert_not(rule_sketch_add(&sketch, "."));
	cr_assert_not(rule_sketch_add(&sketch, "./"));
	cr_assert_not(rule_sketch_add(&sketch, "/"));
}

/* A segment that is damaged says nothing, or something, and nothing else happens. */
Test(rule, damaged)
{
	OPEN("rule a.op=any", "rule a.path=x", "rule b.op=any", "rule b.exe=cat");
	world.settings->rule_count = UINT64_MAX;
	cr_assert_eq(program_of("/bin/cat", "cat").rules, 3);
	world.settings->rules[0].action = 99;
	cr_assert_eq(program_of("/bin/cat", "cat").rules, 2);
	world.settings->rules[1].action = RULE_ACTION_OFF;
	cr_assert_eq(program_of("/bin/cat", "cat").rules, 0);
	world.settings->rules[1].action = RULE_ACTION_DENY;
	world.settings->rules[1].ops = UINT64_MAX;
	cr_assert_eq(program_of("/bin/cat", "cat").ops, RULE_ANY);
	world.settings->rules[1].exe.offset = UINT32_MAX;
	cr_assert_eq(program_of("/bin/cat", "cat").rules, 0);

	/* a program's rules that are there no more */
	struct rule_program gone = { .rules = UINT64_MAX, .ops = RULE_ANY, .of_any = UINT64_MAX };
	struct rule_question question = { .ops = RULE_ANY, .path = "/y" };
	struct rule_answer answer;

	world.settings->rule_count = 0;
	rule_judge(&world.segment, &gone, &question, &answer);
	cr_assert_eq(answer.action, RULE_ACTION_OFF);
	cr_assert_str_eq(rule_name(&world.segment, UINT32_MAX), "");
}
