/* The content store: see contents.h. */
#include "tracker/content/contents.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/mman.h>

#include "tracker/content/contents_bound.h"
#include "tracker/content/contents_directory.h"
#include "tracker/content/contents_index.h"
#include "tracker/content/contents_name.h"
#include "tracker/content/pack_find.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum { ATTEMPTS_MAX = 4 }; /* a temporary was cleared away, or a content dropped, meanwhile */

/* Opens a content.  What is there may be anybody's doing: a FIFO is not waited for. */
static int open_content(int directory, const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];
	struct stat stat;

	contents_name(version, name);
	int fd = sys_openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return fd == -ELOOP ? -EBADMSG : fd;
	int error = sys_fstat(fd, &stat);
	if (error == 0 && !contents_is_whole(&stat, version))
		error = -EBADMSG;
	if (error == 0)
		return fd;
	(void)sys_close(fd);
	return error;
}

/* Are these the bytes that the name says? */
static int verify(int fd, const struct version *version)
{
	struct content content;
	int error = content_of_descriptor(fd, version->size_bytes, &content);

	if (error == 0 && !version_equal(&content.version, version))
		error = -EBADMSG;
	return error == -EFBIG ? -EBADMSG : error;
}

/* Its modification time is when it was last kept: the clock's, which is finer than the kernel's own
 * stamps. */
static void touch(int fd)
{
	uint64_t now_ns = sys_realtime_ns();
	struct timespec now = { .tv_sec = (time_t)(now_ns / 1000000000u),
				.tv_nsec = (long)(now_ns % 1000000000u) };
	const struct timespec times[2] = { now, now };

	(void)sys_utimensat(fd, NULL, times);
}

/* Copies the bytes of one file to another.  ret_version: of the bytes that were copied. */
static int copy_chunks(int from, int to, uint64_t max_bytes, char *chunk, size_t chunk_bytes,
		       uint64_t allowed_bytes, struct version *ret_version)
{
	struct version_stream stream;

	version_stream_init(&stream);
	for (;;) {
		ssize_t got = sys_pread(from, chunk, chunk_bytes, (off_t)stream.size_bytes);
		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		uint64_t size_bytes = stream.size_bytes + (uint64_t)got;
		/* it may have grown since the caller asked */
		if (size_bytes > max_bytes ||
		    (size_bytes > allowed_bytes && !sys_may_be_this_large(size_bytes)))
			return -EFBIG;
		int error = contents_write(to, chunk, (size_t)got);
		if (error < 0)
			return error;
		version_stream_add(&stream, chunk, (uint64_t)got);
	}
	*ret_version = version_stream_finish(&stream);
	return 0;
}

static CONTENTS_APART int copy_on_stack(int from, int to, uint64_t max_bytes,
					uint64_t expected_bytes, struct version *ret_version)
{
	char chunk[CONTENTS_SMALL_CHUNK_BYTES];
	return copy_chunks(from, to, max_bytes, chunk, sizeof(chunk), expected_bytes, ret_version);
}

static int copy(int from, int to, uint64_t max_bytes, uint64_t expected_bytes,
		struct version *ret_version)
{
	char *chunk = chunk_acquire();
	int error = chunk ? copy_chunks(from, to, max_bytes, chunk, CHUNK_BYTES, expected_bytes,
					ret_version)
			  : copy_on_stack(from, to, max_bytes, expected_bytes, ret_version);

	chunk_release(chunk);
	return error;
}

/* The same without a write: what a command's processes write is counted by the kernel, and tells
 * what its agent was sent (capture.h).  The kernel fills the mapped pages, so that a fault is an
 * error of that call.
 * -EAGAIN: the file is not what it was, or cannot be mapped. */
static int copy_mapped(int from, int to, uint64_t size_bytes, struct version *ret_version)
{
	char more;
	int error = size_bytes ? sys_ftruncate(to, (off_t)size_bytes) : -EAGAIN;
	if (error < 0)
		return -EAGAIN;
	long address = sys_mmap(size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to);
	if (address < 0 && address >= -4095)
		return -EAGAIN;
	bool is_whole = sys_pread_all(from, (char *)address, size_bytes, 0) ==
				(ssize_t)size_bytes &&
			sys_pread(from, &more, 1, (off_t)size_bytes) == 0;
	if (is_whole)
		*ret_version = version_of_bytes((const char *)address, size_bytes);
	(void)sys_munmap((void *)address, size_bytes);
	return is_whole ? 0 : -EAGAIN;
}

/* Makes what is kept already the youngest.  False: it is not there whole. */
static bool renew(int directory, const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];
	struct stat kept, named;
	int fd = open_content(directory, version);

	if (fd < 0)
		return false;
	bool whole = verify(fd, version) == 0 && sys_fstat(fd, &kept) == 0;
	if (whole)
		touch(fd);
	(void)sys_close(fd);
	contents_name(version, name);
	/* see drop() */
	return whole && sys_fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == kept.st_dev && named.st_ino == kept.st_ino;
}

/* Gives a whole copy its name.  ret_is_new: it was not there. */
static int publish(int directory, const char *temporary, const struct version *version,
		   bool *ret_is_new)
{
	char name[CONTENTS_NAME_BYTES];

	contents_name(version, name);
	int error = sys_rename_in(directory, temporary, name, RENAME_NOREPLACE);
	*ret_is_new = error == 0;
	if (error == -EEXIST && renew(directory, version))
		return sys_unlinkat(directory, temporary, 0);
	/* what is there is damaged, or this file system cannot tell */
	if (error == -EEXIST || error == -EINVAL || error == -ENOSYS) {
		*ret_is_new = error != -EEXIST;
		error = sys_rename_in(directory, temporary, name, 0);
	}
	return error;
}

/* Copies a file into the store.  ret_version: of what was copied.  -ENOENT: another process removed
 * the copy, or the directory. */
static int store(const struct segment *segment, int directory, const struct contents_source *source,
		 struct version *ret_version, bool *ret_is_new)
{
	char temporary[CONTENTS_TEMPORARY_BYTES];

	if (!sys_may_be_this_large(source->size_bytes))
		return -EFBIG;
	contents_temporary_name(segment, temporary);
	int to = sys_openat(directory, temporary,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return to;
	bool is_sure;
	int error = contents_allocate(to, source->size_bytes, &is_sure);
	if (error == 0 && is_sure)
		error = copy_mapped(source->fd, to, source->size_bytes, ret_version);
	else if (error == 0)
		error = -EAGAIN;
	if (error == -EAGAIN) {
		error = sys_ftruncate(to, 0);
		if (error == 0)
			error = copy(source->fd, to, source->max_bytes, source->size_bytes,
				     ret_version);
	}
	if (error == 0) {
		/* whatever the process's umask is; and no process writes to it from now on */
		(void)sys_fchmod(to, 0400);
		touch(to);
	}
	/* network file systems tell here what could not be written */
	int closed = sys_close(to);
	if (error == 0 && closed < 0 && closed != -EINTR)
		error = closed;
	if (error == 0) {
		contents_index_append(directory, ret_version, source);
		error = publish(directory, temporary, ret_version, ret_is_new);
	}
	if (error < 0)
		(void)sys_unlinkat(directory, temporary, 0);
	return error;
}

static int save(const struct segment *segment, int directory, struct contents_source *source,
		struct version *ret_version)
{
	struct content content = { .lines = 0 };
	struct stat stat;
	bool is_new = false;

	int error = sys_fstat(source->fd, &stat);
	if (error == 0 && !S_ISREG(stat.st_mode))
		error = -EINVAL;
	if (error == 0 && (uint64_t)stat.st_size > source->max_bytes)
		error = -EFBIG;
	if (error == 0)
		error = content_of_descriptor(source->fd, source->max_bytes, &content);
	if (error < 0)
		return error;
	source->size_bytes = content.version.size_bytes;
	source->mode = stat.st_mode;
	if (renew(directory, &content.version)) {
		contents_index_append(directory, &content.version, source);
		*ret_version = content.version;
		return 0;
	}
	error = -ENOENT;
	for (int attempt = 0; attempt < ATTEMPTS_MAX && error == -ENOENT; attempt++)
		error = store(segment, directory, source, &content.version, &is_new);
	if (error < 0)
		return error;
	*ret_version = content.version;
	if (is_new) {
		segment_count(segment, COUNTER_contents_kept, 1);
		(void)__atomic_fetch_add(&segment->header->contents_bytes,
					 content.version.size_bytes, __ATOMIC_RELAXED);
		contents_make_room(segment, directory, &content.version);
	}
	return 0;
}

int contents_save(const struct segment *segment, int fd, const char *path,
		  enum contents_reason reason, struct version *ret_version)
{
	const struct settings *settings = segment->settings;
	struct contents_source source = { .fd = fd, .path = path, .reason = reason };

	source.max_bytes = settings->content_max_bytes < settings->content_max_file_bytes
				   ? settings->content_max_bytes
				   : settings->content_max_file_bytes;
	if (!settings->content_max_bytes || !segment_contents(segment))
		return -ENOENT;
	int directory = contents_directory_open(segment);
	int error = directory < 0 ? directory : save(segment, directory, &source, ret_version);
	if (directory >= 0)
		(void)sys_close(directory);
	if (error < 0)
		segment_count(segment, COUNTER_lost_contents, 1);
	return error;
}

bool contents_has(const struct segment *segment, const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];
	struct stat stat;
	int directory = contents_directory_open(segment);

	if (directory < 0)
		return false;
	contents_name(version, name);
	bool has = sys_fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
		   contents_is_whole(&stat, version);
	(void)sys_close(directory);
	return has;
}

int contents_open(const struct segment *segment, const struct version *version)
{
	return contents_open_in(segment_contents(segment), version);
}

int contents_open_in(const char *path, const struct version *version)
{
	int directory = contents_directory_open_path(path);

	if (directory < 0)
		return directory;
	int fd = open_content(directory, version);
	(void)sys_close(directory);
	return fd;
}

static int copy_over(int from, int to, uint64_t size_bytes, char *chunk, size_t chunk_bytes)
{
	for (uint64_t done = 0; done < size_bytes;) {
		uint64_t left = size_bytes - done;
		ssize_t got = sys_pread(
			from, chunk, left < chunk_bytes ? (size_t)left : chunk_bytes, (off_t)done);
		if (got <= 0)
			return got < 0 ? (int)got : -EIO;
		int error = sys_write_aside(to, chunk, (size_t)got, (off_t)done);
		if (error < 0)
			return error;
		done += (uint64_t)got;
	}
	return 0;
}

static CONTENTS_APART int copy_over_on_stack(int from, int to, uint64_t size_bytes)
{
	char chunk[CONTENTS_SMALL_CHUNK_BYTES];
	return copy_over(from, to, size_bytes, chunk, sizeof(chunk));
}

int contents_restore(const struct segment *segment, const struct version *version, int fd)
{
	int from = contents_open(segment, version);

	if (from < 0)
		from = pack_find(segment, version);
	if (from < 0)
		return from;
	int error = contents_restore_from(from, version, fd);
	(void)sys_close(from);
	return error;
}

int contents_restore_from(int from, const struct version *version, int fd)
{
	bool is_sure;
	int error = verify(from, version);
	if (error == 0 && !sys_may_be_this_large(version->size_bytes))
		error = -EFBIG;
	if (error == 0)
		error = contents_allocate(fd, version->size_bytes, &is_sure);
	if (error == 0) {
		char *chunk = chunk_acquire();
		error = chunk ? copy_over(from, fd, version->size_bytes, chunk, CHUNK_BYTES)
			      : copy_over_on_stack(from, fd, version->size_bytes);
		chunk_release(chunk);
	}
	if (error == 0)
		error = sys_ftruncate(fd, (off_t)version->size_bytes);
	return error;
}
