/* file.h: by path, by inode, a full table, a full arena, damage. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/segment/workspace.h"

static struct world world;

static void start(void)
{
	world_open(&world, "session.files=128", "session.arena_bytes=16384", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(file, .init = start, .fini = stop);

static void count(struct file_slot *file, const void *data)
{
	file->full_reads += *(const uint32_t *)data;
}

static const uint32_t ONE = 1;

static uint64_t update(const char *path, uint64_t ino)
{
	struct stamp stamp = { .dev = 5, .ino = ino };
	return file_update(&world.segment, path, ino ? &stamp : NULL, count, &ONE);
}

Test(file, found_by_key_and_by_inode)
{
	struct file_slot file;
	char path[64];
	cr_assert_eq(file_find(&world.segment, path_key(&world.segment, "/w/a"), &file), -ENOENT);
	uint64_t key = update("/w/a", 9);
	cr_assert_eq(key, path_key(&world.segment, "/w/a"));
	cr_assert_eq(update("/w/a", 9), key);
	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert_eq(file.full_reads, 2);
	cr_assert_eq(file_path(&world.segment, &file, path, sizeof(path)), 4);
	cr_assert_str_eq(path, "/w/a");
	cr_assert_eq(file_by_inode(&world.segment, 5, 9), key);
	cr_assert_eq(file_by_inode(&world.segment, 6, 9), 0);
	cr_assert_eq(file_by_inode(&world.segment, 5, 8), 0);
	cr_assert_eq(file_find(&world.segment, 0, &file), -ENOENT);
}

Test(file, inode_leads_to_the_name_last_used)
{
	(void)update("/w/a", 9);
	uint64_t other = update("/w/b", 9);
	cr_assert_eq(file_by_inode(&world.segment, 5, 9), other);
}

Test(file, change_known)
{
	struct file_slot file;
	uint64_t key = path_key(&world.segment, "/w/a");
	cr_assert_eq(file_change_known(&world.segment, key, count, &ONE), -ENOENT);
	cr_assert_eq(file_change_known(&world.segment, 0, count, &ONE), -ENOENT);
	(void)update("/w/a", 0);
	cr_assert_eq(file_change_known(&world.segment, key, count, &ONE), 0);
	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert_eq(file.full_reads, 2);
}

Test(file, path_capacity_exactly_and_one_less)
{
	struct file_slot file;
	char path[8];
	uint64_t key = update("/w/a", 0);
	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert_eq(file_path(&world.segment, &file, path, 5), 4);
	cr_assert_eq(file_path(&world.segment, &file, path, 4), -ENAMETOOLONG);
	file.path_offset = world.segment.arena_bytes;
	cr_assert_eq(file_path(&world.segment, &file, path, 8), -EBADMSG);
	file.path_offset = SEGMENT_ARENA_FIRST;
	file.path_bytes = UINT16_MAX;
	cr_assert_eq(file_path(&world.segment, &file, path, 8), -EBADMSG);
	file.path_bytes = 0;
	cr_assert_eq(file_path(&world.segment, &file, path, 8), -EBADMSG);
}

Test(file, a_table_takes_the_room_of_what_is_in_it)
{
	enum { FILES = 40000 };
	struct world large;
	struct file_slot file;
	struct stat status;
	char path[32];

	world_open(&large, NULL);
	if (!large.segment.grows) {
		world_close(&large);
		cr_skip_test("all blocks are allocated at once here");
	}
	cr_assert_geq(large.segment.capacity[TABLE_FILES], 100000);
	for (int i = 0; i < FILES; i++) {
		struct stamp stamp = { .dev = 5, .ino = (uint64_t)i + 1 };
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		cr_assert_neq(file_update(&large.segment, path, &stamp, count, &ONE), 0);
		if (i == 100) {
			cr_assert_eq(stat(large.file, &status), 0);
			cr_assert_lt(status.st_blocks * 512, (off_t)large.segment.size_bytes / 8);
		}
	}
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		uint64_t key = path_key(&large.segment, path);
		cr_assert_eq(file_find(&large.segment, key, &file), 0, "%s", path);
		cr_assert_eq(file_by_inode(&large.segment, 5, (uint64_t)i + 1), key);
	}
	cr_assert_eq(segment_counter(&large.segment, COUNTER_lost_files), 0);
	world_close(&large);
}

/* What two processes see that make the same file at once. */
Test(file, a_place_that_was_noted_and_not_filled_in_is_taken_over)
{
	const size_t TIME = offsetof(struct file_slot, last_read_ns);
	struct file_slot file;
	uint64_t key = path_key(&world.segment, "/w/a");
	struct index_search search = { .hash = key };
	cr_assert_null(index_next(&world.segment, TABLE_FILES, &search));
	struct index_search late = search;
	void *slot = index_place(&world.segment, TABLE_FILES, &search, TIME);
	cr_assert_not_null(slot);
	cr_assert_null(index_place(&world.segment, TABLE_FILES, &late, TIME), "one was faster");
	cr_assert_eq(file_find(&world.segment, key, &file), -ENOENT);
	cr_assert_eq(update("/w/a", 0), key);
	cr_assert_eq(slot_of_file(&world.segment, key), slot);
}

/* Goes through the same files as the others do, from another one on. */
static void update_all(const struct segment *segment, int first, int files)
{
	char path[32];

	for (int i = 0; i < files; i++) {
		int number = (first + i) % files;
		struct stamp stamp = { .dev = 5, .ino = (uint64_t)number + 1 };
		(void)snprintf(path, sizeof(path), "/w/%d", number);
		(void)file_update(segment, path, &stamp, count, &ONE);
	}
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
	return one < other ? -1 : one > other;
}

Test(file, made_by_many_at_once_each_is_there_once)
{
	enum { FILES = 4000, PROCESSES = 6 };
	static uint64_t keys[2 * FILES];
	struct world large;
	struct file_slot file;
	char path[32];
	size_t found = 0;

	world_open(&large, "session.files=8000", NULL);
	for (int i = 0; i < PROCESSES; i++) {
		pid_t child = fork();
		cr_assert_geq(child, 0);
		if (child == 0) {
			update_all(&large.segment, i * 3, FILES);
			_exit(0);
		}
	}
	for (int i = 0, status; i < PROCESSES; i++)
		cr_assert(wait(&status) > 0 && status == 0);
	update_all(&large.segment, 0, FILES);
	for (int i = 0; i < FILES; i++) {
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		uint64_t key = path_key(&large.segment, path);
		cr_assert_eq(file_find(&large.segment, key, &file), 0, "%s", path);
		cr_assert_eq(file_by_inode(&large.segment, 5, (uint64_t)i + 1), key);
	}
	SEGMENT_EACH_USED (&large.segment, TABLE_FILES, i) {
		const struct file_slot *slot = segment_slot(&large.segment, TABLE_FILES, i);
		if (slot->key)
			keys[found++] = slot->key;
	}
	qsort(keys, found, sizeof(keys[0]), compare_keys);
	for (size_t i = 1; i < found; i++)
		cr_assert_neq(keys[i - 1], keys[i], "a file has two slots");
	cr_assert_eq(found, FILES);
	world_close(&large);
}

Test(file, full_table_forgets_others_and_goes_on)
{
	char path[32];
	struct file_slot file;
	unsigned found = 0;
	for (int i = 0; i < 300; i++) {
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		cr_assert_neq(update(path, (uint64_t)i + 1), 0);
		cr_assert_eq(file_find(&world.segment, path_key(&world.segment, path), &file), 0,
			     "%s", path);
		cr_assert_eq(file.full_reads, 1);
	}
	for (int i = 0; i < 300; i++) {
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		found += file_find(&world.segment, path_key(&world.segment, path), &file) == 0;
	}
	cr_assert_leq(found, 128);
	cr_assert_geq(found, 100);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_files), 300 - found,
		     "each one that was forgotten is counted");
	for (uint64_t i = 0; i < 300; i++) { /* an inode leads to its own file or nowhere */
		(void)snprintf(path, sizeof(path), "/w/%d", (int)i);
		uint64_t key = file_by_inode(&world.segment, 5, i + 1);
		cr_assert(key == 0 || key == path_key(&world.segment, path));
	}
}

Test(file, full_table_does_not_use_up_the_store_of_paths)
{
	char path[32], read[32];
	struct file_slot file;
	for (int i = 10000; i < 10300; i++) {
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		cr_assert_neq(update(path, 0), 0);
	}
	uint64_t used = world.segment.header->arena_used;
	for (int i = 20000; i < 40000; i++) { /* more than there is room for */
		(void)snprintf(path, sizeof(path), "/w/%d", i);
		cr_assert_neq(update(path, 0), 0);
		cr_assert_eq(file_find(&world.segment, path_key(&world.segment, path), &file), 0);
		cr_assert_eq(file_path(&world.segment, &file, read, sizeof(read)), 8);
		cr_assert_str_eq(read, path);
	}
	cr_assert_leq(world.segment.header->arena_used, used + 64 * 8,
		      "for places that were empty");
	/* What was known of a file that had to make place leads to no other one's path. */
	struct file_slot before = file;
	before.key ^= 1;
	cr_assert_eq(file_path(&world.segment, &before, read, sizeof(read)), -EBADMSG);
	/* Also where long and short ones take turns: each slot gets room for a long one once. */
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(path, sizeof(path), i % 2 ? "/w/%d" : "/w/%d-longer-path",
			       50000 + i);
		cr_assert_neq(update(path, 0), 0);
	}
	cr_assert_leq(world.segment.header->arena_used, used + 128 * (8 + 24));
	/* A longer path has a place of its own. */
	used = world.segment.header->arena_used;
	cr_assert_neq(update("/w/a-longer-path-than-all-those-before", 0), 0);
	cr_assert_gt(world.segment.header->arena_used, used);
}

Test(file, full_arena_is_counted_and_harmless)
{
	char path[1000];
	struct file_slot file;
	memset(path, 'x', sizeof(path));
	path[0] = '/', path[sizeof(path) - 1] = '\0';
	for (int i = 0; i < 16; i++) {
		path[1] = (char)('a' + i);
		cr_assert_neq(update(path, 0), 0);
	}
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_files), 0);
	path[1] = 'q';
	cr_assert_eq(update(path, 0), 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_files), 1);
	path[1] = 'a';
	cr_assert_eq(file_find(&world.segment, path_key(&world.segment, path), &file), 0);
	cr_assert_neq(update(path, 0), 0, "what is known needs no room");
}

Test(file, damaged_slot_is_none_and_begins_afresh)
{
	struct file_slot file;
	uint64_t key = update("/w/a", 9);
	struct file_slot *slot = slot_of_file(&world.segment, key);
	(void)update("/w/a", 9);
	slot->full_reads = 1000;
	cr_assert_eq(file_find(&world.segment, key, &file), -ENOENT);
	cr_assert_eq(update("/w/a", 9), key);
	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert_eq(file.full_reads, 1);
}

Test(file, of_a_dead_writer_is_taken_over)
{
	struct file_slot file;
	uint64_t key = update("/w/a", 9);
	struct file_slot *slot = slot_of_file(&world.segment, key);
	slot->head.sequence |= 1;
	cr_assert_eq(update("/w/a", 9), key);
	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert_eq(file.full_reads, 2);
}

Test(file, inode_of_a_dead_writer_heals)
{
	uint64_t key = update("/w/a", 9);
	for (uint64_t i = 0; i < world.segment.capacity[TABLE_INODES]; i++) {
		struct inode_slot *slot = segment_slot(&world.segment, TABLE_INODES, i);
		if (slot->ino == 9)
			slot->head.sequence++,
				slot->head.check ^= 1; /* all words written, then killed */
	}
	cr_assert_eq(file_by_inode(&world.segment, 5, 9), 0);
	cr_assert_eq(update("/w/a", 9), key);
	cr_assert_eq(file_by_inode(&world.segment, 5, 9), key);
}

Test(file, a_slot_given_away_and_back_does_not_count_forgets_from_nought)
{
	struct file_slot before, after;
	uint64_t key = update("/w/a", 0);
	cr_assert_eq(file_find(&world.segment, key, &before), 0);
	struct file_slot *slot = slot_of_file(&world.segment, key);
	slot->full_reads = 1000; /* lost */
	(void)update("/w/a", 0);
	cr_assert_eq(file_find(&world.segment, key, &after), 0);
	cr_assert_neq(before.forgets, after.forgets);
}

Test(file, note_edit)
{
	struct file_slot file;
	struct context tool = { .flags = CONTEXT_ATTACHED },
		       below = { .flags = CONTEXT_ATTACHED | CONTEXT_AGENT },
		       external_agent = { .flags = CONTEXT_ATTACHED | CONTEXT_EXTERNAL_AGENT };
	static const struct {
		uint32_t role;
		bool agents;
	} CASES[] = { { ROLE_SHELL, true }, { ROLE_AGENT, true }, { ROLE_TOOL, false } };

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char name[8];
		(void)snprintf(name, sizeof(name), "f%zu", i);
		const char *path = world_path(&world, name);
		file_note_edit(&world.segment, path, &below, CASES[i].role, FILE_ACTION_WRITE);
		cr_assert_eq(file_find(&world.segment, path_key(&world.segment, path), &file), 0);
		cr_assert_eq(file.flags & ~(uint32_t)FATE_BITS,
			     CASES[i].agents ? FILE_EDITED_BY_AGENT | FILE_EDIT_UNREPORTED
					     : FILE_EDITED_BY_TOOL | FILE_TOOL_EDIT_UNREPORTED);
		cr_assert_neq(file.last_edit_realtime_ns, 0);
		cr_assert_eq(file.agent_edit_realtime_ns,
			     CASES[i].agents ? file.last_edit_realtime_ns : 0);
		cr_assert_eq(file.source, CASES[i].agents ? SOURCE_AGENT : SOURCE_TOOL);
	}
	const char *path = world_path(&world, "f0");
	file_note_edit(&world.segment, path, &tool, ROLE_SHELL, FILE_ACTION_WRITE);
	cr_assert_eq(file_find(&world.segment, path_key(&world.segment, path), &file), 0);
	cr_assert_eq(file.flags & ~(uint32_t)FATE_BITS,
		     FILE_EDITED_BY_AGENT | FILE_EDIT_UNREPORTED | FILE_EDITED_BY_TOOL |
			     FILE_TOOL_EDIT_UNREPORTED);
	cr_assert_lt(file.agent_edit_realtime_ns, file.last_edit_realtime_ns);
	path = world_path(&world, "g");
	file_note_edit(&world.segment, path, &external_agent, ROLE_SHELL, FILE_ACTION_WRITE);
	cr_assert_eq(file_find(&world.segment, path_key(&world.segment, path), &file), 0);
	cr_assert_eq(file.flags & ~(uint32_t)FATE_BITS,
		     FILE_EDITED_BY_AGENT | FILE_EDIT_UNREPORTED);
	cr_assert_eq(file_fate(&file), FATE_IS_CHANGED);
	file_note_edit(&world.segment, "/elsewhere", &below, ROLE_SHELL, FILE_ACTION_WRITE);
	cr_assert_eq(file_find(&world.segment, path_key(&world.segment, "/elsewhere"), &file),
		     -ENOENT);
}

/* The order in which things were done tells what became of a file. */
Test(file, fate)
{
	static const struct {
		enum file_action done[4];
		size_t count;
		enum fate fate;
	} CASES[] = {
		{ { FILE_ACTION_READ }, 1, FATE_NOTHING },
		{ { FILE_ACTION_CREATE }, 1, FATE_IS_MADE },
		{ { FILE_ACTION_CREATE, FILE_ACTION_READ, FILE_ACTION_CHANGE }, 3, FATE_IS_MADE },
		{ { FILE_ACTION_CREATE, FILE_ACTION_WRITE, FILE_ACTION_REMOVE },
		  3,
		  FATE_IS_TRANSIENT },
		{ { FILE_ACTION_CREATE, FILE_ACTION_REMOVE, FILE_ACTION_CREATE }, 3, FATE_IS_MADE },
		{ { FILE_ACTION_WRITE }, 1, FATE_IS_CHANGED },
		{ { FILE_ACTION_CHANGE }, 1, FATE_IS_CHANGED },
		{ { FILE_ACTION_REMOVE }, 1, FATE_IS_REMOVED },
		{ { FILE_ACTION_WRITE, FILE_ACTION_REMOVE }, 2, FATE_IS_REMOVED },
		{ { FILE_ACTION_READ, FILE_ACTION_REMOVE }, 2, FATE_IS_REMOVED },
		/* it is there again, but it was there before, too */
		{ { FILE_ACTION_REMOVE, FILE_ACTION_CREATE }, 2, FATE_IS_CHANGED },
		{ { FILE_ACTION_READ, FILE_ACTION_REMOVE, FILE_ACTION_CREATE, FILE_ACTION_REMOVE },
		  4,
		  FATE_IS_REMOVED },
	};

	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		uint32_t bits = 0;
		for (size_t at = 0; at < CASES[i].count; at++)
			bits = fate_after(bits, CASES[i].done[at]);
		cr_expect_eq(fate_of(bits), CASES[i].fate, "case %zu: %d", i, (int)fate_of(bits));
	}
}

static void given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

static void external(struct file_slot *file, const void *data)
{
	file_note_external(file, data, SOURCE_UNATTRIBUTED, 77);
	file->flags |= FILE_CHANGE_REPORTED;
}

Test(file, what_was_given_is_known_again)
{
	struct version version = { 1, 2, 3 };
	struct file_slot file;
	uint64_t key = file_update(&world.segment, world_path(&world, "f"), NULL, external,
				   &version);

	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert(version_equal(&file.external, &version));
	cr_assert_eq(file.user_edit_realtime_ns, 77);
	cr_assert_eq(file.source, SOURCE_UNATTRIBUTED);
	cr_assert_eq(file.agent_read_realtime_ns, 0);
	cr_assert_eq(file_change_known(&world.segment, key, given, NULL), 0);
	cr_assert_eq(file_find(&world.segment, key, &file), 0);
	cr_assert_eq(file.source, SOURCE_READ);
	cr_assert_gt(file.agent_read_realtime_ns, file.user_edit_realtime_ns);
	cr_assert_eq(file.flags & FILE_CHANGE_REPORTED, 0);
}

Test(file, every_change_of_the_table_is_counted)
{
	const uint64_t *changed = &world.segment.header->files_changed;
	uint64_t before = *changed;
	uint64_t key = file_update(&world.segment, world_path(&world, "f"), NULL, NULL, NULL);

	cr_assert_eq(*changed, before + 1);
	cr_assert_eq(file_change_known(&world.segment, key, given, NULL), 0);
	cr_assert_eq(*changed, before + 2);
	cr_assert_eq(file_change_known(&world.segment, 999, given, NULL), -ENOENT);
	cr_assert_eq(*changed, before + 2);
}
