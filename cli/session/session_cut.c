/* The room that a session takes: see session_cut.h. */
#include "cli/session/session_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/session/owned.h"
#include "cli/session/packs.h"
#include "cli/session/session_life.h"
#include "cli/session/store_files.h"
#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"
#include "tracker/sys/sys.h"

enum {
	PAGE_BYTES = 4096, /* or a part of one: a smaller hole is filled with zeroes */
	PAUSE_MS = 2,
};

/* Does no other process have the file open or mapped?  From then on, until it is closed, the opens of
 * others wait or fail with EWOULDBLOCK (fcntl(2), F_SETLEASE).  Returns 0; -EAGAIN: one has; another
 * errno where the kernel does not say. */
static int lease(int fd)
{
	return fcntl(fd, F_SETLEASE, F_WRLCK) < 0 ? -errno : 0;
}

/* Another process opens the file, and waits for this one; or has it: this one stood still for long. */
static bool is_lost(int fd, bool is_leased)
{
	return is_leased && fcntl(fd, F_GETLEASE) != F_WRLCK;
}

/* Makes a hole.  `from`, `to`: 0, 0: there is none yet. */
static int punch(int fd, off_t from, off_t to)
{
	return to <= from || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from,
				       to - from) == 0
		       ? 0
		       : -errno;
}

/* Pages that hold zeroes, or are holes already. */
struct zeroes {
	off_t from, to;
	off_t data_bytes; /* of these: that are no holes */
};

/* Makes a hole of the smaller one of both, and has the larger one stay.  The largest is made last: a segment
 * of which less became holes, since a kill ended that, is still due (session_cut_is_due()). */
static int punch_smaller(int fd, struct zeroes zeroes, struct zeroes *largest)
{
	struct zeroes smaller = zeroes;

	if (zeroes.data_bytes > largest->data_bytes) {
		smaller = *largest;
		*largest = zeroes;
	}
	return punch(fd, smaller.from, smaller.to);
}

/* Makes holes of the pages that hold zeroes.  Blocks that were never written to are holes to lseek(2)
 * already, as long as no process read them; those are not inspected. */
static int cut_segment(int fd, const unsigned char *memory, off_t size, bool is_leased)
{
	static const unsigned char ZEROES[PAGE_BYTES];
	struct zeroes largest = { 0, 0, 0 };
	off_t hole = 0, data_bytes = 0, end = 0;
	int error = 0;

	for (off_t at = 0; at < size && error == 0; at += PAGE_BYTES) {
		if (at >= end) {
			off_t data = lseek(fd, at, SEEK_DATA);
			if (data < 0)
				break;
			end = lseek(fd, data, SEEK_HOLE);
			if (end < 0)
				return -errno;
			at = data / PAGE_BYTES * PAGE_BYTES;
		}
		off_t length = size - at < PAGE_BYTES ? size - at : PAGE_BYTES;
		if (memcmp(memory + at, ZEROES, (size_t)length) == 0) {
			data_bytes += length;
			continue;
		}
		error = is_lost(fd, is_leased)
				? -EAGAIN
				: punch_smaller(fd, (struct zeroes){ hole, at, data_bytes },
						&largest);
		hole = at + PAGE_BYTES;
		data_bytes = 0;
	}
	if (error == 0 && is_lost(fd, is_leased))
		error = -EAGAIN;
	if (error == 0)
		error = punch_smaller(fd, (struct zeroes){ hole, size, data_bytes }, &largest);
	return error == 0 ? punch(fd, largest.from, largest.to) : error;
}

/* It was used no longer for being cut. */
static void keep_times(int fd, const struct stat *stat)
{
	(void)futimens(fd, (const struct timespec[]){ stat->st_atim, stat->st_mtim });
}

/* Ends a journal behind its last record. */
static int cut_journal(const char *path)
{
	struct journal_header header = { .magic = 0 };
	struct stat stat = { .st_size = 0 };
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_uid != geteuid() ||
	    pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.magic != JOURNAL_MAGIC || header.version != JOURNAL_VERSION ||
	    header.unit_bytes != JOURNAL_UNIT_BYTES)
		error = -EBADMSG;
	const uint64_t page_units = PAGE_BYTES / JOURNAL_UNIT_BYTES;
	uint64_t units = (header.next + page_units - 1) / page_units * page_units;
	/* one that cannot grow keeps its room */
	if (error == 0 && header.can_grow && units >= JOURNAL_UNITS_FIRST &&
	    units < header.allocated &&
	    (uint64_t)stat.st_size >= header.allocated * JOURNAL_UNIT_BYTES) {
		/* first what it says, then what it has: it is never shorter than it says */
		if (pwrite(fd, &units, sizeof(units), offsetof(struct journal_header, allocated)) !=
			    sizeof(units) ||
		    ftruncate(fd, (off_t)(units * JOURNAL_UNIT_BYTES)) < 0)
			error = -errno;
		keep_times(fd, &stat);
	}
	(void)close(fd);
	return error;
}

/* Cuts a session whose segment no other process can open. */
static int cut(int fd, const struct stat *stat, bool is_leased, bool packs_alone)
{
	struct segment segment;
	char journal[SEGMENT_PATH_BYTES] = "";
	void *memory = mmap(NULL, (size_t)stat->st_size, PROT_READ, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	int error = segment_view(memory, (size_t)stat->st_size, &segment);
	if (error == 0 && !is_leased && session_life(&segment) != SESSION_EMPTY)
		error = -EBUSY;
	if (error == 0 && is_leased)
		packs_cut(&segment);
	if (error == 0 && !packs_alone && segment_journal(&segment))
		(void)snprintf(journal, sizeof(journal), "%s", segment_journal(&segment));
	/* first, since the segment tells whether there is something to do */
	if (error == 0 && journal[0])
		(void)cut_journal(journal);
	/* before a page becomes a hole: a process that uses it again gives it its blocks first */
	uint64_t growth = error == 0 ? segment.header->grows : SEGMENT_IS_WHOLE;
	if (error == 0 && !packs_alone && growth == SEGMENT_GROWS) {
		growth = SEGMENT_IS_CUT;
		if (pwrite(fd, &growth, sizeof(growth), offsetof(struct segment_header, grows)) !=
		    sizeof(growth))
			error = -errno;
	}
	if (error == 0 && !packs_alone)
		error = cut_segment(fd, memory, stat->st_size, is_leased);
	(void)munmap(memory, (size_t)stat->st_size);
	return error;
}

/* As session_cut().  -EAGAIN: a process has the session locked, or the segment open or mapped; -EBUSY: one
 * uses it. */
static int try_to_cut(const char *directory, bool packs_alone)
{
	struct stat stat = { .st_size = 0 };
	int at = -1;
	int error = session_open_directory(AT_FDCWD, directory, &at);

	if (error < 0)
		return error;
	error = store_files_lock(at);
	if (error == -EBUSY)
		error = -EAGAIN;
	int fd = error == 0
			 ? openat(at, STORE_SEGMENT, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;
	if (error == 0 && (fd < 0 || fstat(fd, &stat) < 0))
		error = -errno;
	if (error == 0 && (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid()))
		error = -EPERM;
	if (error == 0 &&
	    (packs_alone || session_cut_is_due((uint64_t)stat.st_size, (uint64_t)stat.st_blocks))) {
		error = lease(fd);
		if (error != -EAGAIN)
			error = cut(fd, &stat, error == 0, packs_alone);
		keep_times(fd, &stat);
	}
	if (fd >= 0)
		(void)close(fd);
	(void)close(at);
	return error;
}

int session_cut(const char *directory, unsigned patience_ms)
{
	static const struct timespec PAUSE = { .tv_nsec = PAUSE_MS * 1000000 };
	uint64_t until_ns = sys_clock_ns(CLOCK_MONOTONIC) + (uint64_t)patience_ms * 1000000;
	int error = try_to_cut(directory, false);

	/* between two attempts nothing is open or locked: others may use it, or remove it */
	while (error == -EAGAIN && sys_clock_ns(CLOCK_MONOTONIC) < until_ns) {
		(void)nanosleep(&PAUSE, NULL);
		error = try_to_cut(directory, false);
	}
	return error == -EAGAIN ? -EBUSY : error;
}

void session_cut_packs(const char *directory)
{
	(void)try_to_cut(directory, true);
}
