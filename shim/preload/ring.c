/* Rings of io_uring(7): see ring.h. */
#include "shim/preload/ring.h"

#include <linux/io_uring.h>

#include "shim/preload/follow/reader.h"
#include "shim/preload/keep_file.h"
#include "shim/preload/memory.h"
#include "shim/preload/state.h"

enum {
	RINGS = 64,
	ENTRIES_MAX = 1024, /* of a ring that is looked through */
	ENTRY_BYTES = 64,
	PAGE_BYTES = 4096,
	/* linux/io_uring.h; the system's may be older than the kernel */
	FLAGS_HARMLESS =
		1 << 3 | 1 << 4 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 11 | 1 << 12 | 1 << 13 |
		1 << 16, /* all but what lays out entries otherwise, or has the kernel poll */
	ENTER_REGISTERED = 1 << 4, /* the descriptor is none */
};

/* A ring whose entries are inspected.  Words are atomic: threads make rings of their own. */
static struct ring {
	uint32_t descriptor; /* and 1; 0: none */
	uint32_t entries;
	uintptr_t address; /* of the first entry; 0: not mapped yet */
} rings[RINGS];
uint32_t ring_count;

static struct ring *ring_of(int fd)
{
	for (int i = 0; i < RINGS; i++)
		if (__atomic_load_n(&rings[i].descriptor, __ATOMIC_ACQUIRE) == (uint32_t)fd + 1)
			return &rings[i];
	return NULL;
}

/* The place of a descriptor; NULL: there is none left. */
static struct ring *place_of(int fd)
{
	struct ring *ring = ring_of(fd);

	for (int i = 0; !ring && i < RINGS; i++) {
		uint32_t none = 0;
		if (__atomic_compare_exchange_n(&rings[i].descriptor, &none, (uint32_t)fd + 1,
						false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			ring = &rings[i];
	}
	return ring;
}

void ring_made(int fd, const void *parameters)
{
	const struct io_uring_params *params = parameters;
	bool is_plain = launch_is_readable(params) &&
			!(params->flags & ~(uint32_t)FLAGS_HARMLESS) && params->sq_entries &&
			params->sq_entries <= ENTRIES_MAX;
	struct ring *ring = is_plain ? place_of(fd) : NULL;

	keep_queues();

	if (!ring) {
		partial_note();
		return;
	}
	__atomic_store_n(&ring->address, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->entries, params->sq_entries, __ATOMIC_RELAXED);
	(void)__atomic_fetch_add(&ring_count, 1, __ATOMIC_RELEASE);
}

void ring_mapped(int fd, const void *address, size_t size_bytes, uint64_t offset)
{
	struct ring *ring = offset == IORING_OFF_SQES ? ring_of(fd) : NULL;

	if (ring && size_bytes / ENTRY_BYTES >= __atomic_load_n(&ring->entries, __ATOMIC_RELAXED))
		__atomic_store_n(&ring->address, (uintptr_t)address, __ATOMIC_RELEASE);
}

enum { OPERATION_SHUTDOWN = 34 }; /* IORING_OP_SHUTDOWN: linux/io_uring.h has it since 5.11 */

/* What has nothing to do with a file's content or name. */
static bool is_harmless(unsigned operation)
{
	switch (operation) {
	case IORING_OP_NOP:
	case IORING_OP_POLL_ADD:
	case IORING_OP_POLL_REMOVE:
	case IORING_OP_SENDMSG:
	case IORING_OP_RECVMSG:
	case IORING_OP_TIMEOUT:
	case IORING_OP_TIMEOUT_REMOVE:
	case IORING_OP_ACCEPT:
	case IORING_OP_ASYNC_CANCEL:
	case IORING_OP_LINK_TIMEOUT:
	case IORING_OP_CONNECT:
	case IORING_OP_SEND:
	case IORING_OP_RECV:
	case IORING_OP_EPOLL_CTL:
	case OPERATION_SHUTDOWN:
		return true;
	default:
		return false;
	}
}

/* All entries are inspected, also such as were submitted before: the kernel leaves them as they
 * are. */
static bool has_files(const struct ring *ring)
{
	uintptr_t address = __atomic_load_n(&ring->address, __ATOMIC_ACQUIRE);
	uint32_t entries = __atomic_load_n(&ring->entries, __ATOMIC_RELAXED);

	if (!address)
		return true;
	for (uint32_t i = 0; i < entries; i++) {
		const unsigned char *entry = (const unsigned char *)address +
					     (size_t)i * ENTRY_BYTES;
		if ((i == 0 || (uintptr_t)entry % PAGE_BYTES == 0) && !launch_is_readable(entry))
			return true;
		if (!is_harmless(*(const volatile unsigned char *)entry))
			return true;
	}
	return false;
}

void ring_entered(int fd, long submitted, unsigned flags)
{
	const struct ring *ring = flags & ENTER_REGISTERED ? NULL : ring_of(fd);

	if (submitted > 0 && (!ring || has_files(ring)))
		partial_note();
}

void partial_note(void)
{
	reader_untrackable();
	if (shim.on)
		process_note_partial(&shim.segment, shim.process);
}
