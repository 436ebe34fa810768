/*
 * tree_change.h: the state before and after any range of records, against what was there.
 *
 * A workspace is changed at random, with records as the library writes them, and what is there is
 * noted now and then.  Then each range between two such points is read.
 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "cli/undo/place.h"
#include "cli/undo/tree_change.h"
#include "cli/undo/tree_memory.h"
#include "cli/undo/tree_walk.h"
#include "fuzz.h"
#include "tracker/content/version.h"

enum { RECORDS_MAX = 4000, SEEN_MAX = 400, POINTS_MAX = 6, INODES_MAX = 4096, NAMES = 4 };

/* What was there at a point. */
struct seen_path {
	char path[256];
	struct pack_state state;
	struct version version; /* of a file's bytes, or of a link's target */
};

struct point {
	uint64_t place;
	size_t count;
	struct seen_path paths[SEEN_MAX];
};

struct kept {
	uint64_t ino;
	uint64_t boundary; /* kept, or made, since */
};

struct history {
	char root[64];
	struct tree_record records[RECORDS_MAX];
	struct tree_records list;
	struct point points[POINTS_MAX];
	size_t point_count;
	struct kept kept[INODES_MAX];
	size_t kept_count;
	uint64_t boundary;
};

static struct history *history;

/* ---- files ---- */

static bool state_at(const char *path, struct pack_state *ret_state)
{
	return place_inspect(AT_FDCWD, path, ret_state) == 0;
}

static struct version version_at(const char *path, const struct pack_state *state)
{
	struct content content = { .lines = 0 };
	char target[256];

	if (S_ISLNK(state->mode)) {
		ssize_t length = readlink(path, target, sizeof(target));
		return version_of_bytes(target, (uint64_t)length);
	}
	if (!S_ISREG(state->mode))
		return content.version;
	int fd = open(path, O_RDONLY | O_NOFOLLOW);
	must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0);
	(void)close(fd);
	return content.version;
}

static void note_directory(struct point *point, const char *path)
{
	DIR *stream = opendir(path);

	must(stream);
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		must(point->count < SEEN_MAX);
		struct seen_path *seen = &point->paths[point->count++];
		must(snprintf(seen->path, sizeof(seen->path), "%s/%s", path, entry->d_name) <
		     (int)sizeof(seen->path));
		must(state_at(seen->path, &seen->state));
		seen->version = version_at(seen->path, &seen->state);
		if (S_ISDIR(seen->state.mode))
			note_directory(point, seen->path);
	}
	(void)closedir(stream);
}

static void add_point(void)
{
	struct point *point = &history->points[history->point_count++];

	point->place = history->list.count * PACK_UNIT_BYTES;
	note_directory(point, history->root);
	history->boundary++;
}

/* ---- records, as the library writes them ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	must(clock_gettime(CLOCK_REALTIME, &now) == 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct tree_record *record(enum pack_kind kind, const char *path, const char *other)
{
	struct tree_record *record = &history->records[history->list.count];

	must(history->list.count < RECORDS_MAX);
	*record = (struct tree_record){
		.kind = (uint8_t)kind,
		.place = history->list.count++ * PACK_UNIT_BYTES,
		.time_ns = now_ns(),
		.path = tree_memory_text(history->list.memory, path, strlen(path)),
		.other = other ? tree_memory_text(history->list.memory, other, strlen(other)) : "",
	};
	return record;
}

static struct kept *kept_of(uint64_t ino)
{
	for (size_t i = 0; i < history->kept_count; i++)
		if (history->kept[i].ino == ino)
			return &history->kept[i];
	must(history->kept_count < INODES_MAX);
	struct kept *kept = &history->kept[history->kept_count++];
	*kept = (struct kept){ .ino = ino };
	return kept;
}

/* What is about to be lost, once at each boundary. */
static void keep(enum pack_kind kind, const char *path)
{
	struct pack_state state;

	must(state_at(path, &state));
	struct kept *kept = S_ISREG(state.mode) ? kept_of(state.ino) : NULL;
	bool earlier = kept && kept->boundary == history->boundary;
	if (earlier && kind == PACK_CONTENT)
		return;
	struct tree_record *of = record(kind, path, NULL);
	of->before = state;
	of->held = S_ISDIR(state.mode) ? PACK_NOT_TAKEN : earlier ? PACK_EARLIER : PACK_INLINE;
	if (of->held == PACK_INLINE)
		of->version = version_at(path, &state);
	if (kept)
		kept->boundary = history->boundary;
}

static void after(const char *path)
{
	struct tree_record *of = record(PACK_AFTER, path, NULL);

	must(state_at(path, &of->before));
}

/* ---- changes ---- */

static void random_path(char *ret_path)
{
	static const char *const DIRECTORIES[] = { "", "/d", "/e", "/d/f", "/e/f", "/d/f/g" };

	(void)snprintf(ret_path, 256, "%s%s/%c", history->root, DIRECTORIES[pick(6)],
		       (char)("abcd"[pick(NAMES)] + (pick(3) == 0 ? 3 : 0)));
}

static void write_file(const char *path, bool exists)
{
	char bytes[32];

	if (exists)
		keep(PACK_CONTENT, path);
	else
		(void)record(PACK_CREATED, path, NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | (pick(2) ? O_TRUNC : O_APPEND), 0600);
	must(fd >= 0);
	int length = snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)pick(1U << 20));
	must(write(fd, bytes, (size_t)length) == length && close(fd) == 0);
	if (!exists) {
		struct pack_state state;
		must(state_at(path, &state));
		kept_of(state.ino)->boundary = history->boundary;
	}
	after(path);
}

/* A call that may fail, whose records count where it succeeds. */
static bool try_rename(const char *from, const char *to, unsigned flags)
{
	struct pack_state moves, there;

	if (!state_at(from, &moves))
		return false;
	bool replaces = state_at(to, &there) && flags == 0;
	if (replaces && there.ino == moves.ino)
		return false;
	if (replaces)
		keep(PACK_REPLACED, to);
	record(flags & RENAME_EXCHANGE ? PACK_EXCHANGED : PACK_RENAMED, from, to)->before = moves;
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, flags) == 0)
		return true;
	history->list.count--;
	if (replaces) {
		struct tree_record *of = &history->records[history->list.count - 1];
		of->failed = true;
		if (of->held == PACK_EARLIER || of->held == PACK_NOT_TAKEN)
			history->list.count--;
	}
	return false;
}

static void change_existing(const char *path, const struct pack_state *state)
{
	char other[256];

	random_path(other);
	switch (pick(8)) {
	case 0:
	case 1:
		if (S_ISREG(state->mode))
			write_file(path, true);
		break;
	case 2:
	case 3:
		if (S_ISDIR(state->mode)) {
			struct tree_record *of = record(PACK_REMOVED, path, NULL);
			of->before = *state;
			if (rmdir(path) < 0)
				history->list.count--;
		} else {
			keep(PACK_REMOVED, path);
			must(unlink(path) == 0);
		}
		break;
	case 4:
		if (S_ISLNK(state->mode))
			break;
		struct tree_record *of = record(PACK_METADATA, path, NULL);
		of->before = *state;
		of->what = PACK_MODE;
		must(chmod(path, 0700 | (mode_t)pick(64)) == 0);
		after(path);
		break;
	case 5:
		if (S_ISREG(state->mode)) {
			struct pack_state there;
			if (state_at(other, &there) || link(path, other) < 0)
				break;
			record(PACK_LINKED, path, other)->before = *state;
			after(other);
		}
		break;
	case 6:
		(void)try_rename(path, other, RENAME_EXCHANGE);
		break;
	default:
		(void)try_rename(path, other, 0);
	}
}

static void change(void)
{
	char path[256];
	struct pack_state state;

	random_path(path);
	if (state_at(path, &state)) {
		change_existing(path, &state);
		return;
	}
	char *slash = strrchr(path, '/');
	*slash = '\0';
	bool has_directory = state_at(path, &state) && S_ISDIR(state.mode);
	*slash = '/';
	if (!has_directory)
		return;
	if (pick(3) == 0) {
		(void)record(PACK_CREATED, path, NULL);
		must(mkdir(path, 0755) == 0);
		after(path);
	} else if (pick(5) == 0) {
		(void)record(PACK_CREATED, path, "nowhere");
		must(symlink(pick(2) ? "nowhere" : "elsewhere", path) == 0);
		after(path);
	} else {
		write_file(path, false);
	}
}

static void make_directories(void)
{
	static const char *const NAMES_OF[] = { "d", "e", "d/f", "e/f", "d/f/g" };
	char path[256];

	for (size_t i = 0; i < sizeof(NAMES_OF) / sizeof(NAMES_OF[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", history->root, NAMES_OF[i]);
		must(mkdir(path, 0755) == 0);
	}
}

/* ---- what is read of it ---- */

static const struct seen_path *find(const struct point *point, const char *path)
{
	for (size_t i = 0; i < point->count; i++)
		if (strcmp(point->paths[i].path, path) == 0)
			return &point->paths[i];
	return NULL;
}

static const struct tree_change *find_change(const struct tree_changes *changes, const char *path)
{
	for (size_t i = 0; i < changes->count; i++)
		if (strcmp(changes->changes[i].path, path) == 0)
			return &changes->changes[i];
	return NULL;
}

static bool is_same_state(const struct pack_state *a, const struct pack_state *b)
{
	return a->ino == b->ino && a->mode == b->mode &&
	       (S_ISDIR(a->mode) || (a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns));
}

static void check_entry(const struct tree_change *change, const struct tree_entry *entry,
			const struct seen_path *seen, const char *when)
{
	cr_assert(entry->known, "%s %s", change->path, when);
	cr_assert_eq(entry->exists, seen != NULL, "%s %s: exists %d", change->path, when,
		     entry->exists);
	if (!seen)
		return;
	cr_assert_eq(entry->mode, seen->state.mode, "%s %s: mode %o %o", change->path, when,
		     entry->mode, seen->state.mode);
	cr_assert_eq(entry->ino, seen->state.ino, "%s %s: inode", change->path, when);
	if (S_ISDIR(entry->mode))
		return;
	cr_assert_eq(entry->size_bytes, seen->state.size_bytes, "%s %s: size", change->path, when);
	cr_assert_eq(entry->mtime_ns, seen->state.mtime_ns, "%s %s: time", change->path, when);
	cr_assert(entry->content == TREE_KEPT || entry->content == TREE_DISK,
		  "%s %s: content %d lost %d", change->path, when, entry->content, entry->lost);
	struct version version = entry->content == TREE_KEPT
					 ? entry->version
					 : version_at(entry->disk_path, &seen->state);
	cr_assert(version_equal(&version, &seen->version), "%s %s: bytes", change->path, when);
}

/* DUMP=1: the records, for a person. */
static void dump(size_t from, size_t to)
{
	static const char *const KINDS[] = { "none",      "removed", "replaced", "renamed",
					     "exchanged", "created", "content",  "metadata",
					     "linked",    "after" };

	if (!getenv("DUMP"))
		return;
	(void)fprintf(stderr, "points %zu to %zu\n", from, to);
	for (size_t i = 0; i < history->list.count; i++) {
		const struct tree_record *of = &history->records[i];
		for (size_t point = 0; point < history->point_count; point++)
			if (history->points[point].place == of->place)
				(void)fprintf(stderr, "---- %zu\n", point);
		(void)fprintf(stderr, "%s %s %s ino %llu nlink %u held %u\n", KINDS[of->kind],
			      of->path + strlen(history->root),
			      of->other[0] == '/' ? of->other + strlen(history->root) : of->other,
			      (unsigned long long)of->before.ino, of->before.nlink, of->held);
	}
}

static void check_all(const struct tree_changes *changes, const struct point *before,
		      const struct point *behind)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct tree_change *change = &changes->changes[i];
		check_entry(change, &change->before, find(before, change->path), "before");
		check_entry(change, &change->after, find(behind, change->path), "after");
		cr_assert_neq(change->left, TREE_CHANGED_SINCE, "%s", change->path);
		if (change->moved_to) {
			const struct tree_change *to = find_change(changes, change->moved_to);
			cr_assert(to && to->moved_from && strcmp(to->moved_from, change->path) == 0,
				  "%s has become %s", change->path, change->moved_to);
			cr_assert_eq(to->after.ino, change->before.ino);
		}
	}
	for (size_t i = 0; i < before->count; i++) {
		const struct seen_path *was = &before->paths[i], *is = find(behind, was->path);
		/* of a file with several names those that were used are listed */
		if (!find_change(changes, was->path) && was->state.nlink == 1)
			cr_assert(is && is_same_state(&was->state, &is->state) &&
					  version_equal(&was->version, &is->version),
				  "%s changed, and is not listed", was->path);
	}
	for (size_t i = 0; i < behind->count; i++)
		if (!find(before, behind->paths[i].path))
			cr_assert(find_change(changes, behind->paths[i].path),
				  "%s is new, and not listed", behind->paths[i].path);
}

/* The same of neighbouring ranges, the youngest first, in one walk: each record is taken back
 * twice. */
static void check_neighbours(void)
{
	const struct tree_records *list = &history->list;
	struct tree_changes changes;
	struct tree_later later;
	uint64_t walked = 0;

	tree_later_init(list, &later);
	for (size_t to = POINTS_MAX - 1; to > 0; to--) {
		const struct point *before = &history->points[to - 1];
		const struct point *behind = &history->points[to];
		size_t first = before->place / PACK_UNIT_BYTES,
		       end = behind->place / PACK_UNIT_BYTES;
		cr_assert_eq(tree_changes_between(list, first, end, &later, &changes), 0);
		check_all(&changes, before, behind);
		walked += changes.records;
		tree_changes_free(&changes);
	}
	cr_assert_eq(walked, list->count);
	cr_assert_leq(later.walk ? later.walk->records : 0, list->count);
	cr_assert_eq(tree_changes_between(list, 0, list->count, &later, &changes),
		     later.walk ? -EINVAL : 0);
	tree_changes_free(&changes);
	tree_later_free(&later);
}

static void play(uint64_t rounds)
{
	struct tree_changes changes;

	make_directories();
	for (int i = 0; i < 12; i++)
		change();
	history->list.count = 0; /* that was before the session */
	add_point();
	while (history->point_count < POINTS_MAX) {
		for (uint64_t i = 0; i < rounds; i++)
			change();
		add_point();
	}
	for (size_t from = 0; from < POINTS_MAX; from++) {
		for (size_t to = from + 1; to < POINTS_MAX; to++) {
			struct tree_range range = {
				.from_place = history->points[from].place,
				.to_place = to + 1 < POINTS_MAX ? history->points[to].place : 0,
				.list_moved = true,
			};
			if (history->points[from].place == history->points[to].place)
				continue; /* nothing happened */
			/* nothing behind it: the same as without an end */
			if (range.to_place >= history->list.count * PACK_UNIT_BYTES)
				range.to_place = 0;
			dump(from, to);
			cr_assert_eq(tree_changes_read(&history->list, &range, &changes), 0);
			check_all(&changes, &history->points[from], &history->points[to]);
			tree_changes_free(&changes);
		}
	}
	check_neighbours();
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void with_history(uint64_t rounds)
{
	history = calloc(1, sizeof(*history));
	must(history);
	(void)snprintf(history->root, sizeof(history->root), "/tmp/seen-tree.XXXXXX");
	must(mkdtemp(history->root));
	history->list.memory = tree_memory_new();
	history->list.records = history->records;
	history->boundary = 1;
	play(rounds);
	(void)nftw(history->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	tree_memory_free(history->list.memory);
	free(history);
}

Test(tree_change, any_range_of_a_random_history)
{
	uint64_t count = fuzz_init(20);

	for (uint64_t i = 0; i < count; i++) {
		start_round();
		with_history(1 + pick(40));
	}
}
