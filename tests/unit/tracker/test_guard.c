/* guard.h: what a write over a file's content is, by what its agent knows of it. */
#include "guard_case.h"

TestSuite(guard, .init = start, .fini = stop);

/* ---- what is not inspected ---- */

Test(guard, nothing_is_there)
{
	struct guard_answer answer = check("new", GUARD_REPLACES);

	ASSERT_PASSES(answer, GUARD_NEW);
	cr_assert_eq(answer.file_key, key_of_file("new"));
	cr_assert_eq(answer.knows, GUARD_KNEW | GUARD_WHOLE);
	world_fill(&world, "f", 100, 1);
	ASSERT_PASSES(check("f/below", GUARD_REPLACES), GUARD_NEW);
	/* A tool's new file concerns the guard only where it is on record. */
	write_as_tool();
	cr_assert_eq(check("new", GUARD_REPLACES).file_key, 0);
	deliver_to(scope, "f");
	must(unlink(world_path(&world, "f")) == 0);
	answer = check("f", GUARD_REPLACES);
	ASSERT_PASSES(answer, GUARD_NEW);
	cr_assert_eq(answer.file_key, key_of_file("f"));
}

Test(guard, what_cannot_be_inspected)
{
	struct guard_answer answer;
	uint64_t before = counter(COUNTER_unguarded);

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	guard_check(&world.segment, &writer, world_path(&world, "f"), -EACCES, GUARD_REPLACES,
		    &answer);
	ASSERT_PASSES(answer, GUARD_UNREADABLE);
	guard_check(&world.segment, &writer, world_path(&world, "f"), 1023, GUARD_REPLACES,
		    &answer);
	ASSERT_PASSES(answer, GUARD_UNREADABLE);
	world.settings->content_max_file_bytes = 99;
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNREADABLE);
	cr_assert_eq(counter(COUNTER_unguarded), before + 3);
	must(mkdir(world_path(&world, "d"), 0700) == 0);
	ASSERT_PASSES(check("d", GUARD_UNNAMES), GUARD_UNCONCERNED);
	cr_assert_eq(counter(COUNTER_unguarded), before + 3);
}

Test(guard, what_is_judged_alone)
{
	struct guard_answer answer;
	uint64_t counted = counter(COUNTER_unguarded);
	int fd;

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	world_fill(&world, "f", 100, 2);
	fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	guard_judge(&world.segment, &writer, world_path(&world, "f"), fd, GUARD_REPLACES, &answer);
	ASSERT_PASSES(answer, GUARD_STALE);
	cr_assert(!answer.kept);
	world.settings->content_max_file_bytes = 99;
	guard_judge(&world.segment, &writer, world_path(&world, "f"), fd, GUARD_REPLACES, &answer);
	ASSERT_PASSES(answer, GUARD_UNREADABLE);
	must(close(fd) == 0);
	guard_judge(&world.segment, &writer, world_path(&world, "f"), -ENOENT, GUARD_REPLACES,
		    &answer);
	ASSERT_PASSES(answer, GUARD_UNREADABLE);
	guard_judge(&world.segment, &writer, world_path(&world, "f"), 1023, GUARD_REPLACES,
		    &answer);
	ASSERT_PASSES(answer, GUARD_UNREADABLE);
	fd = open(world.workspace, O_RDONLY | O_CLOEXEC);
	guard_judge(&world.segment, &writer, world.workspace, fd, GUARD_REPLACES, &answer);
	ASSERT_PASSES(answer, GUARD_UNREADABLE);
	must(close(fd) == 0);
	cr_assert_eq(counter(COUNTER_unguarded), counted);
	cr_assert_eq(counter(COUNTER_stale_warned), 0);
}

Test(guard, what_concerns)
{
	const char *file = world_path(&world, "f");

	cr_assert(guard_concerns(&world.segment, &writer, file));
	cr_assert(!guard_concerns(&world.segment, &writer, "/elsewhere/f"));
	cr_assert(!guard_concerns(&world.segment, &writer, world_path(&world, ".git/index")));
	write_as_tool();
	cr_assert(!guard_may_concern(&world.segment, &writer, file));
	cr_assert(!guard_may_concern(&world.segment, &writer, NULL));
	cr_assert(!guard_concerns(&world.segment, &writer, file));
	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	cr_assert(guard_may_concern(&world.segment, &writer, file));
	cr_assert(guard_may_concern(&world.segment, &writer, NULL));
	cr_assert(guard_concerns(&world.segment, &writer, file));
	cr_assert(!guard_concerns(&world.segment, &writer, world_path(&world, "other")));
	writer.answered = true; /* it carries a notice: any name */
	cr_assert(guard_concerns(&world.segment, &writer, world_path(&world, "other")));
}

Test(guard, what_the_user_allows)
{
	stop();
	world_open(&world, "guard.allow=*.log", NULL);
	cr_assert(!guard_concerns(&world.segment, &writer, world_path(&world, "a.log")));
	cr_assert(guard_concerns(&world.segment, &writer, world_path(&world, "a.txt")));
}

Test(guard, a_tool_and_an_unknown_file)
{
	struct guard_answer answer;

	world_fill(&world, "f", 100, 1);
	write_as_tool();
	answer = check("f", GUARD_REPLACES);
	ASSERT_PASSES(answer, GUARD_UNCONCERNED);
	cr_assert_eq(answer.file_key, 0);
	deliver_to(scope, "f");
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNCONCERNED);
	cr_assert(check("f", GUARD_REPLACES).kept, "its agent knows it, and would lose it");
}

/* A shell of an agent that has to read first is inspected whatever the name. */
Test(guard, a_shell_that_has_to_read)
{
	world_fill(&world, "f", 100, 1);
	writer.role = context.role = ROLE_SHELL;
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNCONCERNED);
	cr_assert_eq(check("f", GUARD_REPLACES).file_key, 0);
	world.settings->guard_read_before_write = GUARD_READ_BEFORE_WRITE_WARN;
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_UNREAD, GUARD_WARN, 0);
}

/* ---- what the scope knows ---- */

Test(guard, fresh)
{
	struct guard_answer answer;

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	answer = check("f", GUARD_REPLACES);
	ASSERT_PASSES(answer, GUARD_FRESH);
	cr_assert_eq(answer.knows, GUARD_KNEW | GUARD_WHOLE);
	cr_assert(answer.kept);
	cr_assert_eq(check("f", GUARD_UNNAMES).knows, GUARD_KNEW | GUARD_WHOLE);
	cr_assert_eq(check("f", GUARD_WRITES).knows, GUARD_KNEW);
	answer = check("f", GUARD_APPENDS);
	ASSERT_PASSES(answer, GUARD_FRESH);
	cr_assert_eq(answer.knows, GUARD_KNEW);
	cr_assert(!answer.kept, "nothing is lost");
}

Test(guard, kept_for_undo_already)
{
	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	world.settings->guard_stale_write = GUARD_STALE_WRITE_ALLOW;
	cr_assert(check("f", GUARD_REPLACES).kept, "it is on record");
	world_fill(&world, "g", 100, 1);
	cr_assert(!check("g", GUARD_REPLACES).kept);
	writer.answered = true;
	cr_assert(check("g", GUARD_REPLACES).kept, "it would be put back");
}

static bool is_kept_there(const struct guard_writer *of, int fd)
{
	return of->keeper && fd >= 0;
}

Test(guard, the_writer_keeps_it)
{
	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	writer.is_kept = is_kept_there;
	writer.keeper = &writer;
	cr_assert(check("f", GUARD_REPLACES).kept);
	cr_assert_eq(counter(COUNTER_contents_kept), 0, "not twice");
	writer.keeper = NULL;
	cr_assert(check("f", GUARD_REPLACES).kept);
	cr_assert_eq(counter(COUNTER_contents_kept), 1);
}

/* An editor writes to the file between the guard's two reads of it, as often as it is asked to. */
static unsigned edits;

static bool edit_between(const struct guard_writer *of, int fd)
{
	(void)of;
	(void)fd;
	if (edits > 0)
		world_fill(&world, "f", 100, 10 + edits--);
	return false;
}

Test(guard, it_changes_while_it_is_kept)
{
	struct guard_answer answer;
	struct version last;

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	writer.is_kept = edit_between;
	edits = 2;
	answer = check("f", GUARD_REPLACES);
	last = version_now("f");
	cr_assert(answer.kept && version_equal(&answer.before, &last));
	ASSERT_ANSWER(answer, GUARD_STALE, GUARD_WARN, 0);
	edits = 100; /* it never rests: what was kept last is what was lost, as far as is known */
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_STALE, GUARD_WARN, 0);
	cr_assert_eq(edits, 96);
}

Test(guard, nowhere_to_keep_it)
{
	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	must(rmdir(world.contents) == 0);
	must(symlink("/proc/nowhere", world.contents) == 0);
	world_fill(&world, "f", 100, 2);
	cr_assert(!check("f", GUARD_REPLACES).kept);
}

Test(guard, stale)
{
	struct guard_answer answer;
	struct version known;

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	known = version_now("f");
	world_fill(&world, "f", 100, 2);
	answer = check("f", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_STALE, GUARD_WARN, 0);
	cr_assert(version_equal(&answer.baseline, &known));
	cr_assert(answer.kept && !answer.degraded);
	cr_assert_eq(answer.changer, 0);
	cr_assert_eq(answer.knows, GUARD_WHOLE);
	cr_assert_eq(counter(COUNTER_stale_warned), 1);
	ASSERT_PASSES(check("f", GUARD_APPENDS), GUARD_STALE);
	cr_assert_eq(counter(COUNTER_stale_warned), 1);

	world.settings->guard_stale_write = GUARD_STALE_WRITE_DENY;
	answer = check("f", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_STALE, GUARD_DENY, -ESTALE);
	cr_assert(!answer.kept, "nothing is lost");
	cr_assert_eq(counter(COUNTER_stale_denied), 1);

	world.settings->session_mode = SESSION_MODE_OBSERVE;
	answer = check("f", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_STALE, GUARD_WARN, 0);
	cr_assert(answer.degraded && answer.kept);

	world.settings->guard_stale_write = GUARD_STALE_WRITE_ALLOW;
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_STALE);
	cr_assert_eq(counter(COUNTER_stale_warned), 2);
}

Test(guard, stale_where_the_user_denies_it)
{
	stop();
	world_open(&world, "guard.deny=*.c", NULL);
	must(world_scope(&world, "a") == scope);
	world_fill(&world, "a.c", 100, 1);
	world_fill(&world, "a.h", 100, 1);
	deliver_to(scope, "a.c");
	deliver_to(scope, "a.h");
	world_fill(&world, "a.c", 100, 2);
	world_fill(&world, "a.h", 100, 2);
	ASSERT_ANSWER(check("a.c", GUARD_REPLACES), GUARD_STALE, GUARD_DENY, -ESTALE);
	ASSERT_ANSWER(check("a.h", GUARD_REPLACES), GUARD_STALE, GUARD_WARN, 0);
}

/* What is not observed may have made the change for the agent: it is not refused for that. */
Test(guard, stale_beside_what_is_not_observed)
{
	const uint32_t self = (uint32_t)getpid(), gone = 0x7fffff;
	const uint64_t long_ns = 600000000;
	const struct {
		uint32_t pid;
		enum process_state state;
		uint64_t age_ns;
		uint32_t flags;
		bool is_unobserved;
	} PROCESSES[] = {
		{ self, PROCESS_ATTACHED, 0, 0, false },
		{ self, PROCESS_EXITED, 0, CONTEXT_PARTIAL, false },
		{ 0, PROCESS_ANNOUNCED, long_ns, 0, false },
		{ gone, PROCESS_ANNOUNCED, long_ns, 0, false },
		{ gone, PROCESS_ATTACHED, 0, CONTEXT_PARTIAL, false },
		{ self, PROCESS_ATTACHED, 0, CONTEXT_PAST_LIBC | CONTEXT_SUPERVISED, false },
		{ self, PROCESS_ANNOUNCED, long_ns, 0, true },
	};

	world_fill(&world, "f", 100, 1);
	deliver_to(scope, "f");
	world_fill(&world, "f", 100, 2);
	world.settings->guard_stale_write = GUARD_STALE_WRITE_DENY;
	for (size_t i = 0; i < sizeof(PROCESSES) / sizeof(PROCESSES[0]); i++) {
		(void)add_process(PROCESSES[i].pid, PROCESSES[i].state, PROCESSES[i].age_ns, 0,
				  &(struct context){ .flags = PROCESSES[i].flags });
		cr_assert_eq(guard_lives_unobserved(&world.segment), PROCESSES[i].is_unobserved,
			     "%zu", i);
	}
	struct guard_answer answer = check("f", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_STALE, GUARD_WARN, 0);
	cr_assert(answer.degraded);
}

/* One that has just been started may attach yet: but where this process was stopped for half a second, it is asked again. */
Test(guard, lives_and_may_attach_yet)
{
	struct process_slot *slot, copy;
	bool is_unobserved = true;

	for (uint64_t i = 0; is_unobserved && i < 60; i++) {
		(void)add_process((uint32_t)getpid(), PROCESS_ANNOUNCED, 0, 0, &context);
		is_unobserved = guard_lives_unobserved(&world.segment);
		slot = segment_slot(&world.segment, TABLE_PROCESSES, i);
		must(slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES));
		copy.state = PROCESS_EXITED;
		slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	}
	cr_assert(!is_unobserved);
}

Test(guard, lives_partly_observed)
{
	(void)add_process((uint32_t)getpid(), PROCESS_ATTACHED, 0, 0,
			  &(struct context){ .flags = CONTEXT_PAST_LIBC });
	cr_assert(guard_lives_unobserved(&world.segment));
}

/* ---- [guard] read_before_write ---- */

static void note_version(struct file_slot *file, const void *data)
{
	file->version = *(const struct version *)data;
}

Test(guard, unread)
{
	struct guard_answer answer;

	world_fill(&world, "f", 100, 1);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNCONCERNED);
	world.settings->guard_read_before_write = GUARD_READ_BEFORE_WRITE_WARN;
	answer = check("f", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_UNREAD, GUARD_WARN, 0);
	cr_assert(!answer.degraded && answer.kept);
	cr_assert_eq(counter(COUNTER_unread_warned), 1);
	world.settings->guard_read_before_write = GUARD_READ_BEFORE_WRITE_DENY;
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_UNREAD, GUARD_DENY, -EACCES);
	cr_assert_eq(counter(COUNTER_unread_denied), 1);
	world.settings->session_mode = SESSION_MODE_OBSERVE;
	answer = check("f", GUARD_REPLACES);
	ASSERT_ANSWER(answer, GUARD_UNREAD, GUARD_WARN, 0);
	cr_assert(answer.degraded);
	world.settings->guard_read_before_write = GUARD_READ_BEFORE_WRITE_WARN;
	cr_assert(!check("f", GUARD_REPLACES).degraded, "it was not to be refused");
	ASSERT_PASSES(check("f", GUARD_APPENDS), GUARD_UNCONCERNED);
	world_fill(&world, "empty", 0, 1);
	ASSERT_PASSES(check("empty", GUARD_REPLACES), GUARD_UNCONCERNED);
	/* One that a tool made a change of, and one that is on record as another version. */
	file_note_edit(&world.segment, world_path(&world, "f"), &(struct context){ 0 }, ROLE_TOOL,
		       FILE_ACTION_WRITE);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNCONCERNED);
	world_fill(&world, "g", 100, 1);
	deliver_to(world_scope(&world, "another"), "g");
	answer = check("g", GUARD_WRITES);
	ASSERT_ANSWER(answer, GUARD_UNREAD, GUARD_WARN, 0);
	cr_assert_eq(answer.knows, 0, "another scope knows it");
	struct version version = version_now("g");
	must(file_change_known(&world.segment, key_of_file("g"), note_version, &version) == 0);
	cr_assert_eq(check("g", GUARD_WRITES).knows, GUARD_KNEW, "as that version");
	/* Not of a writer without a scope, nor of a program that is none of an agent's. */
	writer.scope_id = 0;
	ASSERT_PASSES(check("g", GUARD_REPLACES), GUARD_UNCONCERNED);
	writer.scope_id = scope;
	context.flags = CONTEXT_ATTACHED;
	ASSERT_PASSES(check("g", GUARD_REPLACES), GUARD_UNCONCERNED);
}

Test(guard, read_in_its_process_is_not_read)
{
	struct version version;

	world.settings->guard_read_before_write = GUARD_READ_BEFORE_WRITE_DENY;
	world.settings->notice_burst_ms = 3600000;
	world_fill(&world, "f", 100, 1);
	record_file("f");
	version = version_now("f");
	baseline_read(&world.segment, scope, key_of_file("f"), &version);
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_UNREAD, GUARD_DENY, -EACCES);
	ASSERT_PASSES(check("f", GUARD_APPENDS), GUARD_FRESH);
	world.settings->notice_burst_ms = 0; /* it is old enough now */
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_FRESH);
	/* Where the hooks report what the model is given, only that counts. */
	must(scope_set_flags(&world.segment, scope, SCOPE_READS_REPORTED, SCOPE_READS_REPORTED) ==
	     0);
	ASSERT_ANSWER(check("f", GUARD_REPLACES), GUARD_UNREAD, GUARD_DENY, -EACCES);
	deliver_to(scope, "f");
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_FRESH);
}

/* What the session made need not be read. */
Test(guard, made_by_the_session)
{
	struct version version;

	world.settings->guard_read_before_write = GUARD_READ_BEFORE_WRITE_DENY;
	world_fill(&world, "f", 100, 1);
	record_file("f");
	version = version_now("f");
	guard_finish_write(&world.segment, &writer, key_of_file("f"), &version, GUARD_KNEW);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_FRESH);
	world_fill(&world, "f", 100, 2);
	ASSERT_PASSES(check("f", GUARD_REPLACES), GUARD_UNCONCERNED);
}
