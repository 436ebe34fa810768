/*
 * The exported functions of stdio that open and close files.  What a stream reads and writes in between
 * goes to the kernel by libc's own hidden calls and is never seen here: an agent's reads are judged by the
 * descriptor's offset when the stream is closed, the journal's by the stream's buffers.
 */
#include <errno.h>

#include "shim/preload/door.h"
#include "shim/preload/real.h"

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

/* A stream's descriptor, -1 for one in memory.  fileno(3) says so by errno too, which is the program's. */
static int descriptor_of(FILE *stream)
{
	int saved_errno = errno;
	int fd = real_fileno(stream);
	errno = saved_errno;
	return fd;
}

static void opened_stream(FILE *stream, const char *path, const char *mode)
{
	if (shim.on && path)
		door_opened(stream ? descriptor_of(stream) : -1, AT_FDCWD, path,
			    flags_of_mode(mode));
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	FILE *stream = REAL(fopen)(path, mode);
	opened_stream(stream, path, mode);
	return stream;
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	FILE *stream = REAL(fopen64)(path, mode);
	opened_stream(stream, path, mode);
	return stream;
}

/* What it was open for is closed, also where the new file cannot be opened. */
static void reopening_stream(FILE *old)
{
	int fd = shim.records ? descriptor_of(old) : -1;
	if (fd >= 0)
		record_closing((unsigned)fd, (unsigned)fd);
}

EXPORT FILE *freopen(const char *path, const char *mode, FILE *old)
{
	reopening_stream(old);
	FILE *stream = REAL(freopen)(path, mode, old);
	if (shim.views)
		view_odd(); /* a descriptor, perhaps 1, now is another file */
	opened_stream(stream, path, mode);
	return stream;
}

EXPORT FILE *freopen64(const char *path, const char *mode, FILE *old)
{
	reopening_stream(old);
	FILE *stream = REAL(freopen64)(path, mode, old);
	if (shim.views)
		view_odd();
	opened_stream(stream, path, mode);
	return stream;
}

/* libio's own name for fopen, exported for old programs; so below. */
EXPORT FILE *_IO_fopen(const char *path, const char *mode)
{
	FILE *stream = REAL(_IO_fopen)(path, mode);
	opened_stream(stream, path, mode);
	return stream;
}

/* A list of mounts is a stream over a file that the caller names. */
EXPORT FILE *setmntent(const char *path, const char *mode)
{
	FILE *stream = REAL(setmntent)(path, mode);
	opened_stream(stream, path, mode);
	return stream;
}

EXPORT FILE *__setmntent(const char *path, const char *mode)
{
	FILE *stream = REAL(__setmntent)(path, mode);
	opened_stream(stream, path, mode);
	return stream;
}

static void closing_stream(FILE *stream)
{
	if (!shim.on)
		return;
	int fd = descriptor_of(stream);
	if (shim.reads_own)
		own_stream_closing(fd);
	else if (shim.views)
		view_closing(fd);
	if (shim.records) {
		record_stream_closing(stream, fd);
		record_closing((unsigned)fd, (unsigned)fd);
	}
}

/* The end of a list of mounts, and its older name. */
EXPORT int endmntent(FILE *stream)
{
	if (stream)
		closing_stream(stream);
	return REAL(endmntent)(stream);
}

EXPORT int __endmntent(FILE *stream)
{
	if (stream)
		closing_stream(stream);
	return REAL(__endmntent)(stream);
}

EXPORT int fclose(FILE *stream)
{
	closing_stream(stream);
	return REAL(fclose)(stream);
}

EXPORT int _IO_fclose(FILE *stream)
{
	closing_stream(stream);
	return REAL(_IO_fclose)(stream);
}

/* It closes nothing (glibc): buffers are written, and that is all. */
EXPORT int fcloseall(void)
{
	if (shim.views)
		view_odd();
	return REAL(fcloseall)();
}

/* A stream over a descriptor that is followed: what it reads is not seen. */
EXPORT FILE *fdopen(int fd, const char *mode)
{
	FILE *stream = REAL(fdopen)(fd, mode);
	if (stream && shim.views)
		view_odd();
	return stream;
}

EXPORT FILE *_IO_fdopen(int fd, const char *mode)
{
	FILE *stream = REAL(_IO_fdopen)(fd, mode);
	if (stream && shim.views)
		view_odd();
	return stream;
}

EXPORT FILE *tmpfile(void)
{
	FILE *stream = REAL(tmpfile)();
	if (stream && shim.views)
		view_odd(); /* a viewer writes nowhere */
	return stream;
}

EXPORT FILE *tmpfile64(void)
{
	FILE *stream = REAL(tmpfile64)();
	if (stream && shim.views)
		view_odd();
	return stream;
}
