/*
 * Memory for reading files piece by piece: the stacks of signal handlers and threads are small, and
 * nothing is allocated.
 */
#ifndef SEEN_TRACKER_CHUNK_H
#define SEEN_TRACKER_CHUNK_H

enum { CHUNK_BYTES = 16384 };

/* chunk_acquire(): CHUNK_BYTES of memory, for as long as one function runs; NULL when all are in
 * use.  Lock-free; async-signal-safe.
 * A child between vfork and exec that dies with one takes it from its parent. */
char *chunk_acquire(void);

/* chunk_release(): gives it back; NULL is let pass. */
void chunk_release(char *chunk);

/* chunk_reset(): in a copy that fork made: what the parent's threads had taken is free. */
void chunk_reset(void);

#endif
