/* baseline.h: what a scope takes a file for, by a clock of our own. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/content/baseline.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/scope.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

#define MS UINT64_C(1000000)

static const struct version V1 = { 1, 10, 100 }, V2 = { 2, 20, 200 }, V3 = { 3, 30, 300 };

static struct world world;
static uint64_t scope, other, key;
static uint64_t clock_now_ns;
static int (*real_clock)(clockid_t clock, struct timespec *ret_time);

static int own_clock(clockid_t clock, struct timespec *ret_time)
{
	if (clock != CLOCK_BOOTTIME)
		return real_clock(clock, ret_time);
	ret_time->tv_sec = (time_t)(clock_now_ns / 1000000000u);
	ret_time->tv_nsec = (long)(clock_now_ns % 1000000000u);
	return 0;
}

/* A scope whose agent is gone. */
static uint64_t gone_scope(const char *name)
{
	uint64_t id = scope_id_of(7, name);
	must(scope_claim(&world.segment, id, NULL, 0x7fffffff, 0, name) != NULL);
	return id;
}

static void start(void)
{
	world_open(&world, "session.deliveries=1024", NULL);
	real_clock = clock_gettime;
	clock_now_ns = 3600 * 1000 * MS;
	sys_clock_gettime = own_clock;
	scope = gone_scope("a");
	other = gone_scope("b");
	key = file_update(&world.segment, world_path(&world, "f"), NULL, NULL, NULL);
}

static void stop(void)
{
	sys_clock_gettime = real_clock;
	world_close(&world);
}

TestSuite(baseline, .init = start, .fini = stop);

static void given(uint64_t scope_id, const struct version *version)
{
	baseline_given(&world.segment, scope_id, key, version);
}

static void read_it(uint64_t scope_id, const struct version *version)
{
	baseline_read(&world.segment, scope_id, key, version);
}

/* 1 to 3: of V1 to V3; 0: there is none. */
static int at(uint64_t scope_id)
{
	struct version version;
	if (!baseline_at(&world.segment, scope_id, key, &version))
		return 0;
	return version_equal(&version, &V1)   ? 1
	       : version_equal(&version, &V2) ? 2
	       : version_equal(&version, &V3) ? 3
					      : -1;
}

Test(baseline, given_counts_at_once)
{
	struct file_slot file;
	cr_assert_eq(at(scope), 0);
	given(scope, &V1);
	cr_assert_eq(at(scope), 1);
	cr_assert_eq(at(other), 0);
	given(scope, &V2);
	cr_assert_eq(at(scope), 2);
	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert(file.flags & FILE_HAS_BASELINE);
}

Test(baseline, a_read_counts_after_the_burst)
{
	given(scope, &V1);
	clock_now_ns += 1000 * MS;
	read_it(scope, &V2);
	cr_assert_eq(at(scope), 1);
	clock_now_ns += 249 * MS;
	cr_assert_eq(at(scope), 1);
	clock_now_ns += 1 * MS;
	cr_assert_eq(at(scope), 1, "exactly the burst is still the burst");
	clock_now_ns += 1 * MS;
	cr_assert_eq(at(scope), 2);
}

Test(baseline, the_burst_is_the_configured_one)
{
	given(scope, &V1);
	read_it(scope, &V2);
	clock_now_ns += 250 * MS;
	world.settings->notice_burst_ms = 251;
	cr_assert_eq(at(scope), 1);
	world.settings->notice_burst_ms = 249;
	cr_assert_eq(at(scope), 2);
}

Test(baseline, reads_again_and_again_count_from_the_first)
{
	given(scope, &V1);
	for (int i = 0; i < 10; i++) {
		read_it(scope, &V2);
		clock_now_ns += 100 * MS;
		cr_assert_eq(at(scope), i < 2 ? 1 : 2, "%d", i);
	}
}

/* An agent reads, an external program changes, its edit tool reads again and writes: what it read first is what it knows. */
Test(baseline, the_read_before_a_write_does_not_launder)
{
	read_it(scope, &V1);
	clock_now_ns += 60000 * MS;
	cr_assert_eq(at(scope), 1);
	read_it(scope, &V2);
	clock_now_ns += 5 * MS;
	cr_assert_eq(at(scope), 1);
	cr_assert(!baseline_is(&world.segment, scope, key, 0, &V2));
	cr_assert(baseline_is(&world.segment, scope, key, 0, &V1));
	/* not even when it reads another version in between */
	read_it(scope, &V3);
	cr_assert_eq(at(scope), 1);
	read_it(scope, &V2);
	clock_now_ns += 249 * MS;
	cr_assert_eq(at(scope), 1);
}

/* Agents read a file that changed by themselves: where their hooks report what the model is given, it
 * knows that alone. */
Test(baseline, own_reads_move_nothing_that_hooks_report)
{
	cr_assert_eq(
		scope_set_flags(&world.segment, scope, SCOPE_READS_REPORTED, SCOPE_READS_REPORTED),
		0);
	read_it(scope, &V1); /* never given: as ever */
	clock_now_ns += 300 * MS;
	cr_assert_eq(at(scope), 1);
	read_it(scope, &V2);
	clock_now_ns += 300 * MS;
	cr_assert_eq(at(scope), 2);
	cr_assert(!baseline_is_read(&world.segment, scope, key));
	given(scope, &V2);
	cr_assert(baseline_is_read(&world.segment, scope, key));
	read_it(scope, &V3);
	clock_now_ns += 5000 * MS;
	cr_assert_eq(at(scope), 2);
	given(scope, &V3);
	cr_assert_eq(at(scope), 3);
	given(other, &V1); /* of an agent without such hooks */
	read_it(other, &V2);
	clock_now_ns += 300 * MS;
	cr_assert_eq(at(other), 2);
	cr_assert(baseline_is_read(&world.segment, other, key));
}

/* What an agent read right before it started a helper to write says nothing, however long that takes to do so. */
Test(baseline, the_read_before_a_helper_starts_does_not_launder)
{
	struct version version;
	uint64_t began_ns;

	given(scope, &V1);
	clock_now_ns += 1000 * MS;
	read_it(scope, &V2);
	began_ns = clock_now_ns + 20 * MS;
	clock_now_ns += 5000 * MS;
	cr_assert(baseline_before(&world.segment, scope, key, began_ns, &version));
	cr_assert(version_equal(&version, &V1));
	cr_assert(!baseline_is(&world.segment, scope, key, began_ns, &V2));
	cr_assert_eq(at(scope), 2, "to the agent itself it counts");
	/* It had it for long. */
	began_ns += 231 * MS;
	cr_assert(baseline_before(&world.segment, scope, key, began_ns, &version));
	cr_assert(version_equal(&version, &V2));
	cr_assert(baseline_is(&world.segment, scope, key, began_ns, &V2));
	/* It was read since, while a helper lasts. */
	read_it(scope, &V3);
	cr_assert(!baseline_is(&world.segment, scope, key, began_ns, &V3));
	clock_now_ns += 251 * MS;
	cr_assert(baseline_is(&world.segment, scope, key, began_ns, &V3));
	/* Of a scope that has no other, what was only just read is known. */
	read_it(other, &V1);
	cr_assert(!baseline_before(&world.segment, other, key, clock_now_ns, &version));
	cr_assert(baseline_is(&world.segment, other, key, clock_now_ns, &V1));
}

/* A worker that was started right after a read, and stays: the agent has read the file again since. */
Test(baseline, what_is_read_again_after_a_helper_began_counts)
{
	struct version version;
	uint64_t began_ns;

	given(scope, &V1);
	clock_now_ns += 1000 * MS;
	read_it(scope, &V2);
	began_ns = clock_now_ns + 100 * MS;
	clock_now_ns += 2900 * MS;
	cr_assert(!baseline_is(&world.segment, scope, key, began_ns, &V2));
	read_it(scope, &V2);
	clock_now_ns += 5 * MS;
	cr_assert(baseline_before(&world.segment, scope, key, began_ns, &version));
	cr_assert(version_equal(&version, &V2));
	/* Not what it read for the first time. */
	read_it(scope, &V3);
	clock_now_ns += 5 * MS;
	cr_assert(!baseline_is(&world.segment, scope, key, began_ns, &V3));
}

Test(baseline, given_is_not_read)
{
	cr_assert(!baseline_is_given(&world.segment, scope, key));
	read_it(scope, &V1);
	clock_now_ns += 1000 * MS;
	cr_assert(!baseline_is_given(&world.segment, scope, key));
	given(scope, &V1);
	cr_assert(baseline_is_given(&world.segment, scope, key));
	read_it(scope, &V2);
	cr_assert(baseline_is_given(&world.segment, scope, key));
	clock_now_ns += 1000 * MS;
	cr_assert(!baseline_is_given(&world.segment, scope, key), "what it read itself is newer");
	baseline_forget(&world.segment, scope, key);
	cr_assert(!baseline_is_given(&world.segment, scope, key));
}

Test(baseline, the_only_read_is_known_though_it_is_young)
{
	read_it(scope, &V1);
	cr_assert_eq(at(scope), 0);
	cr_assert(baseline_is(&world.segment, scope, key, 0, &V1));
	cr_assert(!baseline_is(&world.segment, scope, key, 0, &V2));
}

Test(baseline, session_stands_in_where_a_scope_has_none)
{
	given(BASELINE_SESSION, &V1);
	cr_assert_eq(at(scope), 1);
	given(scope, &V2);
	cr_assert_eq(at(scope), 2);
	cr_assert_eq(at(other), 1);
	baseline_forget(&world.segment, scope, key);
	cr_assert_eq(at(scope), 1);
	cr_assert_eq(at(0), 1);
}

Test(baseline, since)
{
	struct version version;
	uint64_t since_ns = 0;
	given(scope, &V1);
	clock_now_ns += 1000 * MS;
	uint64_t read_ns = clock_now_ns;
	read_it(scope, &V2);
	cr_assert(baseline_since(&world.segment, scope, key, &version, &since_ns));
	cr_assert_eq(since_ns, read_ns - 1000 * MS);
	clock_now_ns += 1000 * MS;
	cr_assert(baseline_since(&world.segment, scope, key, &version, &since_ns));
	cr_assert_eq(since_ns, read_ns);
	cr_assert(!baseline_since(&world.segment, other, key, &version, &since_ns));
}

Test(baseline, newest_of_all_scopes)
{
	struct version version;
	uint64_t since_ns;
	cr_assert(!baseline_newest(&world.segment, key, &version, &since_ns));
	given(BASELINE_SESSION, &V3);
	clock_now_ns += MS;
	given(other, &V2);
	clock_now_ns += MS;
	given(scope, &V1);
	cr_assert(baseline_newest(&world.segment, key, &version, &since_ns));
	cr_assert(version_equal(&version, &V1));
	cr_assert_eq(since_ns, clock_now_ns);
	clock_now_ns += MS;
	given(BASELINE_SESSION, &V2);
	cr_assert(baseline_newest(&world.segment, key, &version, &since_ns));
	cr_assert(version_equal(&version, &V2));
	clock_now_ns += MS;
	read_it(other, &V3);
	cr_assert(baseline_newest(&world.segment, key, &version, &since_ns));
	cr_assert(version_equal(&version, &V3), "only just read");
	cr_assert(!baseline_newest(&world.segment, key + 1, &version, &since_ns));
}

/* A scope whose agent is this process, on record as one that lives. */
static uint64_t live_scope(void)
{
	static char *const ARGUMENTS[] = { (char *)"codex", NULL };
	struct context context = { .flags = CONTEXT_ATTACHED, .pid_ns = process_pid_ns() };
	uint64_t id = world_scope(&world, "alive");
	char ticket[TICKET_BYTES];
	/* the kernel's clock tells when a process started */
	sys_clock_gettime = real_clock;
	struct process_ref ref = process_announce(&world.segment, SUBJECT_SELF, &context,
						  (struct process_ref){ 0, 0 }, getpid(), "codex",
						  ARGUMENTS, ticket);
	sys_clock_gettime = own_clock;
	must(ref.serial != 0);
	return id;
}

Test(baseline, adopt_what_the_gone_knew)
{
	given(scope, &V1);
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 1);
	cr_assert_eq(at(other), 1);
	cr_assert_eq(at(scope), 1);
	/* the youngest wins, in whatever order the table has them */
	clock_now_ns += 1000 * MS;
	given(scope, &V3);
	clock_now_ns += 1000 * MS;
	given(other, &V2);
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 2);
	/* and what the session knows by then is not made old */
	clock_now_ns += 1000 * MS;
	given(BASELINE_SESSION, &V3);
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 3);
}

Test(baseline, adopt_nothing_of_live_processes)
{
	uint64_t alive = live_scope();
	given(alive, &V1);
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 0);
	given(scope, &V2);
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 2);
	cr_assert_eq(at(alive), 1);
	/* no process of an earlier boot is alive */
	clock_now_ns += 1000 * MS;
	given(alive, &V3);
	baseline_adopt(&world.segment, true);
	cr_assert_eq(at(BASELINE_SESSION), 3);
}

Test(baseline, only_scope)
{
	cr_assert_eq(baseline_only_scope(&world.segment), 0, "two, and neither lives");
	uint64_t alive = live_scope();
	cr_assert_eq(baseline_only_scope(&world.segment), alive);
	(void)scope_claim(&world.segment, 4711, NULL, (uint32_t)getpid(), 0, "sub-agent");
	cr_assert_eq(baseline_only_scope(&world.segment), 0);
}

Test(baseline, only_scope_on_record)
{
	struct scope_slot *slot = scope_find(&world.segment, other);
	memset(slot, 0, sizeof(*slot));
	cr_assert_eq(baseline_only_scope(&world.segment), scope);
}

Test(baseline, adopt_no_young_read)
{
	given(scope, &V1);
	clock_now_ns += 1000 * MS;
	read_it(scope, &V2);
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 1);
	clock_now_ns += 251 * MS;
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 2);
}

Test(baseline, times_of_another_boot_are_older_than_any)
{
	given(scope, &V1);
	clock_now_ns += 1000 * MS;
	read_it(other, &V2);
	clock_now_ns = 20 * 1000 * MS; /* the machine has just started */
	baseline_adopt(&world.segment, true);
	cr_assert_eq(at(BASELINE_SESSION), 2);
	cr_assert_eq(at(scope), 1);
	cr_assert_eq(at(other), 2);
	given(other, &V3);
	baseline_adopt(&world.segment, false);
	cr_assert_eq(at(BASELINE_SESSION), 3);
}

Test(baseline, those_that_a_full_table_forgets_are_counted)
{
	enum { FILES = 5000 };
	uint64_t found = 0;
	struct version version;

	for (uint64_t i = 1; i <= 100; i++)
		baseline_given(&world.segment, scope, i * 0x9e3779b97f4a7c15u, &V1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_baselines), 0);
	for (uint64_t i = 1; i <= FILES; i++)
		baseline_given(&world.segment, scope, i * 0x9e3779b97f4a7c15u, &V1);
	for (uint64_t i = 1; i <= FILES; i++)
		found += baseline_at(&world.segment, scope, i * 0x9e3779b97f4a7c15u, &version);
	cr_assert_leq(found, 1024);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_baselines), FILES - found);
}

/* What a scope reads again is counted; what is new, or another's, is not. */
Test(baseline, repeats_are_counted)
{
	read_it(scope, &V1);
	read_it(other, &V1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_own_repeats), 0);
	clock_now_ns += 3600 * 1000 * MS;
	read_it(scope, &V1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_own_repeats), 1);
	read_it(scope, &V2);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_own_repeats), 1);
}

Test(baseline, invalidated_and_known_anew)
{
	given(scope, &V1);
	given(other, &V1);
	baseline_forget(&world.segment, scope, key);
	cr_assert_eq(at(scope), 0);
	cr_assert_eq(at(other), 1);
	clock_now_ns += 3600 * 1000 * MS;
	read_it(scope, &V1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_own_repeats), 0, "it is new");
	given(scope, &V2);
	cr_assert_eq(at(scope), 2);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_baselines), 0);
}
