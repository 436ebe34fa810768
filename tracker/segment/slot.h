/*
 * Slots: fixed-size records in shared memory that any process may write and any may die writing.
 *
 * A slot begins with a head: a sequence number, odd during a write, and a check value over the
 * slot's body.  A reader copies the body and keeps the copy only if the sequence number was even
 * and the same before and after, and the check value agrees.  A writer takes the slot by
 * compare-and-swap.  A writer that died inside leaves it odd: the next writer waits a short while,
 * then takes it over.  If the first one was only slow, it finds the slot taken and gives its words
 * up, or, when they are half written, spoils the check value: the record is lost, never believed.
 * That costs one missed lookup.
 *
 * Nothing here blocks, allocates, or makes a system call; everything may be called from a signal
 * handler and between fork and exec.
 */
#ifndef SEEN_TRACKER_SLOT_H
#define SEEN_TRACKER_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First member of every slot.  Writers: the process that holds the slot.  Readers: slot_read()
 * only. */
struct slot_head {
	uint32_t sequence; /* odd: being written */
	uint32_t check;    /* over the body, see slot_check() */
};

/* slot_read(): a consistent copy of a slot.
 *
 * slot: the shared slot, 8-byte aligned.  ret_copy: receives head and body; size_bytes: of the
 * whole slot, a multiple of 8.  Returns true when the copy is whole and its check value agrees; an
 * all-zero slot (never written) is whole.  False: being written, torn or damaged; ret_copy is then
 * undefined. */
bool slot_read(const void *slot, void *ret_copy, size_t size_bytes);

/* slot_acquire(): takes a slot for writing and copies its body.
 *
 * ret_copy receives head and body; a damaged body is given as zeroes, so that a broken record heals
 * by the next write.  Returns true when the slot is now held: slot_commit() or slot_abandon() must
 * follow at once.  False: another writer holds it and moved on meanwhile; the caller gives the
 * event up (counted as lost) or tries again. */
bool slot_acquire(void *slot, void *ret_copy, size_t size_bytes);

/* slot_acquire_surely(): the same, asked for many times: for a forget, which must not be lost to a
 * writer that was quicker. */
bool slot_acquire_surely(void *slot, void *ret_copy, size_t size_bytes);

/* slot_commit(): writes the body of `copy` into a held slot and lets it go. */
void slot_commit(void *slot, void *copy, size_t size_bytes);

/* slot_abandon(): lets a held slot go without writing to it.  `copy` is what slot_acquire()
 * gave. */
void slot_abandon(void *slot, const void *copy, size_t size_bytes);

#endif
