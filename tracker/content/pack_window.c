/* Memory of the part that a process writes to: see pack_window.h. */
#include "tracker/content/pack_window.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "tracker/content/pack.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_room.h"
#include "tracker/sys/sys.h"

enum {
	ALIGNED_BYTES = 65536, /* no system's pages are larger */
	RETRY_RECORDS = 1024,  /* after a mapping that failed */
	ALLOCATE_ATTEMPTS = 3, /* a signal may interrupt it */
	FIRST_BYTES = 65536,   /* of a process: most write few records */
	ROUNDED_BYTES = 4096,
	READY_BYTES = 32768, /* whose pages are there before they are written to */
};

static struct {
	uint32_t taken;  /* by a writer; all others are its own */
	uint32_t passed; /* records that were written without, since there last was one */
	uint32_t failed;
	uint32_t is_later; /* there was one before */
	uint64_t session;  /* when its segment was created */
	uint64_t from, to; /* places */
	uint64_t ready;    /* likewise: up to here the pages are there */
	char *bytes;       /* NULL: none is mapped */
} window;

static bool holds(const struct segment *segment, uint64_t place, uint64_t size_bytes)
{
	return window.bytes && place >= window.from && size_bytes <= window.to - place &&
	       place < window.to && window.session == segment->header->created_realtime_ns &&
	       pack_part_of(place) >=
		       __atomic_load_n(&segment->header->undo_first, __ATOMIC_RELAXED);
}

/* Has the process room for it, beside what it needs for itself? */
static bool has_room(void)
{
	struct rlimit64 room;

	return sys_call6(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&room, 0, 0) < 0 ||
	       room.rlim_cur / 64 >= PACK_WINDOW_BYTES;
}

static long map(int fd, uint64_t offset, uint64_t size_bytes)
{
	int error = -EINTR;

	for (int attempt = 0; attempt < ALLOCATE_ATTEMPTS && error == -EINTR; attempt++)
		error = sys_fallocate(fd, 0, (off_t)offset, (off_t)size_bytes);
	if (error < 0)
		return error;
	return sys_call6(SYS_mmap, 0, (long)size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (long)offset);
}

/* How much is mapped from a place on: a record and what may follow it. */
static uint64_t bytes_from(uint64_t size_bytes)
{
	uint64_t more = window.is_later ? PACK_WINDOW_BYTES : FIRST_BYTES;
	return more > size_bytes ? more : size_bytes;
}

/* Maps what lies from a place on. */
static bool map_from(const struct segment *segment, uint64_t place, uint64_t size_bytes)
{
	uint64_t from = place & ~(uint64_t)(ALIGNED_BYTES - 1);
	uint64_t to = (place + bytes_from(size_bytes) + ROUNDED_BYTES - 1) &
		      ~(uint64_t)(ROUNDED_BYTES - 1);
	uint64_t end = (place / PACK_PART_BYTES + 1) * PACK_PART_BYTES;

	to = to < end ? to : end;
	if (window.bytes)
		(void)sys_munmap(window.bytes, window.to - window.from);
	window.bytes = NULL;
	if (!has_room() || !sys_may_be_this_large((to - 1) % PACK_PART_BYTES + 1))
		return false;
	int fd = pack_open_part(segment, pack_part_of(place));
	if (fd < 0)
		return false;
	long address = map(fd, from % PACK_PART_BYTES, to - from);
	(void)sys_close(fd);
	if (address < 0 && address >= -4095)
		return false;
	/* At a fault the kernel reads what follows, in place of what lies around: half of that is there. */
	(void)sys_call3(SYS_madvise, address, (long)(to - from), MADV_SEQUENTIAL);
	window.bytes = (char *)address;
	window.session = segment->header->created_realtime_ns;
	window.from = from;
	window.to = to;
	window.ready = place;
	window.is_later = 1;
	return true;
}

/* A fault a page takes more than one call for several.  Where the kernel does not know it, each page is a fault. */
static void make_ready(uint64_t place, uint64_t size_bytes)
{
	uint64_t from = (window.ready > place ? window.ready : place) &
			~(uint64_t)(ROUNDED_BYTES - 1);
	uint64_t bytes = size_bytes > READY_BYTES ? size_bytes : READY_BYTES;
	uint64_t to = from + bytes < window.to ? from + bytes : window.to;

	(void)sys_call3(SYS_madvise, (long)(window.bytes + (from - window.from)), (long)(to - from),
			MADV_POPULATE_WRITE);
	window.ready = to;
}

/* Is it time to map some?  Not for a few records, nor again and again where that fails. */
static bool is_due(void)
{
	if (window.bytes)
		return true;
	return ++window.passed > (window.failed ? RETRY_RECORDS : PACK_WINDOW_RECORDS);
}

char *pack_window_acquire(const struct segment *segment, uint64_t place, uint64_t size_bytes,
			  bool may_map)
{
	if (__atomic_exchange_n(&window.taken, 1, __ATOMIC_ACQUIRE))
		return NULL;
	bool is_there = holds(segment, place, size_bytes);
	if (!is_there && may_map && is_due()) {
		is_there = map_from(segment, place, size_bytes) &&
			   holds(segment, place, size_bytes);
		window.failed = !is_there;
		window.passed = 0;
	}
	if (is_there && may_map && place + size_bytes > window.ready)
		make_ready(place, size_bytes);
	if (is_there)
		return window.bytes + (place - window.from);
	pack_window_release();
	return NULL;
}

void pack_window_release(void)
{
	__atomic_store_n(&window.taken, 0, __ATOMIC_RELEASE);
}

void pack_window_reset(void)
{
	/* by another thread of the process that was copied, which may have been about to map it */
	if (window.taken)
		window.bytes = NULL;
	window.taken = 0;
	window.is_later = 0;
}
