/* cli/lib/fail_on: what a run ends with, told from what it amounted to. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/run/fail_on.h"

static struct summary sum;
static struct journal journal;
static struct fail_on_run run;
static char line[FAIL_ON_LINE_BYTES];

static int judge(unsigned asked, int status)
{
	run.status = status;
	return fail_on_judge(asked, &run, line);
}

static void start(void)
{
	sum = (struct summary){ .coverage = { .observed = 3 } };
	run = (struct fail_on_run){ .sum = &sum, .journal = &journal, .session = "s" };
}

TestSuite(fail_on, .init = start);

Test(fail_on, nothing_was_found)
{
	const unsigned all = FAIL_ON_RULE | FAIL_ON_STALE | FAIL_ON_UNOBSERVED;

	cr_assert_eq(judge(all, 0), 0);
	cr_assert_eq(judge(all, 143), 143);
	cr_assert_str_empty(line);
	cr_assert_eq(fail_on_blind(0, "off", 7, line), 7);
	cr_assert_str_empty(line);
}

Test(fail_on, only_what_is_asked_for)
{
	sum.counters[COUNTER_stale_warned] = 1;
	sum.coverage.unobserved = 1;
	cr_assert_eq(judge(0, 0), 0);
	cr_assert_eq(judge(FAIL_ON_STALE, 0), EXIT_CODE_STALE);
	cr_assert_eq(judge(FAIL_ON_UNOBSERVED, 0), EXIT_CODE_INCOMPLETE);
}

Test(fail_on, the_line_holds_the_commands_own_status)
{
	sum.counters[COUNTER_stale_warned] = 1;
	sum.counters[COUNTER_stale_denied] = 1;
	cr_assert_eq(judge(FAIL_ON_STALE, 9), EXIT_CODE_STALE);
	cr_assert_str_eq(
		line, "status 15, the command's own was 9: 2 writes over a change that the agent "
		      "had not seen, 1 refused; see `seen log --session s --op guarded`");
}

Test(fail_on, rules)
{
	sum.counters[COUNTER_rules_logged] = 9;
	cr_assert_eq(judge(FAIL_ON_RULE, 0), 0);
	sum.counters[COUNTER_rules_warned] = 2;
	sum.counters[COUNTER_rules_denied] = 1;
	cr_assert_eq(judge(FAIL_ON_ACTION, 0), 0);
	cr_assert_eq(judge(FAIL_ON_RULE, 1), EXIT_CODE_RULE);
	cr_assert_str_eq(
		line,
		"status 14, the command's own was 1: 3 accesses against rules, 1 refused; see "
		"`seen log --session s --op ruled`");
	/* action = fail counts unasked */
	sum.counters[COUNTER_rules_failed] = 1;
	cr_assert_eq(judge(0, 0), EXIT_CODE_RULE);
	cr_assert_not_null(strstr(line, ": 1 access against rules; see"));
}

Test(fail_on, a_session_in_use_keeps_its_rules)
{
	run.keeps_rules = true;
	cr_assert_eq(judge(FAIL_ON_STALE | FAIL_ON_UNOBSERVED, 0), 0);
	cr_assert_eq(judge(FAIL_ON_ACTION, 0), EXIT_CODE_INCOMPLETE);
	cr_assert_eq(judge(FAIL_ON_RULE, 3), EXIT_CODE_INCOMPLETE);
	cr_assert_str_eq(
		line,
		"status 16, the command's own was 3: session s was in use, with rules of its own");
}

Test(fail_on, the_first_of_several_has_the_code)
{
	sum.counters[COUNTER_stale_warned] = 1;
	sum.coverage.calls_unjudged = 2;
	cr_assert_eq(judge(FAIL_ON_STALE | FAIL_ON_UNOBSERVED, 0), EXIT_CODE_STALE);
	cr_assert_not_null(strstr(line, "; 2 calls not checked"));
}

Test(fail_on, each_hole_counts)
{
	uint64_t *const holes[] = { &sum.coverage.unobserved, &sum.coverage.partial,
				    &sum.coverage.calls_unjudged, &sum.coverage.without_journal,
				    &sum.coverage.lost_records };

	for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++) {
		*holes[i] = 1;
		cr_assert_eq(judge(FAIL_ON_UNOBSERVED, 0), EXIT_CODE_INCOMPLETE, "hole %zu", i);
		*holes[i] = 0;
	}
	/* It was seen, only not by whom it was started. */
	sum.coverage.unattached = 1;
	cr_assert_eq(judge(FAIL_ON_UNOBSERVED, 0), 0);
}

Test(fail_on, records_that_were_lost_before_do_not_count)
{
	sum.coverage.lost_records = 5;
	run.lost_before = 5;
	cr_assert_eq(judge(FAIL_ON_UNOBSERVED, 0), 0);
	run.lost_before = 4;
	cr_assert_eq(judge(FAIL_ON_UNOBSERVED, 0), EXIT_CODE_INCOMPLETE);
	cr_assert_not_null(strstr(line, ": 1 records lost"));
}

Test(fail_on, names_some_of_many_programs)
{
	for (int i = 0; i < 9; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "p%d", i);
		coverage_note(&sum.coverage, name, "static");
	}
	cr_assert_eq(judge(FAIL_ON_UNOBSERVED, 0), EXIT_CODE_INCOMPLETE);
	cr_assert_not_null(strstr(line, "9 observed in part: p0: static, p1: static ..."));
}

Test(fail_on, a_long_line_is_cut)
{
	char session[FAIL_ON_LINE_BYTES];

	memset(session, 'x', sizeof(session) - 1);
	session[sizeof(session) - 1] = '\0';
	sum.counters[COUNTER_stale_warned] = sum.coverage.unobserved = 1;
	run.session = session;
	cr_assert_eq(judge(FAIL_ON_STALE | FAIL_ON_UNOBSERVED, 0), EXIT_CODE_STALE);
	cr_assert_eq(strlen(line), FAIL_ON_LINE_BYTES - 1);
}

Test(fail_on, a_gate_that_observed_nothing_does_not_pass)
{
	cr_assert_eq(fail_on_blind(FAIL_ON_STALE, "off", 0, line), EXIT_CODE_INCOMPLETE);
	cr_assert_str_eq(line, "status 16, the command's own was 0: nothing was observed: off");
}
