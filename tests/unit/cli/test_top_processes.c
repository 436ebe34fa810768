/* cli/top: processes, how much is read, and keys. */
#include "cli/screen/screen.h"
#include "top_case.h"

TestSuite(top, .init = init, .fini = finish);

static void leave(uint32_t process, uint64_t status)
{
	struct journal_record record = blank(JOURNAL_EXIT, process, NULL);
	record.amount = status;
	append(record);
}

/* "pid.depth" of each; "|" behind those below which a line goes on. */
static const char *tree(const char *filter)
{
	static char text_of_tree[256];
	struct top_wish wish = { .process_order = TOP_PROCESSES_TREE, .filter = filter };

	must(top_rows_processes(model, &wish, &rows) == 0);
	text_of_tree[0] = '\0';
	for (size_t i = 0; i < rows.branch_count; i++)
		(void)snprintf(text_of_tree + strlen(text_of_tree),
			       sizeof(text_of_tree) - strlen(text_of_tree), "%s%u.%d%s",
			       i ? " " : "", rows.branches[i].process->pid, rows.branches[i].depth,
			       rows.branches[i].is_last ? "" : "|");
	return text_of_tree;
}

/* ---- processes ---- */

Test(top, a_program_that_is_replaced_stays_one_process)
{
	uint32_t first = start(100, 1);
	open_file(first, "a", O_RDONLY, 0);
	uint32_t second = append_process(JOURNAL_START, 100, 1, ROLE_VIEWER, 0, "cat\0a b\0c", 9);
	open_file(second, "b", O_RDONLY, 0);
	leave(second, 3);
	read_all();
	cr_assert_eq(model->process_count, 1);
	const struct top_process *process = process_of(100);
	cr_assert_eq(process->reads, 2);
	cr_assert_eq(process->role, ROLE_VIEWER);
	cr_assert_str_eq(process->command, "prog a b c");
	cr_assert_eq(process->life, TOP_ENDED);
	cr_assert_eq(process->status, 3);
	cr_assert_eq(model->running_count, 0);
	/* Its number is given to another one. */
	start(100, 1);
	read_all();
	cr_assert_eq(model->process_count, 2);
	cr_assert_eq(process_of(100)->reads, 0);
	cr_assert_eq(process_of(100)->life, TOP_RUNS);
}

Test(top, processes_are_bounded)
{
	uint32_t agent = start(10, 1);
	for (uint32_t i = 0; i < TOP_PROCESSES_MAX + 5; i++)
		leave(start(1000 + i, 10), 0);
	read_all();
	cr_assert_eq(model->process_count, TOP_PROCESSES_MAX);
	cr_assert_eq(model->processes_dropped, 6);
	cr_assert_eq(model->running_count, 1);
	cr_assert_not_null(process_of(10), "it runs: the ended ones go");
	cr_assert_null(process_of(1000));
	cr_assert(agent);
}

Test(top, the_tree)
{
	start(10, 1);
	start(20, 10);
	start(21, 20);
	start(22, 20);
	start(30, 10);
	start(50, 4);
	read_all();
	cr_assert_str_eq(tree(""), "50.0 10.0 30.1| 20.1 22.2| 21.2");
	cr_assert_eq(rows.branches[2].open, 0);
	cr_assert_eq(rows.branches[4].open, 0, "nothing follows below 20");
	/* What ended stays for a while, behind what runs. */
	leave(process_of(30)->number, 0);
	read_all();
	cr_assert_str_eq(tree(""), "50.0 10.0 20.1| 22.2| 21.2 30.1");
	cr_assert_eq(rows.branches[3].open, 2, "a line goes on from 20 to 30");
	now_ns += (TOP_TREE_ENDED_S + 1) * SECOND;
	open_file(process_of(10)->number, "a", O_RDONLY, 0);
	read_all();
	cr_assert_str_eq(tree(""), "50.0 10.0 20.1 22.2| 21.2");
	cr_assert_str_eq(tree("nobody"), "");
}

Test(top, a_long_chain)
{
	for (uint32_t pid = 10; pid < 10 + 3 * TOP_TREE_DEPTH_MAX; pid++)
		start(pid, pid - 1);
	read_all();
	struct top_wish wish = { .process_order = TOP_PROCESSES_TREE, .filter = "" };
	must(top_rows_processes(model, &wish, &rows) == 0);
	cr_assert_eq(rows.branch_count, 3 * TOP_TREE_DEPTH_MAX);
	cr_assert_eq(rows.branches[rows.branch_count - 1].depth, TOP_TREE_DEPTH_MAX);
}

Test(top, rates)
{
	uint32_t process = start(100, 1);
	read_all();
	top_model_reset_rates(model);
	for (int i = 0; i < 300; i++)
		open_file(process, "a", O_RDONLY, 0);
	read_all();
	top_model_rate(model, 3 * SECOND);
	cr_assert_float_eq(process_of(100)->rate, 50, 0.01); /* half way to 100 a second */
	for (int i = 0; i < 100; i++)
		top_model_rate(model, SECOND);
	cr_assert_eq(process_of(100)->rate, 0);
	cr_assert_float_eq(top_rate(5, 100, 0), 5, 0.01);
}

Test(top, notes_are_bounded)
{
	uint32_t process = start(100, 1);
	for (uint64_t i = 0; i < TOP_NOTES_MAX + 3; i++)
		amount(JOURNAL_NOTICE, process, "a", -1, i);
	read_all();
	cr_assert_eq(model->note_count, TOP_NOTES_MAX);
	cr_assert_eq(model->notes_dropped, 3);
	cr_assert_str_eq(top_model_note(model, 0)->text, "3 bytes not given again");
	struct top_wish wish = { .filter = "1,02" };
	must(top_rows_notes(model, &wish, &rows) == 0);
	cr_assert_eq(rows.note_count, 7);
	cr_assert_str_eq(rows.notes[0]->text, "1,026 bytes not given again");
}

Test(top, what_is_declared_as_noted_is_shown_as_it_happens)
{
	for (unsigned op = JOURNAL_NONE + 1; op < JOURNAL_OP_COUNT; op++) {
		if (op_info(op)->traits & OP_NO_EVENT)
			continue;
		uint64_t before = model->note_count;
		struct journal_record record = blank(op, 0, "/w/a");
		record.decision = op == JOURNAL_REQUEST ? DECISION_NOTICE : GUARD_DENY;
		append(record);
		read_all();
		cr_assert_eq(model->note_count - before, (op_info(op)->traits & OP_NOTED) != 0,
			     "%s: %s", journal_op_name(op), "is it in top_model_notes.c?");
	}
}

/* ---- how much is read ---- */

static void announce(const char *executable)
{
	struct context context = { .role = ROLE_SHELL };
	struct process_ref self = { 0, 0 };
	char ticket[TICKET_BYTES], none[] = "", *arguments[] = { none, NULL };

	(void)process_announce(&world.segment, SUBJECT_SELF, &context, self, 1, executable,
			       arguments, ticket);
}

Test(top, who_has_no_name_is_counted_and_not_named)
{
	announce("/x/one");
	announce("/x/");
	announce("/x/one");
	(void)usleep(1100000);
	must(top_feed_update(&feed));
	cr_assert_eq(feed.unobserved, 3);
	cr_assert_str_eq(feed.unobserved_names, "one");
}

Test(top, what_cannot_be_read_in_time_is_passed_over)
{
	uint32_t process = start(100, 1);
	struct journal_record record = blank(JOURNAL_OPEN, process, "a");

	read_all();
	for (int i = 0; i < TOP_AHEAD; i++)
		append(record);
	(void)top_feed_read(&feed, SECOND);
	cr_assert_eq(feed.skipped_bytes, 0, "as much as that is read");
	read_all();
	cr_assert_eq(file("/w/a")->reads, TOP_AHEAD);
	for (int i = 0; i < TOP_AHEAD + 1; i++)
		append(record);
	(void)top_feed_read(&feed, SECOND);
	cr_assert_eq(feed.skipped_bytes, (uint64_t)(TOP_AHEAD + 1 - TOP_KEEP) * JOURNAL_UNIT_BYTES);
	cr_assert(feed.is_behind);
	read_all();
	cr_assert_eq(file("/w/a")->reads, TOP_AHEAD + TOP_KEEP);
	cr_assert_eq(events_counts(feed.events).damaged, 0);
	cr_assert_str_eq(process_of(100)->command, "prog", "known from its record");
}

Test(top, skipping_finds_the_beginning_of_a_record)
{
	uint32_t process = start(100, 1), last = 0;
	char name[600];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof("/w/0000"), "/w/%04u", (unsigned)i % 10000);
		name[7] = 'x';
		open_file(process, name, O_RDONLY, 0);
		last = start(200 + (uint32_t)i, 100);
	}
	for (uint64_t number = JOURNAL_UNITS_FIRST; number <= last; number++) {
		struct events *events;
		struct event event;
		must(events_open(path, false, &events) == 0);
		uint64_t moved = events_skip(events, number);
		cr_assert(number == JOURNAL_UNITS_FIRST ? moved == 0
							: moved >= number - JOURNAL_UNITS_FIRST);
		cr_assert_eq(events_next(events, &event), EVENTS_EVENT);
		cr_assert(event.number >= number && event.op != EVENT_DAMAGED);
		events_close(events);
	}
	struct events *events;
	must(events_open(path, false, &events) == 0);
	cr_assert_eq(events_skip(events, UINT64_MAX),
		     journal_end_unit(&journal) - JOURNAL_UNITS_FIRST);
	cr_assert_eq(events_skip(events, JOURNAL_UNITS_FIRST), 0, "never back");
	events_close(events);
}

Test(top, an_undone_record_is_waited_for_once)
{
	uint32_t process = start(100, 1);
	open_file(process, "a", O_RDONLY, 0);
	/* Reserved, and its writer died. */
	(void)__atomic_fetch_add(&journal.header->next, 1, __ATOMIC_SEQ_CST);
	open_file(process, "b", O_RDONLY, 0);
	cr_assert_not(top_feed_read(&feed, SECOND));
	cr_assert_null(file("/w/b"));
	(void)usleep(150000);
	read_all();
	cr_assert_not_null(file("/w/b"));
}

Test(top, a_turn_ends_after_its_time)
{
	uint32_t process = start(100, 1);
	struct journal_record record = blank(JOURNAL_OPEN, process, "a");
	for (int i = 0; i < 10000; i++)
		append(record);
	cr_assert(top_feed_read(&feed, 1));
	cr_assert_not(feed.caught_up);
	cr_assert_lt(model->events, 1000);
	cr_assert_lt(top_feed_progress(&feed), 20);
	read_all();
	cr_assert_eq(top_feed_progress(&feed), 100);
}

Test(top, the_counters_are_the_sessions)
{
	segment_count(&world.segment, COUNTER_opens, 5);
	segment_count(&world.segment, COUNTER_changes, 2);
	segment_count(&world.segment, COUNTER_stale_warned, 1);
	segment_count(&world.segment, COUNTER_notices_refused, 1);
	segment_count(&world.segment, COUNTER_rules_denied, 3);
	segment_count(&world.segment, COUNTER_notices, 4);
	segment_count(&world.segment, COUNTER_requests_answered, 4);
	cr_assert(top_feed_update(&feed));
	cr_assert_not(top_feed_update(&feed), "too early");
	cr_assert_eq(top_feed_reads(&feed), 5);
	cr_assert_eq(top_feed_writes(&feed), 2);
	cr_assert_eq(counts_sum(feed.counters, COUNT_CONFLICTS), 2);
	cr_assert_eq(counts_sum(feed.counters, COUNT_RULE_HITS), 3);
	cr_assert_eq(counts_sum(feed.counters, COUNT_NOTICES), 8);
	cr_assert_eq(feed.life, SESSION_EMPTY);
}

/* ---- keys ---- */

static struct top_display view_after(const char *keys, size_t count, size_t page)
{
	struct top_display view = { .pane = TOP_FILES };
	(void)top_display_place(&view, count, page);
	for (; *keys; keys++)
		(void)top_display_key(&view, (unsigned char)*keys);
	return view;
}

Test(top, panes_and_orders)
{
	cr_assert_eq(view_after("2", 0, 10).pane, TOP_PROCESSES);
	cr_assert_eq(view_after("s", 0, 10).file_order, TOP_FILES_BYTES);
	cr_assert_eq(view_after("ssss", 0, 10).file_order, TOP_FILES_RECENT);
	cr_assert_eq(view_after("2s", 0, 10).process_order, TOP_PROCESSES_RECENT);
	cr_assert_eq(view_after("3s", 0, 10).file_order, TOP_FILES_RECENT);
	cr_assert(view_after("z", 0, 10).is_paused);
	cr_assert_not(view_after("zz", 0, 10).is_paused);
	cr_assert(view_after("w", 0, 10).is_everywhere);
	struct top_display view = view_after("", 0, 10);
	cr_assert_eq(top_display_key(&view, SCREEN_KEY_BACK_TAB), TOP_GO_ON);
	cr_assert_eq(view.pane, TOP_STEPS);
	cr_assert_eq(top_display_key(&view, 'p'), TOP_UNDO);
	(void)top_display_key(&view, SCREEN_KEY_TAB);
	cr_assert_eq(view.pane, TOP_FILES);
	cr_assert_eq(top_display_key(&view, 'r'), TOP_RESET);
	(void)top_display_key(&view, 'h');
	cr_assert_eq(top_display_key(&view, 'q'), TOP_GO_ON, "ends the help");
	cr_assert_eq(top_display_key(&view, 'q'), TOP_QUIT);
}

Test(top, scrolling_stays_inside)
{
	cr_assert_eq(view_after("jjj", 12, 10).offset[TOP_FILES], 2);
	cr_assert_eq(view_after("jjjkkkk", 12, 10).offset[TOP_FILES], 0);
	cr_assert_eq(view_after("G", 100, 10).offset[TOP_FILES], 90);
	cr_assert_eq(view_after("Gg", 100, 10).offset[TOP_FILES], 0);
	cr_assert_eq(view_after("  ", 100, 10).offset[TOP_FILES], 20);
	cr_assert_eq(view_after("j", 5, 10).offset[TOP_FILES], 0);
	struct top_display view = view_after("G", 100, 10);
	cr_assert_eq(top_display_place(&view, 50, 10), 40, "fewer rows than before");
	cr_assert_eq(top_display_place(&view, 0, 0), 0);
}

Test(top, the_filter)
{
	struct top_display view = view_after("jj/qs", 100, 10);
	cr_assert(view.is_filtering);
	cr_assert_str_eq(view.filter, "qs");
	cr_assert_eq(view.offset[TOP_FILES], 0);
	(void)top_display_key(&view, 0x65e5);
	(void)top_display_key(&view, 0x1f600);
	(void)top_display_key(&view, SCREEN_KEY_OTHER);
	(void)top_display_key(&view, 1);
	cr_assert_str_eq(view.filter, "qs\xe6\x97\xa5\xf0\x9f\x98\x80");
	(void)top_display_key(&view, SCREEN_KEY_BACKSPACE);
	(void)top_display_key(&view, SCREEN_KEY_BACKSPACE);
	cr_assert_str_eq(view.filter, "qs");
	(void)top_display_key(&view, SCREEN_KEY_ENTER);
	cr_assert_not(view.is_filtering);
	cr_assert_str_eq(top_display_wish(&view).filter, "qs");
	cr_assert_eq(top_display_key(&view, SCREEN_KEY_ESCAPE), TOP_GO_ON);
	cr_assert_str_eq(view.filter, "");
	/* As long as there is room, and never half of a character. */
	(void)top_display_key(&view, '/');
	for (int i = 0; i < 200; i++)
		(void)top_display_key(&view, 0x65e5);
	cr_assert_eq(strlen(view.filter), (TOP_FILTER_BYTES - 1) / 3 * 3);
	for (int i = 0; i < 200; i++)
		(void)top_display_key(&view, SCREEN_KEY_BACKSPACE);
	cr_assert_str_eq(view.filter, "");
}
