/* segment.h: making, mapping, and refusing what is damaged or another's. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "config/fingerprint.h"
#include "support.h"
#include "tracker/content/file.h"
#include "tracker/segment/segment_create.h"
#include "tracker/segment/workspace.h"

static struct world world;

static void start(void)
{
	world_open(&world, "session.files=128", "session.deliveries=128",
		   "session.arena_bytes=16384", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(segment, .init = start, .fini = stop);

static struct segment other;

Test(segment, is_made_private_and_whole)
{
	struct stat stat_;
	cr_assert_eq(stat(world.file, &stat_), 0);
	cr_assert_eq(stat_.st_mode & 07777, 0600);
	cr_assert_eq((uint64_t)stat_.st_size, world.segment.header->size_bytes);
	cr_assert(world.segment.grows ||
		  (uint64_t)stat_.st_blocks * 512 >= world.segment.header->size_bytes);
	cr_assert_str_eq(world.segment.header->nonce, "seen-0011223344556677");
	cr_assert_eq(world.segment.capacity[TABLE_FILES], 128);
	cr_assert_eq(world.segment.capacity[TABLE_INODES], 256);
}

Test(segment, damaged_count_of_processes_hides_none)
{
	const struct segment *segment = &world.segment;
	const uint64_t capacity = segment->capacity[TABLE_PROCESSES];
	const uint64_t COUNTS[] = { capacity - 1, capacity, UINT64_MAX - SEGMENT_PROCESS_PROBES,
				    UINT64_MAX - 1, UINT64_MAX };

	segment->header->next_process = 0;
	cr_assert_eq(segment_processes_used(segment), SEGMENT_PROCESS_PROBES);
	for (size_t i = 0; i < sizeof(COUNTS) / sizeof(COUNTS[0]); i++) {
		segment->header->next_process = COUNTS[i];
		cr_assert_eq(segment_processes_used(segment), capacity);
	}
}

Test(segment, a_text_of_one_byte)
{
	struct segment segment;

	cr_assert_eq(unlink(world.file), 0);
	cr_assert_eq(segment_create(world.root, "x", WORLD_RANDOM, "b", world.settings, "x", 1,
				    NULL, NULL, NULL),
		     0);
	cr_assert_eq(segment_map(world.file, &segment), 0);
	cr_assert_eq(((const char *)segment.header)[segment.header->text_offset], 'x');
	segment_unmap(&segment);
}

Test(segment, the_first_one_wins)
{
	static char text[SETTINGS_TEXT_BYTES_MAX];
	cr_assert_eq(segment_create(world.root, "x", WORLD_RANDOM, "b", world.settings, text, 0,
				    NULL, NULL, NULL),
		     -EEXIST);
	cr_assert_eq(segment_map(world.file, &other), 0);
	cr_assert_str_eq(other.header->name, "test");
	segment_unmap(&other);
	cr_assert_eq(system(NULL) != 0, 1);
	char command[200];
	(void)snprintf(command, sizeof(command), "test -z \"$(ls -A %s | grep '^.segment')\"",
		       world.root);
	cr_assert_eq(system(command), 0, "a temporary file was left");
}

Test(segment, names_have_a_limit)
{
	static char text[1], name[SEGMENT_NAME_BYTES + 1], directory[200];
	(void)snprintf(directory, sizeof(directory), "%s/2", world.root);
	cr_assert_eq(mkdir(directory, 0700), 0);
	memset(name, 'n', SEGMENT_NAME_BYTES);
	cr_assert_eq(segment_create(directory, name, WORLD_RANDOM, "b", world.settings, text, 0,
				    NULL, NULL, NULL),
		     -ENAMETOOLONG);
	name[SEGMENT_NAME_BYTES - 1] = '\0';
	cr_assert_eq(segment_create(directory, name, WORLD_RANDOM, "b", world.settings, text, 0,
				    NULL, NULL, NULL),
		     0);
	cr_assert_eq(segment_create(directory, "n", WORLD_RANDOM, "b", world.settings, text,
				    SETTINGS_TEXT_BYTES_MAX + 1, NULL, NULL, NULL),
		     -ENAMETOOLONG);
	cr_assert_eq(segment_create("/nonexistent", "n", WORLD_RANDOM, "b", world.settings, text, 0,
				    NULL, NULL, NULL),
		     -ENOENT);
}

Test(segment, map_of_nothing)
{
	cr_assert_eq(segment_map("/nonexistent/segment", &other), -ENOENT);
	cr_assert_eq(segment_map(world.workspace, &other), -EISDIR);
	cr_assert_null(other.header);
	segment_unmap(&other); /* accepts one that was never mapped */
}

Test(segment, symbolic_link_is_refused)
{
	char link_[200];
	(void)snprintf(link_, sizeof(link_), "%s/link", world.root);
	cr_assert_eq(symlink(world.file, link_), 0);
	cr_assert_eq(segment_map(link_, &other), -ELOOP);
}

Test(segment, writable_by_others_is_refused)
{
	cr_assert_eq(chmod(world.file, 0620), 0);
	cr_assert_eq(segment_map(world.file, &other), -EPERM);
	cr_assert_eq(chmod(world.file, 0602), 0);
	cr_assert_eq(segment_map(world.file, &other), -EPERM);
	cr_assert_eq(chmod(world.file, 0600), 0);
	cr_assert_eq(segment_map(world.file, &other), 0);
	segment_unmap(&other);
}

Test(segment, of_another_user_is_refused)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_assert_eq(chown(world.file, 12345, (gid_t)-1), 0);
	cr_assert_eq(segment_map(world.file, &other), -EPERM);
}

Test(segment, leaves_no_descriptor)
{
	int before = open("/dev/null", O_RDONLY);
	cr_assert_eq(close(before), 0);
	cr_assert_eq(segment_map(world.file, &other), 0);
	segment_unmap(&other);
	int after = open("/dev/null", O_RDONLY);
	cr_assert_eq(after, before);
}

Test(segment, short_file_is_refused)
{
	cr_assert_eq(truncate(world.file, (off_t)world.segment.header->size_bytes - 1), 0);
	cr_assert_eq(segment_map(world.file, &other), -EBADMSG);
	cr_assert_eq(truncate(world.file, (off_t)sizeof(struct segment_header) - 1), 0);
	cr_assert_eq(segment_map(world.file, &other), -EBADMSG);
	cr_assert_eq(truncate(world.file, 0), 0);
	cr_assert_eq(segment_map(world.file, &other), -EBADMSG);
}

#define REFUSES(field, value) REFUSES_AS(-EBADMSG, field, value)
#define REFUSES_AS(error, field, value) \
	do { \
		struct segment_header saved = *world.segment.header; \
		world.segment.header->field = value; \
		cr_expect_eq(segment_map(world.file, &other), error, #field " = " #value); \
		*world.segment.header = saved; \
		cr_assert_eq(segment_map(world.file, &other), 0); \
		segment_unmap(&other); \
	} while (0)

Test(segment, damaged_headers_are_refused)
{
	const struct segment_header *header = world.segment.header;
	uint64_t size = header->size_bytes;

	REFUSES(magic, 1);
	REFUSES_AS(-EPROTO, version, SEGMENT_VERSION + 1);
	REFUSES_AS(-EPROTO, word_bits, 32);
	REFUSES_AS(-EPROTO, header_bytes, sizeof(*header) - 8);
	REFUSES_AS(-EPROTO, fingerprint, settings_fingerprint() ^ 1);
	REFUSES(size_bytes, size + 1);
	REFUSES(size_bytes, UINT64_MAX);
	REFUSES(name[SEGMENT_NAME_BYTES - 1], 'x');
	REFUSES(nonce[SEGMENT_NONCE_BYTES - 1], 'x');
	REFUSES(boot_id[39], 'x');
	for (int i = 0; i < TABLE_COUNT; i++) {
		REFUSES(tables[i].slot_bytes, 0);
		REFUSES(tables[i].slot_bytes, SEGMENT_SLOT_BYTES[i] + 8);
		REFUSES(tables[i].capacity, SEGMENT_CAPACITY_MIN - 1);
		REFUSES(tables[i].capacity, 0);
		REFUSES(tables[i].capacity, UINT64_MAX);
		REFUSES(tables[i].capacity, UINT64_MAX / SEGMENT_SLOT_BYTES[i] + 1);
		REFUSES(tables[i].offset, 0);
		REFUSES(tables[i].offset, header->tables[i].offset + 4);
		REFUSES(tables[i].offset, size);
		REFUSES(tables[i].offset, UINT64_MAX - 7);
	}
	REFUSES(settings_offset, size - 8);
	REFUSES(settings_offset, 8);
	REFUSES(text_offset, UINT64_MAX - 7);
	REFUSES(text_bytes, size);
	REFUSES(arena_bytes, header->arena_bytes + 1);
	REFUSES(arena_bytes, SEGMENT_ARENA_FIRST - 1);
	REFUSES(arena_offset, size);
}

Test(segment, extents_are_fixed_when_mapped)
{
	world.segment.header->tables[TABLE_FILES].capacity = UINT64_MAX;
	world.segment.header->arena_bytes = UINT64_MAX;
	cr_assert_null(segment_slot(&world.segment, TABLE_FILES, 128));
	cr_assert_not_null(segment_slot(&world.segment, TABLE_FILES, 127));
	cr_assert_eq(world.segment.arena_bytes, 16384);
}

/* How many slots of the table a walk passes that are in no part of one in use; `noted` are those that it must
 * meet, rising. */
static uint64_t walk_used(const struct segment *segment, enum segment_table table,
			  const uint64_t *noted, size_t count)
{
	uint64_t others = 0, before = 0;
	size_t met = 0;

	SEGMENT_EACH_USED (segment, table, i) {
		cr_assert(i == 0 || i > before);
		before = i;
		if (met < count && i == noted[met])
			met++;
		else
			others++;
	}
	cr_assert_eq(met, count, "of %zu slots in use the walk met %zu", count, met);
	return others;
}

Test(segment, parts_of_a_table_that_were_never_used_are_passed_over)
{
	static const char *const SIZES[] = { "session.files=128", "session.files=513",
					     "session.files=16384", "session.files=100000" };

	for (size_t size = 0; size < sizeof(SIZES) / sizeof(SIZES[0]); size++) {
		struct world sized;
		world_open(&sized, SIZES[size], NULL);
		const struct segment *segment = &sized.segment;
		uint64_t capacity = segment->capacity[TABLE_FILES];
		const uint64_t noted[] = { 0, capacity / 3, capacity / 3 + 1, capacity - 1 };
		cr_assert_eq(segment_next_used(segment, TABLE_FILES, 0), capacity);
		for (int i = 3; i >= 0; i--)
			(void)segment_use(segment, TABLE_FILES,
					  segment_slot(segment, TABLE_FILES, noted[i]));
		cr_assert_leq(walk_used(segment, TABLE_FILES, noted, 4), 4 * (capacity / 256), "%s",
			      SIZES[size]);
		cr_assert_eq(segment_next_used(segment, TABLE_FILES, capacity), capacity);
		cr_assert_eq(segment_next_used(segment, TABLE_DELIVERIES, 0),
			     segment->capacity[TABLE_DELIVERIES]);
		for (uint64_t i = 0; i < capacity; i++)
			(void)segment_use(segment, TABLE_FILES,
					  segment_slot(segment, TABLE_FILES, i));
		cr_assert_eq(walk_used(segment, TABLE_FILES, NULL, 0), capacity);
		world_close(&sized);
	}
}

Test(segment, serials_are_never_zero_nor_given_twice)
{
	uint64_t first = segment_serial(&world.segment);
	cr_assert_neq(first, 0);
	cr_assert_neq(segment_serial(&world.segment), first);
	world.segment.header->next_serial = UINT64_MAX;
	cr_assert_neq(segment_serial(&world.segment), 0);
}

Test(segment, counters_count)
{
	segment_count(&world.segment, COUNTER_notices, 3);
	segment_count(&world.segment, COUNTER_notices, (uint64_t)-1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_notices), 2);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_repeats), 0);
}

Test(segment, arena_full_exactly_and_one_beyond)
{
	static char bytes[16384];
	/* the content store's path lies at its start */
	uint64_t used = world.segment.header->arena_used;
	uint64_t room = world.segment.arena_bytes - used;

	cr_assert_eq(arena_store(&world.segment, bytes, room + 1), 0);
	uint64_t at = arena_store(&world.segment, bytes, room);
	cr_assert_eq(at, used);
	cr_assert_not_null(arena_at(&world.segment, at, room));
	cr_assert_eq(arena_store(&world.segment, bytes, 1), 0);
}

Test(segment, arena_rounds_up_to_words)
{
	uint64_t first = arena_store(&world.segment, "abc", 3),
		 second = arena_store(&world.segment, "d", 1);
	cr_assert_eq(second, first + 8);
	cr_assert_eq(memcmp(arena_at(&world.segment, first, 3), "abc", 3), 0);
}

Test(segment, arena_refuses_what_is_not_inside)
{
	uint64_t end = world.segment.arena_bytes;
	cr_assert_null(arena_at(&world.segment, 0, 1));
	cr_assert_null(arena_at(&world.segment, SEGMENT_ARENA_FIRST - 1, 1));
	cr_assert_null(arena_at(&world.segment, end, 1));
	cr_assert_not_null(arena_at(&world.segment, end - 1, 1));
	cr_assert_null(arena_at(&world.segment, end - 1, 2));
	cr_assert_null(arena_at(&world.segment, UINT64_MAX, 2));
	cr_assert_null(arena_at(&world.segment, 16, UINT64_MAX));
	world.segment.header->arena_used = UINT64_MAX; /* damaged */
	cr_assert_eq(arena_store(&world.segment, "abc", 3), 0);
	world.segment.header->arena_used = 0;
	cr_assert_eq(arena_store(&world.segment, "abc", 3), 0);
}

Test(segment, text_beyond_the_area_is_none)
{
	uint32_t bytes = (uint32_t)world.segment.text_bytes;
	struct settings_text text = world.settings->notice_template;

	cr_assert_not_null(segment_text(&world.segment, text, NULL));
	cr_assert_null(segment_text(&world.segment, (struct settings_text){ 0, 0, 1, 0 }, NULL));
	cr_assert_null(
		segment_text(&world.segment, (struct settings_text){ bytes, 1, 1, 0 }, NULL));
	cr_assert_null(
		segment_text(&world.segment, (struct settings_text){ 1, bytes, 1, 0 }, NULL));
	cr_assert_null(segment_text(&world.segment,
				    (struct settings_text){ UINT32_MAX, UINT32_MAX, 1, 0 }, NULL));
	text.size_bytes--; /* no NUL at its end any more */
	cr_assert_null(segment_text(&world.segment, text, NULL));
}

Test(segment, settings_are_compared_and_replaced)
{
	static char text[SETTINGS_TEXT_BYTES_MAX];
	struct settings *settings = malloc(sizeof(*settings));
	cr_assert_not_null(settings);
	*settings = *world.settings;
	memcpy(text, world.segment.text, sizeof(text));
	cr_assert(segment_has_settings(&world.segment, settings, text, sizeof(text)));
	settings->window_requests++;
	cr_assert(!segment_has_settings(&world.segment, settings, text, sizeof(text)));
	segment_write_settings(&world.segment, settings, text, sizeof(text));
	cr_assert(segment_has_settings(&world.segment, settings, text, sizeof(text)));
	segment_write_settings(&world.segment, settings, text,
			       world.segment.text_bytes + 1); /* too long: ignored */
	text[0] ^= 1;
	cr_assert(!segment_has_settings(&world.segment, settings, text, sizeof(text)));
	free(settings);
}

Test(segment, is_halved_where_space_is_short)
{
	/* A file system of 1 MiB, as some containers' /dev/shm. */
	char directory[128], file[160];
	static char text[SETTINGS_TEXT_BYTES_MAX];
	struct settings *settings = malloc(sizeof(*settings));
	(void)snprintf(directory, sizeof(directory), "%s/small", world.root);
	cr_assert_not_null(settings);
	*settings = *world.settings;
	settings->session_files = 16384;
	settings->session_arena_bytes = 4194304;
	cr_assert_eq(mkdir(directory, 0700), 0);
	char command[300];
	(void)snprintf(command, sizeof(command), "mount -t tmpfs -o size=1m none %s 2>/dev/null",
		       directory);
	if (geteuid() != 0 || system(command) != 0) {
		free(settings);
		cr_skip_test("needs the right to mount");
	}
	int error = segment_create(directory, "n", WORLD_RANDOM, "b", settings, text, 0, NULL, NULL,
				   NULL);
	(void)snprintf(file, sizeof(file), "%s/segment", directory);
	int mapped = segment_map(file, &other);
	uint64_t files = other.capacity[TABLE_FILES];
	segment_unmap(&other);
	(void)snprintf(command, sizeof(command), "umount %s", directory);
	(void)!system(command);
	free(settings);
	cr_assert_eq(error, 0);
	cr_assert_eq(mapped, 0);
	cr_assert_lt(files, 16384);
	cr_assert_geq(files, SEGMENT_CAPACITY_MIN);
}

static uint64_t block_bytes(const char *file)
{
	struct stat status;

	must(stat(file, &status) == 0);
	return (uint64_t)status.st_blocks * 512;
}

static bool store_file(int number)
{
	char path[64];
	struct stamp stamp = { .dev = 5, .ino = 1000 + (uint64_t)number };

	(void)snprintf(path, sizeof(path), "/w/file%d", number);
	return file_update(&other, path, &stamp, NULL, NULL) != 0;
}

static bool has_file(int number)
{
	struct file_slot file;
	char path[64];

	(void)snprintf(path, sizeof(path), "/w/file%d", number);
	return file_find(&other, path_key(&other, path), &file) == 0;
}

static void fill(const char *directory)
{
	static const char BYTES[4096] = { 1 };
	char file[160];

	(void)snprintf(file, sizeof(file), "%s/fill", directory);
	int fd = open(file, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	must(fd >= 0);
	while (write(fd, BYTES, sizeof(BYTES)) == (ssize_t)sizeof(BYTES))
		continue;
	must(close(fd) == 0);
}

static void empty(const char *directory)
{
	char file[160];

	(void)snprintf(file, sizeof(file), "%s/fill", directory);
	must(unlink(file) == 0);
}

/* Pages of zeroes have no blocks then, as behind session_cut(). */
static void make_holes(const char *file)
{
	static const char ZEROES[4096];
	char page[sizeof(ZEROES)];
	int fd = open(file, O_RDWR | O_CLOEXEC);

	must(fd >= 0);
	for (off_t at = 0; pread(fd, page, sizeof(page), at) == (ssize_t)sizeof(page);
	     at += (off_t)sizeof(page))
		if (memcmp(page, ZEROES, sizeof(page)) == 0)
			must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
				       sizeof(page)) == 0);
	must(close(fd) == 0);
}

/* In a file system of 24 MiB in memory: what a segment of 16 MiB takes there, and what becomes of it where
 * that is full. */
static void use_in_memory(const char *directory)
{
	enum { FILES = 20, MORE = 4000 };
	char file[160];
	static char bytes[4000];
	int put = 0;

	(void)snprintf(file, sizeof(file), "%s/segment", directory);
	must(segment_map_to_use(file, &other) == 0);
	must(other.grows && other.arena_bytes == 4194304 && other.capacity[TABLE_FILES] == 16384);
	must(block_bytes(file) < other.size_bytes / 4);
	for (int i = 0; i < FILES; i++)
		must(!has_file(i) && store_file(i) && has_file(i));
	must(block_bytes(file) < other.size_bytes / 3);
	must(file_by_inode(&other, 5, 1000) != 0 && file_by_inode(&other, 5, 999) == 0);
	/* a full file system: what has no room is lost and counted, what was there stays */
	fill(directory);
	for (int i = FILES; i < MORE; i++)
		put += store_file(i);
	must(put < MORE / 2 && segment_counter(&other, COUNTER_lost_files) >= MORE / 2);
	for (int i = 0; i < FILES; i++)
		must(has_file(i) && store_file(i));
	while (arena_store(&other, bytes, sizeof(bytes)))
		continue;
	must(other.header->arena_used < other.arena_bytes / 2);
	/* there is room again */
	empty(directory);
	for (int i = 0; i < MORE; i++)
		must(store_file(i) && has_file(i));
	must(arena_store(&other, bytes, sizeof(bytes)) != 0);
	/* one that was cut has the blocks of all that is in use before it is used again, or is not used */
	uint64_t before = block_bytes(file);
	other.header->grows = SEGMENT_IS_CUT;
	make_holes(file);
	must(block_bytes(file) < before);
	segment_unmap(&other);
	fill(directory);
	must(segment_map_to_use(file, &other) == -ENOSPC);
	empty(directory);
	must(segment_map_to_use(file, &other) == 0 && other.grows && has_file(1));
	must(block_bytes(file) >= before);
	segment_unmap(&other);
}

Test(segment, in_memory_it_grows_as_it_is_used)
{
	char directory[128], command[300];
	struct settings *settings = malloc(sizeof(*settings));

	cr_assert_not_null(settings);
	*settings = *world.settings;
	settings->session_files = 16384;
	settings->session_deliveries = 16384;
	settings->session_arena_bytes = 4194304;
	(void)snprintf(directory, sizeof(directory), "%s/memory", world.root);
	cr_assert_eq(mkdir(directory, 0700), 0);
	(void)snprintf(command, sizeof(command), "mount -t tmpfs -o size=24m none %s 2>/dev/null",
		       directory);
	if (geteuid() != 0 || system(command) != 0) {
		free(settings);
		cr_skip_test("needs the right to mount");
	}
	int error = segment_create(directory, "n", WORLD_RANDOM, "b", settings, world.segment.text,
				   world.segment.text_bytes, NULL, NULL, NULL);
	int status = -1;
	pid_t child = error == 0 ? fork() : -1; /* it may be killed, and the mount must go */
	if (child == 0) {
		use_in_memory(directory);
		_exit(0);
	}
	if (child > 0)
		(void)waitpid(child, &status, 0);
	(void)snprintf(command, sizeof(command), "umount -l %s", directory);
	(void)!system(command);
	free(settings);
	cr_assert_eq(error, 0);
	cr_assert_eq(status, 0, "status %x", status);
}

/* A path that would end within the settings. */
Test(segment, damaged_lengths_of_paths)
{
	struct segment_header *header = world.segment.header;
	uint64_t room = (uint64_t)((const char *)world.segment.settings -
				   (const char *)(header + 1));
	const char *contents = segment_contents(&world.segment);

	cr_assert_not_null(contents);
	uint64_t before = (uint64_t)(strrchr(contents, '/') - contents);
	header->journal_bytes += before;
	header->contents_path_bytes -= before;
	cr_assert_str_eq(segment_contents(&world.segment), contents + before);
	for (uint64_t bytes = room - before + 1; bytes <= room + before; bytes++) {
		header->contents_path_bytes = bytes;
		cr_assert_null(segment_contents(&world.segment), "%d", (int)bytes);
	}
	header->journal_bytes = UINT64_MAX;
	cr_assert_null(segment_journal(&world.segment));
	cr_assert_null(segment_contents(&world.segment));
}

Test(segment, in_memory_alone)
{
	static char text[SETTINGS_TEXT_BYTES_MAX + 1] = "text";

	cr_assert_eq(segment_create_private(world.settings, text, sizeof(text), &other), -ENOMEM);
	cr_assert_eq(segment_create_private(world.settings, text, sizeof(text) - 1, &other), 0);
	cr_assert_eq(other.settings->undo_max_bytes, world.settings->undo_max_bytes);
	cr_assert_arr_eq((char *)other.header + other.header->text_offset, text, sizeof(text) - 1);
	cr_assert_eq(other.capacity[TABLE_FILES], world.segment.capacity[TABLE_FILES]);
	segment_unmap(&other);
}
