/* The files of a session's packs: see pack_room.h. */
#include "tracker/content/pack_room.h"

#include <errno.h>
#include <string.h>
#include <sys/vfs.h>

#include "tracker/content/pack.h"
#include "tracker/content/pack_name.h"
#include "tracker/sys/sys.h"

enum {
	PATH_BYTES = SEGMENT_UNDO_PATH_BYTES + PACK_PART_NAME_BYTES,
	ENTRIES_BYTES = 1024, /* of a directory at a time */
	ROUNDS_MAX = 1024,    /* of dropping */
	PARTS_OF_MAX = 16,    /* so much of what may be kept is dropped at a time */
	COPIED_BITS = 30,     /* of undo_copied; the others are of the boundary */
	OPEN_FLAGS = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
};

/* The path of what is in the directory of packs.  False: there is none. */
static bool path_in(const struct segment *segment, const char *name, char *ret_path)
{
	const char *directory = segment_undo(segment);
	size_t length = directory ? strlen(directory) : 0;

	if (!length || length >= SEGMENT_UNDO_PATH_BYTES)
		return false;
	memcpy(ret_path, directory, length);
	ret_path[length] = '/';
	memcpy(ret_path + length + 1, name, strlen(name) + 1);
	return true;
}

/* Is so much of a file system free that a copy may be made in it? */
static bool has_reserve(const struct segment *segment, int fd, uint64_t more_bytes)
{
	struct statfs space;

	if (sys_call3(SYS_fstatfs, fd, (long)&space, 0) < 0 || space.f_bsize <= 0)
		return true; /* then each write tells */
	uint64_t blocks = more_bytes / (uint64_t)space.f_bsize + 1;
	return space.f_bavail >= blocks &&
	       (space.f_bavail - blocks) / 100 >=
		       space.f_blocks / 10000 * segment->settings->undo_reserve;
}

static int make_part(const struct segment *segment, const char *path)
{
	(void)pack_make_room(segment, 0);
	int fd = sys_open(path, O_RDWR | O_CREAT | OPEN_FLAGS, 0600);
	if (fd < 0 || has_reserve(segment, fd, PACK_PART_BYTES))
		return fd;
	/* a part that is empty tells that there was no room */
	(void)sys_close(fd);
	(void)sys_unlinkat(AT_FDCWD, path, 0);
	return -ENOSPC;
}

static uint32_t first_part(const struct segment *segment)
{
	return (uint32_t)__atomic_load_n(&segment->header->undo_first, __ATOMIC_RELAXED);
}

int pack_open_part(const struct segment *segment, uint32_t part)
{
	char path[PATH_BYTES], name[PACK_PART_NAME_BYTES];

	pack_part_name(part, name);
	if (part < first_part(segment) || !path_in(segment, name, path))
		return -ENOENT;
	int fd = sys_open(path, O_RDWR | OPEN_FLAGS, 0);
	return fd == -ENOENT ? make_part(segment, path) : fd;
}

int pack_open_files(const struct segment *segment, uint64_t place, char *ret_name)
{
	char path[PATH_BYTES], name[PACK_FILE_NAME_BYTES];

	pack_file_name(place, name);
	char *behind = strchr(name, '/');
	memcpy(ret_name, behind + 1, strlen(behind + 1) + 1);
	*behind = '\0';
	if (pack_part_of(place) < first_part(segment) || !path_in(segment, name, path))
		return -ENOENT;
	int fd = sys_open(path, O_RDONLY | O_DIRECTORY | OPEN_FLAGS, 0);
	if (fd != -ENOENT)
		return fd;
	int error = sys_mkdirat(AT_FDCWD, path, 0700);
	if (error < 0 && error != -EEXIST)
		return error;
	return sys_open(path, O_RDONLY | O_DIRECTORY | OPEN_FLAGS, 0);
}

void pack_drop_file(const struct segment *segment, uint64_t place)
{
	char name[PACK_FILE_NAME_BYTES];
	int directory = pack_open_files(segment, place, name);

	if (directory < 0)
		return;
	(void)sys_unlinkat(directory, name, 0);
	(void)sys_close(directory);
}

/* Has the next record begin a part: only whole parts make room. */
static void start_part(const struct segment *segment)
{
	struct segment_header *header = segment->header;
	uint64_t next = __atomic_load_n(&header->undo_next, __ATOMIC_RELAXED);

	if (next % PACK_PART_BYTES &&
	    __atomic_compare_exchange_n(&header->undo_next, &next,
					(next / PACK_PART_BYTES + 1) * PACK_PART_BYTES, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		__atomic_store_n(&header->undo_part_bytes, 0, __ATOMIC_RELAXED);
}

void pack_add_bytes(const struct segment *segment, uint64_t size_bytes)
{
	struct segment_header *header = segment->header;

	(void)__atomic_fetch_add(&header->undo_bytes, size_bytes, __ATOMIC_RELAXED);
	/* The files of a part may hold any number of bytes. */
	if (__atomic_add_fetch(&header->undo_part_bytes, size_bytes, __ATOMIC_RELAXED) >
	    segment->settings->undo_max_bytes / PARTS_OF_MAX)
		start_part(segment);
}

static void remove_bytes(const struct segment *segment, uint64_t size_bytes)
{
	uint64_t *kept = &segment->header->undo_bytes;
	uint64_t before = __atomic_load_n(kept, __ATOMIC_RELAXED), after;

	/* never below nothing: a wrong number would then be a huge one */
	do
		after = before > size_bytes ? before - size_bytes : 0;
	while (!__atomic_compare_exchange_n(kept, &before, after, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

/* Removes what is in a directory of contents.  Returns the bytes that it held. */
static uint64_t empty_files(int directory)
{
	_Alignas(struct sys_entry) char entries[ENTRIES_BYTES];
	uint64_t size_bytes = 0;
	ssize_t got;

	while ((got = sys_getdents64(directory, entries, sizeof(entries))) > 0)
		for (ssize_t at = 0; at < got;) {
			const struct sys_entry *entry = (const struct sys_entry *)(void *)(entries +
											   at);
			struct stat stat;
			at += entry->size_bytes ? entry->size_bytes : (uint16_t)got;
			if (!pack_is_file_name(entry->name) ||
			    sys_fstatat(directory, entry->name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			if (sys_unlinkat(directory, entry->name, 0) == 0)
				size_bytes += (uint64_t)stat.st_size;
		}
	return size_bytes;
}

/* Removes a part, which no writer opens any more. */
static void drop_part(const struct segment *segment, uint32_t part)
{
	char path[PATH_BYTES], name[PACK_PART_NAME_BYTES];
	uint64_t size_bytes = 0;
	struct stat stat;

	pack_part_name(part, name);
	if (path_in(segment, name, path)) {
		if (sys_stat(path, &stat) == 0)
			size_bytes = (uint64_t)stat.st_size;
		(void)sys_unlinkat(AT_FDCWD, path, 0);
	}
	pack_files_name(part, name);
	if (path_in(segment, name, path)) {
		int fd = sys_open(path, O_RDONLY | O_DIRECTORY | OPEN_FLAGS, 0);
		if (fd >= 0) {
			size_bytes += empty_files(fd);
			(void)sys_close(fd);
			(void)sys_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
		}
	}
	remove_bytes(segment, size_bytes);
	segment_count(segment, COUNTER_undo_dropped, 1);
}

int pack_make_room(const struct segment *segment, uint64_t more_bytes)
{
	const struct segment_header *header = segment->header;
	uint64_t max_bytes = segment->settings->undo_max_bytes;

	if (more_bytes > max_bytes)
		return -ENOSPC;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		if (__atomic_load_n(&header->undo_bytes, __ATOMIC_RELAXED) <=
		    max_bytes - more_bytes)
			return 0;
		uint64_t first = __atomic_load_n(&header->undo_first, __ATOMIC_RELAXED);
		uint64_t next = __atomic_load_n(&header->undo_next, __ATOMIC_RELAXED);
		if (first >= next / PACK_PART_BYTES)
			return -ENOSPC; /* this step's own */
		if (__atomic_compare_exchange_n(&segment->header->undo_first, &first, first + 1,
						false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			drop_part(segment, (uint32_t)first);
	}
	return -ENOSPC;
}

/* Can no link be made, and no shared copy, from the one to the other?  Two mounts of a file system are two. */
static bool is_far(int from, int to)
{
	struct statx one, other;

	if (sys_call6(SYS_statx, from, (long)"", AT_EMPTY_PATH, STATX_MNT_ID, (long)&one, 0) < 0 ||
	    sys_call6(SYS_statx, to, (long)"", AT_EMPTY_PATH, STATX_MNT_ID, (long)&other, 0) < 0)
		return false;
	return one.stx_dev_major != other.stx_dev_major ||
	       one.stx_dev_minor != other.stx_dev_minor ||
	       ((one.stx_mask & other.stx_mask & STATX_MNT_ID) &&
		one.stx_mnt_id != other.stx_mnt_id);
}

/* Counts what is copied since the boundary, where it may be. */
static bool may_copy_more(const struct segment *segment, uint64_t size_bytes)
{
	const uint64_t mask = (UINT64_C(1) << COPIED_BITS) - 1;
	struct segment_header *header = segment->header;
	uint64_t boundary = __atomic_load_n(&header->undo_boundary, __ATOMIC_RELAXED)
			    << COPIED_BITS;
	uint64_t before = __atomic_load_n(&header->undo_copied, __ATOMIC_RELAXED), copied;

	do {
		copied = ((before ^ boundary) & ~mask ? 0 : before & mask) + size_bytes;
		if (copied > PACK_FAR_STEP_BYTES_MAX)
			return false;
	} while (!__atomic_compare_exchange_n(&header->undo_copied, &before, boundary | copied,
					      true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

int pack_may_copy(const struct segment *segment, uint64_t size_bytes, int from, int to)
{
	if (size_bytes > segment->settings->undo_max_file_bytes)
		return -EFBIG;
	if (!has_reserve(segment, to, size_bytes))
		return -ENOSPC;
	if (is_far(from, to) &&
	    (size_bytes > PACK_FAR_FILE_BYTES_MAX || !may_copy_more(segment, size_bytes)))
		return -EXDEV;
	return 0;
}
