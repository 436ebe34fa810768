/* Room in the journal's file: see journal_grow.h. */
#include "tracker/journal/journal_grow.h"

#include <errno.h>

#include "tracker/journal/journal_map.h"
#include "tracker/journal/journal_units.h"
#include "tracker/sys/sys.h"
#include "tracker/sys/ticks.h"

enum {
	GROWTH_SHARE = 4,           /* it grows by this part of itself, */
	GROWTH_UNITS_MAX = 1048576, /* 64 MiB at most */
	SPINS = 20000,
	ALLOCATE_ATTEMPTS = 3, /* a signal may undo it again and again (tmpfs) */
};

static const uint64_t RETRY_NS = 1000000000u; /* after a growth that failed for want of room */

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

bool journal_provide(struct journal *journal, uint64_t first, uint64_t behind)
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
		done = journal_map_window(journal, fd, first) == 0;
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
		(void)journal_provide(journal, next, next + units);
}
