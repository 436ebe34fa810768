/* Views of the journal's file: see journal_map.h. */
#include "tracker/journal/journal_map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tracker/journal/journal_units.h"
#include "tracker/sys/sys.h"

enum {
	TOGETHER_UNITS = 131072, /* 8 MiB before what is written are mapped with it */
};

/* Is the file as long as it says?  One that was made longer since it was inspected is: that comes
 * first. */
static bool is_as_long(int fd, struct stat *stat, uint64_t units)
{
	uint64_t bytes = units * JOURNAL_UNIT_BYTES;
	return bytes <= (uint64_t)stat->st_size ||
	       (sys_fstat(fd, stat) == 0 && bytes <= (uint64_t)stat->st_size);
}

static int check_header(const struct journal_header *header, int fd, struct stat *stat)
{
	if (header->magic != JOURNAL_MAGIC)
		return -EBADMSG;
	if (header->version != JOURNAL_VERSION || header->unit_bytes != JOURNAL_UNIT_BYTES)
		return -EPROTO;
	uint64_t allocated = __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE);
	if (header->units_max > UINT32_MAX || allocated > header->units_max ||
	    allocated < JOURNAL_UNITS_FIRST || !is_as_long(fd, stat, allocated) ||
	    header->name[JOURNAL_NAME_BYTES - 1] != '\0' ||
	    header->nonce[JOURNAL_NONCE_BYTES - 1] != '\0')
		return -EBADMSG;
	return 0;
}

/* Of what a view of a file is made. */
enum mapping { MAPPING_READER, MAPPING_HEAD, MAPPING_WHOLE, MAPPING_WINDOWS };

/* Has the process room for a mapping of this size, beside what it needs for itself? */
static bool has_room(uint64_t bytes)
{
	struct rlimit64 room;
	return sys_call6(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&room, 0, 0) < 0 ||
	       room.rlim_cur / 16 >= bytes;
}

static long map_part(int fd, bool to_read, uint64_t bytes, uint64_t offset)
{
	return sys_call6(SYS_mmap, 0, (long)bytes, to_read ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, (long)offset);
}

static bool is_error(long address)
{
	return address < 0 && address >= -4095;
}

int journal_map_window(struct journal *journal, int fd, uint64_t number)
{
	uint64_t first = number > JOURNAL_WINDOW_BEFORE + JOURNAL_UNITS_FIRST
				 ? number - JOURNAL_WINDOW_BEFORE
				 : JOURNAL_UNITS_FIRST;
	uint64_t from = first / JOURNAL_UNITS_PER_PAGE * JOURNAL_UNITS_PER_PAGE;
	uint64_t units = journal->window_units +
			 JOURNAL_RECORD_UNITS_MAX / JOURNAL_UNITS_PER_PAGE *
				 JOURNAL_UNITS_PER_PAGE +
			 JOURNAL_UNITS_PER_PAGE;
	if (!has_room(units * JOURNAL_UNIT_BYTES))
		return -ENOMEM;
	uint32_t index = __atomic_fetch_add(&journal->windows_used, 1, __ATOMIC_ACQ_REL);
	if (index >= JOURNAL_WINDOWS_MAX) {
		__atomic_store_n(&journal->windows_used, JOURNAL_WINDOWS_MAX, __ATOMIC_RELAXED);
		return -ENOMEM;
	}
	long address = map_part(fd, false, units * JOURNAL_UNIT_BYTES, from * JOURNAL_UNIT_BYTES);
	if (is_error(address))
		return (int)address; /* the place stays empty */
	struct journal_window *window = &journal->windows[index];
	window->from = from;
	window->to = from + journal->window_units;
	__atomic_store_n(&window->units, (unsigned char *)address - from * JOURNAL_UNIT_BYTES,
			 __ATOMIC_RELEASE);
	raise_to(&journal->mapped_units, window->to);
	return 0;
}

/* How much a window holds, at least. */
static uint64_t window_units_of(const struct journal_header *header)
{
	uint64_t share = header->units_max / JOURNAL_WINDOWS_MAX;
	return (share > JOURNAL_WINDOW_UNITS ? share : JOURNAL_WINDOW_UNITS) /
	       JOURNAL_UNITS_PER_PAGE * JOURNAL_UNITS_PER_PAGE;
}

static void use_head(struct journal *journal, long address)
{
	journal->header = (struct journal_header *)address;
	journal->units = (unsigned char *)address;
	journal->known = (uint64_t *)(void *)(journal->units + JOURNAL_KNOWN_AT);
}

/* It will be written to: one page fault instead of two. */
static void touch_head(struct journal *journal)
{
	(void)__atomic_fetch_or(&journal->header->next, 0, __ATOMIC_RELAXED);
}

/* Maps the pages before the first record and the window behind them by one mapping, where little
 * lies between: at the start of a program a mapping costs more than all that it writes.  Returns 0;
 * -EFBIG where that is too much for one. */
static int map_together(int fd, struct stat *stat, struct journal *journal)
{
	struct journal_header header;
	const uint64_t extra = JOURNAL_RECORD_UNITS_MAX / JOURNAL_UNITS_PER_PAGE *
				       JOURNAL_UNITS_PER_PAGE +
			       JOURNAL_UNITS_PER_PAGE;

	if (sys_pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return -EBADMSG;
	int error = check_header(&header, fd, stat);
	if (error < 0)
		return error;
	if (header.next < JOURNAL_UNITS_FIRST || header.next > UINT32_MAX)
		return -EBADMSG;
	uint64_t units = window_units_of(&header);
	uint64_t to = (header.next + units) / JOURNAL_UNITS_PER_PAGE * JOURNAL_UNITS_PER_PAGE;
	uint64_t bytes = (to + extra) * JOURNAL_UNIT_BYTES;
	if (header.next > TOGETHER_UNITS || !has_room(bytes))
		return -EFBIG;
	long address = map_part(fd, false, bytes, 0);
	if (is_error(address))
		return (int)address;
	use_head(journal, address);
	touch_head(journal);
	journal->by_ticks = __atomic_load_n(&journal->header->by_ticks, __ATOMIC_RELAXED) == 1;
	journal->mapped_units = to;
	journal->window_units = units;
	journal->windows[0] = (struct journal_window){ .units = (unsigned char *)address,
						       .from = JOURNAL_UNITS_FIRST,
						       .to = to };
	journal->windows_used = 1;
	return 0;
}

/* The same by two.  Of other views: the pages before the first record, and of a whole view all
 * behind them. */
static int map_apart(int fd, enum mapping mapping, struct stat *stat, struct journal *journal)
{
	const uint64_t head = JOURNAL_UNITS_FIRST * JOURNAL_UNIT_BYTES;
	/* A part of a page at the end is no place for records, and journal_unmap() could not
	 * tell. */
	uint64_t there = (uint64_t)stat->st_size & ~(uint64_t)4095, bytes = there, limit;

	if (mapping == MAPPING_WINDOWS || mapping == MAPPING_HEAD) {
		bytes = head;
	} else if (mapping == MAPPING_WHOLE) {
		/* What it may grow to is mapped at once; bytes that are not there yet are not
		 * touched. */
		if (sys_pread(fd, &limit, sizeof(limit),
			      offsetof(struct journal_header, units_max)) != sizeof(limit))
			return -EIO;
		if (limit > bytes / JOURNAL_UNIT_BYTES && limit <= UINT32_MAX)
			bytes = limit * JOURNAL_UNIT_BYTES;
		if (!has_room(bytes))
			bytes = there;
		if (!has_room(bytes))
			return -ENOMEM;
	}
	long address = map_part(fd, mapping == MAPPING_READER || mapping == MAPPING_HEAD, bytes, 0);
	if (is_error(address))
		return (int)address;
	use_head(journal, address);
	if (mapping == MAPPING_WINDOWS)
		touch_head(journal);
	journal->mapped_units = bytes / JOURNAL_UNIT_BYTES;
	journal->by_ticks = __atomic_load_n(&journal->header->by_ticks, __ATOMIC_RELAXED) == 1;
	int error = check_header(journal->header, fd, stat);
	if (error == 0 && mapping == MAPPING_WINDOWS) {
		journal->window_units = window_units_of(journal->header);
		uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_RELAXED);
		error = next < JOURNAL_UNITS_FIRST || next > UINT32_MAX
				? -EBADMSG
				: journal_map_window(journal, fd, next);
	}
	if (error < 0)
		(void)sys_munmap(journal->header, bytes);
	return error;
}

/* ret_journal: all zero; again where it failed.  ret_fd: NULL: it is closed. */
static int map(const char *path, enum mapping mapping, struct journal *ret_journal, int *ret_fd)
{
	bool to_read = mapping == MAPPING_READER || mapping == MAPPING_HEAD;
	struct stat stat;
	/* A time of access would be written anew at each start, since records change the time of
	 * modification.  The kernel leaves it alone for the owner, who alone may write here. */
	int fd = sys_open(
		path,
		(to_read ? O_RDONLY : O_RDWR | O_NOATIME) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	int error = sys_fstat(fd, &stat);
	if (error == 0 && !S_ISREG(stat.st_mode))
		error = -EBADMSG;
	/* Who reads a copy from elsewhere has no use for whose it is. */
	if (error == 0 && !to_read &&
	    (stat.st_uid != (uid_t)sys_call3(SYS_geteuid, 0, 0, 0) || (stat.st_mode & 022)))
		error = -EPERM;
	if (error == 0 && stat.st_size < JOURNAL_UNITS_FIRST * JOURNAL_UNIT_BYTES)
		error = -EBADMSG;
	if (error == 0)
		error = mapping == MAPPING_WINDOWS ? map_together(fd, &stat, ret_journal) : -EFBIG;
	if (error == -EFBIG)
		error = map_apart(fd, mapping, &stat, ret_journal);
	if (error < 0) {
		memset(ret_journal, 0, offsetof(struct journal, windows[1]));
	} else {
		ret_journal->dev = stat.st_dev;
		ret_journal->ino = stat.st_ino;
		ret_journal->path = to_read ? NULL : path;
	}
	if (error == 0 && ret_fd)
		*ret_fd = fd;
	else
		(void)sys_close(fd);
	return error;
}

/* Into memory that may hold anything, and stays as it is where that failed. */
static int map_whole(const char *path, enum mapping mapping, struct journal *ret_journal,
		     int *ret_fd)
{
	struct journal journal = { .path = NULL };
	int error = map(path, mapping, &journal, ret_fd);
	if (error == 0)
		*ret_journal = journal;
	return error;
}

int journal_map(const char *path, struct journal *ret_journal)
{
	return map_whole(path, MAPPING_WHOLE, ret_journal, NULL);
}

int journal_map_windows(const char *path, struct journal *ret_journal)
{
	return map_whole(path, MAPPING_WINDOWS, ret_journal, NULL);
}

int journal_map_windows_cleared(const char *path, struct journal *ret_journal)
{
	return map(path, MAPPING_WINDOWS, ret_journal, NULL);
}

int journal_map_to_read(const char *path, struct journal *ret_journal)
{
	return map_whole(path, MAPPING_READER, ret_journal, NULL);
}

int journal_map_head(const char *path, struct journal *ret_journal, int *ret_fd)
{
	return map_whole(path, MAPPING_HEAD, ret_journal, ret_fd);
}

void journal_unmap(struct journal *journal)
{
	uint64_t head = journal->window_units ? JOURNAL_UNITS_FIRST : journal->mapped_units;
	uint64_t extra = JOURNAL_RECORD_UNITS_MAX / JOURNAL_UNITS_PER_PAGE *
				 JOURNAL_UNITS_PER_PAGE +
			 JOURNAL_UNITS_PER_PAGE;

	if (journal->header)
		(void)sys_munmap(journal->header, head * JOURNAL_UNIT_BYTES);
	for (uint32_t i = 0; i < JOURNAL_WINDOWS_MAX && i < journal->windows_used; i++) {
		struct journal_window *window = &journal->windows[i];
		if (window->units)
			(void)sys_munmap(window->units + window->from * JOURNAL_UNIT_BYTES,
					 (window->to - window->from + extra) * JOURNAL_UNIT_BYTES);
	}
	*journal = (struct journal){ .path = NULL };
}
