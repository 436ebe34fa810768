/* step.h: commands and own actions, told by a journal. */
#include <criterion/criterion.h>
#include <errno.h>

#include "cli/journal/reported.h"
#include "cli/undo/step.h"
#include "cli/undo/step_point.h"
#include "journal_file.h"
#include "tracker/content/pack_write.h"
#include "tracker/process/role.h"
#include "tracker/segment/tables.h"

static struct steps steps;
static uint64_t now;
static uint32_t flags;
static uint64_t serial; /* of the EXEC record that announced the next START; 0: none */

static void init(void)
{
	journal_file_open("test");
	steps = (struct steps){ .steps = NULL };
	now = 1000;
	flags = 1 << CONTEXT_RUN_SHIFT | CONTEXT_ATTACHED;
	serial = 0;
}

static void finish(void)
{
	steps_free(&steps);
	journal_file_close();
}

TestSuite(step, .init = init, .fini = finish);

/* ---- writing ---- */

static uint32_t text(const char *bytes, size_t size)
{
	return journal_text(&journal, bytes, size, true);
}

static uint32_t life(enum journal_op op, int pid, int parent, enum role role, const char *arguments,
		     size_t size)
{
	struct journal_process process = { .serial = op == JOURNAL_START ? serial : 0,
					   .pid = (uint32_t)pid,
					   .parent_pid = (uint32_t)parent,
					   .role = role,
					   .context = flags,
					   .pid_ns = 5 };
	struct journal_record record = journal_blank(op);
	record.path = text("/bin/x", 6);
	record.other_path = size ? text(arguments, size) : 0;
	record.time_realtime_ns = ++now;
	uint32_t number = journal_write(&journal, &record, &process, sizeof(process), true);
	must(number);
	return number;
}

#define START(pid, parent, role, words) \
	life(JOURNAL_START, pid, parent, role, words, sizeof(words) - 1)
#define FORK(pid, parent, role) life(JOURNAL_FORK, pid, parent, role, NULL, 0)

static void event(enum journal_op op, uint32_t process, const char *name, uint64_t amount)
{
	struct journal_record record = journal_blank(op);
	record.process = process;
	record.path = name ? text(name, strlen(name)) : 0;
	record.amount = amount;
	record.time_realtime_ns = ++now;
	must(journal_write(&journal, &record, NULL, 0, true));
}

static void write_to(uint32_t process)
{
	event(JOURNAL_WRITE, process, "/w/f", 1);
}

static void leave(uint32_t process, int status)
{
	event(JOURNAL_EXIT, process, NULL, (uint64_t)status);
}

static void expect(uint32_t number, enum step_kind kind, const char *typed)
{
	const struct step *step = steps_numbered(&steps, number);
	cr_assert_not_null(step);
	cr_assert_eq(step->number, number);
	cr_assert_eq(step->kind, kind, "step %u", number);
	cr_assert_str_eq(step->text, typed);
}

/* Of a hook, which is a process of the agent.  texts: in the order of enum reported_text, each ended by NUL. */
static void report(const char *texts, size_t size)
{
	leave(FORK(99, 10, ROLE_AGENT), 0);
	struct journal_record record = journal_blank(JOURNAL_REPORTED);
	record.other_path = text(texts, size);
	record.time_realtime_ns = ++now;
	must(journal_write(&journal, &record, NULL, 0, true));
}

#define PROMPT(conversation, prompt) \
	report("UserPromptSubmit\0" conversation "\0" prompt "\0\0\0words", \
	       sizeof("UserPromptSubmit\0" conversation "\0" prompt "\0\0\0words"))
#define CALL(hook, conversation, prompt, call, input) \
	report(hook "\0" conversation "\0" prompt "\0" call "\0Bash\0" input, \
	       sizeof(hook "\0" conversation "\0" prompt "\0" call "\0Bash\0" input))

/* Which call and which prompt a step belongs to; NULL, 0: it is not known. */
static void expect_call(uint32_t number, const char *call, uint32_t prompt)
{
	const struct step *step = steps_numbered(&steps, number);
	cr_assert_not_null(step);
	cr_assert_eq(!step->call, !call, "step %u", number);
	if (call)
		cr_assert_str_eq(step->call->call, call, "step %u", number);
	cr_assert_eq(step->prompt ? step->prompt->number : 0, prompt, "step %u", number);
	cr_assert(step->prompt == step_calls_prompt(steps_calls(&steps), prompt));
}

static uint32_t step_at(uint32_t process, uint64_t time_ns)
{
	const struct step *step = steps_of_change(&steps, process, time_ns);
	return step ? step->number : 0;
}

/* ---- tests ---- */

Test(step, an_agent_has_commands_and_own_actions)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent\0--now");
	write_to(agent);
	uint64_t first = now;
	write_to(agent);
	uint32_t shell = START(11, 10, ROLE_SHELL, "bash\0-c\0make all");
	uint32_t tool = START(12, 11, ROLE_TOOL, "make\0all");
	write_to(tool);
	leave(tool, 0);
	write_to(agent); /* while the command runs */
	leave(shell, 3);
	uint32_t other = START(13, 10, ROLE_TOOL, "git\0status");
	leave(other, 0);
	write_to(agent);
	uint64_t last = now;
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 5);
	expect(1, STEP_OWN, "agent --now");
	expect(2, STEP_COMMAND, "make all");
	expect(3, STEP_OWN, "agent --now");
	expect(4, STEP_COMMAND, "git status");
	expect(5, STEP_OWN, "agent --now");
	cr_assert(steps.steps[0].by_agent && steps.steps[1].by_agent);
	cr_assert_eq(steps.steps[0].begin_ns, first);
	cr_assert_eq(steps.steps[0].end_ns, first + 1);
	cr_assert(steps.steps[1].has_status);
	cr_assert_eq(steps.steps[1].status, 3);
	cr_assert_eq(steps.steps[1].run, 1);
	cr_assert_eq(step_at(agent, first), 1);
	cr_assert_eq(step_at(tool, first), 2);
	cr_assert_eq(step_at(shell, last), 2);
	cr_assert_eq(step_at(agent, last), 5);
	cr_assert_eq(step_at(agent, 1), 1); /* between the same two edges */
	cr_assert_eq(step_at(999999, last), 0);
	cr_assert_null(steps_numbered(&steps, 0));
	cr_assert_null(steps_numbered(&steps, 6));
}

Test(step, a_command_ends_an_own_action_however_short_it_is)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent");
	write_to(agent);
	leave(START(11, 10, ROLE_TOOL, "git\0status"), 0);
	write_to(agent);
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 3);
	expect(1, STEP_OWN, "agent");
	expect(2, STEP_COMMAND, "git status");
	expect(3, STEP_OWN, "agent");
}

Test(step, own_actions_of_runs_at_once_stay_apart)
{
	uint32_t agents[4];
	uint64_t times[4];

	flags |= CONTEXT_AGENT;
	for (int i = 0; i < 4; i++) {
		agents[i] = START(10 + i, 1, ROLE_AGENT, "agent");
		leave(START(20 + i, 10 + i, ROLE_TOOL, "true"), 0);
		flags += 1 << CONTEXT_RUN_SHIFT;
	}
	for (int i = 3; i >= 0; i--) { /* the run that began last acts first */
		write_to(agents[i]);
		times[i] = now;
	}
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 8);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(step_at(agents[i], times[i]), (uint32_t)(8 - i));
		cr_assert_eq(steps_numbered(&steps, (uint32_t)(8 - i))->run, (uint32_t)(i + 1));
	}
}

Test(step, a_killed_process_is_not_the_next_one_of_its_pid)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent");
	serial = 1;
	event(JOURNAL_EXEC, agent, "/bin/x", serial);
	uint32_t killed = START(11, 10, ROLE_SHELL, "bash\0-c\0kill -9 $$");
	write_to(killed);
	serial = 2;
	event(JOURNAL_EXEC, agent, "/bin/x", serial);
	uint32_t next = START(11, 10, ROLE_SHELL, "bash\0-c\0make");
	write_to(next);
	serial = 3;
	event(JOURNAL_EXEC, next, "/bin/x", serial);
	uint32_t again = START(11, 10, ROLE_TOOL, "make\0all");
	write_to(again);
	leave(again, 0);
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 2);
	expect(1, STEP_COMMAND, "kill -9 $$");
	expect(2, STEP_COMMAND, "make");
	cr_assert_eq(step_at(killed, now), 1);
	cr_assert_eq(step_at(next, now), 2);
	cr_assert_eq(step_at(again, now), 2);
}

Test(step, what_is_forked_for_a_command_belongs_to_it)
{
	flags |= CONTEXT_AGENT;
	(void)START(10, 1, ROLE_AGENT, "agent");
	uint32_t copy = FORK(11, 10, ROLE_AGENT);
	write_to(copy); /* a redirection */
	uint32_t shell = START(11, 10, ROLE_SHELL, "bash\0-lc\0sort a > b");
	uint32_t sort = START(11, 10, ROLE_READER, "sort\0a");
	leave(sort, 0);
	uint32_t worker = FORK(12, 10, ROLE_AGENT);
	write_to(worker);
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 2);
	expect(1, STEP_COMMAND, "sort a > b");
	expect(2, STEP_OWN, "agent");
	cr_assert_eq(steps.steps[0].process, copy);
	cr_assert(steps.steps[0].has_status);
	cr_assert_eq(step_at(copy, now), 1);
	cr_assert_eq(step_at(shell, now), 1);
	cr_assert_eq(step_at(worker, now), 2);
}

Test(step, what_started_an_agent_is_no_command)
{
	uint32_t launcher = START(9, 1, ROLE_SHELL, "bash\0-c\0git pull; agent");
	uint32_t git = START(8, 9, ROLE_TOOL, "git\0pull");
	write_to(git);
	leave(git, 0);
	uint32_t timeout = START(10, 9, ROLE_TOOL,
				 "timeout\0"
				 "60\0agent");
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(11, 10, ROLE_AGENT, "agent");
	(void)START(12, 11, ROLE_SHELL, "sh\0-c\0inner");
	/* An agent that a command starts is a part of it. */
	uint32_t inner = START(13, 12, ROLE_AGENT, "inner");
	uint32_t deep = START(14, 13, ROLE_SHELL, "sh\0-c\0rm x");
	write_to(deep);
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 2);
	expect(1, STEP_OWN, "git pull");
	cr_assert_not(steps.steps[0].by_agent);
	cr_assert_eq(step_at(git, steps.steps[0].begin_ns), 1);
	expect(2, STEP_COMMAND, "inner");
	cr_assert_eq(step_at(inner, now), 2);
	cr_assert_eq(step_at(deep, now), 2);
	cr_assert_eq(step_at(launcher, now), 0);
	cr_assert_eq(step_at(timeout, now), 0);
	cr_assert_eq(step_at(agent, now), 0);
}

Test(step, a_pid_that_is_given_anew_is_another_process)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent");
	leave(START(11, 10, ROLE_SHELL, "bash\0-c\0one"), 0);
	(void)START(12, 10, ROLE_SHELL, "bash\0-c\0killed");
	leave(agent, 0);
	/* the program of a later run has the pid of what ended, or was killed, in the first one */
	for (int parent = 11; parent <= 12; parent++) {
		flags += 1 << CONTEXT_RUN_SHIFT;
		agent = START(20 + parent, parent, ROLE_AGENT, "agent");
		(void)START(10 + parent, 20 + parent, ROLE_SHELL, "bash\0-c\0later");
	}
	/* and so may an unobserved process of the same run have */
	now += 3000000000;
	leave(START(40, 32, ROLE_SHELL, "bash\0-c\0ended"), 0);
	now += 3000000000;
	(void)START(41, 40, ROLE_TOOL, "below-unobserved");
	cr_assert_eq(steps_read(path, NULL, &steps), 0);
	cr_assert_eq(steps.count, 6);
	expect(1, STEP_COMMAND, "one");
	expect(2, STEP_COMMAND, "killed");
	expect(3, STEP_COMMAND, "later");
	expect(4, STEP_COMMAND, "later");
	expect(5, STEP_COMMAND, "ended");
	expect(6, STEP_COMMAND, "below-unobserved");
}

Test(step, without_an_agent_each_program_of_the_command_is_one)
{
	uint32_t script = START(10, 1, ROLE_SHELL, "bash\0script");
	write_to(script);
	uint32_t copy = FORK(11, 10, ROLE_SHELL);
	uint32_t env = START(11, 10, ROLE_TOOL, "env\0A=1\0sh\0-c\0make x");
	(void)START(11, 10, ROLE_SHELL, "sh\0-c\0make x");
	uint32_t make = START(12, 11, ROLE_TOOL, "make\0x");
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 2);
	expect(1, STEP_OWN, "bash script");
	expect(2, STEP_COMMAND, "make x");
	cr_assert_not(steps.steps[1].by_agent);
	cr_assert_not(steps.steps[1].has_status);
	cr_assert_eq(step_at(make, now), 2);
	cr_assert_eq(step_at(env, now), 2);
	cr_assert_eq(step_at(copy, now), 2);
}

Test(step, a_run_of_one_command_is_one)
{
	uint32_t first = START(10, 1, ROLE_SHELL, "bash\0-c\0make x; rm y");
	uint32_t make = START(11, 10, ROLE_TOOL, "make\0x");
	leave(first, 1);
	flags += 1 << CONTEXT_RUN_SHIFT;
	uint32_t second = START(20, 1, ROLE_TOOL, "rm\0-r\0z");
	write_to(second);
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 2);
	expect(1, STEP_COMMAND, "make x; rm y");
	expect(2, STEP_COMMAND, "rm -r z");
	cr_assert_eq(steps.steps[0].run, 1);
	cr_assert_eq(steps.steps[1].run, 2);
	cr_assert_eq(steps.steps[0].status, 1);
	cr_assert_eq(step_at(make, now), 1);
	cr_assert_eq(step_at(second, now), 2);
}

Test(step, calls_that_hooks_report_belong_to_prompts)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent");
	PROMPT("one", "p1");
	CALL("PreToolUse", "one", "p1", "c1", "make x");
	leave(START(11, 10, ROLE_SHELL, "bash\0-c\0make x"), 0);
	CALL("PostToolUse", "one", "p1", "c1", "make x");
	PROMPT("two", "p2");
	PROMPT("one", "p3");
	/* of another conversation, with that prompt's id: a sub-agent */
	CALL("PreToolUse", "sub", "p2", "c2", "make y");
	write_to(agent);
	CALL("PostToolUse", "sub", "p2", "c2", "make y");
	write_to(agent); /* in no call */
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 3);
	expect(1, STEP_COMMAND, "make x");
	expect_call(1, "c1", 1);
	expect(2, STEP_OWN, "agent");
	expect_call(2, "c2", 2);
	expect_call(3, NULL, 0);
}

Test(step, without_ids_a_call_belongs_to_the_last_prompt_of_its_conversation)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent");
	PROMPT("one", "");
	PROMPT("two", "");
	PROMPT("one", "");
	CALL("PreToolUse", "one", "", "c1", "");
	write_to(agent);
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 1);
	expect_call(1, "c1", 3);
}

Test(step, of_several_calls_at_once_the_prompt_may_be_known)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent");
	PROMPT("one", "p1");
	CALL("PreToolUse", "one", "p1", "c1", "make x");
	CALL("PreToolUse", "one", "p1", "c2", "make xyz");
	write_to(agent); /* one of the two */
	leave(START(11, 10, ROLE_SHELL, "bash\0-c\0make xyz"), 0);
	PROMPT("two", "p2");
	CALL("PreToolUse", "two", "p2", "c3", "make z");
	write_to(agent); /* one of three, of two prompts */
	CALL("PostToolUse", "one", "p1", "c1", "make x");
	PROMPT("one", "p3"); /* c2 failed: that is not reported */
	write_to(agent);
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(steps.count, 4);
	expect_call(1, NULL, 1);
	expect_call(2, "c2", 1); /* whose command is the longer one */
	expect_call(3, NULL, 0);
	expect_call(4, "c3", 2);
}

/* [journal] may leave files out. */
Test(step, what_is_on_record_for_undo_alone_is_an_own_action)
{
	struct world world;
	struct pack_note note = { .kind = PACK_CONTENT, .path = "/w/f" };

	world_open(&world, "undo.reserve=0", NULL);
	flags |= CONTEXT_AGENT;
	note.process = START(10, 1, ROLE_AGENT, "agent");
	must(pack_write(&world.segment, &note, PACK_INLINE, "x", 1) != PACK_NO_PLACE);
	note.kind = PACK_AFTER; /* is no change */
	note.process = START(11, 10, ROLE_AGENT, "agent");
	must(pack_write(&world.segment, &note, PACK_NOT_TAKEN, NULL, 0) != PACK_NO_PLACE);
	cr_assert_eq(steps_read(path, world.undo, &steps), 0);

	cr_assert_eq(steps.count, 1);
	expect(1, STEP_OWN, "agent");
	steps_free(&steps);
	cr_assert_eq(steps_read(path, "/nowhere/undo", &steps), 0);
	cr_assert_eq(steps.count, 0);
	world_close(&world);
}

static void make_directory(uint32_t process, const char *name)
{
	struct journal_record record = journal_blank(JOURNAL_CREATE);
	record.process = process;
	record.path = text(name, strlen(name));
	record.flags = S_IFDIR | 0755;
	record.time_realtime_ns = ++now;
	must(journal_write(&journal, &record, NULL, 0, true));
}

Test(step, a_mount_point_is_what_a_program_made_that_its_remover_started)
{
	flags |= CONTEXT_AGENT;
	uint32_t agent = START(10, 1, ROLE_AGENT, "agent");
	uint64_t early = now;
	uint32_t other = START(11, 10, ROLE_TOOL, "mkdir\0/new/.git");
	make_directory(other, "/new/.git");
	uint32_t shell = START(12, 10, ROLE_SHELL, "bash\0-c\0bwrap x");
	uint64_t begun = now;
	uint32_t sandbox = START(13, 12, ROLE_TOOL, "bwrap\0x");
	make_directory(sandbox, "/new/.git");
	make_directory(shell, "/new/own");
	uint64_t made = now;
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert(steps_is_mount_point(&steps, shell, "/w/.git", made, made + 1));
	cr_assert_not(steps_is_mount_point(&steps, shell, "/w/other", made, made + 1));
	cr_assert_not(steps_is_mount_point(&steps, shell, "/w/own", made, made + 1));
	cr_assert_not(steps_is_mount_point(&steps, shell, "/w/.git", begun, made + 1));
	cr_assert_not(steps_is_mount_point(&steps, shell, "/w/.git", made, begun));
	cr_assert_not(steps_is_mount_point(&steps, other, "/w/.git", made, made + 1));
	cr_assert_not(steps_is_mount_point(&steps, 999999, "/w/.git", made, made + 1));
	cr_assert(steps_is_mount_point(&steps, agent, "/w/own", made, made + 1));
	cr_assert_not(steps_is_mount_point(&steps, agent, "/w/own", early, made + 1));
}

Test(step, points_are_numbers_or_times)
{
	struct step_point point;
	(void)START(10, 1, ROLE_TOOL, "rm\0x");
	cr_assert_eq(steps_read(path, NULL, &steps), 0);

	cr_assert_eq(step_point_find(&steps, "1", &point), 0);
	cr_assert_eq(point.number, 1);
	cr_assert_eq(point.time_ns, steps.steps[0].begin_ns);
	cr_assert_eq(step_point_find(&steps, "2", &point), -ENOENT);
	cr_assert_eq(step_point_find(&steps, "0", &point), -ENOENT);
	cr_assert_eq(step_point_find(&steps, "1970-01-01T00:00:01Z", &point), 0);
	cr_assert_eq(point.number, 0);
	cr_assert_eq(point.time_ns, 1000000000);
	cr_assert_eq(step_point_find(&steps, "5x", &point), -EINVAL);
}

Test(step, no_journal_has_none)
{
	cr_assert_eq(steps_read(NULL, NULL, &steps), 0);
	cr_assert_eq(steps.count, 0);
	steps_free(&steps);
	cr_assert_eq(steps_read("/nowhere/journal", NULL, &steps), 0);
	cr_assert_eq(steps.count, 0);
}
