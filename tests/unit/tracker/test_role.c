/* role.h: who is a viewer, reader, shell, agent, and what only resembles one. */
#include <criterion/criterion.h>

#include "support.h"

static struct world world;

static void start(void)
{
	world_open(&world, "processes.agents=my-*", "processes.ignore=noisy",
		   "processes.whitelist=my-* reads*", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(role, .init = start, .fini = stop);

/* What `line` is: the executable, then argv, separated by blanks; "''" is an empty word. */
static struct invocation parsed(const char *line)
{
	char text[512], *words[33] = { NULL }, *save = NULL;
	size_t count = 0;
	struct invocation invocation;

	(void)snprintf(text, sizeof(text), "%s", line);
	for (char *word = strtok_r(text, " ", &save); word && count < 32;
	     word = strtok_r(NULL, " ", &save)) {
		for (char *at = word; *at; at++)
			*at = *at == '~' ? ' ' : *at;
		words[count++] = strcmp(word, "''") == 0 ? word + 2 : word;
	}
	role_invocation(&world.segment, words[0], words + 1, &invocation);
	return invocation;
}

struct expectation {
	const char *line; /* executable, argv[0], arguments; "~" is a blank inside a word */
	enum role role;
};

static void expect(const struct expectation *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cr_expect_str_eq(role_name(parsed(cases[i].line).role), role_name(cases[i].role),
				 "%s: %s, expected %s", cases[i].line,
				 role_name(parsed(cases[i].line).role), role_name(cases[i].role));
}
#define EXPECT(cases) expect(cases, sizeof(cases) / sizeof((cases)[0]))

Test(role, viewers)
{
	static const struct expectation CASES[] = {
		{ "/bin/cat cat f", ROLE_VIEWER },
		{ "/usr/bin/cat cat f g h", ROLE_VIEWER },
		{ "/bin/cat cat -- f", ROLE_VIEWER },
		{ "/bin/cat cat -- -f", ROLE_VIEWER },
		{ "/bin/cat sed f", ROLE_VIEWER }, /* exec -a sed cat f: it is cat */
		{ "/bin/busybox cat f", ROLE_VIEWER },
		{ "/usr/bin/coreutils cat f", ROLE_VIEWER },
		{ "/bin/cat cat", ROLE_READER },
		{ "/bin/cat cat --", ROLE_READER },
		{ "/bin/cat cat -", ROLE_READER },
		{ "/bin/cat cat f -", ROLE_READER },
		{ "/bin/cat cat -- -", ROLE_READER },
		{ "/bin/cat cat -n f", ROLE_READER },
		{ "/bin/cat cat f -n", ROLE_READER },
		{ "/bin/cat cat --number f", ROLE_READER },
		{ "/bin/cat cat f --", ROLE_READER },
		{ "/bin/busybox busybox cat f", ROLE_VIEWER },
		{ "/bin/sed cat -i s/a/b/ f", ROLE_TOOL }, /* exec -a cat sed -i ... */
		{ "/bin/dd cat f", ROLE_TOOL },
		{ "/usr/bin/bat bat f", ROLE_TOOL },
		{ "/bin/tac tac f", ROLE_READER },
	};
	EXPECT(CASES);
}

Test(role, a_cat_of_the_workspace_proves_nothing)
{
	char line[256];
	(void)snprintf(line, sizeof(line), "%s/bin/cat cat f", world.workspace);
	cr_assert_neq(parsed(line).role, ROLE_VIEWER);
}

Test(role, no_arguments_at_all)
{
	struct invocation invocation;
	char *none[] = { NULL };
	role_invocation(&world.segment, "/bin/cat", NULL, &invocation);
	cr_assert_neq(invocation.role, ROLE_VIEWER);
	role_invocation(&world.segment, "/bin/cat", none, &invocation);
	cr_assert_neq(invocation.role, ROLE_VIEWER);
	role_invocation(&world.segment, "", none, &invocation);
	cr_assert_eq(invocation.role, ROLE_TOOL);
	role_invocation(&world.segment, "/bin/bash", none, &invocation);
	cr_assert_eq(invocation.role, ROLE_SHELL);
}

Test(role, sed)
{
	static const struct expectation CASES[] = {
		{ "/bin/sed sed -n 1,20p f", ROLE_READER },
		{ "/bin/sed sed -n 5p f g", ROLE_READER },
		{ "/bin/sed sed -n $p f", ROLE_READER },
		{ "/bin/sed sed -n 1,5p;10,$p f", ROLE_READER },
		{ "/bin/sed sed -n 1,5~p f", ROLE_READER },
		{ "/bin/sed sed --quiet 3p f", ROLE_READER },
		{ "/bin/sed sed -n 1,20p", ROLE_READER },
		{ "/bin/sed sed -n w~g f", ROLE_TOOL },
		{ "/bin/sed sed -n 1w~g f", ROLE_TOOL },
		{ "/bin/sed sed -n 1,20p -i f", ROLE_TOOL },
		{ "/bin/sed sed -i s/a/b/ f", ROLE_TOOL },
		{ "/bin/sed sed -ni 1p f", ROLE_TOOL },
		{ "/bin/sed sed -i.bak -n 1p f", ROLE_TOOL },
		{ "/bin/sed sed --in-place -n 1p f", ROLE_TOOL },
		{ "/bin/sed sed -n -f script f", ROLE_TOOL },
		{ "/bin/sed sed -n -e 1p f", ROLE_READER },
		{ "/bin/sed sed -ne 1p -e 3,5p f", ROLE_READER },
		{ "/bin/sed sed -n -e 1p -e w~g f", ROLE_TOOL },
		{ "/bin/sed sed -n -e w~g f", ROLE_TOOL },
		{ "/bin/sed sed -n -e", ROLE_TOOL },
		{ "/bin/sed sed -n -e 1p f -i", ROLE_TOOL },
		{ "/bin/sed sed -n 1p -e w~g f", ROLE_TOOL },
		{ "/bin/sed sed -n -e1p f", ROLE_TOOL },
		{ "/bin/sed sed s/a/b/ f", ROLE_TOOL },
		{ "/bin/sed sed 1e f", ROLE_TOOL },
		{ "/bin/sed sed -s -n 1p f", ROLE_TOOL },
		{ "/bin/sed sed", ROLE_TOOL },
		{ "/bin/sed sed -n", ROLE_TOOL },
	};
	EXPECT(CASES);
}

Test(role, find)
{
	static const struct expectation CASES[] = {
		{ "/usr/bin/find find . -name x -print", ROLE_READER },
		{ "/usr/bin/find find", ROLE_READER },
		{ "/usr/bin/bfs bfs . -type f", ROLE_READER },
		{ "/usr/bin/find find . -delete", ROLE_TOOL },
		{ "/usr/bin/find find . -exec cat {} +", ROLE_TOOL },
		{ "/usr/bin/find find . -execdir x ;", ROLE_TOOL },
		{ "/usr/bin/find find . -ok x ;", ROLE_TOOL },
		{ "/usr/bin/find find . -okdir x ;", ROLE_TOOL },
		{ "/usr/bin/find find . -fprint f", ROLE_TOOL },
		{ "/usr/bin/find find . -fprint0 f", ROLE_TOOL },
		{ "/usr/bin/find find . -fprintf f %p", ROLE_TOOL },
		{ "/usr/bin/find find . -fls f", ROLE_TOOL },
		{ "/usr/bin/bfs bfs . -rm", ROLE_TOOL },
	};
	EXPECT(CASES);
}

Test(role, readers_by_their_arguments)
{
	static const struct expectation CASES[] = {
		{ "/usr/bin/tail tail -n 5 f", ROLE_READER },
		{ "/usr/bin/tail tail -5 f", ROLE_READER },
		{ "/usr/bin/tail tail -f f", ROLE_TOOL },
		{ "/usr/bin/tail tail -F f", ROLE_TOOL },
		{ "/usr/bin/tail tail -n5f f", ROLE_TOOL },
		{ "/usr/bin/tail tail --follow f", ROLE_TOOL },
		{ "/usr/bin/tail tail --follow=name f", ROLE_TOOL },
		{ "/usr/bin/tail tail --fol f", ROLE_TOOL },
		{ "/usr/bin/tail tail f -f", ROLE_TOOL },
		{ "/usr/bin/tail tail --retry f", ROLE_TOOL },
		{ "/usr/bin/tail tail -- -f", ROLE_READER },
		{ "/usr/bin/uniq uniq", ROLE_READER },
		{ "/usr/bin/uniq uniq in", ROLE_READER },
		{ "/usr/bin/uniq uniq -c in", ROLE_READER },
		{ "/usr/bin/uniq uniq in out", ROLE_TOOL },
		{ "/usr/bin/uniq uniq - out", ROLE_TOOL },
		{ "/usr/bin/uniq uniq -- in out", ROLE_TOOL },
		{ "/usr/bin/sort sort f", ROLE_READER },
		{ "/usr/bin/sort sort -o g f", ROLE_TOOL },
		{ "/usr/bin/sort sort -uog f", ROLE_TOOL },
		{ "/usr/bin/sort sort --output=g f", ROLE_TOOL },
		{ "/usr/bin/sort sort --out g f", ROLE_TOOL },
		{ "/usr/bin/sort sort f -o g", ROLE_TOOL },
		{ "/usr/bin/sort sort -T d f", ROLE_TOOL },
		{ "/usr/bin/sort sort --compress-program=x f", ROLE_TOOL },
		{ "/usr/bin/head head -3 f", ROLE_READER },
		{ "/usr/bin/wc wc -l f", ROLE_READER },
		{ "/bin/grep grep -rn x .", ROLE_READER },
		{ "/usr/bin/rg rg x", ROLE_READER },
		{ "/usr/bin/rg rg --pretty x", ROLE_READER },
		{ "/usr/bin/rg rg --pre cmd x", ROLE_TOOL },
		{ "/usr/bin/rg rg --pre=cmd x", ROLE_TOOL },
		{ "/usr/bin/tree tree", ROLE_READER },
		{ "/usr/bin/tree tree -o f", ROLE_TOOL },
		{ "/usr/bin/tree tree -R -L 2 -H .", ROLE_TOOL },
		{ "/usr/bin/ugrep ugrep x", ROLE_READER },
		{ "/usr/bin/ugrep ugrep --save-config", ROLE_TOOL },
		{ "/usr/bin/xxd xxd f", ROLE_READER },
		{ "/usr/bin/xxd xxd f g", ROLE_TOOL },
		{ "/usr/bin/xxd xxd -r f", ROLE_TOOL },
		{ "/usr/bin/tee tee f", ROLE_TOOL },
		{ "/usr/bin/cp cp f g", ROLE_TOOL },
		{ "/usr/bin/git git show", ROLE_READER },
		{ "/usr/bin/git git --no-pager log -5 --stat HEAD -- f", ROLE_READER },
		{ "/usr/bin/git git status -sb", ROLE_READER },
		{ "/usr/bin/git git status --porcelain", ROLE_TOOL },
		{ "/usr/bin/git git -C d status", ROLE_TOOL },
		{ "/usr/bin/git git diff --ext-diff", ROLE_TOOL },
		{ "/usr/bin/git git diff --output=f", ROLE_TOOL },
		{ "/usr/bin/git git log --since=today", ROLE_TOOL },
		{ "/usr/bin/git git log --date=relative", ROLE_TOOL },
		{ "/usr/bin/git git log --format=%ar", ROLE_TOOL },
		{ "/usr/bin/git git log -g", ROLE_TOOL },
		{ "/usr/bin/git git log --reverse", ROLE_READER },
		{ "/usr/bin/git git log --reverse --reverse", ROLE_TOOL },
		{ "/usr/bin/git git log -ps", ROLE_TOOL },
		{ "/usr/bin/git git show -s --stat", ROLE_TOOL },
		{ "/usr/bin/git git show -s HEAD", ROLE_READER },
		{ "/usr/bin/git git status -vv", ROLE_TOOL },
		{ "/usr/bin/git git diff --no-index f g", ROLE_TOOL },
		{ "/usr/bin/git git -c a.b=c log", ROLE_TOOL },
		{ "/usr/bin/git git -p log", ROLE_TOOL },
		{ "/usr/bin/git git stash list", ROLE_TOOL },
		{ "/usr/bin/git git branch -v", ROLE_TOOL },
		{ "/usr/bin/git git show HEAD@{1}", ROLE_TOOL },
		{ "/usr/bin/git git commit -m x", ROLE_TOOL },
		{ "/usr/bin/git git", ROLE_TOOL },
		{ "/usr/bin/less less f", ROLE_TOOL },
		{ "/usr/bin/awk awk 1 f", ROLE_TOOL },
	};
	EXPECT(CASES);
}

Test(role, shells)
{
	static const struct {
		const char *line;
		bool runs_command, reads_stdin, interactive;
	} CASES[] = {
		{ "/bin/bash bash -c x", true, false, false },
		{ "/bin/bash bash -lc x", true, false, false },
		{ "/bin/sh sh -c x", true, false, false },
		{ "/bin/dash -sh -c x", true, false, false },
		{ "/bin/bash bash -o pipefail -c x", true, false, false },
		{ "/bin/bash bash -O extglob -c x", true, false, false },
		{ "/bin/bash bash --norc --noprofile -c x", true, false, false },
		{ "/bin/bash bash --rcfile r -c x", true, false, false },
		{ "/bin/bash bash --login -c x", true, false, false },
		{ "/bin/bash bash -euo pipefail -c x", true, false, false },
		{ "/bin/bash bash -s", false, true, false },
		{ "/bin/bash bash -s a b", false, true, false },
		{ "/bin/bash bash", false, true, false },
		{ "/bin/bash -bash", false, true, false },
		{ "/bin/bash bash -l", false, true, false },
		{ "/bin/bash bash -i", false, true, true },
		{ "/bin/bash bash -ic x", true, false, true },
		{ "/bin/bash bash script.sh", false, false, false },
		{ "/bin/bash bash -e script.sh -c", false, false, false },
		{ "/bin/bash bash -- script.sh", false, false, false },
		{ "/bin/bash bash --", false, true, false },
		{ "/bin/bash bash +c script.sh", false, false, false },
		{ "/bin/busybox sh -c x", true, false, false },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct invocation invocation = parsed(CASES[i].line);
		cr_expect_eq(invocation.role, ROLE_SHELL, "%s", CASES[i].line);
		cr_expect_eq(invocation.runs_command, CASES[i].runs_command, "%s: runs_command",
			     CASES[i].line);
		cr_expect_eq(invocation.reads_stdin, CASES[i].reads_stdin, "%s: reads_stdin",
			     CASES[i].line);
		cr_expect_eq(invocation.interactive, CASES[i].interactive, "%s: interactive",
			     CASES[i].line);
	}
}

Test(role, agents)
{
	static const struct expectation CASES[] = {
		{ "/usr/bin/codex codex", ROLE_AGENT },
		{ "/opt/my-agent my-agent", ROLE_AGENT }, /* from [processes] agents: it extends */
		{ "/opt/mine mine", ROLE_TOOL },
		{ "/x/claude.exe claude", ROLE_AGENT },
		{ "/x/claude.exe rg foo",
		  ROLE_TOOL }, /* a search program inside the agent's executable */
		{ "/x/claude.exe bfs .", ROLE_TOOL },
		{ "/usr/bin/node node /usr/bin/pi", ROLE_AGENT },
		{ "/usr/bin/node node pi.js", ROLE_AGENT },
		{ "/usr/bin/node claude", ROLE_AGENT }, /* process.title, or exec -a */
		{ "/usr/bin/node node --import x /l/node_modules/@anthropic-ai/claude-code/cli.js",
		  ROLE_AGENT },
		{ "/usr/bin/node node /l/node_modules/@openai/codex/bin/run.js", ROLE_AGENT },
		{ "/usr/bin/node node /l/node_modules/opencode/x.js", ROLE_AGENT },
		{ "/usr/bin/node node /l/node_modules/codex/node_modules/left-pad/i.js",
		  ROLE_TOOL },
		{ "/l/node_modules/@openai/codex/vendor/bin/helper helper", ROLE_AGENT },
		{ "/usr/bin/node node server.js", ROLE_TOOL },
		{ "/usr/bin/node node -e claude", ROLE_TOOL },
		{ "/usr/bin/node node", ROLE_TOOL },
		{ "/usr/bin/node node -r claude server.js", ROLE_TOOL },
		{ "/usr/bin/python3.11 python3 -m aider", ROLE_AGENT },
		{ "/usr/bin/python3.11 python3 -u /usr/bin/aider", ROLE_AGENT },
		{ "/usr/bin/python3.11 python3 -W ignore aider.py", ROLE_AGENT },
		{ "/usr/bin/python3.11 python3 -c aider", ROLE_TOOL },
		{ "/usr/bin/python3.11 python3 -", ROLE_TOOL },
		{ "/usr/bin/python3.11 python3 manage.py", ROLE_TOOL },
		{ "/usr/bin/bun bun run claude.ts", ROLE_AGENT },
		{ "/bin/bash bash /usr/bin/codex", ROLE_AGENT },
		{ "/bin/bash bash -c codex", ROLE_SHELL },
		{ "/bin/bash bash build.sh", ROLE_SHELL },
		{ "/usr/bin/git git codex", ROLE_TOOL },
	};
	EXPECT(CASES);
	struct invocation invocation = parsed(
		"/usr/bin/node node /l/node_modules/@openai/codex/bin/run.js");
	cr_assert_str_eq(invocation.name, "codex");
	cr_assert_neq(invocation.profile, 0);
	cr_assert_eq(parsed("/opt/my-agent my-agent").profile, 0);
}

Test(role, names_are_cut_and_ended)
{
	struct invocation invocation = parsed(
		"/x/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz "
		"x");
	cr_assert_eq(strlen(invocation.name), sizeof(invocation.name) - 1);
	cr_assert_str_eq(parsed("/usr/bin/python3 python3 /a/tool.py").name, "tool");
}

Test(role, ignored)
{
	cr_assert(parsed("/usr/bin/noisy noisy").ignored);
	cr_assert(parsed("/usr/bin/node node noisy.js").ignored);
	cr_assert(!parsed("/bin/cat cat noisy").ignored);
}

Test(role, names_of_roles)
{
	cr_assert_str_eq(role_name(ROLE_VIEWER), "viewer");
	cr_assert_str_eq(role_name(ROLE_COUNT), "tool");
	cr_assert_str_eq(role_name(UINT32_MAX), "tool");
}

Test(role, root_is_external)
{
	static const struct {
		const char *line;
		bool terminal, external;
	} CASES[] = {
		{ "/bin/bash bash -c x", false, true },   { "/bin/bash bash -i", false, true },
		{ "/bin/bash bash", true, true },         { "/bin/bash bash", false, false },
		{ "/bin/bash bash script", true, false }, { "/bin/cat cat f", false, true },
		{ "/usr/bin/head head f", false, true },  { "/usr/bin/make make", true, false },
		{ "/usr/bin/codex codex", true, false },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct invocation invocation = parsed(CASES[i].line);
		cr_expect_eq(role_root_is_external(&invocation, CASES[i].terminal),
			     CASES[i].external, "%s", CASES[i].line);
	}
}

Test(role, whitelisted)
{
	cr_assert(parsed("/usr/bin/reads-all reads-all").whitelisted);
	cr_assert(parsed("/usr/bin/node node reads.js").whitelisted);
	cr_assert(parsed("/opt/my-agent my-agent").whitelisted);
	cr_assert_eq(parsed("/opt/my-agent my-agent").role, ROLE_AGENT);
	cr_assert(!parsed("/usr/bin/node node").whitelisted);
	cr_assert(!parsed("/bin/cat cat reads").whitelisted);
}

/* Readers that ask for nothing in the workspace. */
Test(role, probes)
{
	static const struct {
		const char *line;
		bool probes;
	} CASES[] = {
		{ "/bin/grep grep --version", true }, { "/bin/grep grep --help", true },
		{ "/bin/grep grep a f", false },      { "/bin/grep grep a /etc/f", true },
		{ "/bin/grep grep /etc/f", false },   { "/bin/grep grep -n a /etc/f g", false },
		{ "/bin/ls ls /etc", true },          { "/bin/ls ls -l", false },
		{ "/bin/ls ls - /etc", false },       { "/bin/ls ls -l --version /", true },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct invocation invocation = parsed(CASES[i].line);
		cr_expect_eq(invocation.role, ROLE_READER, "%s", CASES[i].line);
		cr_expect_eq(invocation.probes, CASES[i].probes, "%s", CASES[i].line);
	}
}

/* One ending is left aside. */
Test(role, two_endings)
{
	cr_expect_eq(parsed("/bin/cat cat f").role, ROLE_VIEWER);
	cr_expect_eq(parsed("/bin/cat.exe cat.exe f").role, ROLE_VIEWER);
	cr_expect_eq(parsed("/bin/cat.exe.py cat.exe.py f").role, ROLE_TOOL);
}
