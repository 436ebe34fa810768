/* undo_range.h: which records an undo is about, behind undos of before. */
#include <criterion/criterion.h>

#include <sys/mman.h>

#include "cli/undo/operation.h"
#include "cli/undo/undo_range.h"
#include "journal_file.h"
#include "tracker/process/role.h"

enum { RECORDS = 5, HEADS = 3, COMMANDS = 3, SECOND_NS = 1000000000 };

static struct steps steps;
static struct tree_record *records; /* what is behind them cannot be read */
static struct tree_records list;
static struct operation_head heads[HEADS];
static bool passed[COMMANDS + 1], apart[HEADS];
static struct undo_ranges ranges;
static struct tree_range range;
static uint32_t agent, commands[COMMANDS + 1];

static uint32_t start(int pid, int parent, enum role role, const char *words, uint64_t time_ns)
{
	struct journal_process process = { .pid = (uint32_t)pid,
					   .parent_pid = (uint32_t)parent,
					   .role = role,
					   .context = 1 << CONTEXT_RUN_SHIFT | CONTEXT_ATTACHED |
						      CONTEXT_AGENT,
					   .pid_ns = 5 };
	struct journal_record record = journal_blank(JOURNAL_START);

	record.path = journal_text(&journal, "/bin/x", 6, true);
	record.other_path = journal_text(&journal, words, strlen(words), true);
	record.time_realtime_ns = time_ns;
	uint32_t number = journal_write(&journal, &record, &process, sizeof(process), true);
	must(number);
	return number;
}

/* Three commands, each a second behind the one before; none ends. */
static void init(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	journal_file_open("test");
	agent = start(10, 1, ROLE_AGENT, "agent", SECOND_NS / 2);
	for (int i = 1; i <= COMMANDS; i++)
		commands[i] = start(10 + i, 10, ROLE_TOOL, "make", (uint64_t)i * SECOND_NS);
	must(steps_read(path, NULL, &steps) == 0 && steps.count == COMMANDS);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	must(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
	records = (struct tree_record *)(void *)(pages + page) - RECORDS;
	list = (struct tree_records){ .records = records };
	memset(heads, 0, sizeof(heads));
	memset(passed, 0, sizeof(passed));
	memset(apart, 0, sizeof(apart));
	ranges = (struct undo_ranges){
		.steps = &steps, .records = &list, .heads = heads, .passed = passed, .apart = apart
	};
}

static void finish(void)
{
	steps_free(&steps);
	journal_file_close();
}

TestSuite(undo_range, .init = init, .fini = finish);

/* A change by a command; 0: by an undo of that number. */
static void add(int command, uint32_t operation)
{
	must(list.count < RECORDS);
	records[list.count] = (struct tree_record){
		.kind = PACK_CONTENT,
		.path = "/w/f",
		.other = "",
		.place = (list.count + 1) * PACK_UNIT_BYTES,
		.time_ns = (uint64_t)command * SECOND_NS + list.count + 1,
		.process = command ? commands[command] : 0,
		.operation = operation,
	};
	list.count++;
}

/* All records are at the end of what can be read. */
static void set_records(const int *list_of, size_t count)
{
	records += RECORDS - count;
	list.records = records;
	for (size_t i = 0; i < count; i++)
		add(list_of[i] > 0 ? list_of[i] : 0, list_of[i] < 0 ? (uint32_t)-list_of[i] : 0);
}

static struct operation_head *add_head(enum operation_kind kind, uint32_t step, uint64_t from_place,
				       uint64_t behind_place)
{
	struct operation_head *head = &heads[ranges.head_count++];

	*head = (struct operation_head){ .number = (uint32_t)ranges.head_count,
					 .kind = kind,
					 .state = OPERATION_DONE,
					 .step = step,
					 .from_place = from_place,
					 .behind_place = behind_place };
	return head;
}

static void since(int command)
{
	const struct step_point point = { .number = (uint32_t)command,
					  .time_ns = (uint64_t)command * SECOND_NS };

	undo_range_since(&ranges, &point, &range);
}

/* ---- tests ---- */

Test(undo_range, an_undo_of_an_earlier_step_has_no_part_in_a_range)
{
	set_records((const int[]){ 1, 2, 3, -1 }, 4);
	(void)add_head(OPERATION_UNDO, 2, records[1].place, records[3].place);
	since(3);
	cr_assert_eq(range.from_place, records[2].place);
	cr_assert_not_null(range.select);
	cr_assert_eq(range.select(&records[2], range.data), TREE_SELECTED);
	cr_assert_eq(range.select(&records[3], range.data), TREE_NEUTRAL);
}

/* The step went on in the range, beside a later one. */
Test(undo_range, an_undo_of_a_step_that_goes_on_has)
{
	set_records((const int[]){ 2, 3, 2, 3, -1 }, 5);
	records[2].time_ns = 3 * (uint64_t)SECOND_NS + 3;
	(void)add_head(OPERATION_UNDO, 2, records[0].place, records[4].place);
	since(3);
	cr_assert_eq(range.from_place, records[1].place);
	cr_assert_not_null(range.select);
	cr_assert_eq(range.select(&records[1], range.data), TREE_SELECTED);
	cr_assert_eq(range.select(&records[2], range.data), TREE_NEUTRAL); /* it was undone */
	cr_assert_eq(range.select(&records[4], range.data), TREE_NEUTRAL);
}

Test(undo_range, an_undo_in_the_range_is_taken_back_with_it)
{
	set_records((const int[]){ 1, 2, 3, -1 }, 4);
	(void)add_head(OPERATION_UNDO, 3, records[2].place, records[3].place);
	since(2);
	cr_assert_null(range.select);
	cr_assert_eq(range.from_place, records[1].place);
	since(4); /* nothing came behind that */
	cr_assert_eq(range.from_place, UINT64_MAX);
}

Test(undo_range, the_last_step_is_the_last_that_was_not_undone)
{
	bool is_undone[COMMANDS + 1] = { false };

	set_records((const int[]){ 1, 2, 3, -1 }, 4);
	cr_assert_eq(undo_range_last(&ranges, NULL).step, 3);
	struct operation_head *head = add_head(OPERATION_UNDO, 3, records[2].place,
					       records[3].place);
	cr_assert_eq(undo_range_last(&ranges, NULL).step, 2);
	undo_range_undone(&ranges, is_undone);
	cr_assert(!is_undone[1] && !is_undone[2] && is_undone[3]);
	undo_range_pass(&ranges, 2);
	cr_assert_eq(undo_range_last(&ranges, NULL).step, 1);
	undo_range_pass(&ranges, COMMANDS + 1); /* is none */
	head->redone_by = 2;
	cr_assert_eq(undo_range_last(&ranges, NULL).step, 3);
	head->redone_by = 0;
	head->state = OPERATION_PARTLY;
	passed[2] = false;
	struct undo_last last = undo_range_last(&ranges, NULL);
	cr_assert(last.step == 2 && last.left == 3 && !last.is_stepless);
	char other[] = "/w/other";
	char *const paths[] = { other, NULL };
	cr_assert_eq(undo_range_last(&ranges, paths).step, 0);
	records[2].process = 0; /* the journal lacks it */
	last = undo_range_last(&ranges, NULL);
	cr_assert(last.step == 0 && last.is_stepless);
}

Test(undo_range, a_redo_is_of_the_last_undo)
{
	set_records((const int[]){ 1, -1, 2 }, 3);
	cr_assert_not(undo_range_redo(&ranges, &range));
	struct operation_head *head = add_head(OPERATION_UNDO, 1, records[0].place,
					       records[1].place);
	cr_assert(undo_range_redo(&ranges, &range));
	cr_assert_eq(range.from_operation, 1);
	cr_assert_eq(range.select(&records[1], range.data), TREE_SELECTED);
	cr_assert_eq(range.select(&records[2], range.data), TREE_OTHER);
	head->flags = OPERATION_NO_REDO;
	cr_assert_not(undo_range_redo(&ranges, &range));
	head->flags = 0;
	head->redone_by = 2;
	cr_assert_not(undo_range_redo(&ranges, &range));
	head->state = OPERATION_STARTED;
	cr_assert_eq(undo_range_unfinished(&ranges), 1);
}

Test(undo_range, of_a_step_alone_later_ones_conflict)
{
	set_records((const int[]){ 1, 2, 1 }, 3);
	undo_range_step(&ranges, 1, &range);
	cr_assert_eq(range.from_place, records[0].place);
	cr_assert_eq(range.select(&records[0], range.data), TREE_SELECTED);
	cr_assert_eq(range.select(&records[1], range.data), TREE_OTHER);
	(void)add_head(OPERATION_UNDO, 2, records[1].place, records[2].place);
	undo_range_step(&ranges, 1, &range);
	cr_assert_null(range.select); /* it was taken back: all is meant */
	undo_range_step(&ranges, 3, &range);
	cr_assert_eq(range.from_place, UINT64_MAX); /* it changed nothing */
	undo_range_all(&ranges, &range);
	cr_assert(!range.select && !range.from_place);
}
