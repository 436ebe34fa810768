/* A journal and its seal: what the tests of the seal share. */
#ifndef SEEN_TESTS_SEAL_CASE_H
#define SEEN_TESTS_SEAL_CASE_H

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>

#include "cli/journal/seal.h"
#include "cli/journal/seal_check.h"
#include "cli/journal/seal_digest.h"
#include "support.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"
#include "tracker/sys/sys.h"

static const char NONCE[] = "0011223344556677";

static char directory[64], journal_path[128], path[128];

static struct journal journal;

static inline void start(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(directory) != NULL);
	(void)snprintf(journal_path, sizeof(journal_path), "%s/journal", directory);
	must(seal_path(journal_path, path, sizeof(path)) == 0);
	must(journal_create(journal_path, "test", NONCE, "/workspace", 64 << 20) == 0);
	must(journal_map(journal_path, &journal) == 0);
}

static inline void stop(void)
{
	journal_unmap(&journal);
	(void)nftw(directory, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline uint32_t write_one(uint64_t amount)
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
static inline void write_some(unsigned count)
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

static inline struct seal_result append(void)
{
	struct seal_result result;
	int error = seal_append(journal_path, &journal, SEAL_SYNC_NOW, &result);
	cr_assert_eq(error, 0, "%s", strerror(-error));
	return result;
}

/* What `seen verify` would find now.  The seal stays in `seal`. */
static struct seal seal;

static inline struct seal_report check_for(const char *digest)
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

static inline struct seal_report check(void)
{
	return check_for(NULL);
}

static inline bool is_intact(const struct seal_report *report)
{
	return seal_is_intact(&seal, report);
}

static inline void assert_intact(void)
{
	struct seal_report report = check();
	cr_assert(is_intact(&report));
}

static inline void *unit(uint64_t number)
{
	return journal.units + number * JOURNAL_UNIT_BYTES;
}

static inline struct journal_head *head(uint64_t number)
{
	return unit(number);
}

/* The number of the `index`th record of some kind in a block. */
static inline uint64_t find(uint8_t op, unsigned index)
{
	struct journal_entry entry;
	uint64_t number = JOURNAL_UNITS_FIRST;

	while (journal_next(&journal, &number, &entry) == JOURNAL_FOUND_RECORD)
		if (entry.record.head.op == op && index-- == 0)
			return entry.number;
	must(!"found");
	return 0;
}

static inline uint64_t words_of_seal(char *text, size_t capacity)
{
	FILE *file = fopen(path, "r");
	must(file);
	size_t bytes = fread(text, 1, capacity - 1, file);
	must(fclose(file) == 0);
	text[bytes] = '\0';
	return bytes;
}

/* Units that were taken and not published, as by a writer that died. */
static inline uint64_t reserve(uint64_t units)
{
	uint64_t number = __atomic_fetch_add(&journal.header->next, units, __ATOMIC_RELAXED);
	if (units > 1)
		*head(number) = (struct journal_head){ .op = JOURNAL_FILLING,
						       .units = (uint8_t)units };
	return number;
}

static inline void cut_seal(uint64_t bytes)
{
	must(truncate(path, (off_t)bytes) == 0);
}

#endif
