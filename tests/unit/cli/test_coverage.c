/* cli/lib/coverage: which processes count as observed, in part, or by the supervisor alone. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "cli/session/counts.h"
#include "cli/session/coverage.h"
#include "cli/session/summary.h"
#include "support.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"
#include "tracker/segment/slot.h"

static struct world world;
static struct journal journal;
static struct coverage coverage;

static void start(void)
{
	char path[128];

	world_open(&world, NULL);
	(void)snprintf(path, sizeof(path), "%s/journal", world.root);
	must(journal_create(path, "test", "0123456789abcdef", world.workspace, 1 << 20) == 0);
	must(journal_map(path, &journal) == 0);
}

static void stop(void)
{
	journal_unmap(&journal);
	world_close(&world);
}

TestSuite(coverage, .init = start, .fini = stop);

/* since: NULL: from the session's beginning. */
static void compute(const uint64_t *since)
{
	uint64_t counters[COUNTER_COUNT];

	counts_compute(&world.segment, since, 0, counters);
	coverage_compute(&world.segment, &journal, counters, 0, &coverage);
}

/* A program whose file says that it calls the kernel past libc: its name is enough. */
static const char *bun(void)
{
	const char *path = world_path(&world, "bun");
	char header[64] = "\177ELF";

	write_path(path, header, sizeof(header));
	must(chmod(path, 0755) == 0);
	return path;
}

/* A process that is there, with the record of its start. */
static void add_process(uint64_t index, uint32_t flags, const char *path)
{
	struct process_slot *slot = (struct process_slot *)segment_slot(&world.segment,
									TABLE_PROCESSES, index);
	struct journal_record record = journal_blank(JOURNAL_EXEC);
	struct process_slot copy;

	must(slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES));
	copy.serial = index + 1;
	copy.pid = 1000 + (uint32_t)index;
	copy.state = PROCESS_ATTACHED;
	copy.time_ns = 1;
	copy.context.flags = CONTEXT_ATTACHED | flags;
	(void)snprintf(copy.name, sizeof(copy.name), "bun");
	slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	record.amount = index + 1;
	record.path = journal_text(&journal, path, strlen(path), true);
	slot->record = journal_write(&journal, &record, NULL, 0, true);
	must(slot->record);
}

Test(coverage, supervised_calls_past_libc_are_seen)
{
	add_process(0, 0, bun());
	add_process(1, CONTEXT_SUPERVISED, bun());
	add_process(2, CONTEXT_SUPERVISED | CONTEXT_PARTIAL, bun());
	segment_count(&world.segment, COUNTER_processes_attached, 3);
	compute(NULL);
	cr_assert_eq(coverage.partial, 2);
	cr_assert_eq(coverage.program_count, 2);
	cr_assert_str_eq(coverage.programs[0].reason, "raw system calls (Bun)");
	cr_assert_eq(coverage.programs[0].count, 1);
	/* what the supervisor does not see either is still said */
	cr_assert_str_eq(coverage.programs[1].reason, "io_uring, aio or strict seccomp");
	cr_assert_eq(coverage.supervised, 0);
}

Test(coverage, counters)
{
	uint64_t since[COUNTER_COUNT];

	segment_count(&world.segment, COUNTER_processes_attached, 5);
	segment_count(&world.segment, COUNTER_processes_unattached, 1);
	segment_count(&world.segment, COUNTER_processes_supervised, 3);
	segment_count(&world.segment, COUNTER_calls_unjudged, 7);
	compute(NULL);
	cr_assert_eq(coverage.observed, 4); /* they are among those attached */
	cr_assert_eq(coverage.supervised, 3);
	cr_assert_eq(coverage.calls_unjudged, 7);
	for (int i = 0; i < COUNTER_COUNT; i++)
		since[i] = segment_counter(&world.segment, (enum counter)i);
	segment_count(&world.segment, COUNTER_processes_attached, 1);
	segment_count(&world.segment, COUNTER_processes_supervised, 1);
	compute(since);
	cr_assert_eq(coverage.observed, 1);
	cr_assert_eq(coverage.supervised, 1);
	cr_assert_eq(coverage.calls_unjudged, 0);
}

Test(coverage, each_open_counts_once)
{
	add_process(0, 0, bun());
	add_process(1, 0, bun());
	for (uint64_t i = 0; i < 2; i++) {
		struct process_slot *slot = (struct process_slot *)segment_slot(&world.segment,
										TABLE_PROCESSES, i);
		struct process_slot copy;
		slot->counts[PROCESS_OPENS] = 5;
		slot->counts[PROCESS_OPENS_WRITE] = 2;
		must(slot_acquire(slot, &copy, PROCESS_CHECKED_BYTES));
		copy.state = i ? PROCESS_EXITED : PROCESS_ATTACHED;
		slot_commit(slot, &copy, PROCESS_CHECKED_BYTES);
	}
	segment_count(&world.segment, COUNTER_opens,
		      100); /* of programs whose slots are another's by now */
	compute(NULL);
	cr_assert_eq(coverage.opens, 100 + 2 * (5 + 2));
}

Test(coverage, summary)
{
	struct summary summary = { .coverage = { .observed = 12, .supervised = 3 } };
	char text[2048];

	cr_redirect_stderr();
	summary_print(&summary, "s");
	summary.coverage.supervised = 0;
	summary.coverage.calls_unjudged = 1;
	summary_print(&summary, "s");
	(void)fflush(stderr);
	FILE *all = cr_get_redirected_stderr();
	size_t length = fread(text, 1, sizeof(text) - 1, all);
	text[length] = '\0';
	cr_assert(
		strstr(text, "seen: 12 processes observed (3 by the supervisor), 0 not; 0 opens"));
	cr_assert(strstr(text, "seen: 12 processes observed, 0 not; 0 opens"));
	cr_assert(strstr(text, "0 records lost\n"));
	cr_assert(strstr(text, "0 records lost, 1 call not checked\n"));
}
