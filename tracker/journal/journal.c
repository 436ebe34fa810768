/* The journal: see journal.h; journal_create.c makes one. */
#include "tracker/journal/journal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/sys/sys.h"
#include "tracker/sys/ticks.h"

enum {
	RESERVE_ATTEMPTS = 8,
	GROWTH_SHARE = 4,           /* it grows by this part of itself, */
	GROWTH_UNITS_MAX = 1048576, /* 64 MiB at most */
	UNITS_PER_PAGE = 4096 / JOURNAL_UNIT_BYTES,
	SPINS = 20000,
	JOURNAL_TOGETHER_UNITS = 131072, /* 8 MiB before what is written are mapped with it */
	ALLOCATE_ATTEMPTS = 3,           /* a signal may undo it again and again (tmpfs) */
};

static const uint64_t RETRY_NS = 1000000000u; /* after a growth that failed for want of room */

static unsigned char *unit_in(const struct journal_window *window, uint64_t number)
{
	unsigned char *units = __atomic_load_n(&window->units, __ATOMIC_ACQUIRE);
	return units && number >= window->from && number < window->to
		       ? units + number * JOURNAL_UNIT_BYTES
		       : NULL;
}

/* Where a record begins that does not begin in the newest window. */
static __attribute__((noinline)) unsigned char *unit_before(const struct journal *journal,
							    uint32_t newest, uint64_t number)
{
	for (uint32_t i = newest; i-- > 0;) {
		unsigned char *unit = unit_in(&journal->windows[i], number);
		if (unit)
			return unit;
	}
	return NULL;
}

/* Where a record begins; NULL where that is not mapped.  The newest window first: there is
 * written. */
static inline unsigned char *unit_at(const struct journal *journal, uint64_t number)
{
	if (!journal->window_units)
		return number < journal->mapped_units ? journal->units + number * JOURNAL_UNIT_BYTES
						      : NULL;
	uint32_t used = __atomic_load_n(&journal->windows_used, __ATOMIC_ACQUIRE);
	if (used == 0)
		return NULL;
	uint32_t count = used < JOURNAL_WINDOWS_MAX ? used : JOURNAL_WINDOWS_MAX;
	/* cppcheck-suppress negativeIndex ; used is not 0 here */
	unsigned char *unit = unit_in(&journal->windows[count - 1], number);
	return unit ? unit : unit_before(journal, count - 1, number);
}

static bool is_mapped(const struct journal *journal, uint64_t number)
{
	return unit_at(journal, number) != NULL;
}

/* The first word of a record as one value: what is published by one instruction. */
static uint64_t *word_in(unsigned char *unit)
{
	return (uint64_t *)(void *)unit;
}

static uint64_t word_of(const struct journal_head *head)
{
	uint64_t word;
	memcpy(&word, head, sizeof(word));
	return word;
}

static struct journal_head head_of(uint64_t word)
{
	struct journal_head head;
	memcpy(&head, &word, sizeof(head));
	return head;
}

/* The check value: of where a record lies, what it is, and all bytes behind its head. */
static inline uint32_t check_of(uint64_t number, const struct journal_head *head, const void *body)
{
	const size_t one = JOURNAL_UNIT_BYTES - sizeof(*head);
	uint64_t seed = number ^ ((uint64_t)head->op << 56 | (uint64_t)head->units << 48 |
				  (uint64_t)head->error << 32);
	uint64_t hash;
	/* Most are of one unit: of a length that the compiler knows, the hash is a handful of
	 * instructions. */
	if (head->op == JOURNAL_ABANDONED)
		hash = XXH3_64bits_withSeed(body, 0, seed); /* its writer may still be at it */
	else if (head->units == 1)
		hash = XXH3_64bits_withSeed(body, one, seed);
	else
		hash = XXH3_64bits_withSeed(
			body, (size_t)head->units * JOURNAL_UNIT_BYTES - sizeof(*head), seed);
	return (uint32_t)(hash ^ (hash >> 32));
}

/* What may be inspected: below this, where it is mapped.  A record at the end of a window goes on
 * behind it. */
static uint64_t limit_of(const struct journal *journal)
{
	uint64_t allocated = __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE);
	return allocated < journal->mapped_units || journal->window_units ? allocated
									  : journal->mapped_units;
}

static void raise_to(uint64_t *word, uint64_t value)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
	while (old < value && !__atomic_compare_exchange_n(word, &old, value, true,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* ---- mapping ---- */

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

/* A window further on, from a little before `number` on: other threads write there.  The last
 * record of it may be as long as records can be. */
static int map_window(struct journal *journal, int fd, uint64_t number)
{
	uint64_t first = number > JOURNAL_WINDOW_BEFORE + JOURNAL_UNITS_FIRST
				 ? number - JOURNAL_WINDOW_BEFORE
				 : JOURNAL_UNITS_FIRST;
	uint64_t from = first / UNITS_PER_PAGE * UNITS_PER_PAGE;
	uint64_t units = journal->window_units +
			 JOURNAL_RECORD_UNITS_MAX / UNITS_PER_PAGE * UNITS_PER_PAGE +
			 UNITS_PER_PAGE;
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
	return (share > JOURNAL_WINDOW_UNITS ? share : JOURNAL_WINDOW_UNITS) / UNITS_PER_PAGE *
	       UNITS_PER_PAGE;
}

static void use_head(struct journal *journal, long address)
{
	journal->header = (struct journal_header *)address;
	journal->units = (unsigned char *)address;
	journal->known = (uint64_t *)(void *)(journal->units + JOURNAL_KNOWN_AT);
}

/* Maps the pages before the first record and the window behind them by one mapping, where little
 * lies between: at the start of a program a mapping costs more than all that it writes.  Returns 0;
 * -EFBIG where that is too much for one. */
static int map_together(int fd, struct stat *stat, struct journal *journal)
{
	struct journal_header header;
	const uint64_t extra = JOURNAL_RECORD_UNITS_MAX / UNITS_PER_PAGE * UNITS_PER_PAGE +
			       UNITS_PER_PAGE;

	if (sys_pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return -EBADMSG;
	int error = check_header(&header, fd, stat);
	if (error < 0)
		return error;
	if (header.next < JOURNAL_UNITS_FIRST || header.next > UINT32_MAX)
		return -EBADMSG;
	uint64_t units = window_units_of(&header);
	uint64_t to = (header.next + units) / UNITS_PER_PAGE * UNITS_PER_PAGE;
	uint64_t bytes = (to + extra) * JOURNAL_UNIT_BYTES;
	if (header.next > JOURNAL_TOGETHER_UNITS || !has_room(bytes))
		return -EFBIG;
	long address = map_part(fd, false, bytes, 0);
	if (is_error(address))
		return (int)address;
	use_head(journal, address);
	/* It will be written to: one page fault instead of two. */
	(void)__atomic_fetch_or(&journal->header->next, 0, __ATOMIC_RELAXED);
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
	journal->mapped_units = bytes / JOURNAL_UNIT_BYTES;
	journal->by_ticks = __atomic_load_n(&journal->header->by_ticks, __ATOMIC_RELAXED) == 1;
	int error = check_header(journal->header, fd, stat);
	if (error == 0 && mapping == MAPPING_WINDOWS) {
		journal->window_units = window_units_of(journal->header);
		uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_RELAXED);
		error = next < JOURNAL_UNITS_FIRST || next > UINT32_MAX
				? -EBADMSG
				: map_window(journal, fd, next);
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
	int fd = sys_open(path, (to_read ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
			  0);
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
	uint64_t extra = JOURNAL_RECORD_UNITS_MAX / UNITS_PER_PAGE * UNITS_PER_PAGE +
			 UNITS_PER_PAGE;

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

/* ---- growing ---- */

static int allocate(int fd, uint64_t from, uint64_t to)
{
	int error = -EINTR;
	for (int attempt = 0; attempt < ALLOCATE_ATTEMPTS && error == -EINTR; attempt++)
		error = (int)sys_call6(SYS_fallocate, fd, 0, (long)(from * JOURNAL_UNIT_BYTES),
				       (long)((to - from) * JOURNAL_UNIT_BYTES), 0, 0);
	return error;
}

static uint64_t whole_chunks(uint64_t units)
{
	return (units + JOURNAL_CHUNK_UNITS - 1) / JOURNAL_CHUNK_UNITS * JOURNAL_CHUNK_UNITS;
}

/* Allocates blocks so that numbers below `wanted` may be written.  Several processes may do this at
 * once: the same blocks are then asked for twice. */
static bool allocate_to(struct journal *journal, int fd, uint64_t wanted)
{
	struct journal_header *header = journal->header;
	uint64_t allocated = __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE);
	uint64_t now = sys_realtime_ns();
	uint64_t failed = __atomic_load_n(&header->full_realtime_ns, __ATOMIC_RELAXED);
	uint64_t least = whole_chunks(wanted), most = header->units_max, target = least;

	if (!header->can_grow || wanted > most || (failed && now - failed < RETRY_NS))
		return false;
	if (!journal->window_units) { /* the program takes larger steps, so that others need none */
		uint64_t step = allocated / GROWTH_SHARE;
		step = step > GROWTH_UNITS_MAX ? GROWTH_UNITS_MAX : step;
		target = whole_chunks(allocated + step);
		target = target < least ? least : target;
	}
	least = least > most ? most : least;
	target = target > most ? most : target;
	if (!sys_may_be_this_large(target * JOURNAL_UNIT_BYTES))
		target = least;
	if (!sys_may_be_this_large(target * JOURNAL_UNIT_BYTES))
		return false;
	int error = allocate(fd, allocated, target);
	if (error < 0 && target > least) {
		target = least;
		error = allocate(fd, allocated, target);
	}
	if (error == 0)
		raise_to(&header->allocated, target);
	__atomic_store_n(&header->full_errno, (uint64_t)-error, __ATOMIC_RELAXED);
	__atomic_store_n(&header->full_realtime_ns, error ? now : 0, __ATOMIC_RELAXED);
	return error == 0;
}

static void finish_work(struct journal *journal)
{
	__atomic_store_n(&journal->in_work, 0, __ATOMIC_RELEASE);
}

/* When another thread is at it already it is waited for, some hundred microseconds: windows are
 * few.  It may be one that a signal handler interrupted, or that does not get on: then both do it.
 * Returns false where this one has to: finish_work() follows. */
static bool is_provided_by_another(struct journal *journal, uint64_t first, uint64_t behind)
{
	for (int turn = 0; turn < SPINS; turn++) {
		uint32_t free = 0;
		if (__atomic_compare_exchange_n(&journal->in_work, &free, 1, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	}
	if (behind > __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE) ||
	    !is_mapped(journal, first))
		return false;
	finish_work(journal);
	return true;
}

/* Sees to it that a record may be written whose units are `first` and those behind it up to
 * `behind`. */
static bool provide(struct journal *journal, uint64_t first, uint64_t behind)
{
	struct journal_header *header = journal->header;
	const char *path = __atomic_load_n(&journal->path, __ATOMIC_RELAXED);
	struct stat stat;

	if (!journal->window_units && behind > journal->mapped_units)
		return false;
	if (behind <= __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE) &&
	    is_mapped(journal, first))
		return true;
	if (!path || behind > header->units_max)
		return false;
	/* On a full disk, and without a descriptor to be had: not at each event. */
	uint64_t now = sys_realtime_ns();
	uint64_t failed = __atomic_load_n(&header->full_realtime_ns, __ATOMIC_RELAXED);
	if ((failed && now - failed < RETRY_NS &&
	     behind > __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE)) ||
	    now < __atomic_load_n(&journal->retry_realtime_ns, __ATOMIC_RELAXED))
		return false;
	if (is_provided_by_another(journal, first, behind))
		return true;
	int fd = sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd == -EMFILE || fd == -ENFILE || fd == -EINTR) {
		finish_work(journal);
		__atomic_store_n(&journal->retry_realtime_ns, now + RETRY_NS, __ATOMIC_RELAXED);
		return false;
	}
	/* What else fails for reasons of this process alone (a chroot, a limit) ends its growing
	 * the file. */
	uint64_t allocated = __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE);
	/* One that was cut short does not grow: what was lost would look as if it had never been
	 * written. */
	bool same = fd >= 0 && sys_fstat(fd, &stat) == 0 && stat.st_dev == journal->dev &&
		    stat.st_ino == journal->ino &&
		    (uint64_t)stat.st_size / JOURNAL_UNIT_BYTES >= allocated;
	if (!same)
		__atomic_store_n(&journal->path, NULL, __ATOMIC_RELAXED);
	bool done = same;
	if (done && behind > __atomic_load_n(&header->allocated, __ATOMIC_ACQUIRE))
		done = allocate_to(journal, fd, behind);
	if (done && journal->window_units && !is_mapped(journal, first))
		done = map_window(journal, fd, first) == 0;
	if (fd >= 0)
		(void)sys_close(fd);
	finish_work(journal);
	return done;
}

void journal_choose_clock(struct journal *journal)
{
	journal->by_ticks = ticks_are_sound();
	__atomic_store_n(&journal->header->by_ticks, journal->by_ticks, __ATOMIC_RELAXED);
}

void journal_make_room(struct journal *journal, uint64_t units)
{
	uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_RELAXED);
	if (next >= JOURNAL_UNITS_FIRST && next <= UINT32_MAX &&
	    next + units > __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE))
		(void)provide(journal, next, next + units);
}

/* ---- writing ---- */

void journal_lost(const struct journal *journal)
{
	(void)__atomic_fetch_add(&journal->header->lost, 1, __ATOMIC_RELAXED);
}

/* Do so many units from `next` on lie below a limit?  `next` may be anything: it is read from the
 * file. */
static bool fits(uint64_t next, uint64_t units, uint64_t limit)
{
	return next <= limit && units <= limit - next;
}

/* Where a record of these units lies as things are; NULL where there is no room for it, or none
 * that this view has. */
static inline unsigned char *provided_at(const struct journal *journal, uint64_t number,
					 uint64_t units)
{
	return fits(number, units, limit_of(journal)) ? unit_at(journal, number) : NULL;
}

/* Numbers that a record may have. */
static bool is_number(uint64_t number)
{
	return number >= JOURNAL_UNITS_FIRST && number <= UINT32_MAX;
}

/* Sees to it that a word, which is read now and written right after, is fetched from another
 * processor once for both. */
static inline void fetch_to_write(uint64_t *word)
{
#if defined(__x86_64__)
	__asm__ volatile(
		"prefetchw %0"
		:
		: "m"(*word)); /* gcc has it for newer processors alone; older ones let it pass */
#else
	__builtin_prefetch(word, 1);
#endif
}

/* Takes units where there may be no room yet.  taken: number of those that were taken already, and
 * are not provided; 0: none were. */
static __attribute__((noinline)) uint64_t reserve_slowly(struct journal *journal, uint64_t units,
							 bool may_grow, uint64_t taken,
							 unsigned char **ret_unit)
{
	uint64_t *next_at = &journal->header->next;

	for (int attempt = 0; attempt < RESERVE_ATTEMPTS; attempt++, taken = 0) {
		if (!taken) {
			uint64_t next = __atomic_load_n(next_at, __ATOMIC_RELAXED);
			if (!is_number(next))
				break; /* damaged */
			if (!provided_at(journal, next, units) &&
			    (!may_grow || !provide(journal, next, next + units)))
				break;
			taken = __atomic_fetch_add(next_at, units, __ATOMIC_RELAXED);
		}
		if (!is_number(taken))
			continue;
		/* Others may have taken the rest meanwhile; what is beyond stays a gap if there is
		 * no more. */
		*ret_unit = provided_at(journal, taken, units);
		if (!*ret_unit && may_grow && provide(journal, taken, taken + units))
			*ret_unit = provided_at(journal, taken, units);
		if (*ret_unit)
			return taken;
	}
	journal_lost(journal);
	return 0;
}

/* Takes units; returns the number of the first, 0 when there is no room.  ret_unit: where it
 * lies. */
static inline uint64_t reserve(struct journal *journal, uint64_t units, bool may_grow,
			       unsigned char **ret_unit)
{
	uint64_t *next_at = &journal->header->next, number = 0;

	fetch_to_write(next_at);
	uint64_t next = __atomic_load_n(next_at, __ATOMIC_RELAXED);
	if (is_number(next) && provided_at(journal, next, units)) {
		number = __atomic_fetch_add(next_at, units, __ATOMIC_RELAXED);
		*ret_unit = is_number(number) ? provided_at(journal, number, units) : NULL;
		if (*ret_unit)
			return number;
	}
	return reserve_slowly(journal, units, may_grow, number, ret_unit);
}

/* Publishes a record whose body is in place: from then on it counts. */
static inline bool publish(const struct journal *journal, unsigned char *unit, uint64_t expected,
			   const struct journal_head *head)
{
	if (__atomic_compare_exchange_n(word_in(unit), &expected, word_of(head), false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	journal_lost(journal); /* it took so long that it was taken for dead */
	return false;
}

/* A record of several units says how many before they are filled: a reader that passes a dead
 * writer's must not take its bytes for records. */
static bool start_filling(const struct journal *journal, unsigned char *unit, uint64_t units,
			  uint64_t *ret_word)
{
	struct journal_head head = { .op = JOURNAL_FILLING, .units = (uint8_t)units };
	uint64_t expected = 0;

	*ret_word = word_of(&head);
	if (__atomic_compare_exchange_n(word_in(unit), &expected, *ret_word, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return true;
	journal_lost(journal);
	return false;
}

uint32_t journal_write(struct journal *journal, struct journal_record *record, const void *details,
		       size_t detail_bytes, bool may_grow)
{
	uint64_t units = 1 + detail_bytes / JOURNAL_UNIT_BYTES, word = 0;
	const size_t head_bytes = sizeof(record->head);
	unsigned char *unit;

	uint64_t number = reserve(journal, units, may_grow, &unit);
	if (!number || (units > 1 && !start_filling(journal, unit, units, &word)))
		return 0;
	if (!record->time_realtime_ns)
		record->time_realtime_ns = journal->by_ticks ? ticks_realtime_ns()
							     : sys_realtime_ns();
	record->head.units = (uint8_t)units;
	memcpy(unit + head_bytes, (const unsigned char *)record + head_bytes,
	       sizeof(*record) - head_bytes);
	if (detail_bytes)
		memcpy(unit + sizeof(*record), details, detail_bytes);
	record->head.check = check_of(number, &record->head, unit + head_bytes);
	return publish(journal, unit, word, &record->head) ? (uint32_t)number : 0;
}

/* The bytes of a text, or NULL when the number is none's. */
static inline const char *text_at(const struct journal *journal, uint64_t number,
				  size_t *ret_size_bytes)
{
	unsigned char *unit = number >= JOURNAL_UNITS_FIRST ? provided_at(journal, number, 1)
							    : NULL;
	if (!unit)
		return NULL;
	struct journal_head head = head_of(__atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE));
	if (head.op != JOURNAL_TEXT || !head.units ||
	    !fits(number, head.units, limit_of(journal)) ||
	    head.error + sizeof(head) > (size_t)head.units * JOURNAL_UNIT_BYTES)
		return NULL;
	*ret_size_bytes = head.error;
	return (const char *)unit + sizeof(head);
}

/* Is this the number of a text with these bytes? */
static inline bool is_text(const struct journal *journal, uint64_t number, const void *bytes,
			   size_t size_bytes)
{
	size_t length;
	const char *text = text_at(journal, number, &length);
	return text && length == size_bytes && memcmp(text, bytes, size_bytes) == 0;
}

uint32_t journal_text(struct journal *journal, const void *bytes, size_t size_bytes, bool may_grow)
{
	struct journal_head head = { .op = JOURNAL_TEXT };
	unsigned char *unit;
	uint64_t word = 0;

	if (size_bytes > JOURNAL_TEXT_BYTES_MAX)
		size_bytes = JOURNAL_TEXT_BYTES_MAX;
	uint64_t hash = XXH3_64bits(bytes, size_bytes);
	uint64_t *known = &journal->known[hash % JOURNAL_KNOWN_TEXTS];
	uint64_t last = __atomic_load_n(known, __ATOMIC_ACQUIRE);
	if (last >> 32 == hash >> 32 && is_text(journal, last & UINT32_MAX, bytes, size_bytes))
		return (uint32_t)last;

	uint64_t units = (sizeof(head) + size_bytes + JOURNAL_UNIT_BYTES - 1) / JOURNAL_UNIT_BYTES;
	uint64_t number = reserve(journal, units, may_grow, &unit);
	if (!number || (units > 1 && !start_filling(journal, unit, units, &word)))
		return 0;
	memcpy(unit + sizeof(head), bytes, size_bytes);
	head.units = (uint8_t)units;
	head.error = (uint16_t)size_bytes;
	head.check = check_of(number, &head, unit + sizeof(head));
	if (!publish(journal, unit, word, &head))
		return 0;
	__atomic_store_n(known, (hash >> 32) << 32 | number, __ATOMIC_RELEASE);
	return (uint32_t)number;
}

/* ---- reading ---- */

void journal_drop(const struct journal *journal, uint64_t number)
{
	uint64_t to = number / UNITS_PER_PAGE * UNITS_PER_PAGE;

	if (to > JOURNAL_UNITS_FIRST && to <= journal->mapped_units && !journal->window_units)
		(void)sys_call3(SYS_madvise, (long)unit_at(journal, JOURNAL_UNITS_FIRST),
				(long)((to - JOURNAL_UNITS_FIRST) * JOURNAL_UNIT_BYTES),
				MADV_DONTNEED);
}

uint64_t journal_end_unit(const struct journal *journal)
{
	uint64_t next = __atomic_load_n(&journal->header->next, __ATOMIC_ACQUIRE);
	uint64_t limit = limit_of(journal);
	return next < limit ? next : limit;
}

/* Where a record of so many units lies, if it is inside what this view can read, else NULL. */
static inline unsigned char *inside_at(const struct journal *journal, uint64_t number,
				       uint64_t units)
{
	return units > 0 && number >= JOURNAL_UNITS_FIRST ? provided_at(journal, number, units)
							  : NULL;
}

/* Does it lie inside the file?  A view may have the first units of a record, and not the last. */
static bool lies_in_file(const struct journal *journal, uint64_t number, uint64_t units)
{
	return units > 0 &&
	       fits(number, units, __atomic_load_n(&journal->header->allocated, __ATOMIC_ACQUIRE));
}

const char *journal_bytes(const struct journal *journal, uint32_t number, size_t *ret_size_bytes)
{
	return text_at(journal, number, ret_size_bytes);
}

uint64_t journal_behind_undone(const struct journal *journal, uint64_t number)
{
	unsigned char *unit = inside_at(journal, number, 1);
	if (!unit)
		return number + 1;
	struct journal_head head = head_of(__atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE));
	if (head.op == JOURNAL_FILLING)
		return number + (lies_in_file(journal, number, head.units) ? head.units : 1);
	return head.op == JOURNAL_NONE ? number + 1 : number;
}

enum journal_found journal_next(const struct journal *journal, uint64_t *number,
				struct journal_entry *ret_entry)
{
	const size_t details_max = sizeof(*ret_entry) - offsetof(struct journal_entry, process);
	uint64_t at = *number;

	unsigned char *unit = at < journal_end_unit(journal) && at >= JOURNAL_UNITS_FIRST
				      ? unit_at(journal, at)
				      : NULL;
	if (!unit)
		return JOURNAL_FOUND_END;
	struct journal_head head = head_of(__atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE));
	ret_entry->number = at;
	if (head.op == JOURNAL_NONE || head.op == JOURNAL_FILLING)
		return JOURNAL_FOUND_UNDONE;
	bool inside = inside_at(journal, at, head.units) != NULL;
	if (!inside && lies_in_file(journal, at, head.units))
		return JOURNAL_FOUND_END; /* of this view */
	*number = at + (inside ? head.units : 1);
	if (!inside || head.check != check_of(at, &head, unit + sizeof(head)))
		return JOURNAL_FOUND_DAMAGED;
	size_t details = ((size_t)head.units - 1) * JOURNAL_UNIT_BYTES;
	if (details > details_max)
		details = details_max;
	memset(&ret_entry->record, 0, sizeof(*ret_entry) - offsetof(struct journal_entry, record));
	ret_entry->record.head = head;
	if (head.op == JOURNAL_TEXT || head.op == JOURNAL_ABANDONED)
		return JOURNAL_FOUND_RECORD;
	memcpy((unsigned char *)&ret_entry->record + sizeof(head), unit + sizeof(head),
	       sizeof(ret_entry->record) - sizeof(head));
	if (details)
		memcpy(&ret_entry->process, unit + JOURNAL_UNIT_BYTES, details);
	return JOURNAL_FOUND_RECORD;
}

bool journal_abandon(const struct journal *journal, uint64_t number)
{
	unsigned char *unit = inside_at(journal, number, 1);
	if (!unit)
		return false;
	uint64_t word = __atomic_load_n(word_in(unit), __ATOMIC_ACQUIRE);
	struct journal_head head = head_of(word);

	if (head.op != JOURNAL_NONE && head.op != JOURNAL_FILLING)
		return false;
	if (!lies_in_file(journal, number, head.units))
		head.units = 1;
	head.op = JOURNAL_ABANDONED;
	head.error = 0;
	head.check = check_of(number, &head, NULL);
	return __atomic_compare_exchange_n(word_in(unit), &word, word_of(&head), false,
					   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
