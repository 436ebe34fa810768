/* journal.h: writers that die, and journals without room. */
#include "journal_case.h"

TestSuite(journal, .init = setup, .fini = teardown);

/* ---- writers that die, or are taken for dead ---- */

static bool sealed_in_time;

/* A writer's clock: it reserved and, where it has several units, said so. */
static int dies(clockid_t clock, struct timespec *ret_time)
{
	(void)clock, (void)ret_time;
	_exit(0);
}

static int is_taken_for_dead(clockid_t clock, struct timespec *ret_time)
{
	uint64_t number = JOURNAL_UNITS_FIRST;
	struct journal_entry entry;
	while (journal_next(&journal, &number, &entry) == JOURNAL_FOUND_RECORD)
		;
	sealed_in_time = journal_abandon(&journal, number);
	return clock_gettime(clock, ret_time);
}

static int write_with_clock(void *data)
{
	struct journal_record record = event(1);
	struct journal_details details = { .dev = 1 };
	record.time_realtime_ns = 0;
	return journal_write(&journal, &record, &details,
			     *(const size_t *)data * JOURNAL_UNIT_BYTES, false)
		       ? 2
		       : 1;
}

Test(journal, of_a_writer_that_died_nothing_is_believed)
{
	struct journal_entry entry;
	for (size_t units = 0; units <= 2; units += 2) {
		uint64_t number = header()->next;
		sys_clock_gettime = dies;
		cr_assert_eq(in_child(write_with_clock, &units), 0);
		sys_clock_gettime = clock_gettime;
		uint32_t after = append(&journal, 100 + units, false);
		cr_assert_eq(after, number + 1 + units);
		uint64_t at = number;
		cr_assert_eq(journal_next(&journal, &at, &entry), JOURNAL_FOUND_UNDONE);
		cr_assert_eq(at, number, "stays");
		cr_assert_eq(entry.number, number);
		cr_assert_eq(journal_behind_undone(&journal, number), after);
		cr_assert_eq(found_at(&journal, after, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(entry.record.amount, 100 + units);

		cr_assert(journal_abandon(&journal, number));
		cr_assert(!journal_abandon(&journal, number), "done already");
		cr_assert_eq(journal_next(&journal, &at, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(entry.record.head.op, JOURNAL_ABANDONED);
		cr_assert_eq(at, after);
	}
	cr_assert(!journal_abandon(&journal, header()->workspace), "a record that was published");
	cr_assert(!journal_abandon(&journal, 0) && !journal_abandon(&journal, UINT64_MAX));
}

Test(journal, of_a_writer_that_died_before_it_said_how_many_units)
{
	uint64_t number = header()->next;
	struct journal_entry entry;
	header()->next += 3; /* it reserved, no more */
	uint32_t after = append(&journal, 1, false);
	for (uint64_t i = number; i < after; i++) {
		cr_assert_eq(found_at(&journal, i, &entry), JOURNAL_FOUND_UNDONE);
		cr_assert_eq(journal_behind_undone(&journal, i), i + 1);
	}
	struct walk before = walk(&journal);
	cr_assert_eq(before.events, 1);
	cr_assert_eq(before.found[JOURNAL_FOUND_UNDONE], 3);
	for (uint64_t i = number; i < after; i++)
		cr_assert(journal_abandon(&journal, i));
	struct walk sealed = walk(&journal);
	cr_assert_eq(sealed.abandoned, 3);
	cr_assert_eq(sealed.events, 1);
	cr_assert_eq(sealed.units + JOURNAL_UNITS_FIRST, header()->next);
}

Test(journal, a_writer_that_was_only_slow_may_not_publish)
{
	for (size_t units = 0; units <= 2; units += 2) {
		uint64_t lost = header()->lost, number = header()->next;
		struct journal_entry entry;
		sealed_in_time = false;
		sys_clock_gettime = is_taken_for_dead;
		int wrote = write_with_clock(&units);
		sys_clock_gettime = clock_gettime;
		cr_assert(sealed_in_time);
		cr_assert_eq(wrote, 1, "it reported that its record counts");
		cr_assert_eq(header()->lost, lost + 1);
		cr_assert_eq(found_at(&journal, number, &entry), JOURNAL_FOUND_RECORD);
		cr_assert_eq(entry.record.head.op, JOURNAL_ABANDONED);
		cr_assert_eq(entry.record.amount, 0, "nothing states what it wrote");
		cr_assert_eq(header()->next, number + 1 + units);
	}
	cr_assert_eq(walk(&journal).found[JOURNAL_FOUND_DAMAGED], 0);
}

Test(journal, a_record_that_a_view_ends_in_is_whole_for_all)
{
	struct journal_entry entry;
	struct journal small;
	size_t units = 2;
	uint64_t number = JOURNAL_CHUNK_UNITS - 2;

	cr_assert_eq(journal_map_to_read(path, &other), 0);
	header()->next = number;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	sys_clock_gettime = dies;
	cr_assert_eq(in_child(write_with_clock, &units), 0);
	sys_clock_gettime = clock_gettime;
	uint32_t after = append(&journal, 1, false);
	cr_assert_eq(journal_behind_undone(&other, number), after, "not into the middle of it");
	small = journal; /* as in a process with little room */
	small.mapped_units = JOURNAL_CHUNK_UNITS;
	cr_assert(journal_abandon(&small, number));
	cr_assert_eq(found_at(&other, number, &entry), JOURNAL_FOUND_END, "for this view");
	cr_assert_eq(journal_next(&journal, &number, &entry), JOURNAL_FOUND_RECORD);
	cr_assert_eq(number, after);
}

Test(journal, what_is_published_while_one_passes_over_it_is_not_split)
{
	/* A reader found it undone; until it asks what lies behind, it is done. */
	uint64_t number = header()->next;
	struct journal_entry entry;
	header()->next += 3;
	cr_assert_eq(found_at(&journal, number, &entry), JOURNAL_FOUND_UNDONE);
	header()->next = number;
	cr_assert_eq(append_details(&journal, 5), number);
	uint64_t next = journal_behind_undone(&journal, number);
	cr_assert_eq(next, number, "it is to be read now, not %lu", next);
}

/* ---- room ---- */

Test(journal, grows_by_chunks_and_every_view_sees_it)
{
	cr_assert_eq(journal_map(path, &other), 0);
	uint64_t written = 0, chunks = 1;
	struct stat stat_;
	while (append(&journal, ++written, true)) {
		if (header()->allocated == chunks * JOURNAL_CHUNK_UNITS)
			continue;
		chunks++;
		cr_assert_eq(header()->allocated, chunks * JOURNAL_CHUNK_UNITS);
		cr_assert_eq(stat(path, &stat_), 0);
		cr_assert_eq(stat_.st_size, (off_t)chunks * MIB);
		cr_assert_geq(stat_.st_blocks * 512, (off_t)chunks * MIB);
		/* The other view writes there without a call. */
		cr_assert_neq(append(&other, ++written, false), 0);
	}
	cr_assert_eq(chunks, MAX_BYTES / MIB);
	cr_assert_eq(header()->lost, 1);
	cr_assert_eq(append(&other, 0, true), 0);
	cr_assert_eq(header()->lost, 2);
	cr_assert_eq(header()->full_errno, 0, "it is as long as it may be");
	cr_assert_eq(header()->next, header()->units_max);
	struct walk all = walk(&other);
	cr_assert_eq(all.events, written - 1);
	cr_assert_eq(all.found[JOURNAL_FOUND_DAMAGED] + all.found[JOURNAL_FOUND_UNDONE], 0);
	/* A small one may still fit where a large one does not. */
	header()->next -= 2;
	memset(unit(header()->next), 0, 2 * JOURNAL_UNIT_BYTES);
	cr_assert_eq(append_details(&journal, 0), 0);
	cr_assert_eq(journal_text(&journal, "abc", 3, true), header()->units_max - 2);
}

Test(journal, makes_no_system_call_where_it_may_not_grow)
{
	uint64_t written = 0;
	while (append(&journal, written + 1, false))
		written++;
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
	cr_assert_eq(header()->next, JOURNAL_CHUNK_UNITS);
	cr_assert_eq(header()->lost, 1);
	cr_assert_eq(journal_text(&journal, "abc", 3, false), 0);
	journal_lost(&journal);
	cr_assert_eq(header()->lost, 3);
	cr_assert_neq(append(&journal, ++written, true), 0);
	cr_assert_eq(walk(&journal).last_amount, written);
}

Test(journal, room_is_made_beforehand)
{
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS, "enough is there");
	header()->next = JOURNAL_CHUNK_UNITS - 100;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_eq(header()->allocated, 2 * JOURNAL_CHUNK_UNITS);
	header()->next = header()->units_max - 10;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS); /* there is no such room */
	cr_assert_geq(header()->lost, 0);
}

Test(journal, one_that_was_cut_short_does_not_grow)
{
	struct stat found;

	must(truncate(path, 8192) == 0);
	header()->next = JOURNAL_CHUNK_UNITS - 100;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
	must(stat(path, &found) == 0);
	cr_assert_eq(found.st_size, 8192, "who finds it can tell");
}

/* How often the kernel had to be asked for a page when one byte was stored to each of these units' pages. */
static long faults(uint64_t first, uint64_t behind)
{
	struct rusage before, after;

	cr_assert_eq(getrusage(RUSAGE_SELF, &before), 0);
	for (uint64_t number = first; number < behind; number += 4096 / JOURNAL_UNIT_BYTES)
		(void)__atomic_fetch_or(unit(number), 0, __ATOMIC_RELAXED);
	cr_assert_eq(getrusage(RUSAGE_SELF, &after), 0);
	return after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
}

Test(journal, pages_are_touched_beforehand)
{
	const uint64_t first = 1000, behind = 6005, page = 4096 / JOURNAL_UNIT_BYTES;
	uint64_t end = behind / page * page, pages = (end - first) / page;

	cr_assert_eq(journal_touch(&journal, first, behind), end);
	/* a sanitizer's own pages about these are touched for the first time, too */
	cr_assert_lt(faults(first, end), (long)pages / 4);
	cr_assert_geq(faults(end, end + (end - first)), (long)pages - 10);
	cr_assert_eq(journal_touch(&journal, end, end + 1), end, "no whole page");
	/* nothing is touched that there are no blocks for, and nothing is written */
	cr_assert_eq(journal_touch(&journal, 1000, UINT64_MAX), JOURNAL_CHUNK_UNITS);
	cr_assert_eq(journal_touch(&journal, JOURNAL_CHUNK_UNITS, UINT64_MAX), JOURNAL_CHUNK_UNITS);
	cr_assert_eq(walk(&journal).last_amount, 0);
	cr_assert_neq(append(&journal, 7, true), 0);
	cr_assert_eq(walk(&journal).last_amount, 7);
}

static int others_grow_it(clockid_t clock, struct timespec *ret_time)
{
	uint64_t next = header()->next;
	sys_clock_gettime = clock_gettime;
	header()->next = 3 * JOURNAL_CHUNK_UNITS;
	journal_make_room(&other, JOURNAL_ROOM_UNITS);
	header()->next = next;
	return clock_gettime(clock, ret_time);
}

Test(journal, who_grows_it_slowly_takes_nothing_back)
{
	cr_assert_eq(journal_map(path, &other), 0);
	while (append(&journal, 1, false))
		;
	sys_clock_gettime = others_grow_it; /* when this one has seen how long it is */
	cr_assert_neq(append(&journal, 1, true), 0);
	cr_assert_eq(header()->allocated, 4 * JOURNAL_CHUNK_UNITS);
}

enum { LAST_UNIT_ROUNDS = 50000 };

/* Goes on when both threads are here: together, if there are two processors. */
static void meet(int *here, int count)
{
	(void)__atomic_add_fetch(here, 1, __ATOMIC_SEQ_CST);
	for (int turn = 1; __atomic_load_n(here, __ATOMIC_SEQ_CST) < count; turn++)
		if (turn % 4096 == 0)
			(void)sched_yield();
}

static void *reserve_last_unit(void *data)
{
	static int here[2];
	uint64_t *taken = data;
	for (int i = 1; i <= LAST_UNIT_ROUNDS; i++) {
		if (taken[1] == 0) {
			memset(unit(JOURNAL_CHUNK_UNITS - 1), 0, JOURNAL_UNIT_BYTES);
			__atomic_store_n(&header()->next, JOURNAL_CHUNK_UNITS - 1,
					 __ATOMIC_SEQ_CST);
		}
		meet(&here[0], 2 * i);
		taken[0] += append(&journal, 1, true) != 0;
		meet(&here[1], 2 * i);
	}
	return NULL;
}

Test(journal, the_last_unit_is_given_to_one)
{
	/* Two that saw it free at once: what the second one takes lies behind the end of the file. */
	pthread_t id;
	uint64_t taken[2][2] = { { 0, 0 }, { 0, 1 } }; /* how often; which thread */

	header()->can_grow = 0;
	cr_assert_eq(pthread_create(&id, NULL, reserve_last_unit, taken[1]), 0);
	(void)reserve_last_unit(taken[0]);
	cr_assert_eq(pthread_join(id, NULL), 0);
	cr_assert_eq(taken[0][0] + taken[1][0], LAST_UNIT_ROUNDS);
	cr_assert_eq(header()->lost, LAST_UNIT_ROUNDS);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
}

Test(journal, a_damaged_count_of_units_is_no_index)
{
	static const uint64_t NEXTS[] = { 0,
					  1,
					  JOURNAL_UNITS_FIRST - 1,
					  UINT32_MAX,
					  (uint64_t)UINT32_MAX + 1,
					  UINT64_MAX,
					  UINT64_MAX - 1,
					  UINT64_MAX - 2,
					  UINT64_MAX - 3,
					  UINT64_MAX - JOURNAL_UNITS_FIRST,
					  (uint64_t)1 << 63 };
	struct journal_entry entry;
	unsigned char before[4096 + 4096];
	uint64_t number;
	for (size_t i = 0; i < sizeof(NEXTS) / sizeof(NEXTS[0]); i++) {
		for (int grow = 0; grow < 2; grow++) {
			header()->next = NEXTS[i];
			memcpy(before + 4096, journal.known, 4096);
			cr_assert_eq(append(&journal, 1, grow), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(append_details(&journal, 1), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(journal_text(&journal, "new", 3, grow), 0, "%lx", NEXTS[i]);
			cr_assert_eq(memcmp(before + 4096, journal.known, 4096), 0);
			cr_assert_eq(header()->magic, JOURNAL_MAGIC);
			journal_make_room(&journal, JOURNAL_ROOM_UNITS);
			number = NEXTS[i];
			cr_assert_eq(journal_next(&journal, &number, &entry), JOURNAL_FOUND_END);
			cr_assert_leq(journal_end_unit(&journal), journal.mapped_units);
		}
	}
}

static int write_in_a_limit(void *data)
{
	const struct rlimit *limit = data;
	uint64_t written = 0;
	must(setrlimit(RLIMIT_FSIZE, limit) == 0);
	while (append(&journal, written + 1, true))
		written++;
	must(header()->lost == 1);
	must(header()->allocated == limit->rlim_cur / JOURNAL_UNIT_BYTES);
	return written > JOURNAL_CHUNK_UNITS ? 0 : 1;
}

Test(journal, a_process_that_may_not_write_so_much_gets_no_signal)
{
	struct rlimit limit = { 2 * MIB, 2 * MIB };
	cr_assert_eq(in_child(write_in_a_limit, &limit), 0);
	cr_assert_eq(header()->full_errno, 0, "the others may go on");
	cr_assert_neq(append(&journal, 1, true), 0);
	cr_assert_eq(header()->allocated, 3 * JOURNAL_CHUNK_UNITS);
}

static int map_in_a_limit(void *data)
{
	struct rlimit limit = { *(rlim_t *)data, *(rlim_t *)data };
	must(setrlimit(RLIMIT_AS, &limit) == 0);
	int error = journal_map(path, &other);
	if (error < 0)
		return -error;
	while (append(&other, 1, true))
		;
	return other.mapped_units == JOURNAL_CHUNK_UNITS &&
			       other.header->allocated == JOURNAL_CHUNK_UNITS
		       ? 0
		       : 1;
}

Test(journal, a_process_with_little_room_keeps_it)
{
#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("AddressSanitizer needs terabytes");
#endif
	const uint64_t max_bytes = UINT64_C(4) << 30;
	rlim_t little = (rlim_t)max_bytes * 16 - 1, less = (rlim_t)MIB * 16 - 1;
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE, max_bytes), 0);
	cr_assert_eq(in_child(map_in_a_limit, &little), 0, "maps what is there");
	cr_assert_eq(in_child(map_in_a_limit, &less), ENOMEM);
}

Test(journal, another_file_in_its_place_is_left_alone)
{
	char old_path[160];
	struct stat stat_;
	uint64_t written = 0;
	(void)snprintf(old_path, sizeof(old_path), "%s.old", path);
	cr_assert_eq(rename(path, old_path), 0);
	write_path(path, "mine", 4);
	while (append(&journal, written + 1, true))
		written++;
	cr_assert_eq(written, JOURNAL_CHUNK_UNITS - JOURNAL_UNITS_FIRST - 1);
	cr_assert_eq(stat(path, &stat_), 0);
	cr_assert_eq(stat_.st_size, 4);
	cr_assert_null(journal.path, "it does not try again");
	/* Nor is a link followed, to the journal itself even. */
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink(old_path, path), 0);
	journal.path = path;
	cr_assert_eq(append(&journal, 1, true), 0);
	cr_assert_eq(header()->allocated, JOURNAL_CHUNK_UNITS);
	journal.path = old_path;
	cr_assert_neq(append(&journal, 1, true), 0);
}

TestSuite(journal_windows, .init = setup_windows, .fini = teardown_windows);
