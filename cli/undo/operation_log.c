/* What an undo changes, on record: see operation_log.h. */
#include "cli/undo/operation_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/session/store_files.h"
#include "cli/undo/file_copy.h"
#include "cli/undo/operation.h"
#include "tracker/content/pack_code.h"
#include "tracker/content/pack_name.h"
#include "tracker/sys/sys.h"

#define NO_PLACE UINT64_MAX

/* The number behind the last part that is there: an interrupted one may have left the last torn. */
static int next_part(int directory, uint32_t *ret_number)
{
	DIR *stream = store_files_list(directory);
	const char *name;
	uint32_t number;

	*ret_number = 0;
	if (!stream)
		return -errno;
	while ((name = store_files_next(stream)))
		if (pack_is_part_name(name, &number) && number >= *ret_number)
			*ret_number = number + 1;
	int error = -errno;
	(void)closedir(stream);
	return error;
}

int operation_log_open(int directory, uint32_t number, struct operation_log *ret_log)
{
	char name[OPERATION_NAME_BYTES];
	uint32_t part;

	*ret_log = (struct operation_log){ .directory = -1, .part = -1 };
	operation_name(number, name);
	ret_log->directory = openat(directory, name,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret_log->directory < 0)
		return -errno;
	ret_log->buffer = malloc(PACK_INLINE_BYTES_MAX);
	int error = ret_log->buffer ? next_part(ret_log->directory, &part) : -ENOMEM;
	if (error == 0)
		ret_log->next = (uint64_t)part * PACK_PART_BYTES;
	return error;
}

void operation_log_close(struct operation_log *log)
{
	if (log->part >= 0)
		(void)close(log->part);
	if (log->directory >= 0)
		(void)close(log->directory);
	free(log->buffer);
	*log = (struct operation_log){ .directory = -1, .part = -1 };
}

int operation_log_sync(int directory, uint32_t number)
{
	char name[OPERATION_NAME_BYTES];
	int error = 0;

	operation_name(number, name);
	int log = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = log < 0 ? NULL : store_files_list(log);
	const char *file = NULL;
	if (!stream)
		error = -errno;
	while (error == 0 && (file = store_files_next(stream))) {
		uint32_t part;
		int fd = pack_is_part_name(file, &part)
				 ? openat(log, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
				 : -1;
		if (fd >= 0 && fdatasync(fd) < 0)
			error = -errno;
		if (fd >= 0)
			(void)close(fd);
	}
	if (error == 0 && !file)
		error = -errno;
	if (error == 0 && fsync(log) < 0)
		error = -errno;
	if (stream)
		(void)closedir(stream);
	if (log >= 0)
		(void)close(log);
	return error;
}

/* ---- places ---- */

/* A record, but for its place.  ret_code: PACK_CODE_BYTES_MAX. */
static struct pack_record form(const struct operation_note *note, unsigned char *ret_code)
{
	struct pack_record record = {
		.path_bytes = (uint16_t)strlen(note->path),
		.other_bytes = (uint16_t)(note->other ? strlen(note->other) : 0),
		.content_bytes = note->held == PACK_INLINE ? (uint32_t)note->version.size_bytes : 0,
		.kind = (uint8_t)note->kind,
		.held = (uint8_t)note->held,
		.reason = (uint8_t)note->reason,
		.what = (uint8_t)note->what,
		.time_realtime_ns = sys_realtime_ns(),
		.flags = note->flags,
		.pid = (uint32_t)getpid(),
		.before = note->before,
		.version = note->version,
	};

	record.code_bytes = (uint32_t)pack_encode(&record, ret_code);
	record.size_bytes = (uint32_t)pack_size_bytes(record.code_bytes, record.path_bytes,
						      record.other_bytes, record.content_bytes);
	return record;
}

/* A place for so many bytes in one part. */
static uint64_t reserve(struct operation_log *log, uint64_t size_bytes)
{
	uint64_t place = log->next;

	if (place / PACK_PART_BYTES != (place + size_bytes - 1) / PACK_PART_BYTES)
		place = (place / PACK_PART_BYTES + 1) * PACK_PART_BYTES;
	log->next = place + size_bytes;
	return place;
}

static int open_part(struct operation_log *log, uint64_t place)
{
	char name[PACK_PART_NAME_BYTES];
	uint32_t number = pack_part_of(place);

	if (log->part >= 0 && log->part_number == number)
		return 0;
	if (log->part >= 0)
		(void)close(log->part);
	pack_part_name(number, name);
	log->part = openat(log->directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	log->part_number = number;
	return log->part < 0 ? -errno : 0;
}

/* ---- contents ---- */

static int keep_inline(struct operation_log *log, struct operation_note *note, int fd)
{
	size_t size = 0;
	ssize_t got;

	while (size < note->before.size_bytes &&
	       (got = pread(fd, log->buffer + size, (size_t)note->before.size_bytes - size,
			    (off_t)size)) != 0) {
		if (got < 0 && errno != EINTR)
			return -errno;
		size += got > 0 ? (size_t)got : 0;
	}
	if (size != note->before.size_bytes)
		return -EAGAIN;
	note->held = PACK_INLINE;
	note->content = log->buffer;
	note->version = version_of_bytes(log->buffer, size);
	return 0;
}

static int keep_copy(struct operation_log *log, struct operation_note *note, int fd,
		     const char *name)
{
	int copy = openat(log->directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (copy < 0)
		return -errno;
	int error = file_copy(fd, copy, note->before.size_bytes);
	struct content content;
	if (error == 0)
		error = content_of_descriptor(copy, note->before.size_bytes, &content);
	if (error == 0 && content.version.size_bytes != note->before.size_bytes)
		error = -EAGAIN;
	(void)close(copy);
	if (error < 0) {
		(void)unlinkat(log->directory, name, 0);
		return error;
	}
	note->held = PACK_COPY;
	note->version = content.version;
	return 0;
}

int operation_log_keep(struct operation_log *log, struct operation_note *note, int fd,
		       int directory, const char *name)
{
	char files[PACK_PART_NAME_BYTES], copy[PACK_FILE_NAME_BYTES];

	note->place = NO_PLACE;
	note->held = PACK_NOT_TAKEN;
	if (!S_ISREG(note->before.mode))
		return 0;
	if (note->before.size_bytes <= PACK_INLINE_BYTES_MAX && fd >= 0)
		return keep_inline(log, note, fd);
	/* the content has the name of its place; how long its record will be is not known yet */
	note->place = reserve(log, pack_size_bytes(PACK_CODE_BYTES_MAX, strlen(note->path),
						   note->other ? strlen(note->other) : 0, 0));
	pack_files_name(pack_part_of(note->place), files);
	if (mkdirat(log->directory, files, 0700) < 0 && errno != EEXIST)
		return -errno;
	pack_file_name(note->place, copy);
	if (directory >= 0 && note->before.nlink == 1 &&
	    linkat(directory, name, log->directory, copy, 0) == 0) {
		note->held = PACK_LINK;
		return 0;
	}
	return fd < 0 ? -EACCES : keep_copy(log, note, fd, copy);
}

/* ---- records ---- */

static int write_note(struct operation_log *log, struct operation_note *note)
{
	static const char ZEROES[PACK_UNIT_BYTES];
	_Alignas(struct pack_head) unsigned char code[PACK_CODE_BYTES_MAX];
	struct pack_head *head = (struct pack_head *)(void *)code;
	struct pack_record record = form(note, code);
	const char *other = note->other ? note->other : "";

	if (note->held != PACK_LINK && note->held != PACK_COPY)
		note->place = reserve(log, record.size_bytes);
	record.place = note->place;
	head->size_bytes = record.size_bytes;
	head->check = pack_check(code, &record, note->path, record.path_bytes, other,
				 record.other_bytes);
	int error = open_part(log, note->place);
	if (error < 0)
		return error;
	size_t used = pack_content_offset(&record) + record.content_bytes;
	const struct iovec pieces[] = {
		{ code, record.code_bytes },
		{ (void *)(uintptr_t)note->path, record.path_bytes },
		{ (void *)(uintptr_t)other, record.other_bytes },
		{ (void *)(uintptr_t)note->content, record.content_bytes },
		{ (void *)(uintptr_t)ZEROES, record.size_bytes - used },
	};
	ssize_t put = pwritev(log->part, pieces, sizeof(pieces) / sizeof(pieces[0]),
			      (off_t)(note->place % PACK_PART_BYTES));
	return put < 0 ? -errno : (size_t)put != record.size_bytes ? -ENOSPC : 0;
}

int operation_log_write(struct operation_log *log, struct operation_note *notes, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && error == 0; i++) {
		error = write_note(log, &notes[i]);
		if (error < 0)
			operation_log_fail(log, notes, i);
	}
	return error;
}

void operation_log_fail(struct operation_log *log, const struct operation_note *notes, size_t count)
{
	const uint32_t failed = PACK_FAILED;

	for (size_t i = 0; i < count; i++) {
		if (open_part(log, notes[i].place) != 0)
			continue;
		ssize_t wrote = pwrite(log->part, &failed, sizeof(failed),
				       (off_t)(notes[i].place % PACK_PART_BYTES +
					       offsetof(struct pack_head, result)));
		(void)wrote;
	}
}
