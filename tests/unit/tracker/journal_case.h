/* A journal in a directory of its own, its writers and its readers: what the tests of the journal share. */
#ifndef SEEN_TESTS_JOURNAL_CASE_H
#define SEEN_TESTS_JOURNAL_CASE_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "support.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"
#include "tracker/sys/sys.h"

enum { MIB = 1 << 20, MAX_BYTES = 4 * MIB, SKIPPED = 77 };

static const char NONCE[] = "0123456789abcdef", WORKSPACE[] = "/work/space";

static struct world world;

static struct journal journal, other;

static char path[128];

static inline void setup(void)
{
	world_open(&world, NULL);
	(void)snprintf(path, sizeof(path), "%s/journal", world.root);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE, MAX_BYTES), 0);
	cr_assert_eq(journal_map(path, &journal), 0);
}

static inline void teardown(void)
{
	journal_unmap(&journal);
	journal_unmap(&other);
	world_close(&world);
}

static inline struct journal_record event(uint64_t amount)
{
	return (struct journal_record){ .head = { .op = JOURNAL_OPEN, .error = ENOENT },
					.time_realtime_ns = 12345,
					.process = 1,
					.tid = 2,
					.path = 3,
					.directory = 4,
					.directory_fd = AT_FDCWD,
					.other_path = 6,
					.fd = -1,
					.flags = O_RDWR,
					.amount = amount,
					.decision = 10,
					.reason = 11,
					.marks = JOURNAL_AT_LEAST,
					.count = 13 };
}

static inline uint32_t append(struct journal *at, uint64_t amount, bool may_grow)
{
	struct journal_record record = event(amount);
	return journal_write(at, &record, NULL, 0, may_grow);
}

/* Of the other kinds: records of several units. */
static inline uint32_t append_details(struct journal *at, uint64_t amount)
{
	struct journal_details details = { .dev = 1, .ino = amount };
	struct journal_record record = event(amount);
	return journal_write(at, &record, &details, sizeof(details), true);
}

static inline struct journal_header *header(void)
{
	return journal.header;
}

static inline unsigned char *unit(uint64_t number)
{
	return journal.units + number * JOURNAL_UNIT_BYTES;
}

static inline enum journal_found found_at(const struct journal *at, uint64_t number,
					  struct journal_entry *ret_entry)
{
	return journal_next(at, &number, ret_entry);
}

/* Walks from the start and counts what is found; index: enum journal_found. */
struct walk {
	size_t found[JOURNAL_FOUND_DAMAGED + 1];
	size_t events, texts, abandoned;
	uint64_t units; /* of records, the undone ones left out */
	uint64_t last_amount;
};

static inline struct walk walk(const struct journal *at)
{
	struct walk result = { .events = 0 };
	uint64_t number = JOURNAL_UNITS_FIRST;
	struct journal_entry entry;
	enum journal_found found;

	while ((found = journal_next(at, &number, &entry)) != JOURNAL_FOUND_END) {
		result.found[found]++;
		if (found == JOURNAL_FOUND_UNDONE)
			number = journal_behind_undone(at, number);
		if (found != JOURNAL_FOUND_RECORD)
			continue;
		result.units += entry.record.head.units;
		result.texts += entry.record.head.op == JOURNAL_TEXT;
		result.abandoned += entry.record.head.op == JOURNAL_ABANDONED;
		if (entry.record.head.op == JOURNAL_OPEN) {
			result.events++;
			result.last_amount = entry.record.amount;
		}
	}
	return result;
}

static inline size_t count_files(const char *place)
{
	DIR *directory = opendir(place);
	size_t count = 0;
	must(directory);
	while (readdir(directory))
		count++;
	must(closedir(directory) == 0);
	return count;
}

static int (*const MAPS[])(const char *, struct journal *) = { journal_map, journal_map_to_read,
							       journal_map_windows };

static inline size_t count_mappings(void)
{
	static char maps[1 << 17];
	size_t count = 0;
	must(sys_read_file("/proc/self/maps", maps, sizeof(maps)) > 0);
	for (const char *at = maps; (at = strstr(at, path)); at++)
		count++;
	return count;
}

enum { WINDOWS = 4, WINDOW_BYTES = JOURNAL_WINDOW_UNITS * JOURNAL_UNIT_BYTES };

static struct journal third;

/* A journal of four windows and a bit, and `journal` a view of all of it. */
static inline void setup_windows(void)
{
	setup();
	journal_unmap(&journal);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE,
				    (uint64_t)WINDOWS * WINDOW_BYTES + 2 * MIB),
		     0);
	cr_assert_eq(journal_map(path, &journal), 0);
	cr_assert_eq(journal_map_windows(path, &other), 0);
	cr_assert_eq(other.window_units, JOURNAL_WINDOW_UNITS);
	cr_assert_eq(other.windows_used, 1);
}

static inline void teardown_windows(void)
{
	journal_unmap(&third);
	teardown();
}

#endif
