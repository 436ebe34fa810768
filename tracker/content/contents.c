/* The content store: see contents.h. */
#include "tracker/content/contents.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "tracker/path/decimal.h"
#include "tracker/path/path.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

/* Of functions with a piece of memory on their stack: two of them are never on it at once. */
#define APART __attribute__((noinline))

enum {
	SMALL_CHUNK_BYTES = 2048, /* on the stack, where all chunks are in use */
	LINE_BYTES_MAX = 20480,   /* of the index: PATH_MAX bytes, each of them four */
	TEMPORARY_BYTES = 64,     /* of a temporary's name */
	ENTRIES_BYTES = 2048,     /* of a directory at a time */
	ENTRIES_MAX = 1048576,    /* of a directory in all */
	OLDEST_ON_STACK = 32,     /* what one look finds to be dropped, as SMALL_CHUNK_BYTES */
	ROUNDS_MAX = 256,         /* of looking and dropping */
	SLACK_SHARE = 64,         /* of max_bytes: dropped beyond it, so that few have to look */
	ATTEMPTS_MAX = 4, /* a temporary was cleared away, or a content dropped, meanwhile */
	DIGITS = 32,      /* of a version */
};

const char *contents_reason_name(enum contents_reason reason)
{
	static const char *const NAMES[CONTENTS_REASON_COUNT] = {
		[CONTENTS_DESTROYED] = "destroyed",
		[CONTENTS_GIVEN] = "given",
		[CONTENTS_RESTORED] = "replaced",
	};
	return (unsigned)reason < CONTENTS_REASON_COUNT ? NAMES[reason] : "unknown";
}

/* ---- names ---- */

static char *write_digits(char *at, uint64_t half)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[(half >> shift) & 15];
	return at;
}

void contents_name(const struct version *version, char *ret_name)
{
	char *at = write_digits(ret_name, version->high);
	at = write_digits(at, version->low);
	*at++ = '-';
	at = decimal_write(at, version->size_bytes);
	*at = '\0';
}

bool contents_version(const char *name, struct version *ret_version)
{
	uint64_t halves[2] = { 0, 0 }, size_bytes;

	for (int i = 0; i < DIGITS; i++) {
		char digit = name[i];
		if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f')))
			return false;
		halves[i / 16] = halves[i / 16] << 4 |
				 (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	if (name[DIGITS] != '-' || (name[DIGITS + 1] == '0' && name[DIGITS + 2] != '\0'))
		return false;
	const char *end = decimal_parse(name + DIGITS + 1, &size_bytes);
	if (!end || *end != '\0')
		return false;
	*ret_version = (struct version){ halves[1], halves[0], size_bytes };
	return true;
}

bool contents_is_temporary(const char *name, uint64_t *ret_pid)
{
	uint64_t pid, serial;

	if (name[0] != '.')
		return false;
	const char *at = decimal_parse(name + 1, &pid);
	at = at && *at == '.' ? decimal_parse(at + 1, &serial) : NULL;
	if (!at || *at != '\0')
		return false;
	*ret_pid = pid;
	return true;
}

/* A name that no other process uses: serials are the session's. */
static void temporary_name(const struct segment *segment, char *ret_name)
{
	char *at = ret_name;

	*at++ = '.';
	at = decimal_write(at, (uint64_t)sys_getpid());
	*at++ = '.';
	at = decimal_write(at, segment_serial(segment));
	*at = '\0';
}

/* ---- the directory ---- */

/* Opens a store's directory, which is this user's.  path: NULL: there is none. */
static int open_path(const char *path)
{
	struct stat stat;

	if (!path)
		return -ENOENT;
	int directory = sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (directory < 0)
		return directory;
	int error = sys_fstat(directory, &stat);
	if (error == 0 && stat.st_uid != sys_geteuid())
		error = -EPERM;
	if (error == 0)
		return directory;
	(void)sys_close(directory);
	return error;
}

static int open_directory(const struct segment *segment)
{
	return open_path(segment_contents(segment));
}

static bool is_content(const struct stat *stat, const struct version *version)
{
	return S_ISREG(stat->st_mode) && (uint64_t)stat->st_size == version->size_bytes;
}

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
	if (error == 0 && !is_content(&stat, version))
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

static int write_all(int fd, const char *bytes, size_t size_bytes)
{
	while (size_bytes > 0) {
		ssize_t wrote = sys_write(fd, bytes, size_bytes);
		sys_wrote_aside(wrote);
		if (wrote == -EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? (int)wrote : -EIO;
		bytes += wrote;
		size_bytes -= (size_t)wrote;
	}
	return 0;
}

/* ---- how much is kept ---- */

static uint64_t kept_bytes(const struct segment *segment)
{
	return __atomic_load_n(&segment->header->contents_bytes, __ATOMIC_RELAXED);
}

static void kept_less(const struct segment *segment, uint64_t size_bytes)
{
	uint64_t *kept = &segment->header->contents_bytes;
	uint64_t before = kept_bytes(segment), after;

	/* never below nothing: a wrong number would then be a huge one */
	do
		after = before > size_bytes ? before - size_bytes : 0;
	while (!__atomic_compare_exchange_n(kept, &before, after, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
}

struct old_content {
	struct version version;
	int64_t mtime_ns;
};

/* The oldest contents of a directory, the oldest first, and the bytes of all. */
struct survey {
	uint64_t size_bytes;
	int count, capacity;
	struct old_content *oldest;
};

static void survey_entry(int directory, const char *name, const struct version *but,
			 struct survey *survey)
{
	struct old_content found;
	struct stat stat;

	if (!contents_version(name, &found.version) ||
	    sys_fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_content(&stat, &found.version))
		return;
	survey->size_bytes += found.version.size_bytes;
	found.mtime_ns = stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec;
	if (!survey->capacity || (but && version_equal(&found.version, but)))
		return;
	int place = survey->count;
	while (place > 0 && survey->oldest[place - 1].mtime_ns > found.mtime_ns)
		place--;
	if (place == survey->capacity)
		return;
	survey->count += survey->count < survey->capacity;
	memmove(&survey->oldest[place + 1], &survey->oldest[place],
		(size_t)(survey->count - place - 1) * sizeof(found));
	survey->oldest[place] = found;
}

/* but: never among the oldest; NULL: none. */
static int survey_directory(int directory, const struct version *but, struct survey *ret_survey)
{
	_Alignas(struct sys_entry) char entries[ENTRIES_BYTES];
	ssize_t got;

	ret_survey->size_bytes = 0;
	ret_survey->count = 0;
	(void)sys_lseek(directory, 0, SEEK_SET);
	for (unsigned count = 0; (got = sys_getdents64(directory, entries, sizeof(entries))) > 0;)
		for (ssize_t at = 0; at < got; count++) {
			const struct sys_entry *entry = (const struct sys_entry *)(void *)(entries +
											   at);
			if (count >= ENTRIES_MAX)
				return -E2BIG;
			survey_entry(directory, entry->name, but, ret_survey);
			at += entry->size_bytes;
		}
	return (int)got;
}

/* Drops a content that no process kept again meanwhile.
 *
 * A process that finds a content there makes it the youngest and then checks its name once more. 
 * So it gets another name first:
 * either that look finds nothing, or the touch was before, and is seen here. */
static bool drop(const struct segment *segment, int directory, const struct old_content *old)
{
	char name[CONTENTS_NAME_BYTES], temporary[TEMPORARY_BYTES];
	struct stat stat;

	contents_name(&old->version, name);
	temporary_name(segment, temporary);
	if (sys_rename_in(directory, name, temporary, 0) < 0)
		return false;
	if (sys_fstatat(directory, temporary, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	    stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec != old->mtime_ns) {
		int error = sys_rename_in(directory, temporary, name, RENAME_NOREPLACE);
		if (error == -EINVAL || error == -ENOSYS) /* this file system cannot tell */
			error = sys_rename_in(directory, temporary, name, 0);
		if (error == 0)
			return false;
	}
	return sys_unlinkat(directory, temporary, 0) == 0;
}

static void make_room_by(const struct segment *segment, int directory, const struct version *but,
			 struct old_content *memory, int capacity)
{
	uint64_t max_bytes = segment->settings->content_max_bytes, before;
	struct survey survey = { .oldest = memory, .capacity = capacity };

	for (int round = 0; round < ROUNDS_MAX; round++) {
		if ((before = kept_bytes(segment)) <= max_bytes ||
		    survey_directory(directory, but, &survey) < 0)
			return;
		/* what is there counts, not the number: that may be wrong, or damaged */
		(void)__atomic_compare_exchange_n(&segment->header->contents_bytes, &before,
						  survey.size_bytes, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED);
		if (survey.size_bytes <= max_bytes || survey.count == 0)
			return;
		/* inspecting so many takes long */
		uint64_t goal_bytes = survey.count < capacity ? max_bytes
							      : max_bytes - max_bytes / SLACK_SHARE;
		for (int i = 0; i < survey.count && kept_bytes(segment) > goal_bytes; i++)
			if (drop(segment, directory, &survey.oldest[i]))
				kept_less(segment, survey.oldest[i].version.size_bytes);
	}
}

static APART void make_room_on_stack(const struct segment *segment, int directory,
				     const struct version *but)
{
	struct old_content memory[OLDEST_ON_STACK];
	make_room_by(segment, directory, but, memory, OLDEST_ON_STACK);
}

/* Drops the oldest while more is kept than may be.  but: what was kept just now. */
static void make_room(const struct segment *segment, int directory, const struct version *but)
{
	if (kept_bytes(segment) <= segment->settings->content_max_bytes)
		return;
	char *chunk = chunk_acquire();
	if (chunk)
		make_room_by(segment, directory, but, (struct old_content *)(void *)chunk,
			     CHUNK_BYTES / sizeof(struct old_content));
	else
		make_room_on_stack(segment, directory, but);
	chunk_release(chunk);
}

void contents_recount(const struct segment *segment)
{
	int directory = open_directory(segment);
	uint64_t before = kept_bytes(segment);
	struct survey survey = { .capacity = 0 };

	if (directory < 0)
		return;
	/* who saves meanwhile has the number right already */
	if (survey_directory(directory, NULL, &survey) == 0)
		(void)__atomic_compare_exchange_n(&segment->header->contents_bytes, &before,
						  survey.size_bytes, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED);
	(void)sys_close(directory);
}

/* ---- the index ---- */

/* What is copied into the store. */
struct source {
	int fd;
	const char *path;
	enum contents_reason reason;
	mode_t mode;
	uint64_t size_bytes; /* when it was inspected */
	uint64_t max_bytes;
};

/* The digits of a mode's permissions: four, octal. */
static char *write_mode(char *at, mode_t mode)
{
	for (int shift = 9; shift >= 0; shift -= 3)
		*at++ = (char)('0' + ((mode >> shift) & 7));
	return at;
}

/* A line of the index, without its newline.  Returns its length or -ENAMETOOLONG. */
static int make_line(const struct version *version, const struct source *source, char *ret_line,
		     size_t capacity)
{
	const char *word = contents_reason_name(source->reason);
	char *at = decimal_write(ret_line, sys_realtime_ns());

	*at++ = ' ';
	contents_name(version, at);
	at += strlen(at);
	*at++ = ' ';
	memcpy(at, word, strlen(word));
	at += strlen(word);
	*at++ = ' ';
	at = write_mode(at, source->mode);
	*at++ = ' ';
	int length = path_escape(source->path, at, capacity - (size_t)(at - ret_line) - 1);
	return length < 0 ? length : (int)(at - ret_line) + length;
}

/* Adds a line by one write, which others' writes do not mix with (open(2), O_APPEND). */
static int append(int directory, char *line, size_t length)
{
	struct stat stat;
	char last = '\n';
	int fd = sys_openat(directory, CONTENTS_INDEX,
			    O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
			    0600);

	if (fd < 0)
		return fd;
	int error = sys_fstat(fd, &stat);
	if (error == 0 && (!S_ISREG(stat.st_mode) || stat.st_nlink != 1))
		error = -EBADMSG;
	if (error == 0 && !sys_may_be_this_large((uint64_t)stat.st_size + length + 2))
		error = -EFBIG;
	if (error == 0) {
		/* A line whose writer was killed is followed by a new one; empty ones mean
		 * nothing. */
		if (stat.st_size > 0)
			(void)sys_pread(fd, &last, 1, stat.st_size - 1);
		line[0] = '\n';
		line[length + 1] = '\n';
		bool torn = last != '\n';
		error = write_all(fd, line + !torn, length + 1 + torn);
	}
	(void)sys_close(fd);
	return error;
}

static int note_in(int directory, const struct version *version, const struct source *source,
		   char *memory, size_t capacity)
{
	/* a newline goes before it, too */
	int length = make_line(version, source, memory + 1, capacity - 1);
	return length < 0 ? length : append(directory, memory, (size_t)length);
}

static APART int note_on_stack(int directory, const struct version *version,
			       const struct source *source)
{
	char memory[SMALL_CHUNK_BYTES];
	return note_in(directory, version, source, memory, sizeof(memory));
}

/* Notes a copy in the index.  Where that cannot be, the content is kept all the same: it is found
 * by its version. */
static void note(int directory, const struct version *version, const struct source *source)
{
	char *chunk = chunk_acquire();
	int error = chunk ? note_in(directory, version, source, chunk, CHUNK_BYTES)
			  : note_on_stack(directory, version, source);

	chunk_release(chunk);
	if (error != -ENAMETOOLONG)
		return;
	long address = sys_mmap(LINE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1);
	if (address < 0 &&
	    address >= -4095) /* the kernel's errors are the last page of addresses */
		return;
	(void)note_in(directory, version, source, (char *)address, LINE_BYTES_MAX);
	(void)sys_munmap((void *)address, LINE_BYTES_MAX);
}

/* ---- copies ---- */

/* Allocates the blocks of a file, without changing its size.  Returns 0 also where the file system
 * cannot: then each write tells.
 * ret_is_sure: they are there. */
static int allocate(int fd, uint64_t size_bytes, bool *ret_is_sure)
{
	int error = 0;

	if (size_bytes > 0)
		do
			error = sys_fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size_bytes);
		while (error == -EINTR);
	*ret_is_sure = error == 0;
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG || error == -EIO ? error : 0;
}

/* Copies the bytes of one file to another.  ret_version: of the bytes that were copied. */
static int copy_chunks(int from, int to, uint64_t max_bytes, char *chunk, size_t chunk_bytes,
		       uint64_t allowed_bytes, struct version *ret_version)
{
	struct version_stream stream;

	version_stream_init(&stream);
	for (;;) {
		ssize_t got = sys_pread(from, chunk, chunk_bytes, (off_t)stream.size_bytes);
		if (got == -EINTR)
			continue;
		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		uint64_t size_bytes = stream.size_bytes + (uint64_t)got;
		/* it may have grown since the caller asked */
		if (size_bytes > max_bytes ||
		    (size_bytes > allowed_bytes && !sys_may_be_this_large(size_bytes)))
			return -EFBIG;
		int error = write_all(to, chunk, (size_t)got);
		if (error < 0)
			return error;
		version_stream_add(&stream, chunk, (uint64_t)got);
	}
	*ret_version = version_stream_finish(&stream);
	return 0;
}

static APART int copy_on_stack(int from, int to, uint64_t max_bytes, uint64_t expected_bytes,
			       struct version *ret_version)
{
	char chunk[SMALL_CHUNK_BYTES];
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
	uint64_t done = 0;
	while (done < size_bytes) {
		ssize_t got = sys_pread(from, (char *)address + done, size_bytes - done,
					(off_t)done);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			break;
		done += (uint64_t)got;
	}
	bool is_whole = done == size_bytes && sys_pread(from, &more, 1, (off_t)done) == 0;
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
static int store(const struct segment *segment, int directory, const struct source *source,
		 struct version *ret_version, bool *ret_is_new)
{
	char temporary[TEMPORARY_BYTES];

	if (!sys_may_be_this_large(source->size_bytes))
		return -EFBIG;
	temporary_name(segment, temporary);
	int to = sys_openat(directory, temporary,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return to;
	bool is_sure;
	int error = allocate(to, source->size_bytes, &is_sure);
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
	/* shorter than expected: blocks behind its end are given back */
	if (error == 0 && ret_version->size_bytes < source->size_bytes)
		error = sys_ftruncate(to, (off_t)ret_version->size_bytes);
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
		note(directory, ret_version, source);
		error = publish(directory, temporary, ret_version, ret_is_new);
	}
	if (error < 0)
		(void)sys_unlinkat(directory, temporary, 0);
	return error;
}

static int save(const struct segment *segment, int directory, struct source *source,
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
		note(directory, &content.version, source);
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
		make_room(segment, directory, &content.version);
	}
	return 0;
}

int contents_save(const struct segment *segment, int fd, const char *path,
		  enum contents_reason reason, struct version *ret_version)
{
	const struct settings *settings = segment->settings;
	struct source source = { .fd = fd, .path = path, .reason = reason };

	source.max_bytes = settings->content_max_bytes < settings->content_max_file_bytes
				   ? settings->content_max_bytes
				   : settings->content_max_file_bytes;
	if (!settings->content_max_bytes || !segment_contents(segment))
		return -ENOENT;
	int directory = open_directory(segment);
	int error = directory < 0 ? directory : save(segment, directory, &source, ret_version);
	if (directory >= 0)
		(void)sys_close(directory);
	if (error < 0)
		segment_count(segment, COUNTER_lost_contents, 1);
	return error;
}

/* ---- what is kept ---- */

bool contents_has(const struct segment *segment, const struct version *version)
{
	char name[CONTENTS_NAME_BYTES];
	struct stat stat;
	int directory = open_directory(segment);

	if (directory < 0)
		return false;
	contents_name(version, name);
	bool has = sys_fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
		   is_content(&stat, version);
	(void)sys_close(directory);
	return has;
}

int contents_open(const struct segment *segment, const struct version *version)
{
	return contents_open_in(segment_contents(segment), version);
}

int contents_open_in(const char *path, const struct version *version)
{
	int directory = open_path(path);

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
		if (got == -EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? (int)got : -EIO;
		for (ssize_t at = 0; at < got;) {
			ssize_t wrote = sys_pwrite(to, chunk + at, (size_t)(got - at),
						   (off_t)done + at);
			sys_wrote_aside(wrote);
			if (wrote == -EINTR)
				continue;
			if (wrote <= 0)
				return wrote < 0 ? (int)wrote : -EIO;
			at += wrote;
		}
		done += (uint64_t)got;
	}
	return 0;
}

static APART int copy_over_on_stack(int from, int to, uint64_t size_bytes)
{
	char chunk[SMALL_CHUNK_BYTES];
	return copy_over(from, to, size_bytes, chunk, sizeof(chunk));
}

int contents_restore(const struct segment *segment, const struct version *version, int fd)
{
	return contents_restore_from(segment_contents(segment), version, fd);
}

int contents_restore_from(const char *path, const struct version *version, int fd)
{
	int from = contents_open_in(path, version);
	bool is_sure;

	if (from < 0)
		return from;
	int error = verify(from, version);
	if (error == 0 && !sys_may_be_this_large(version->size_bytes))
		error = -EFBIG;
	if (error == 0)
		error = allocate(fd, version->size_bytes, &is_sure);
	if (error == 0) {
		char *chunk = chunk_acquire();
		error = chunk ? copy_over(from, fd, version->size_bytes, chunk, CHUNK_BYTES)
			      : copy_over_on_stack(from, fd, version->size_bytes);
		chunk_release(chunk);
	}
	if (error == 0)
		error = sys_ftruncate(fd, (off_t)version->size_bytes);
	(void)sys_close(from);
	return error;
}

/* ---- lists of inputs ---- */

#define INPUTS_NAME "inputs-"

static void inputs_name(uint64_t number, char *ret_name)
{
	memcpy(ret_name, INPUTS_NAME, sizeof(INPUTS_NAME) - 1);
	*decimal_write(ret_name + sizeof(INPUTS_NAME) - 1, number) = '\0';
}

bool contents_is_inputs(const char *name)
{
	uint64_t number;
	if (strncmp(name, INPUTS_NAME, sizeof(INPUTS_NAME) - 1) != 0)
		return false;
	const char *end = decimal_parse(name + sizeof(INPUTS_NAME) - 1, &number);
	return end && *end == '\0';
}

/* As copy_mapped(), from memory. */
static int write_mapped(int to, const void *bytes, size_t size_bytes)
{
	if (sys_ftruncate(to, (off_t)size_bytes) < 0)
		return -EAGAIN;
	long address = sys_mmap(size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, to);
	if (address < 0 && address >= -4095)
		return -EAGAIN;
	const struct iovec file = { (void *)address, size_bytes };
	const struct iovec memory = { (void *)(uintptr_t)bytes, size_bytes };
	ssize_t done = sys_call6(SYS_process_vm_readv, sys_getpid(), (long)&file, 1, (long)&memory,
				 1, 0);
	(void)sys_munmap((void *)address, size_bytes);
	return done == (ssize_t)size_bytes ? 0 : -EAGAIN;
}

static int write_bytes(int to, const void *bytes, size_t size_bytes)
{
	bool is_sure;
	int error = allocate(to, size_bytes, &is_sure);

	if (error == 0 && is_sure)
		error = write_mapped(to, bytes, size_bytes);
	else if (error == 0)
		error = -EAGAIN;
	if (error == -EAGAIN)
		error = sys_ftruncate(to, 0);
	else
		return error;
	return error == 0 ? write_all(to, bytes, size_bytes) : error;
}

int contents_write_inputs(const struct segment *segment, uint64_t number, const void *bytes,
			  size_t size_bytes)
{
	char name[CONTENTS_NAME_BYTES], temporary[TEMPORARY_BYTES];

	if (!sys_may_be_this_large(size_bytes))
		return -EFBIG;
	int directory = open_directory(segment);
	if (directory < 0)
		return directory;
	temporary_name(segment, temporary);
	int to = sys_openat(directory, temporary,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = to < 0 ? to : write_bytes(to, bytes, size_bytes);
	if (to >= 0) {
		int closed = sys_close(to);
		if (error == 0 && closed < 0 && closed != -EINTR)
			error = closed;
		inputs_name(number, name);
		if (error == 0)
			error = sys_rename_in(directory, temporary, name, 0);
		if (error < 0)
			(void)sys_unlinkat(directory, temporary, 0);
	}
	(void)sys_close(directory);
	return error;
}

ssize_t contents_read_inputs(const struct segment *segment, uint64_t number, void *ret_bytes,
			     size_t capacity)
{
	char name[CONTENTS_NAME_BYTES];
	struct stat stat;
	int directory = open_directory(segment);

	if (directory < 0)
		return directory;
	inputs_name(number, name);
	int fd = sys_openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	(void)sys_close(directory);
	if (fd < 0)
		return fd;
	ssize_t error = sys_fstat(fd, &stat);
	if (error == 0 && (!S_ISREG(stat.st_mode) || stat.st_uid != sys_geteuid()))
		error = -EBADMSG;
	if (error == 0 && (uint64_t)stat.st_size > capacity)
		error = -EFBIG;
	size_t used = 0;
	for (ssize_t got = 1; error == 0 && got != 0 && used < capacity;) {
		got = sys_pread(fd, (char *)ret_bytes + used, capacity - used, (off_t)used);
		if (got > 0)
			used += (size_t)got;
		else if (got < 0 && got != -EINTR)
			error = got;
	}
	(void)sys_close(fd);
	return error < 0 ? error : (ssize_t)used;
}
