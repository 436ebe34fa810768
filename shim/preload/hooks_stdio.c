/*
 * The exported functions of stdio that open and close files.  What a stream reads and writes in
 * between goes to the kernel by libc's own hidden calls and is never seen here: an agent's reads
 * are judged by the descriptor's offset when the stream is closed, the journal's by the stream's
 * buffers.
 */
#include <errno.h>
#include <string.h>

#include "shim/preload/real.h"
#include "shim/preload/stations.h"
#include "tracker/sys/sys.h"

/* fopen(3)'s mode as open(2)'s flags. */
static int flags_of_mode(const char *mode)
{
	bool updates = false;
	int more = 0;
	for (const char *at = mode; *at && *at != ','; at++) {
		updates = updates || *at == '+';
		more |= *at == 'e' ? O_CLOEXEC : *at == 'x' ? O_EXCL : 0;
	}
	if (mode[0] == 'r')
		return more | (updates ? O_RDWR : O_RDONLY);
	return more | (updates ? O_RDWR : O_WRONLY) | O_CREAT |
	       (mode[0] == 'w' ? O_TRUNC : O_APPEND);
}

/* A stream's descriptor, -1 for one in memory.  fileno(3) says so by errno too, which is the
 * program's. */
static int descriptor_of(FILE *stream)
{
	int saved_errno = errno;
	int fd = REAL(fileno)(stream);
	errno = saved_errno;
	return fd;
}

/* The call of a function that opens a stream; it is an open(2) by the stream's mode. */
static inline struct call stream_call(const char *path, const char *mode, struct open_work *own)
{
	struct call call = open_call(OPERATION_OPEN, AT_FDCWD, path, mode ? flags_of_mode(mode) : 0,
				     own);
	own->by_stream = true;
	return call;
}

static inline int stream_came_back(struct call *call, FILE *stream)
{
	return open_came_back(call, stream ? descriptor_of(stream) : -1);
}

/* What is put into it goes to its file behind our back. */
static void follow_stream(const struct call *call, FILE *stream)
{
	if (call->descriptor >= 0 && __builtin_expect(shim.guards && guarded_any(), 0))
		guarded_stream(call->descriptor, stream);
}

/* Ends the wrapper of a function that opens a stream.  libc inspects the mode before it asks the
 * kernel for anything. */
#define OPEN_STREAM(open_by_libc) \
	do { \
		FILE *stream = NULL; \
		struct open_work own; \
		struct call call = stream_call(path, mode, &own); \
		if (open_is_plain((int)call.flags)) { \
			stream = open_by_libc; \
			(void)open_plainly(stream ? descriptor_of(stream) : -1, AT_FDCWD, path, \
					   (int)call.flags); \
			return stream; \
		} \
		PASS_STATIONS(&call, OPERATION_OPEN, \
			      stream_came_back(&call, stream = open_by_libc)); \
		follow_stream(&call, stream); \
		return stream; \
	} while (0)

EXPORT FILE *fopen(const char *path, const char *mode)
{
	OPEN_STREAM(REAL(fopen)(path, mode));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	OPEN_STREAM(REAL(fopen64)(path, mode));
}

/* What it was open for is closed, also where the new file cannot be opened. */
static void reopening_stream(FILE *old, struct closing *ret_closing)
{
	int fd = shim.records || shim.guards || keep_any() ? descriptor_of(old) : -1;
	if (__builtin_expect(shim.tracks, 0))
		reader_reopening(old);
	if (fd >= 0 && shim.guards)
		guarded_closing(fd, ret_closing);
	if (fd >= 0 && keep_any())
		ret_closing->kept = keep_stream_closing(fd);
	if (fd >= 0)
		descriptor_closing((unsigned)fd, (unsigned)fd);
}

/* Is the stream to be opened anew?  Where a rule refuses that the old one stays open.  libc closes
 * the old file also where the new one cannot be opened: a refusal of what was written to it is not
 * reported. */
static bool may_reopen(struct call *call, FILE *old, struct closing *ret_closing)
{
	ret_closing->fd = -1;
	ret_closing->kept = NULL;
	if (!call->name.path) { /* the same file by another mode */
		reopening_stream(old, ret_closing);
		return true;
	}
	if (!order_may_by_rules(call, OPERATION_OPEN))
		return false;
	reopening_stream(old, ret_closing);
	return order_may_by_guard(call, OPERATION_OPEN);
}

static FILE *reopened(struct call *call, FILE *stream, struct closing *closing)
{
	keep_stream_closed(closing->kept);
	if (closing->fd >= 0)
		(void)guarded_closed(closing);
	if (shim.views)
		viewer_untrackable(); /* a descriptor, perhaps 1, now is another file */
	if (!call->name.path)
		return stream;
	call->error = stream ? stream_came_back(call, stream) : -1;
	order_came_back(call, OPERATION_OPEN);
	station_guarded(call, OPERATION_OPEN);
	follow_stream(call, stream);
	return stream;
}

#define REOPEN_STREAM(open_by_libc) \
	do { \
		struct closing closing; \
		struct open_work own; \
		struct call call = stream_call(path, mode, &own); \
		return reopened(&call, may_reopen(&call, old, &closing) ? open_by_libc : NULL, \
				&closing); \
	} while (0)

EXPORT FILE *freopen(const char *path, const char *mode, FILE *old)
{
	REOPEN_STREAM(REAL(freopen)(path, mode, old));
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *old)
{
	REOPEN_STREAM(REAL(freopen64)(path, mode, old));
}

/* libio's own name for fopen, exported for old programs; so below. */
EXPORT FILE *_IO_fopen(const char *path, const char *mode)
{
	OPEN_STREAM(REAL(_IO_fopen)(path, mode));
}

/* A list of mounts is a stream over a file that the caller names. */
EXPORT FILE *setmntent(const char *path, const char *mode)
{
	OPEN_STREAM(REAL(setmntent)(path, mode));
}

EXPORT FILE *__setmntent(const char *path, const char *mode)
{
	OPEN_STREAM(REAL(__setmntent)(path, mode));
}

static void closing_stream(FILE *stream, struct close_work *own)
{
	struct call call = close_call(OPERATION_CLOSE_STREAM, -1, -1, stream, own);

	if (!shim.on || !stream)
		return;
	call.name.directory = descriptor_of(stream);
	order_closes(&call, OPERATION_CLOSE_STREAM);
}

/* Ends the wrapper of a function that closes a list of mounts: it returns 1, whatever comes of it. */
#define CLOSE_MOUNTS(close_by_libc) \
	do { \
		struct close_work own; \
		closing_stream(stream, &own); \
		int ret = close_by_libc; \
		(void)close_ends(0, &own); \
		return ret; \
	} while (0)

EXPORT int endmntent(FILE *stream)
{
	CLOSE_MOUNTS(REAL(endmntent)(stream));
}

EXPORT int __endmntent(FILE *stream)
{
	CLOSE_MOUNTS(REAL(__endmntent)(stream));
}

EXPORT int fclose(FILE *stream)
{
	struct close_work own;
	closing_stream(stream, &own);
	return close_ends(REAL(fclose)(stream), &own);
}

EXPORT int _IO_fclose(FILE *stream)
{
	struct close_work own;
	closing_stream(stream, &own);
	return close_ends(REAL(_IO_fclose)(stream), &own);
}

/* A stream gave a whitelisted program what stood behind a place of its file: that may be answered
 * (in_process.c).  Not where it asked for items of more than a byte: there is no part of one. */
static size_t was_read_from_stream(FILE *stream, void *buffer, size_t item_bytes, size_t items)
{
	enum { STREAM_AT_END = 0x0010 }; /* glibc, bits/types/struct_FILE.h: what feof(3) tells */

	if (__builtin_expect(!shim.answers_own, 1) || item_bytes != 1 || items == 0)
		return items;
	int fd = descriptor_of(stream);
	if (!in_process_follows(fd))
		return items;
	off_t offset = sys_lseek(fd, 0, SEEK_CUR) - (stream->_IO_read_end - stream->_IO_read_ptr) -
		       (off_t)items;
	size_t given = in_process_stream_was_read(fd, buffer, offset, items);
	if (given == items)
		return items;
	(void)__atomic_fetch_or(&stream->_flags, STREAM_AT_END, __ATOMIC_RELAXED);
	call_read(fd, (ssize_t)given);
	return given;
}

EXPORT size_t fread(void *buffer, size_t item_bytes, size_t items, FILE *stream)
{
	return was_read_from_stream(stream, buffer, item_bytes,
				    REAL(fread)(buffer, item_bytes, items, stream));
}

#undef fread_unlocked
/* bits/stdio.h has a macro of this name. */
#undef fread_unlocked

EXPORT size_t fread_unlocked(void *buffer, size_t item_bytes, size_t items, FILE *stream)
{
	return was_read_from_stream(stream, buffer, item_bytes,
				    REAL(fread_unlocked)(buffer, item_bytes, items, stream));
}

EXPORT size_t _IO_fread(void *buffer, size_t item_bytes, size_t items, FILE *stream)
{
	return was_read_from_stream(stream, buffer, item_bytes,
				    REAL(_IO_fread)(buffer, item_bytes, items, stream));
}

EXPORT size_t __fread_chk(void *buffer, size_t buffer_bytes, size_t item_bytes, size_t items,
			  FILE *stream)
{
	return was_read_from_stream(
		stream, buffer, item_bytes,
		REAL(__fread_chk)(buffer, buffer_bytes, item_bytes, items, stream));
}

EXPORT size_t __fread_unlocked_chk(void *buffer, size_t buffer_bytes, size_t item_bytes,
				   size_t items, FILE *stream)
{
	return was_read_from_stream(
		stream, buffer, item_bytes,
		REAL(__fread_unlocked_chk)(buffer, buffer_bytes, item_bytes, items, stream));
}

/* It closes nothing (glibc): buffers are written, and that is all. */
EXPORT int fcloseall(void)
{
	if (shim.views)
		viewer_untrackable();
	return REAL(fcloseall)();
}

/* Ends the wrapper of a function that makes a stream over a descriptor. */
#define MAKE_STREAM(make_by_libc) \
	do { \
		struct call call = descriptor_call(OPERATION_OPEN_STREAM, fd); \
		FILE *stream = make_by_libc; \
		call.error = stream ? 0 : -1; \
		call.own = stream; \
		order_came_back(&call, OPERATION_OPEN_STREAM); \
		return stream; \
	} while (0)

EXPORT FILE *fdopen(int fd, const char *mode)
{
	MAKE_STREAM(REAL(fdopen)(fd, mode));
}

EXPORT FILE *_IO_fdopen(int fd, const char *mode)
{
	MAKE_STREAM(REAL(_IO_fdopen)(fd, mode));
}

EXPORT FILE *tmpfile(void)
{
	FILE *stream = REAL(tmpfile)();
	if (stream && shim.views)
		viewer_untrackable(); /* a viewer writes nowhere */
	return stream;
}

EXPORT FILE *tmpfile64(void)
{
	FILE *stream = REAL(tmpfile64)();
	if (stream && shim.views)
		viewer_untrackable();
	return stream;
}

/* Data is about to be put into a stream: libc writes it later by calls that nothing sees.  Where it
 * is refused ferror(3) tells. */
__attribute__((noinline)) static bool asks_write(FILE *stream, const void *data, size_t size_bytes)
{
	enum { STREAM_HAS_FAILED = 0x0020 };
	struct call call = { .operation = OPERATION_WRITE_STREAM,
			     .name = { .directory = descriptor_of(stream) },
			     .bytes = { .memory = (void *)(uintptr_t)data,
					.size_bytes = size_bytes } };

	if (order_may(&call, OPERATION_WRITE_STREAM))
		return true;
	(void)__atomic_fetch_or(&stream->_flags, STREAM_HAS_FAILED, __ATOMIC_RELAXED);
	return false;
}

static inline bool may_write(FILE *stream, const void *data, size_t size_bytes)
{
	return !data_is_asked() || !stream || asks_write(stream, data, size_bytes);
}

EXPORT size_t fwrite(const void *data, size_t item_bytes, size_t count, FILE *stream)
{
	if (!may_write(stream, data, item_bytes * count))
		return 0;
	return REAL(fwrite)(data, item_bytes, count, stream);
}

#undef fwrite_unlocked /* a macro of bits/stdio.h; so below */
EXPORT size_t fwrite_unlocked(const void *data, size_t item_bytes, size_t count, FILE *stream)
{
	if (!may_write(stream, data, item_bytes * count))
		return 0;
	return REAL(fwrite_unlocked)(data, item_bytes, count, stream);
}

EXPORT int fputs(const char *text, FILE *stream)
{
	if (data_is_asked() && !may_write(stream, text, strlen(text)))
		return EOF;
	return REAL(fputs)(text, stream);
}

#undef fputs_unlocked
EXPORT int fputs_unlocked(const char *text, FILE *stream)
{
	if (data_is_asked() && !may_write(stream, text, strlen(text)))
		return EOF;
	return REAL(fputs_unlocked)(text, stream);
}

/* It prints by a stream of its own over a copy of descriptor 2 (glibc). */
EXPORT void perror(const char *text)
{
	reader_untrackable();
	REAL(perror)(text);
}
