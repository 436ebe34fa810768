/* The directory of a session's packs: see packs.h. */
#include "cli/session/packs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/session/owned.h"
#include "cli/session/store_files.h"
#include "tracker/content/pack_name.h"

static const char OPERATIONS[] = "op-", PLAN[] = "plan", FRESH_PLAN[] = "plan.new",
		  MERGED[] = "merged-";
static const char LOCKS[] = "locks"; /* of git, that undo makes */

enum { MERGED_DIGITS = 8 };

/* The directories that there are: of a session's packs, of one operation of undo or redo in it (it
 * has packs, too, and a plan), and of one part's contents in either. */
enum level { LEVEL_PACKS, LEVEL_OPERATION, LEVEL_FILES };

/* What is found in a directory of packs. */
struct found {
	int at;
	const char *name;
	struct stat stat;
	enum level below; /* of a directory: its own level; of a file LEVEL_PACKS */
};

/* Called for each file and directory that packs have; what is below a directory comes first.  Not 0 ends
 * the walk. */
typedef int visitor(const struct found *found, enum level level, void *data);

/* A file of an operation, beside parts: its plan, or a content that it merged. */
static bool is_of_operation(const char *name)
{
	const char *digits = name + sizeof(MERGED) - 1;

	return strcmp(name, PLAN) == 0 || strcmp(name, FRESH_PLAN) == 0 ||
	       (strncmp(name, MERGED, sizeof(MERGED) - 1) == 0 &&
		strspn(digits, "0123456789abcdef") == MERGED_DIGITS && !digits[MERGED_DIGITS]);
}

/* Returns 0; -EEXIST: it is none of the packs; -errno: that is not known. */
static int identify(int at, const char *name, enum level level, struct found *ret_found)
{
	struct found found = { .at = at, .name = name, .below = LEVEL_PACKS };
	uint32_t part;
	bool known;

	if (fstatat(at, name, &found.stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (found.stat.st_uid != geteuid())
		return -EEXIST;
	if (S_ISDIR(found.stat.st_mode)) {
		if (level != LEVEL_FILES && pack_is_files_name(name, &part))
			found.below = LEVEL_FILES;
		else if (level == LEVEL_PACKS &&
			 strncmp(name, OPERATIONS, sizeof(OPERATIONS) - 1) == 0)
			found.below = LEVEL_OPERATION;
		known = found.below != LEVEL_PACKS;
	} else if (level == LEVEL_FILES) {
		known = pack_is_file_name(name);
	} else {
		known = pack_is_part_name(name, &part) ||
			(level == LEVEL_OPERATION ? is_of_operation(name)
						  : strcmp(name, LOCKS) == 0);
	}
	*ret_found = found;
	return known ? 0 : -EEXIST;
}

/* Walks the directory `at`; names that are no part's are -EEXIST where is_strict. */
static int walk(int at, enum level level, bool is_strict, visitor *visit, void *data,
		char *ret_name, size_t capacity)
{
	DIR *stream = store_files_list(at);
	int error = stream ? 0 : -errno;
	const char *name;

	while (error == 0 && stream && (name = store_files_next(stream))) {
		struct found found = { .name = NULL };
		int fd = -1;
		error = identify(at, name, level, &found);
		if (error == 0 && S_ISDIR(found.stat.st_mode))
			error = session_open_directory(at, name, &fd);
		if (fd >= 0) {
			error = walk(fd, found.below, is_strict, visit, data, ret_name, capacity);
			(void)close(fd);
		}
		if (error == 0)
			error = visit(&found, level, data);
		/* it went meanwhile, or is another one's, and stays */
		if (error == -ENOENT || (error == -EEXIST && !is_strict))
			error = 0;
		if (error < 0 && ret_name && !ret_name[0])
			(void)snprintf(ret_name, capacity, PACK_DIRECTORY "/%s", name);
	}
	if (stream && error == 0)
		error = -errno; /* of its end */
	if (stream)
		(void)closedir(stream);
	return error;
}

struct count {
	uint64_t size_bytes, block_bytes;
	uint64_t first, next; /* parts */
};

static int add(const struct found *found, enum level level, void *data)
{
	struct count *count = data;
	uint32_t part;

	if (!S_ISDIR(found->stat.st_mode))
		count->size_bytes += (uint64_t)found->stat.st_size;
	count->block_bytes += (uint64_t)found->stat.st_blocks * 512;
	if (level == LEVEL_PACKS && pack_is_part_name(found->name, &part)) {
		if (part < count->first)
			count->first = part;
		if (part + UINT64_C(1) > count->next)
			count->next = part + UINT64_C(1);
	}
	return 0;
}

static int count(int at, struct count *ret_count)
{
	*ret_count = (struct count){ .first = UINT64_MAX };
	return walk(at, LEVEL_PACKS, false, add, ret_count, NULL, 0);
}

int packs_recount(const struct segment *segment, const char *path)
{
	struct segment_header *header = segment->header;
	struct count counted;
	int fd = -1;
	int error = session_open_directory(AT_FDCWD, path, &fd);

	if (error < 0)
		return error;
	error = count(fd, &counted);
	(void)close(fd);
	if (error < 0)
		return error;
	__atomic_store_n(&header->undo_bytes, counted.size_bytes, __ATOMIC_RELAXED);
	uint64_t next = __atomic_load_n(&header->undo_next, __ATOMIC_RELAXED);
	if (next == 0 && counted.next > 0) {
		__atomic_store_n(&header->undo_first, counted.first, __ATOMIC_RELAXED);
		(void)__atomic_compare_exchange_n(&header->undo_next, &next,
						  counted.next * PACK_PART_BYTES, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Are there zeroes alone from an offset on? */
static bool ends_at(int fd, off_t end)
{
	static const char ZEROES[4096];
	char bytes[sizeof(ZEROES)];
	ssize_t got;

	while ((got = pread(fd, bytes, sizeof(bytes), end)) > 0) {
		if (memcmp(bytes, ZEROES, (size_t)got) != 0)
			return false;
		end += got;
	}
	return got == 0;
}

void packs_cut(const struct segment *segment)
{
	uint64_t next = __atomic_load_n(&segment->header->undo_next, __ATOMIC_RELAXED);
	off_t end = (off_t)(next % PACK_PART_BYTES);
	const char *directory = segment_undo(segment);
	char path[SEGMENT_PATH_BYTES], name[PACK_PART_NAME_BYTES];
	struct stat stat;

	pack_part_name(pack_part_of(next), name);
	if (!directory || !end ||
	    snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > end &&
	    ends_at(fd, end))
		(void)!ftruncate(fd, end);
	(void)close(fd);
}

static int remove_found(const struct found *found, enum level level, void *data)
{
	int flags = S_ISDIR(found->stat.st_mode) ? AT_REMOVEDIR : 0;

	(void)level, (void)data;
	return unlinkat(found->at, found->name, flags) < 0 && errno != ENOENT ? -errno : 0;
}

static int pass_over(const struct found *found, enum level level, void *data)
{
	(void)found, (void)level, (void)data;
	return 0;
}

int packs_remove(int at, bool only_try, char *ret_name, size_t capacity)
{
	int fd = -1;
	int error = session_open_directory(at, PACK_DIRECTORY, &fd);

	ret_name[0] = '\0';
	if (error == 0) {
		error = walk(fd, LEVEL_PACKS, true, only_try ? pass_over : remove_found, NULL,
			     ret_name, capacity);
		(void)close(fd);
	} else if (error == -ELOOP || error == -ENOTDIR || error == -EPERM) {
		error = -EEXIST;
	}
	if (error == 0 && !only_try && unlinkat(at, PACK_DIRECTORY, AT_REMOVEDIR) < 0)
		error = -errno;
	if (!ret_name[0])
		(void)snprintf(ret_name, capacity, PACK_DIRECTORY);
	return error;
}

int packs_size(int at, uint64_t *ret_bytes)
{
	struct count counted = { 0 };
	int fd = -1;
	int error = session_open_directory(at, PACK_DIRECTORY, &fd);

	if (error == 0) {
		error = count(fd, &counted);
		(void)close(fd);
	}
	*ret_bytes = counted.block_bytes;
	return error == -ENOENT ? 0 : error;
}
