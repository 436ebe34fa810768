/* announced.h: which shell runs what a model asked for. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/process/announced.h"

static struct world world;
static uint64_t scope;

static void start(void)
{
	world_open(&world, "session.scopes=16", NULL);
	scope = world_scope(&world, "a");
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(announced, .init = start, .fini = stop);

/* A shell that is given a word. */
static bool runs(uint64_t capture, const char *word)
{
	char *argv[] = { (char *)"bash", (char *)"-c", (char *)word, NULL };

	announced_claim(&world.segment, scope, capture, argv);
	return announced_is(&world.segment, scope, capture);
}

Test(announced, in_the_words_of_a_shell)
{
	static const char *const WORDS[] = {
		"git diff",          " git diff\n",
		"cd /x && git diff", "eval 'git diff' < /dev/null",
		"{ git diff; }; x",  "(git diff)",
		"a\ngit diff\nb",    "\"git diff\" | cat",
	};
	static const char *const OTHERS[] = {
		"git diff --stat", "git  diff", "xgit diff", "x git diff",
		"git diffs",       "git dif",   "",
	};

	for (uint64_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
		announced_add(&world.segment, scope, " git diff\n");
		cr_assert(runs(i + 1, WORDS[i]), "%s", WORDS[i]);
		announced_finish(&world.segment, scope, "git diff");
		cr_assert_not(announced_is(&world.segment, scope, i + 1), "%s", WORDS[i]);
	}
	announced_add(&world.segment, scope, "git diff");
	for (uint64_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
		cr_assert_not(runs(i + 100, OTHERS[i]), "%s", OTHERS[i]);
	cr_assert(runs(200, "git diff"));
}

Test(announced, one_shell_each)
{
	announced_add(&world.segment, scope, "git diff");
	cr_assert(runs(1, "git diff"));
	cr_assert(runs(1, "git diff"));
	cr_assert_not(runs(2, "git diff"));
	announced_add(&world.segment, scope, "git diff");
	cr_assert(runs(2, "git diff"));
	announced_finish(&world.segment, scope, "git diff");
	announced_finish(&world.segment, scope, "git diff");
	cr_assert_not(runs(3, "git diff"));
	cr_assert_not(announced_is(&world.segment, scope, 0));
}

Test(announced, the_one_that_runs_ends_first)
{
	announced_add(&world.segment, scope, "ls");
	announced_add(&world.segment, scope, "ls");
	cr_assert(runs(1, "ls"));
	announced_finish(&world.segment, scope, "ls");
	cr_assert_not(announced_is(&world.segment, scope, 1));
	cr_assert(runs(2, "ls"));
}

Test(announced, of_its_scope)
{
	uint64_t other = world_scope(&world, "b");

	announced_add(&world.segment, other, "git diff");
	cr_assert_not(runs(1, "git diff"));
	announced_add(&world.segment, 99, "git diff");
	cr_assert_not(runs(1, "git diff"));
	announced_add(&world.segment, scope, "git diff");
	announced_clear(&world.segment, other);
	cr_assert(runs(1, "git diff"));
	announced_clear(&world.segment, scope);
	cr_assert_not(announced_is(&world.segment, scope, 1));
}

Test(announced, the_oldest_goes)
{
	char command[16];

	for (unsigned i = 0; i <= SCOPE_ANNOUNCED; i++) {
		(void)snprintf(command, sizeof(command), "ls %u", i);
		announced_add(&world.segment, scope, command);
	}
	cr_assert_not(runs(1, "ls 0"));
	cr_assert(runs(2, "ls 1"));
	cr_assert(runs(3, command));
}

Test(announced, too_long_or_none)
{
	static char command[ANNOUNCED_BYTES_MAX + 2];

	announced_add(&world.segment, scope, " \n");
	cr_assert_not(runs(1, ""));
	memset(command, 'x', ANNOUNCED_BYTES_MAX + 1);
	announced_add(&world.segment, scope, command);
	cr_assert_not(runs(2, command));
	command[ANNOUNCED_BYTES_MAX] = '\0';
	announced_add(&world.segment, scope, command);
	cr_assert(runs(3, command));
}

Test(announced, long_ago)
{
	struct scope_slot *slot = scope_find(&world.segment, scope);

	announced_add(&world.segment, scope, "git diff");
	slot->announced[0].time_ns -= 601 * UINT64_C(1000000000);
	cr_assert_not(runs(1, "git diff"));
}
