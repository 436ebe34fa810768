/* cli/journal/seal.h: chains over several runs, and each way to change what was sealed. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "support.h"

#include "cli/journal/seal.h"
#include "cli/journal/seal_check.h"
#include "cli/journal/seal_digest.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"
#include "tracker/sys/sys.h"

static const char NONCE[] = "0011223344556677";

static char directory[64], journal_path[128], path[128];
static struct journal journal;

static void start(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(directory) != NULL);
	(void)snprintf(journal_path, sizeof(journal_path), "%s/journal", directory);
	must(seal_path(journal_path, path, sizeof(path)) == 0);
	must(journal_create(journal_path, "test", NONCE, "/workspace", 64 << 20) == 0);
	must(journal_map(journal_path, &journal) == 0);
}

static void stop(void)
{
	journal_unmap(&journal);
	(void)nftw(directory, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(seal, .init = start, .fini = stop);

/* ---- what a run leaves ---- */

static uint32_t write_one(uint64_t amount)
{
	struct journal_record record = {
		.head = { .op = JOURNAL_OPEN },
		.time_realtime_ns = 1,
		.amount = amount,
	};
	uint32_t number = journal_write(&journal, &record, NULL, 0, true);
	must(number > 0);
	return number;
}

/* Texts, records and records with details, `count` of each. */
static void write_some(unsigned count)
{
	static uint64_t written;

	for (unsigned i = 0; i < count; i++) {
		char text[200];
		struct journal_details details = { .ino = ++written };
		struct journal_record record = {
			.head = { .op = JOURNAL_READ },
			.marks = JOURNAL_DETAILS,
			.time_realtime_ns = 1,
		};
		int length = snprintf(text, sizeof(text), "/workspace/%060d/%d", (int)written,
				      (int)written);
		record.path = journal_text(&journal, text, (size_t)length, true);
		must(record.path > 0);
		must(journal_write(&journal, &record, &details, sizeof(details), true) > 0);
		(void)write_one(written);
	}
}

static struct seal_result append(void)
{
	struct seal_result result;
	int error = seal_append(journal_path, &journal, &result);
	cr_assert_eq(error, 0, "%s", strerror(-error));
	return result;
}

/* What `seen verify` would find now.  The seal stays in `seal`. */
static struct seal seal;
static struct seal_report check_for(const char *digest)
{
	struct seal_report report;
	struct journal view;

	seal_destroy(&seal);
	must(seal_read(path, &seal) == 0);
	must(journal_map_to_read(journal_path, &view) == 0);
	seal_check(&seal, &view, digest, &report);
	journal_unmap(&view);
	return report;
}

static struct seal_report check(void)
{
	return check_for(NULL);
}

static bool is_intact(const struct seal_report *report)
{
	return seal_is_intact(&seal, report);
}

static void assert_intact(void)
{
	struct seal_report report = check();
	cr_assert(is_intact(&report));
}

static void *unit(uint64_t number)
{
	return journal.units + number * JOURNAL_UNIT_BYTES;
}

static struct journal_head *head(uint64_t number)
{
	return unit(number);
}

/* The number of the `index`th record of some kind in a block. */
static uint64_t find(uint8_t op, unsigned index)
{
	struct journal_entry entry;
	uint64_t number = JOURNAL_UNITS_FIRST;

	while (journal_next(&journal, &number, &entry) == JOURNAL_FOUND_RECORD)
		if (entry.record.head.op == op && index-- == 0)
			return entry.number;
	must(!"found");
	return 0;
}

/* A forger who knows the format: the record is changed, and its check computed anew, by having it written by the
 * library itself at the same place. */
static void forge(uint64_t number, uint64_t amount)
{
	uint64_t next = journal.header->next;

	memset(unit(number), 0, JOURNAL_UNIT_BYTES);
	journal.header->next = number;
	must(write_one(amount) == number);
	journal.header->next = next;
}

static uint64_t words_of_seal(char *text, size_t capacity)
{
	FILE *file = fopen(path, "r");
	must(file);
	size_t bytes = fread(text, 1, capacity - 1, file);
	must(fclose(file) == 0);
	text[bytes] = '\0';
	return bytes;
}

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

/* Units that were taken and not published, as by a writer that died. */
static uint64_t reserve(uint64_t units)
{
	uint64_t number = __atomic_fetch_add(&journal.header->next, units, __ATOMIC_RELAXED);
	if (units > 1)
		*head(number) = (struct journal_head){ .op = JOURNAL_FILLING,
						       .units = (uint8_t)units };
	return number;
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

static void cut_seal(uint64_t bytes)
{
	must(truncate(path, (off_t)bytes) == 0);
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
	return -seal_append(journal_path, &journal, &result);
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
		error = seal_append(journal_path, &journal, &result);
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
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EAGAIN);
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
	cr_assert_eq(seal_append(journal_path, &journal, &result), -ELOOP);
	cr_assert_eq(seal_read(path, &none), -ELOOP);
	must(unlink(path) == 0);

	must(mkfifo(path, 0600) == 0);
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EBADMSG);
	cr_assert_eq(seal_read(path, &none), -EBADMSG);
	must(unlink(path) == 0);

	(void)append();
	must(chmod(path, 0620) == 0);
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EPERM);
	must(seal_read(path, &none) == 0); /* may be a copy from elsewhere */
	seal_destroy(&none);
	must(chmod(path, 0600) == 0);
	if (geteuid() == 0) {
		must(chown(path, 1, 1) == 0);
		cr_assert_eq(seal_append(journal_path, &journal, &result), -EPERM);
		must(seal_read(path, &none) == 0);
		seal_destroy(&none);
	}

	must(unlink(path) == 0);
	write_path(path, "something else\n", 15);
	must(chmod(path, 0600) == 0);
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EBADMSG);
	cr_assert_eq(seal_read(path, &none), -EBADMSG);
	write_path(path, "seen-seal 2 x\n", 14);
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EPROTO);
	cr_assert_eq(seal_read(path, &none), -EPROTO);
}

/* ---- tampering ---- */

/* A journal of several blocks, sealed; the second block is the one that is tampered with. */
static void prepare(void)
{
	write_some(600);
	(void)append();
	assert_intact();
	cr_assert_gt(seal.block_count, 3);
}

/* A record of the second block: of one unit, a text, with details. */
static uint64_t victim(uint8_t op)
{
	unsigned index = 0;
	uint64_t number;
	while ((number = find(op, index++)) < seal.blocks[1].from + 100)
		;
	return number;
}

static void assert_second_block(const struct seal_report *report)
{
	cr_assert_not(is_intact(report));
	cr_assert_eq(report->first_bad, 1);
	cr_assert_not(report->line_changed);
}

static void assert_suspect(const struct seal_report *report, uint64_t number)
{
	assert_second_block(report);
	cr_assert_geq(report->suspect_count, 1);
	cr_assert_eq(report->suspects[0].number, number, "%lu, not %lu", report->suspects[0].number,
		     number);
}

Test(seal, each_changed_byte_of_a_record_is_found)
{
	prepare();
	for (int op = 0; op < 3; op++) {
		uint64_t number = victim(
			(uint8_t[]){ JOURNAL_OPEN, JOURNAL_TEXT, JOURNAL_READ }[op]);
		size_t bytes = (size_t)head(number)->units * JOURNAL_UNIT_BYTES;
		unsigned char *at = unit(number);
		for (size_t i = 0; i < bytes; i++) {
			at[i] ^= 0x20;
			struct seal_report report = check();
			assert_suspect(&report, number);
			cr_assert_eq(report.bad_blocks, 1);
			at[i] ^= 0x20;
		}
	}
	assert_intact();
}

Test(seal, erased_record)
{
	prepare();
	uint64_t number = victim(JOURNAL_OPEN);
	memset(unit(number), 0, JOURNAL_UNIT_BYTES);
	struct seal_report report = check();
	assert_suspect(&report, number);
	cr_assert(report.suspects[0].erased);
	cr_assert_eq(report.suspect_count, 1);
	/* a record is not taken back by being abandoned again */
	(void)journal_abandon(&journal, number);
	report = check();
	assert_second_block(&report);
	cr_assert_eq(report.suspect_count, 0);
}

Test(seal, swapped_records)
{
	unsigned char kept[JOURNAL_UNIT_BYTES];

	prepare();
	uint64_t a = victim(JOURNAL_OPEN), b = a + 4;
	while (head(b)->op != JOURNAL_OPEN || head(b)->units != 1)
		b++;
	cr_assert_lt(b, seal.blocks[1].to);
	memcpy(kept, unit(a), sizeof(kept));
	memcpy(unit(a), unit(b), sizeof(kept));
	memcpy(unit(b), kept, sizeof(kept));
	struct seal_report report = check();
	assert_suspect(&report, a);
	cr_assert_eq(report.suspect_count, 2);
	cr_assert_eq(report.suspects[1].number, b);
	cr_assert_eq(report.bad_blocks, 1);
}

Test(seal, dropped_record_with_the_rest_moved_up)
{
	prepare();
	uint64_t number = victim(JOURNAL_OPEN), next = journal.header->next;
	memmove(unit(number), unit(number + 1), (next - number - 1) * JOURNAL_UNIT_BYTES);
	journal.header->next--;
	struct seal_report report = check();
	assert_suspect(&report, number);
	cr_assert_eq(report.journal_end_unit, report.sealed_to - 1);
	cr_assert_gt(report.bad_blocks, 1);
}

Test(seal, put_in_record_with_the_rest_moved_down)
{
	prepare();
	uint64_t number = victim(JOURNAL_OPEN), next = journal.header->next;
	memmove(unit(number + 1), unit(number), (next - number) * JOURNAL_UNIT_BYTES);
	journal.header->next++;
	forge(number, 99);
	struct seal_report report = check();
	/* the one put in has a good check, those behind it are not where they were */
	assert_suspect(&report, number + 1);
}

Test(seal, record_in_the_place_of_an_abandoned_one)
{
	write_some(10);
	uint64_t number = reserve(1);
	write_some(10);
	(void)append();
	assert_intact();
	forge(number, 99);
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.bad_blocks, 1);
	cr_assert_eq(report.suspect_count, 0);
}

Test(seal, changed_with_its_check_computed_anew)
{
	prepare();
	forge(victim(JOURNAL_OPEN), 99);
	struct seal_report report = check();
	assert_second_block(&report);
	cr_assert_eq(report.suspect_count, 0);
	cr_assert_eq(report.bad_blocks, 1);
}

Test(seal, dropped_at_the_end)
{
	prepare();
	uint64_t last = find(JOURNAL_OPEN, 599);
	journal.header->next = last;
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.bad_blocks, 0);
	cr_assert_eq(report.journal_end_unit, last);
	cr_assert_eq(report.sealed_to, last + 1);
	/* and the next seal does not go on as if nothing had happened */
	struct seal_result result;
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EBADMSG);
}

Test(seal, journal_file_cut_short)
{
	struct journal view;

	prepare();
	must(truncate(journal_path, 65536) == 0);
	cr_assert_eq(journal_map_to_read(journal_path, &view), -EBADMSG);
	/* with a header that says so: no different from dropped at the end */
	journal.header->allocated = 1024;
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.journal_end_unit, 1024);
}

Test(seal, header)
{
	prepare();
	journal.header->workspace++;
	struct seal_report report = check();
	cr_assert(report.head_changed);
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.bad_blocks, 0);
	struct seal_result result;
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EBADMSG);
	journal.header->workspace--;
	/* what changes in its life is not part of it */
	journal.header->lost++;
	assert_intact();
}

Test(seal, of_another_journal)
{
	prepare();
	journal.header->nonce[0] = '9';
	struct seal_report report = check();
	cr_assert(report.other_journal);
	cr_assert_not(is_intact(&report));
}

/* ---- tampering with the seal ---- */

/* Replaces the bytes at a place of the seal. */
static void edit_seal(size_t at, const char *bytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0);
	must(pwrite(fd, bytes, strlen(bytes), (off_t)at) == (ssize_t)strlen(bytes));
	must(close(fd) == 0);
}

static size_t line_at(const char *text, unsigned line)
{
	const char *at = text;
	while (line-- > 0)
		at = strchr(at, '\n') + 1;
	return (size_t)(at - text);
}

Test(seal, edited_digest)
{
	char text[8192];

	prepare();
	(void)words_of_seal(text, sizeof(text));
	size_t digit = line_at(text, 3) - 2; /* the last but the newline of the second block's */
	edit_seal(digit, text[digit] == '0' ? "1" : "0");
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert(report.line_changed);
	cr_assert_eq(report.first_bad, 1);
	cr_assert_eq(report.bad_blocks, 1);
	cr_assert_eq(report.suspect_count, 0);
}

Test(seal, every_edited_character_is_found)
{
	char text[8192];

	prepare();
	uint64_t bytes = words_of_seal(text, sizeof(text));
	for (size_t i = 0; i < bytes; i++) {
		const char other[2] = { text[i] == '7' ? '8' : '7', '\0' };
		const char same[2] = { text[i], '\0' };
		struct seal now;
		edit_seal(i, other);
		int error = seal_read(path, &now);
		if (error == 0) {
			struct seal_report report;
			seal_check(&now, &journal, NULL, &report);
			/* without its newline the last line is one that was not written to its end */
			cr_assert(!seal_is_intact(&now, &report) || (i == bytes - 1 && now.torn),
				  "character %zu", i);
			seal_destroy(&now);
		}
		edit_seal(i, same);
	}
	assert_intact();
}

Test(seal, other_ways_to_write_a_line_are_refused)
{
	static const char *const LINES[] = { " 128 1152", "0128 1152",      "+128 1152",
					     "128  1152", "128 1152 ",      "129 1152",
					     "128 128",   "128 99999999999" };
	struct seal now;
	char text[512];

	prepare();
	char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
	for (size_t i = 0; i <= sizeof(LINES) / sizeof(LINES[0]); i++) {
		bool is_good = i == sizeof(LINES) / sizeof(LINES[0]);
		int length = snprintf(text, sizeof(text), "seen-seal 1 %s %s\n%s %s\n", NONCE,
				      digest, is_good ? "128 1152" : LINES[i], digest);
		write_path(path, text, (size_t)length);
		cr_assert_eq(seal_read(path, &now), 0);
		cr_assert_eq(now.bad_line, is_good ? 0 : 2, "%s", is_good ? "good" : LINES[i]);
		seal_destroy(&now);
	}
	static const char *const HEADS[] = { "seen-seal 1  %s %s\n", "seen-seal 1 %s  %s\n",
					     "seen-seal 1 %s %s \n", "seen-seal 1 %s %s0\n",
					     "seen-seal 1 0%s0000000 %s\n" };
	for (size_t i = 0; i < sizeof(HEADS) / sizeof(HEADS[0]); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int length = snprintf(text, sizeof(text), HEADS[i], NONCE, digest);
#pragma GCC diagnostic pop
		write_path(path, text, (size_t)length);
		cr_assert_eq(seal_read(path, &now), -EBADMSG, "%zu", i);
	}
	/* upper case is another digest's text */
	int length = snprintf(text, sizeof(text), "seen-seal 1 %s %s\n128 1152 A%s\n", NONCE,
			      digest, digest + 1);
	write_path(path, text, (size_t)length);
	cr_assert_eq(seal_read(path, &now), 0);
	cr_assert_eq(now.bad_line, 2);
	seal_destroy(&now);
}

Test(seal, line_taken_out)
{
	char text[8192];

	prepare();
	uint64_t bytes = words_of_seal(text, sizeof(text));
	size_t second = line_at(text, 2), third = line_at(text, 3);
	memmove(text + second, text + third, bytes - third + 1);
	write_path(path, text, strlen(text));
	struct seal_report report = check();
	cr_assert_not(is_intact(&report));
	cr_assert_eq(seal.bad_line, 3);
	struct seal_result result;
	cr_assert_eq(seal_append(journal_path, &journal, &result), -EBADMSG);
}

Test(seal, cut_seal_is_found_by_the_digest_alone)
{
	char text[8192];

	write_some(600);
	struct seal_result result = append();
	(void)words_of_seal(text, sizeof(text));
	cut_seal(line_at(text, 3));
	/* no different from a journal whose last records are not sealed yet */
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	cr_assert_gt(report.not_sealed, 0);
	report = check_for(result.digest);
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.wanted, SEAL_WANTED_MISSING);
}

Test(seal, both_replaced_is_found_by_the_digest_alone)
{
	write_some(600);
	struct seal_result result = append();
	assert_intact();
	forge(victim(JOURNAL_OPEN), 99);
	must(unlink(path) == 0);
	struct seal_result forged = append();
	cr_assert_str_neq(forged.digest, result.digest);
	struct seal_report report = check();
	cr_assert(is_intact(&report));
	report = check_for(result.digest);
	cr_assert_not(is_intact(&report));
	cr_assert_eq(report.wanted, SEAL_WANTED_MISSING);
	report = check_for(forged.digest);
	cr_assert(is_intact(&report));
}

Test(seal, digests_in_text)
{
	cr_assert(
		seal_is_digest("00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"));
	cr_assert_not(
		seal_is_digest("00112233445566778899aabbccddeeff00112233445566778899aabbccddeef"));
	cr_assert_not(seal_is_digest(
		"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0"));
	cr_assert_not(
		seal_is_digest("00112233445566778899aabbccddeeff00112233445566778899aabbccddeefg"));
	cr_assert_not(seal_is_digest(""));
}

Test(seal, lies_beside_the_journal)
{
	char text[32];
	cr_assert_eq(seal_path("/a/b/journal", text, sizeof(text)), 0);
	cr_assert_str_eq(text, "/a/b/seal");
	cr_assert_eq(seal_path("journal", text, sizeof(text)), 0);
	cr_assert_str_eq(text, "seal");
	cr_assert_eq(seal_path("/a/b/journal", text, 9), -ENAMETOOLONG);
}
