/* Where the kernel has a directory: see keep_directory.h. */
#include "shim/keep/keep_directory.h"

#include <string.h>

#include "shim/keep/scratch.h"
#include "tracker/path/path.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum {
	ANSWERS = 4,
	ANSWER_PATH_BYTES = 512, /* of a longer path the kernel is asked each time */
	NAMES_MAX = 16,          /* of a path; of more one question to /proc takes less */
};

static const uint64_t VALID_NS = 2000000;

static struct {
	uint32_t taken; /* by a thread that reads or writes one */
	uint32_t next;  /* is written to */
	struct answer {
		struct keep_validity validity;
		uint64_t dev, ino;
		size_t length; /* 0: none */
		char path[ANSWER_PATH_BYTES];
	} answers[ANSWERS];
} known;

struct keep_validity keep_validity_init(const struct segment *segment)
{
	return (struct keep_validity){
		.until_ns = sys_clock_ns(CLOCK_MONOTONIC) + VALID_NS,
		.moves = __atomic_load_n(&segment->header->undo_moves, __ATOMIC_ACQUIRE),
	};
}

bool keep_validity_holds(const struct segment *segment, const struct keep_validity *validity)
{
	return validity->moves == __atomic_load_n(&segment->header->undo_moves, __ATOMIC_ACQUIRE) &&
	       sys_clock_ns(CLOCK_MONOTONIC) < validity->until_ns;
}

void keep_directory_moved(const struct segment *segment)
{
	(void)__atomic_add_fetch(&segment->header->undo_moves, 1, __ATOMIC_RELEASE);
}

bool keep_link_of(int fd, char *ret_path)
{
	return subject_link(SUBJECT_SELF, fd, ret_path, SEGMENT_PATH_BYTES) > 0 &&
	       ret_path[0] == '/';
}

/* Does no symbolic link lead to what a path names?  Then its path is what its name says.  A process's first question to
 * /proc takes several times what this does: the kernel makes directories for it.  own: room for the path. */
static bool is_without_links(int directory, const char *path, int flags, char *own)
{
	size_t length = strnlen(path, SEGMENT_PATH_BYTES);
	struct stat stat;
	int names = 0;

	if (!length || length == SEGMENT_PATH_BYTES || (path[0] != '/' && directory != AT_FDCWD))
		return false;
	memcpy(own, path, length + 1);
	for (char *at = own + strspn(own, "/"); *at; at += strspn(at, "/")) {
		at += strcspn(at, "/");
		char behind = *at;
		*at = '\0';
		bool is_plain = names++ < NAMES_MAX &&
				sys_fstatat(directory, own, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
				!S_ISLNK(stat.st_mode);
		*at = behind;
		if (!is_plain || ((behind || (flags & O_DIRECTORY)) && !S_ISDIR(stat.st_mode)))
			return false;
	}
	return true;
}

static bool find_without_links(int directory, const char *path, int flags, char *ret_path)
{
	char *own = scratch_acquire();
	bool found = own && is_without_links(directory, path, flags, own);

	if (found && path[0] != '/')
		found = sys_getcwd(own, SEGMENT_PATH_BYTES) > 0;
	found = found && path_normalize(own, path, ret_path, SEGMENT_PATH_BYTES) > 0;
	scratch_release(own);
	return found;
}

bool keep_link_of_path(int directory, const char *path, int flags, char *ret_path)
{
	if (find_without_links(directory, path, flags, ret_path))
		return true;
	int fd = sys_openat(directory, path, O_PATH | O_CLOEXEC | flags, 0);

	if (fd < 0)
		return false;
	bool found = keep_link_of(fd, ret_path);
	(void)sys_close(fd);
	return found;
}

static bool acquire(void)
{
	return !__atomic_exchange_n(&known.taken, 1, __ATOMIC_ACQUIRE);
}

static void release(void)
{
	__atomic_store_n(&known.taken, 0, __ATOMIC_RELEASE);
}

/* By its inode; NULL: by its path, of so many bytes. */
static bool is_of(const struct answer *answer, const struct stat *directory, const char *path,
		  size_t length)
{
	if (!directory)
		return answer->length == length && memcmp(answer->path, path, length) == 0;
	return answer->ino == directory->st_ino && answer->dev == directory->st_dev;
}

static bool recall(const struct segment *segment, const struct stat *directory, const char *path,
		   size_t length, char *ret_path)
{
	bool found = false;

	if (!acquire())
		return false;
	for (int i = 0; i < ANSWERS && !found; i++) {
		const struct answer *answer = &known.answers[i];
		found = answer->length && is_of(answer, directory, path, length) &&
			keep_validity_holds(segment, &answer->validity);
		if (found)
			memcpy(ret_path, answer->path, answer->length + 1);
	}
	release();
	return found;
}

/* A path that was the kernel's own answer has no links in it: for another directory to have it, this one must be moved
 * or removed. */
static bool recall_path(const struct segment *segment, const char *path, char *ret_path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return path[0] == '/' && recall(segment, NULL, path, length, ret_path);
}

static void remember(const struct stat *directory, const struct keep_validity *validity,
		     const char *path)
{
	size_t length = strlen(path);

	if (length >= ANSWER_PATH_BYTES || !acquire())
		return;
	struct answer *answer = &known.answers[known.next++ % ANSWERS];
	answer->validity = *validity;
	answer->dev = directory->st_dev;
	answer->ino = directory->st_ino;
	answer->length = length;
	memcpy(answer->path, path, length + 1);
	release();
}

bool keep_directory_find(const struct segment *segment, int directory, const char *path,
			 char *ret_path)
{
	struct stat stat;

	if (!path && directory == AT_FDCWD) /* that is one call */
		return sys_getcwd(ret_path, SEGMENT_PATH_BYTES) > 0 && ret_path[0] == '/';
	if (path && recall_path(segment, path, ret_path))
		return true;
	struct keep_validity validity = keep_validity_init(segment);
	bool is_known = path ? sys_fstatat(directory, path, &stat, 0) == 0
			     : sys_fstat(directory, &stat) == 0;
	if (is_known && !S_ISDIR(stat.st_mode))
		return false;
	if (is_known && recall(segment, &stat, NULL, 0, ret_path))
		return true;
	bool found = path ? keep_link_of_path(directory, path, O_DIRECTORY, ret_path)
			  : keep_link_of(directory, ret_path);
	if (found && is_known)
		remember(&stat, &validity, ret_path);
	return found;
}

void keep_directory_reset(void)
{
	if (known.taken)
		for (int i = 0; i < ANSWERS; i++)
			known.answers[i].length = 0;
	known.taken = 0;
}
