/* Undo records made by hand, in a temporary directory that they are about: what their tests share. */
#ifndef SEEN_TESTS_UNIT_RECORDS_CASE_H
#define SEEN_TESTS_UNIT_RECORDS_CASE_H

#include <criterion/criterion.h>

#include "cli/undo/place.h"
#include "cli/undo/tree_change.h"
#include "cli/undo/tree_memory.h"
#include "support.h"

enum { RECORDS_MAX = 20 };

static char root[64];
static struct tree_record records[RECORDS_MAX];
static struct tree_records list;
static struct tree_changes changes;

static inline void init(void)
{
	(void)snprintf(root, sizeof(root), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(root) != NULL);
	list = (struct tree_records){ .records = records, .memory = tree_memory_new() };
	must(list.memory);
	changes = (struct tree_changes){ .count = 0 };
}

static inline void finish(void)
{
	tree_changes_free(&changes);
	tree_memory_free(list.memory);
	(void)nftw(root, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *path_of(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	const char *text = tree_memory_text(list.memory, path, strlen(path));
	must(text);
	return text;
}

/* The next record: at a boundary of its own, a second behind the one before. */
static inline struct tree_record *add(enum pack_kind kind, const char *name, enum pack_held held,
				      const struct pack_state *before)
{
	struct tree_record *record = &records[list.count];

	must(list.count < RECORDS_MAX);
	*record = (struct tree_record){
		.kind = (uint8_t)kind,
		.held = (uint8_t)held,
		.path = path_of(name),
		.other = "",
		.place = list.count * PACK_UNIT_BYTES,
		.time_ns = (list.count + 1) * 1000000000,
		.boundary = list.count + 1,
		.process = 1,
	};
	if (before)
		record->before = *before;
	list.count++;
	return record;
}

/* Makes a file, and returns what is there. */
static inline struct pack_state write_new(const char *name, const char *bytes)
{
	struct pack_state state;

	write_path(path_of(name), bytes, strlen(bytes));
	must(place_inspect(AT_FDCWD, path_of(name), &state) == 0);
	return state;
}

/* The same file, as it was so many seconds before. */
static inline struct pack_state earlier(const struct pack_state *state, int seconds)
{
	struct pack_state was = *state;

	was.mtime_ns -= seconds * INT64_C(1000000000);
	was.ctime_ns -= seconds * INT64_C(1000000000);
	was.size_bytes += (uint64_t)seconds;
	return was;
}

#endif
