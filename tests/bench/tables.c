/*
 * What the tables of a segment cost by how many entries they have, and how full they are.
 *
 * usage: tables KIND COUNT [--fill PERCENT] [--directory DIR] [--rounds N]
 *
 *	KIND     files       tracked files: their slots, what finds them by (dev, ino), and their paths
 *	         paths       the same, but it is the store of paths that is filled, not the table
 *	         deliveries  what a scope was given
 *	         baselines   what a scope takes files to be
 *	         scopes
 *	         processes   programs that were started and not heard of
 *	         shells      the same, of which the table gives none away that lives
 *	COUNT    entries that are put in: 100, 10000, 1000000 ...
 *	PERCENT  of the table's room that COUNT is (default 50): 50, 90, 99, 100; above 100 more come than there is room for
 *	DIR      where the segment lies (default $TMPDIR, else /tmp)
 *	N        how often the look-ups are measured (default 5): the median counts
 *
 * Each look-up begins when the one before it has ended, and goes to any of the entries; what the processor can know of one
 * before is nothing.  All pages are in the page table of this process before anything is measured.
 *
 * Prints one line of JSON.  Times are nanoseconds of one operation:
 *
 *	insert_ns         of an entry, all of them on an average; insert_last_ns: of the last hundredth; insert_more_ns: of
 *	                  further ones, after the count (at most 1 % of it, and not more than 1,000)
 *	known_ns          to find an entry that is there, to have its slot copied and checked; of files from the path on
 *	unknown_ns        to find out that one is not there
 *	inode_ns          files: from (dev, ino) on
 *	update_ns         files: to change the slot of one that is there
 *	found, lost       entries that are there before those further ones; those that the segment counted as lost or forgotten
 *	capacity          slots of the table
 *	bytes_each        bytes that an entry takes: of all tables that it is in, and of the store of paths
 *	slot_bytes_each, index_bytes_each, text_bytes_each  of these: of the slot, of what finds it, of its path
 *	text_bytes        of a path, on an average
 *
 * Members that say nothing of a kind are left out.  Exit status 1 where of a table that is half full, or less, more than one entry in
 * 10,000 is not found.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/report.h"
#include "tests/support/support.h"
#include "tracker/content/baseline.h"
#include "tracker/process/attach.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/segment/segment_create.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	BATCH = 512,      /* look-ups between two readings of the clock */
	LOOKUPS = 200000, /* of one round */
	SCANS = 512,      /* of one round, where all of a table is scanned */
	MORE_MAX = 1000,
	PATH_BYTES = 96,
	SCOPES = 4,
	ROUNDS_MAX = 99,
	PAGE = 4096,
};

/* One way to ask a table.  number: of the entry, those from `count` on are not there; path: made for files.  Returns whether it
 * was found. */
typedef bool ask(uint64_t number, const char *path);

static struct segment segment;
static uint64_t scopes[SCOPES];
static struct process_ref *processes;
static uint64_t count, text_sum;
static struct context starter = { .flags = CONTEXT_ATTACHED };
static bool is_shells;

/* A number for an entry that carries no information (splitmix64). */
static uint64_t mixed(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* A path as a large tree has them: 100 files a directory. */
static size_t path_of(uint64_t number, char *ret_path)
{
	return (size_t)snprintf(ret_path, PATH_BYTES,
				"/home/user/project/packages/module%lu/src/file%02lu.c",
				number / 100, number % 100);
}

static struct stamp stamp_of_number(uint64_t number)
{
	return (struct stamp){ .dev = 2049, .ino = 1000000 + number, .size_bytes = number };
}

static struct version version_of_number(uint64_t number)
{
	return (struct version){ .low = mixed(number), .high = number, .size_bytes = 4096 };
}

/* ---- the kinds ---- */

static void note_read(struct file_slot *file, const void *data)
{
	file->stamp = *(const struct stamp *)data;
	file->version = version_of_number(file->stamp.size_bytes);
	file->full_reads++;
	file_note_read(file);
}

static bool write_file(uint64_t number, const char *path)
{
	struct stamp stamp = stamp_of_number(number);
	return file_update(&segment, path, &stamp, note_read, &stamp) != 0;
}

static bool find_file(uint64_t number, const char *path)
{
	struct file_slot file;
	return file_find(&segment, path_key(&segment, path), &file) == 0 &&
	       file.version.high == number;
}

static bool find_inode(uint64_t number, const char *path)
{
	struct stamp stamp = stamp_of_number(number);
	(void)path;
	return file_by_inode(&segment, stamp.dev, stamp.ino) != 0;
}

static void count_read(struct file_slot *file, const void *data)
{
	(void)data;
	file->full_reads++;
}

static bool update_file(uint64_t number, const char *path)
{
	struct stamp stamp = stamp_of_number(number);
	return file_update(&segment, path, &stamp, count_read, NULL) != 0;
}

static bool write_delivery(uint64_t number, const char *path)
{
	struct version version = version_of_number(number);
	struct moment moment = { .scope_id = scopes[number % SCOPES],
				 .session_epoch = 1,
				 .scope_epoch = 1,
				 .request = 1,
				 .command_id = 1,
				 .time_ns = number + 1 };
	(void)path;
	return delivery_record(&segment, mixed(number), &version, &moment) == 0;
}

static bool find_delivery(uint64_t number, const char *path)
{
	struct delivery_slot delivery;
	(void)path;
	return delivery_find(&segment, scopes[number % SCOPES], mixed(number), &delivery) == 0;
}

static bool write_baseline(uint64_t number, const char *path)
{
	struct version version = version_of_number(number);
	(void)path;
	baseline_given(&segment, scopes[number % SCOPES], mixed(number), &version);
	return true;
}

static bool find_baseline(uint64_t number, const char *path)
{
	struct version version;
	(void)path;
	return baseline_at(&segment, scopes[number % SCOPES], mixed(number), &version);
}

static bool write_scope(uint64_t number, const char *path)
{
	(void)path;
	return scope_claim(&segment, mixed(number), NULL, 1, 0, "pi") != NULL;
}

static bool find_scope(uint64_t number, const char *path)
{
	(void)path;
	return scope_find(&segment, mixed(number)) != NULL;
}

static bool write_process(uint64_t number, const char *path)
{
	static char make[] = "make", bash[] = "bash", option[] = "-c", words[] = "cat f";
	char *const tool[] = { make, NULL }, *const shell[] = { bash, option, words, NULL };
	char ticket[TICKET_BYTES];

	(void)path;
	struct process_ref process = process_announce(
		&segment, SUBJECT_SELF, &starter, (struct process_ref){ 0, 0 }, getpid(),
		is_shells ? bash : make, is_shells ? shell : tool, ticket);
	if (number < count)
		processes[number] = process;
	return process.serial != 0;
}

static bool find_process(uint64_t number, const char *path)
{
	struct process_slot slot;
	(void)path;
	return number < count && process_read(&segment, processes[number].index, &slot) &&
	       slot.serial == processes[number].serial;
}

/* Of one that came without its ticket: its pid, and its parent's, are looked for. */
static bool find_unannounced(uint64_t number, const char *path)
{
	struct process_ref process;
	struct process_slot slot;
	(void)number, (void)path;
	return process_find_announced(&segment, (struct subject){ 1 }, &process, &slot);
}

static const struct kind {
	const char *name;
	enum segment_table table;
	ask *write_entry, *find, *find_unknown;
	bool has_paths, scans;
	enum counter lost;
} KINDS[] = {
	{ "files", TABLE_FILES, write_file, find_file, find_file, true, false, COUNTER_lost_files },
	{ "paths", TABLE_FILES, write_file, find_file, find_file, true, false, COUNTER_lost_files },
	{ "deliveries", TABLE_DELIVERIES, write_delivery, find_delivery, find_delivery, false,
	  false, COUNTER_lost_deliveries },
	{ "baselines", TABLE_BASELINES, write_baseline, find_baseline, find_baseline, false, false,
	  COUNTER_lost_baselines },
	{ "scopes", TABLE_SCOPES, write_scope, find_scope, find_scope, false, false,
	  COUNTER_COUNT },
	{ "processes", TABLE_PROCESSES, write_process, find_process, find_unannounced, false, true,
	  COUNTER_lost_processes },
	{ "shells", TABLE_PROCESSES, write_process, find_process, find_unannounced, false, true,
	  COUNTER_lost_processes },
};

static const struct kind *kind;

/* ---- the segment ---- */

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value < least ? least : value;
}

/* The settings of a session whose table has room for `capacity` entries. */
static void make_segment(uint64_t capacity, const char *directory)
{
	char path[256], name[PATH_BYTES];
	struct world world;
	uint64_t text = SEGMENT_ARENA_FIRST;

	(void)snprintf(path, sizeof(path), "%s/segment", directory);
	for (uint64_t i = 0; kind->has_paths && i < count; i++) {
		size_t length = path_of(i, name);
		text_sum += length;
		text += (length + 7) & ~(size_t)7;
	}
	world_open(&world, NULL);
	struct settings settings = *world.segment.settings;
	switch (kind->table) {
	case TABLE_FILES:
		settings.session_files = strcmp(kind->name, "paths") == 0 ? count * 2 : capacity;
		settings.session_arena_bytes = strcmp(kind->name, "paths") == 0
						       ? text * capacity / count
						       : text * 2 + 65536;
		break;
	case TABLE_PROCESSES:
		settings.session_processes = capacity;
		break;
	case TABLE_SCOPES:
		settings.session_scopes = capacity;
		break;
	default:
		settings.session_deliveries = capacity;
	}
	must(segment_create(directory, "bench", WORLD_RANDOM, "boot", &settings, world.segment.text,
			    world.segment.text_bytes, NULL, NULL, NULL) == 0);
	world_close(&world);
	must(segment_map(path, &segment) == 0);
	must(unlink(path) == 0);
	for (uint64_t at = 0; at < segment.size_bytes; at += PAGE)
		(void)__atomic_fetch_or((unsigned char *)segment.header + at, 0, __ATOMIC_RELAXED);
}

/* ---- measuring ---- */

/* Puts entries [from, to) in; returns the time that it took, without that of making their paths. */
static uint64_t write_all(uint64_t from, uint64_t to)
{
	static char paths[BATCH][PATH_BYTES];
	uint64_t sum_ns = 0;

	for (uint64_t at = from; at < to; at += BATCH) {
		uint64_t behind = at + BATCH < to ? at + BATCH : to;
		for (uint64_t i = at; kind->has_paths && i < behind; i++)
			(void)path_of(i, paths[i - at]);
		uint64_t begin_ns = report_now_ns();
		for (uint64_t i = at; i < behind; i++)
			(void)kind->write_entry(i, paths[i - at]);
		sum_ns += report_now_ns() - begin_ns;
	}
	return sum_ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Asks for entries from `first` on, in no order; returns the time of one, of the median of the rounds. */
static double ask_all(ask *what, uint64_t first, bool scans, unsigned rounds)
{
	static struct {
		uint64_t number;
		char path[PATH_BYTES];
	} batch[BATCH];
	static volatile uint64_t nothing; /* what the compiler does not know */
	double times[ROUNDS_MAX];
	uint64_t random = 0x5eed, lookups = scans ? SCANS : LOOKUPS;

	for (unsigned round = 0; round < rounds; round++) {
		uint64_t sum_ns = 0;
		for (uint64_t done = 0; done < lookups; done += BATCH) {
			for (unsigned i = 0; i < BATCH; i++) {
				batch[i].number = first + next_random(&random) % count;
				if (kind->has_paths)
					(void)path_of(batch[i].number, batch[i].path);
			}
			uint64_t begin_ns = report_now_ns(), zero = nothing;
			for (unsigned i = 0; i < BATCH; i++) {
				/* where the next one is asked for depends on the result of this one */
				uint64_t at = i + zero;
				zero = (uint64_t)what(batch[at].number, batch[at].path) & nothing;
			}
			sum_ns += report_now_ns() - begin_ns;
		}
		uint64_t done = (lookups + BATCH - 1) / BATCH * BATCH;
		times[round] = (double)sum_ns / (double)done;
	}
	qsort(times, rounds, sizeof(times[0]), compare);
	return times[rounds / 2];
}

static uint64_t count_found(void)
{
	char path[PATH_BYTES];
	uint64_t found = 0;

	for (uint64_t i = 0; i < count; i++) {
		if (kind->has_paths)
			(void)path_of(i, path);
		found += kind->find(i, path);
	}
	return found;
}

static double each(uint64_t bytes)
{
	return (double)bytes / (double)count;
}

static uint64_t table_bytes(enum segment_table table)
{
	return segment.header->tables[table].capacity * segment.header->tables[table].slot_bytes;
}

static void print_bytes(void)
{
	uint64_t slots = table_bytes(kind->table);
	uint64_t index = kind->table == TABLE_FILES ? table_bytes(TABLE_INODES) : 0;
	uint64_t text = kind->has_paths ? segment.header->arena_used - SEGMENT_ARENA_FIRST : 0;

	printf(", \"bytes_each\": %.1f, \"slot_bytes_each\": %.1f", each(slots + index + text),
	       each(slots));
	if (kind->has_paths)
		printf(", \"index_bytes_each\": %.1f, \"text_bytes_each\": %.1f, \"text_bytes\": "
		       "%.1f",
		       each(index), each(text), each(text_sum));
}

static int usage(void)
{
	(void)fprintf(stderr, "usage: tables files|paths|deliveries|baselines|scopes|processes|"
			      "shells COUNT [--fill PERCENT] [--directory DIR] [--rounds N]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *directory = getenv("TMPDIR");
	unsigned long fill = 50, rounds = 5;
	char place[200];

	for (int i = 3; i < argc; i += 2)
		if (i + 1 < argc && strcmp(argv[i], "--fill") == 0)
			fill = strtoul(argv[i + 1], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "--rounds") == 0)
			rounds = strtoul(argv[i + 1], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "--directory") == 0)
			directory = argv[i + 1];
		else
			return usage();
	for (size_t i = 0; argc > 2 && i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (strcmp(argv[1], KINDS[i].name) == 0)
			kind = &KINDS[i];
	count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	if (!kind || count < 16 || fill == 0 || rounds == 0 || rounds > ROUNDS_MAX)
		return usage();
	(void)snprintf(place, sizeof(place), "%s/seen-tables-XXXXXX",
		       directory ? directory : "/tmp");
	must(mkdtemp(place));
	make_segment(at_least(count * 100 / fill, 16), place);
	must(rmdir(place) == 0);
	is_shells = strcmp(kind->name, "shells") == 0;
	must((processes = calloc(count, sizeof(*processes))));
	for (unsigned i = 0; i < SCOPES; i++)
		scopes[i] = mixed(i + (UINT64_C(1) << 40));

	uint64_t last = at_least(count / 100, 1), more = last < MORE_MAX ? last : MORE_MAX;
	uint64_t first_ns = write_all(0, count - last), last_ns = write_all(count - last, count);
	uint64_t lost = kind->lost == COUNTER_COUNT ? 0 : segment_counter(&segment, kind->lost);
	uint64_t found = count_found();
	printf("{\"kind\": \"%s\", \"count\": %lu, \"fill_percent\": %lu, \"capacity\": %lu, "
	       "\"found\": %lu, \"lost\": %lu, \"insert_ns\": %.1f, \"insert_last_ns\": %.1f",
	       kind->name, count, fill, segment.capacity[kind->table], found, lost,
	       each(first_ns + last_ns), (double)last_ns / (double)last);
	printf(", \"known_ns\": %.1f", ask_all(kind->find, 0, false, (unsigned)rounds));
	printf(", \"unknown_ns\": %.1f",
	       ask_all(kind->find_unknown, count * 2, kind->scans, (unsigned)rounds));
	if (kind->table == TABLE_FILES)
		printf(", \"inode_ns\": %.1f, \"update_ns\": %.1f",
		       ask_all(find_inode, 0, false, (unsigned)rounds),
		       ask_all(update_file, 0, false, (unsigned)rounds));
	print_bytes();
	printf(", \"insert_more_ns\": %.1f}\n",
	       (double)write_all(count * 3, count * 3 + more) / (double)more);
	return fill > 50 || found >= count - count / 10000 ? 0 : 1;
}
