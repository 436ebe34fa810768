/* Reads what was kept for undo: see pack_reader.h. */
#include "cli/undo/pack_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/memory_file.h"
#include "cli/session/owned.h"
#include "cli/session/store_files.h"
#include "tracker/content/pack_code.h"
#include "tracker/content/pack_name.h"

enum {
	GROWTH = 64, /* parts at a time */
	ALL_PERMISSIONS = 07777,
	LINK_BYTES = 32,
};

static int order_parts(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
	return one < other ? -1 : one > other;
}

/* Lists the parts that are there. */
static int list_parts(struct pack_reader *reader)
{
	DIR *stream = store_files_list(reader->directory);
	int error = stream ? 0 : -errno;
	const char *name = NULL;

	while (error == 0 && (name = store_files_next(stream))) {
		uint32_t part;
		if (!pack_is_part_name(name, &part))
			continue;
		if (reader->part_count % GROWTH == 0) {
			uint32_t *more = realloc(reader->parts,
						 (reader->part_count + GROWTH) * sizeof(*more));
			if (!more) {
				error = -ENOMEM;
				break;
			}
			reader->parts = more;
		}
		reader->parts[reader->part_count++] = part;
	}
	if (error == 0 && !name)
		error = -errno;
	if (stream)
		(void)closedir(stream);
	if (error == 0 && reader->part_count) {
		qsort(reader->parts, reader->part_count, sizeof(*reader->parts), order_parts);
		reader->dropped_parts = reader->parts[0];
	}
	return error;
}

int pack_reader_open(const char *path, struct pack_reader *ret_reader)
{
	struct pack_reader *reader = ret_reader;
	int error;

	memset(reader, 0, sizeof(*reader));
	reader->directory = -1;
	error = session_open_directory(AT_FDCWD, path, &reader->directory);
	if (error == -ENOENT)
		return 0;
	if (error == 0)
		error = list_parts(reader);
	if (error < 0)
		pack_reader_close(reader);
	return error;
}

void pack_reader_close(struct pack_reader *reader)
{
	if (reader->directory >= 0)
		(void)close(reader->directory);
	free(reader->parts);
	free(reader->bytes);
	reader->directory = -1;
	reader->parts = NULL;
	reader->bytes = NULL;
	reader->part_count = reader->part = 0;
	reader->size_bytes = reader->at = 0;
}

static int open_part(const struct pack_reader *reader, uint32_t part)
{
	char name[PACK_PART_NAME_BYTES];

	pack_part_name(part, name);
	int fd = openat(reader->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static ssize_t read_whole(int fd, void *bytes, size_t size_bytes, off_t offset)
{
	size_t done = 0;

	while (done < size_bytes) {
		ssize_t got = pread(fd, (char *)bytes + done, size_bytes - done,
				    offset + (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* Reads a part into memory.  One that went meanwhile is empty. */
static int load_part(struct pack_reader *reader, uint32_t part)
{
	if (!reader->bytes)
		reader->bytes = malloc(PACK_PART_BYTES);
	if (!reader->bytes)
		return -ENOMEM;
	reader->size_bytes = reader->at = 0;
	int fd = open_part(reader, part);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	ssize_t got = read_whole(fd, reader->bytes, PACK_PART_BYTES, 0);
	(void)close(fd);
	if (got < 0)
		return (int)got;
	reader->size_bytes = (size_t)got;
	return 0;
}

static bool copy_text(const unsigned char *bytes, size_t length, char *ret_text)
{
	memcpy(ret_text, bytes, length);
	ret_text[length] = '\0';
	return strlen(ret_text) == length;
}

/* The record of the part that another one names, which is about to be read.  ret_path: its own part of its path. */
static bool read_named(const struct pack_reader *reader, uint32_t unit_1,
		       struct pack_record *ret_there, const unsigned char **ret_path)
{
	size_t at = (size_t)(unit_1 - 1) * PACK_UNIT_BYTES;

	*ret_path = reader->bytes + at;
	if (at >= reader->at || !pack_decode(*ret_path, reader->size_bytes - at, at, ret_there) ||
	    ret_there->size_bytes > reader->size_bytes - at)
		return false;
	*ret_path += ret_there->code_bytes;
	return true;
}

/* A name in the directory of another record's path, which stands there in full. */
static bool join_text(const struct pack_reader *reader, const unsigned char *bytes, size_t length,
		      uint32_t unit_1, char *ret_text)
{
	struct pack_record there;
	const unsigned char *path;

	if (!read_named(reader, unit_1, &there, &path) || there.path_unit_1 ||
	    !copy_text(path, there.path_bytes, ret_text))
		return false;
	const char *slash = strrchr(ret_text, '/');
	size_t above = slash ? (size_t)(slash + 1 - ret_text) : 0;
	return above + length <= PACK_PATH_BYTES_MAX && copy_text(bytes, length, ret_text + above);
}

/* A text of a record: it stands behind it, or in another record of the part, or each has a part of it.  ret_text:
 * PACK_PATH_BYTES_MAX + 1. */
static bool read_text(const struct pack_reader *reader, const unsigned char *bytes, size_t length,
		      uint32_t unit_1, char *ret_text)
{
	struct pack_record there;
	const unsigned char *path;

	if (!unit_1)
		return copy_text(bytes, length, ret_text);
	if (length)
		return join_text(reader, bytes, length, unit_1, ret_text);
	if (!read_named(reader, unit_1, &there, &path))
		return false;
	return there.path_unit_1
		       ? join_text(reader, path, there.path_bytes, there.path_unit_1, ret_text)
		       : copy_text(path, there.path_bytes, ret_text);
}

/* The record at the reader's place in its part.  False: there is none. */
static bool read_record(struct pack_reader *reader, uint64_t place, struct pack_entry *ret_entry)
{
	const unsigned char *bytes = reader->bytes + reader->at;
	size_t room = reader->size_bytes - reader->at;
	struct pack_record record;

	if (!pack_decode(bytes, room, place, &record) || record.size_bytes > room)
		return false;
	const unsigned char *text = bytes + record.code_bytes;
	struct pack_head head;
	memcpy(&head, bytes, sizeof(head));
	if (!read_text(reader, text, record.path_bytes, record.path_unit_1, reader->path) ||
	    !read_text(reader, text + record.path_bytes, record.other_bytes, record.other_unit_1,
		       reader->other) ||
	    head.check != pack_check(bytes, &record, reader->path, strlen(reader->path),
				     reader->other, strlen(reader->other)))
		return false;
	ret_entry->record = record;
	ret_entry->path = reader->path;
	ret_entry->other = reader->other;
	return true;
}

/* The units of a record whose writer is not done, or was killed before it was; 0: it is none. */
static size_t begun_bytes(const unsigned char *unit, uint64_t place, size_t room)
{
	struct pack_head head;

	if (room < sizeof(head))
		return 0;
	memcpy(&head, unit, sizeof(head));
	return head.magic == PACK_MAGIC_BEGUN && head.check == place && head.size_bytes <= room &&
			       head.size_bytes % PACK_UNIT_BYTES == 0
		       ? head.size_bytes
		       : 0;
}

static bool is_empty(const unsigned char *unit)
{
	return unit[0] == 0 && memcmp(unit, unit + 1, PACK_UNIT_BYTES - 1) == 0;
}

/* The next record of the part in memory. */
static bool next_in_part(struct pack_reader *reader, struct pack_entry *ret_entry)
{
	uint64_t begin = (uint64_t)reader->parts[reader->part - 1] * PACK_PART_BYTES;
	bool was_damaged = false;

	while (reader->at + PACK_UNIT_BYTES <= reader->size_bytes) {
		if (read_record(reader, begin + reader->at, ret_entry)) {
			reader->at += ret_entry->record.size_bytes;
			reader->next_place = begin + reader->at;
			return true;
		}
		const unsigned char *unit = reader->bytes + reader->at;
		size_t begun = begun_bytes(unit, begin + reader->at,
					   reader->size_bytes - reader->at);
		if (begun) {
			was_damaged = false;
			reader->at += begun;
			continue;
		}
		/* up to the next record it is one stretch, also where there are zeroes in it */
		bool is_damaged = !is_empty(unit);
		reader->damaged += is_damaged && !was_damaged;
		if (is_damaged)
			reader->damaged_place = begin + reader->at;
		was_damaged |= is_damaged;
		reader->at += PACK_UNIT_BYTES;
	}
	return false;
}

int pack_reader_next(struct pack_reader *reader, struct pack_entry *ret_entry)
{
	for (;;) {
		if (reader->part > 0 && next_in_part(reader, ret_entry))
			return 1;
		if (reader->part == reader->part_count)
			return 0;
		int error = load_part(reader, reader->parts[reader->part++]);
		if (error < 0)
			return error;
	}
}

void pack_reader_seek(struct pack_reader *reader, uint64_t place)
{
	uint32_t part = pack_part_of(place);

	reader->part = 0;
	reader->size_bytes = reader->at = 0;
	while (reader->part < reader->part_count && reader->parts[reader->part] < part)
		reader->part++;
	if (reader->part == reader->part_count || reader->parts[reader->part] != part)
		return;
	if (load_part(reader, reader->parts[reader->part]) == 0) { /* else the next call says why */
		reader->part++;
		reader->at = place % PACK_PART_BYTES & ~(size_t)(PACK_UNIT_BYTES - 1);
		if (reader->at > reader->size_bytes)
			reader->at = reader->size_bytes;
	}
}

int pack_reader_at(struct pack_reader *reader, uint64_t place, struct pack_entry *ret_entry)
{
	size_t offset = place % PACK_PART_BYTES;

	if (reader->part == 0 || reader->parts[reader->part - 1] != pack_part_of(place) ||
	    reader->size_bytes == 0)
		pack_reader_seek(reader, place);
	if (reader->part == 0 || reader->parts[reader->part - 1] != pack_part_of(place) ||
	    offset > reader->size_bytes)
		return -ENOENT;
	reader->at = offset;
	if (!read_record(reader, place, ret_entry))
		return -ENOENT;
	reader->at += ret_entry->record.size_bytes;
	return 0;
}

/* ---- contents ---- */

/* The head and the fields of the record at a place. */
static int read_code(int part, uint64_t place, struct pack_record *ret_record)
{
	unsigned char code[PACK_CODE_BYTES_MAX];
	ssize_t got = read_whole(part, code, sizeof(code), (off_t)(place % PACK_PART_BYTES));

	if (got < 0)
		return (int)got;
	/* what follows the fields is not read here */
	return pack_decode(code, (size_t)got, place, ret_record) ? 0 : -EBADMSG;
}

/* The record behind which the content of another one stands, which may be that one itself. */
static int find_inline(int part, const struct pack_record *wanted, struct pack_record *ret_record)
{
	int error = read_code(part, wanted->place, ret_record);
	uint32_t unit_1 = error == 0 ? ret_record->content_unit_1 : 0;
	uint64_t begin = wanted->place - wanted->place % PACK_PART_BYTES;

	if (error == 0 && !version_equal(&ret_record->version, &wanted->version))
		error = -EBADMSG;
	if (error < 0 || !unit_1)
		return error;
	error = read_code(part, begin + (uint64_t)(unit_1 - 1) * PACK_UNIT_BYTES, ret_record);
	if (error == 0 && (ret_record->held != PACK_INLINE || ret_record->content_unit_1 ||
			   !version_equal(&ret_record->version, &wanted->version)))
		error = -EBADMSG;
	return error;
}

/* A copy in memory of what stands behind a record. */
static int open_inline(const struct pack_reader *reader, const struct pack_record *wanted)
{
	int part = open_part(reader, pack_part_of(wanted->place));
	struct pack_record there = { .content_bytes = 0 }, *record = &there;
	int fd = part < 0 ? part : find_inline(part, wanted, record);
	off_t offset = (off_t)(record->place % PACK_PART_BYTES + pack_content_offset(record));
	char *bytes = malloc(record->content_bytes + (size_t)1);

	if (fd == 0 && !bytes)
		fd = -ENOMEM;
	if (fd == 0) {
		ssize_t got = read_whole(part, bytes, record->content_bytes, offset);
		struct version version = version_of_bytes(bytes, got > 0 ? (uint64_t)got : 0);
		if (got < 0)
			fd = (int)got;
		else if ((size_t)got != record->content_bytes ||
			 !version_equal(&version, &record->version))
			fd = -EBADMSG;
	}
	if (fd == 0) {
		fd = memory_file_open("seen");
		if (fd >= 0 &&
		    (write(fd, bytes, record->content_bytes) != (ssize_t)record->content_bytes ||
		     lseek(fd, 0, SEEK_SET) < 0)) {
			int error = -errno;
			(void)close(fd);
			fd = error;
		}
	}
	if (part >= 0)
		(void)close(part);
	free(bytes);
	return fd;
}

static int64_t nanoseconds(const struct timespec *time)
{
	return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

/* Opens a hard link to a file that its owner may not read, as it was removed: the owner may. */
static int open_unreadable(int directory, const char *name)
{
	char link[LINK_BYTES];
	struct stat stat;
	int fd = -1, path = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (path < 0)
		return -errno;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	errno = EACCES;
	if (fstat(path, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	    chmod(link, (stat.st_mode & ALL_PERMISSIONS) | S_IRUSR) == 0) {
		fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		int error = errno;
		(void)chmod(link, stat.st_mode & ALL_PERMISSIONS);
		errno = error;
	}
	int error = fd < 0 ? -errno : fd;
	(void)close(path);
	return error;
}

static int open_file(const struct pack_reader *reader, const struct pack_record *record)
{
	char name[PACK_FILE_NAME_BYTES];
	struct content content;
	struct stat stat;

	pack_file_name(record->place, name);
	int fd = openat(reader->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int error = fd < 0 ? -errno : 0;
	if (error == -EACCES && record->held == PACK_LINK)
		error = fd = open_unreadable(reader->directory, name);
	if (error < 0)
		return error == -ELOOP ? -EBADMSG : error;
	bool is_sound = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
			(uint64_t)stat.st_size == record->before.size_bytes;
	if (is_sound && record->held == PACK_LINK)
		is_sound = stat.st_ino == record->before.ino &&
			   nanoseconds(&stat.st_mtim) == record->before.mtime_ns;
	if (is_sound && record->held == PACK_COPY)
		is_sound = content_of_descriptor(fd, record->before.size_bytes, &content) == 0 &&
			   version_equal(&content.version, &record->version);
	if (is_sound)
		return fd;
	(void)close(fd);
	return -EBADMSG;
}

int pack_content_open(const struct pack_reader *reader, const struct pack_record *record)
{
	if (reader->directory < 0)
		return -ENOENT;
	switch ((enum pack_held)record->held) {
	case PACK_INLINE:
		return open_inline(reader, record);
	case PACK_LINK:
	case PACK_REFLINK:
	case PACK_COPY:
		return open_file(reader, record);
	case PACK_NOT_TAKEN:
	case PACK_EARLIER:
	case PACK_NOT_KEPT:
	case PACK_HELD_COUNT:
		break;
	}
	return -ENOENT;
}
