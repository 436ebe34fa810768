/*
 * Rings of io_uring(7): does one carry what is done with files, which then is not observed?
 *
 * libuv sends its epoll_ctl(2) calls through a ring in every Node program: nothing is missed by
 * that.  So a ring that is submitted by io_uring_enter(2) is judged by what is in it; one that the
 * kernel polls, or that is laid out otherwise, counts as one with files.
 * Only calls by number, syscall(2), are seen.  Any thread; no locks.
 */
#ifndef SEEN_SHIM_PRELOAD_RING_H
#define SEEN_SHIM_PRELOAD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many rings this program made; 0: the calls below need not be made. */
extern uint32_t ring_count;

static inline bool ring_any(void)
{
	return __builtin_expect(__atomic_load_n(&ring_count, __ATOMIC_RELAXED) != 0, 0);
}

/* ring_made(): io_uring_setup(2) gave a descriptor.  parameters: its second argument. */
void ring_made(int fd, const void *parameters);

/* ring_mapped(): a descriptor was mapped: perhaps the entries of a ring. */
void ring_mapped(int fd, const void *address, size_t size_bytes, uint64_t offset);

/* ring_entered(): io_uring_enter(2) took `submitted` entries.  flags: its own. */
void ring_entered(int fd, long submitted, unsigned flags);

/* partial_note(): the process reads or writes in a way that is not observed (io_uring, aio). */
void partial_note(void);

#endif
