/* cli/journal/seal.h: chains over several runs, and each way to change what was sealed. */
#include "seal_case.h"

TestSuite(seal, .init = start, .fini = stop);

/* ---- sealing ---- */

Test(seal, chain_over_several_runs)
{
	char text[4096], first[SEAL_TEXT_BYTES], line[256];
	struct stat stat;

	write_some(10);
	struct seal_result result = append();
	cr_assert_eq(result.records, 31); /* the workspace's text too */
	cr_assert_eq(result.abandoned + result.damaged, 0);
	memcpy(first, result.digest, sizeof(first));
	assert_intact();
	cr_assert_eq(seal.block_count, 1);

	write_some(5);
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	cr_assert_eq(report.not_sealed, 15);
	cr_assert_eq(report.records, 31);

	result = append();
	cr_assert_eq(result.records, 15);
	cr_assert_str_neq(result.digest, first);
	report = check_for(result.digest);
	cr_assert(is_intact(&report));
	cr_assert_eq(report.wanted, SEAL_WANTED_LAST);
	cr_assert_eq(report.not_sealed, 0);
	cr_assert_eq(report.records, 46);
	cr_assert_eq(report.sealed_to, journal.header->next);
	cr_assert_eq(seal.block_count, 2);
	cr_assert_eq(seal.blocks[0].from, JOURNAL_UNITS_FIRST);
	cr_assert_eq(seal.blocks[1].from, seal.blocks[0].to);
	report = check_for(first);
	cr_assert(is_intact(&report));
	cr_assert_eq(report.wanted, SEAL_WANTED_EARLIER);
	cr_assert_eq(report.wanted_to, seal.blocks[0].to);

	/* nothing new: nothing is added, and the digest is the last one */
	uint64_t bytes = words_of_seal(text, sizeof(text));
	struct seal_result again = append();
	cr_assert_eq(again.records, 0);
	cr_assert_str_eq(again.digest, result.digest);
	cr_assert_eq(words_of_seal(text, sizeof(text)), bytes);
	(void)snprintf(line, sizeof(line), "seen-seal 1 %s ", NONCE);
	cr_assert_eq(strncmp(text, line, strlen(line)), 0);
	must(lstat(path, &stat) == 0);
	cr_assert_eq(stat.st_mode & 0777, 0600);
}

Test(seal, blocks_end_with_a_record_and_not_before_they_are_full)
{
	write_some(1500);
	struct seal_result result = append();
	assert_intact();
	cr_assert_gt(seal.block_count, 5);
	for (size_t i = 0; i < seal.block_count; i++) {
		uint64_t units = seal.blocks[i].to - seal.blocks[i].from;
		if (i + 1 < seal.block_count)
			cr_assert(units >= SEAL_BLOCK_UNITS &&
					  units < SEAL_BLOCK_UNITS + JOURNAL_RECORD_UNITS_MAX,
				  "%zu: %lu", i, units);
		struct journal_entry entry;
		uint64_t number = seal.blocks[i].from;
		cr_assert_eq(journal_next(&journal, &number, &entry), JOURNAL_FOUND_RECORD);
	}
	cr_assert_eq(result.records, 4501);
}

Test(seal, unfinished_records_are_abandoned_and_their_bodies_do_not_count, .timeout = 60)
{
	write_some(3);
	uint64_t one = reserve(1), three = reserve(3);
	write_some(3);
	uint64_t begun_ns = sys_boottime_ns();
	struct seal_result result = append();
	cr_assert_geq(sys_boottime_ns() - begun_ns, 50000000, "it waits for a writer");
	cr_assert_eq(result.abandoned, 2);
	cr_assert_eq(result.records, 19);
	cr_assert_eq(head(one)->op, JOURNAL_ABANDONED);
	cr_assert_eq(head(three)->op, JOURNAL_ABANDONED);
	cr_assert_eq(head(three)->units, 3);
	/* the writers were only slow */
	memset((char *)unit(one) + 8, 'x', 56);
	memset((char *)unit(three) + 8, 'y', 3 * 64 - 8);
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	cr_assert_eq(report.abandoned, 2);
	cr_assert_eq(report.damaged, 0);
	/* their first words do, and so do the records before and between them */
	for (uint64_t number = one - 1; number <= three; number += 1) {
		((unsigned char *)unit(number))[number == one - 1 ? 40 : 7] ^= 1;
		report = check();
		cr_assert_not(is_intact(&report), "%lu", number - one);
		((unsigned char *)unit(number))[number == one - 1 ? 40 : 7] ^= 1;
	}
	head(three)->units = 2;
	report = check();
	cr_assert_not(is_intact(&report));
}

/* A record that a writer fills in a reserved unit, and publishes late. */
struct slow {
	uint64_t number;
	unsigned wait_ms;
	unsigned char bytes[64];
};

/* A record with a good check for that unit, made in a journal of its own. */
static struct slow slow_record(uint64_t number, unsigned wait_ms)
{
	struct slow slow = { .number = number, .wait_ms = wait_ms };
	struct journal view = journal;
	static unsigned count;
	char other[160];

	(void)snprintf(other, sizeof(other), "%s/other%u", directory, count++);
	must(journal_create(other, "test", NONCE, "/workspace", 64 << 20) == 0);
	must(journal_map(other, &journal) == 0);
	journal.header->next = number;
	must(write_one(77) == number);
	memcpy(slow.bytes, unit(number), sizeof(slow.bytes));
	journal_unmap(&journal);
	must(unlink(other) == 0);
	journal = view;
	return slow;
}

/* A writer that publishes what it took, later: as journal_write() does after its body is filled.
 * Returns 0; 1: its unit was abandoned meanwhile. */
static int publish_late(void *data)
{
	const struct slow *slow = data;
	struct journal_head expected = { .op = JOURNAL_NONE };
	uint64_t word, wanted;

	must(usleep(slow->wait_ms * 1000) == 0);
	memcpy((char *)unit(slow->number) + 8, slow->bytes + 8, sizeof(slow->bytes) - 8);
	memcpy(&word, &expected, sizeof(word));
	memcpy(&wanted, slow->bytes, sizeof(wanted));
	return __atomic_compare_exchange_n((uint64_t *)unit(slow->number), &word, wanted, false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED)
		       ? 0
		       : 1;
}

/* On a busy machine the writer may be later than it meant to be: then its unit is abandoned, and
 * another one tries. */
Test(seal, who_is_only_a_little_slow_is_waited_for, .timeout = 60)
{
	uint64_t expected = 1 + 6 * 3; /* the first one is the workspace's text */

	for (bool was_in_time = false; !was_in_time; expected = 6 * 3) {
		write_some(3);
		struct slow slow = slow_record(reserve(1), 15);
		write_some(3);
		pid_t pid = fork();
		must(pid >= 0);
		if (pid == 0)
			_exit(publish_late(&slow));
		struct seal_result result = append();
		int status;
		must(waitpid(pid, &status, 0) == pid);
		must(WIFEXITED(status));
		was_in_time = WEXITSTATUS(status) == 0;
		cr_assert_eq(result.abandoned, was_in_time ? 0 : 1);
		cr_assert_eq(result.records, expected + (was_in_time ? 1 : 0));
		assert_intact();
	}
}

Test(seal, who_is_too_late_cannot_publish_any_more)
{
	write_some(3);
	struct slow slow = slow_record(reserve(1), 0);
	struct seal_result result = append();
	cr_assert_eq(result.abandoned, 1);
	cr_assert_eq(in_child(publish_late, &slow), 1);
	assert_intact();
}

Test(seal, damaged_before_it_was_sealed_is_counted)
{
	write_some(10);
	((struct journal_record *)unit(find(JOURNAL_OPEN, 4)))->amount++;
	struct seal_result result = append();
	cr_assert_eq(result.damaged, 1);
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	cr_assert_eq(report.damaged, 1);
	cr_assert_eq(report.records, 30);
}

Test(seal, damaged_length_at_the_end_is_walked_the_same_way_when_more_follows)
{
	write_some(10);
	uint32_t number = write_one(1);
	head(number)->units = 200; /* the file goes on behind it, the records do not */
	struct seal_result result = append();
	cr_assert_eq(result.damaged, 1);
	write_some(300);
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	cr_assert_eq(report.sealed_to, number + 1);
	(void)append();
	assert_intact();
}

Test(seal, torn_line_does_not_count_and_is_cut)
{
	char before[8192], after[8192];

	write_some(500);
	(void)append();
	uint64_t bytes = words_of_seal(before, sizeof(before));
	size_t head_bytes = strcspn(before, "\n") + 1;
	for (uint64_t cut = bytes - 1; cut > 0; cut -= cut > 200 ? 37 : 1) {
		cut_seal(cut);
		if (cut < head_bytes) {
			struct seal none = { .torn = false };
			cr_assert_eq(seal_read(path, &none), -ENOENT, "%lu", cut);
		} else {
			struct seal_report report = check();
			cr_assert(is_intact(&report), "%lu", cut);
			cr_assert_eq(seal.torn, before[cut - 1] != '\n', "%lu", cut);
		}
		(void)append();
		assert_intact();
		cr_assert_not(seal.torn);
		/* the same blocks again: nothing is lost, nothing is there twice */
		cr_assert_eq(words_of_seal(after, sizeof(after)), bytes);
		cr_assert_str_eq(after, before);
	}
	cut_seal(0);
	(void)append();
	assert_intact();
	/* what a machine that lost power may leave behind the last line */
	cut_seal(bytes + 5000);
	assert_intact();
	cr_assert(seal.torn);
	write_some(1);
	(void)append();
	assert_intact();
	cr_assert_not(seal.torn);
	cr_assert_eq(seal.bad_line, 0);
	cr_assert_eq(check().not_sealed, 0);
}

static int append_with_little_room(void *data)
{
	struct rlimit limit = { *(uint64_t *)data, *(uint64_t *)data };
	struct seal_result result;

	must(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return -seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result);
}

Test(seal, no_room_leaves_it_as_it_was)
{
	char before[8192], after[8192];

	write_some(10);
	(void)append();
	write_some(1000);
	uint64_t bytes = words_of_seal(before, sizeof(before));
	uint64_t room = bytes + 150; /* a line and a half */
	cr_assert_eq(in_child(append_with_little_room, &room), EFBIG);
	cr_assert_eq(words_of_seal(after, sizeof(after)), bytes);
	cr_assert_str_eq(after, before);
	(void)append();
	assert_intact();
}

/* Waits for the other runs, however long they take on a busy machine. */
static int append_in_child(void *data)
{
	(void)data;
	struct seal_result result;
	int error;

	do
		error = seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result);
	while (error == -EAGAIN);
	return -error;
}

/* Forks runs that write and seal at the same time; returns what `seen verify` finds then. */
static struct seal_report run_at_once(unsigned runs)
{
	pid_t pids[8];

	must(runs <= sizeof(pids) / sizeof(pids[0]));
	for (unsigned i = 0; i < runs; i++) {
		pids[i] = fork();
		must(pids[i] >= 0);
		if (pids[i] == 0) {
			write_some(50);
			_exit(append_in_child(NULL));
		}
	}
	for (unsigned i = 0; i < runs; i++) {
		int status;
		must(waitpid(pids[i], &status, 0) == pids[i]);
		cr_assert_eq(status, 0);
	}
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	cr_assert_eq(seal.bad_line, 0);
	cr_assert_eq(report.not_sealed, 0);
	cr_assert_eq(report.sealed_to, journal.header->next);
	return report;
}

/* On a busy machine a writer may stand still in the middle of a record until another run abandons
 * it: then they run once more. */
Test(seal, runs_that_end_at_once_seal_each_record_once, .timeout = 60)
{
	enum { RUNS = 8 };
	struct seal_report before, after = { .records = 1 + 3 * 100 };

	write_some(100);
	do {
		before = after;
		after = run_at_once(RUNS);
	} while (after.abandoned != before.abandoned);
	cr_assert_geq(after.records, before.records + 2 * 50 * RUNS); /* they share some texts */
}

Test(seal, a_run_that_hangs_does_not_hold_up_others_for_ever, .timeout = 60)
{
	write_some(1);
	(void)append();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && flock(fd, LOCK_EX) == 0);
	struct seal_result result;
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EAGAIN);
	must(close(fd) == 0);
}

Test(seal, foreign_files_are_refused)
{
	char target[160];
	struct seal_result result;
	struct seal none;

	write_some(3);
	(void)snprintf(target, sizeof(target), "%s/target", directory);
	write_path(target, "x", 1);
	must(symlink(target, path) == 0);
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -ELOOP);
	cr_assert_eq(seal_read(path, &none), -ELOOP);
	must(unlink(path) == 0);

	must(mkfifo(path, 0600) == 0);
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EBADMSG);
	cr_assert_eq(seal_read(path, &none), -EBADMSG);
	must(unlink(path) == 0);

	(void)append();
	must(chmod(path, 0620) == 0);
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EPERM);
	must(seal_read(path, &none) == 0); /* may be a copy from elsewhere */
	seal_destroy(&none);
	must(chmod(path, 0600) == 0);
	if (geteuid() == 0) {
		must(chown(path, 1, 1) == 0);
		cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EPERM);
		must(seal_read(path, &none) == 0);
		seal_destroy(&none);
	}

	must(unlink(path) == 0);
	write_path(path, "something else\n", 15);
	must(chmod(path, 0600) == 0);
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EBADMSG);
	cr_assert_eq(seal_read(path, &none), -EBADMSG);
	write_path(path, "seen-seal 2 x\n", 14);
	cr_assert_eq(seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result), -EPROTO);
	cr_assert_eq(seal_read(path, &none), -EPROTO);
}
