/*
 * Memory of the part that a process writes to: there a record costs no system call (pack_write.c).
 *
 * What is mapped has its blocks allocated first: a full disk is an error then, and never a SIGBUS.  A process that
 * writes a few records maps nothing.  One writer at a time has the memory; for another thread, and for a signal
 * handler that interrupts it, there is none, and they write by system calls.
 *
 * For strangers' processes, as pack_write.h says; also between vfork and exec.
 */
#ifndef SEEN_TRACKER_PACK_WINDOW_H
#define SEEN_TRACKER_PACK_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/segment.h"

enum {
	PACK_WINDOW_BYTES = 262144, /* at most */
	PACK_WINDOW_RECORDS = 4,    /* the first records of a process are written by system calls */
};

/* pack_window_acquire(): memory of so many bytes from a place on, inside one part; they are as the file has them.
 * may_map: it is a new record's; else only where it is mapped already.
 * Returns NULL where there is none now: then nothing is to be released; else pack_window_release() follows. */
char *pack_window_acquire(const struct segment *segment, uint64_t place, uint64_t size_bytes,
			  bool may_map);
void pack_window_release(void);

/* pack_window_reset(): in a copy that fork made. */
void pack_window_reset(void);

#endif
