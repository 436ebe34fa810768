/* The guard inside a process, behind a call: what is written by a descriptor that was opened for writing. */
#ifndef SEEN_FOLLOW_WRITES_H
#define SEEN_FOLLOW_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/preload/state.h"
#include "tracker/content/version.h"

struct plan;

/* plan_opened(): the call came back.  fd < 0: with an error.  stream: libc writes by itself, and the rest of it when the process ends. */
void plan_opened(struct plan *plan, int fd, int flags, bool stream);

/* A file that this process opened to write to, and that is looked at.  Copies of the descriptor share it. */
struct opening {
	uint64_t number;
	uint64_t dev, ino;
	uint64_t key;
	struct version before; /* what was there; none: nothing */
	uint32_t knows;        /* enum guard_knows */
	uint32_t marks;        /* writes.c */
	uint32_t starts;       /* of programs, when it was opened */
	uint64_t start_bytes;  /* its size when this program began, where that did not open it */
	void *stream;          /* FILE, whose buffer is written behind our back; NULL: none */
};

/* A descriptor about to be closed that was opened for writing. */
struct closing {
	int fd;     /* of the same file, for reading; -1: nobody looks at this one */
	int shared; /* a copy, where others may go on at its offset; -1: none */
	struct opening opening;
};

/* writes_closing(), writes_closed(): before and after a close, or what closes by other means (fclose).  writes_closed() returns
 * 0, or -1 with errno where the file was put back to what it had been: the caller of close is to be told. */
void writes_closing(int fd, struct closing *ret_closing);
int writes_closed(struct closing *closing);

/* writes_closing_many(): a range of descriptors is about to be closed. */
void writes_closing_many(unsigned first, unsigned last);

/* writes_refuses(): data is about to be written to a descriptor.  True when it has to be refused: errno is EIO then, and the file
 * is what it was before it was opened. */
bool writes_refuses(int fd, const void *data, size_t size_bytes);
struct iovec;
bool writes_refuses_parts(int fd, const struct iovec *parts, int count);

/* writes_any(): did this process ever open a file that is looked at? */
extern unsigned writes_entries HIDDEN;
static inline bool writes_any(void)
{
	return __atomic_load_n(&writes_entries, __ATOMIC_RELAXED) != 0;
}

/* writes_touched(): what is in a descriptor's file was changed by other means than a write: its size, a copy inside the kernel. */
void writes_touched(int fd);

/* writes_stream(): a stream writes to that descriptor.  writes_answered(): this process was given its first notice. */
void writes_stream(int fd, void *stream);
void writes_answered(void);

/* writes_duplicated(): as descriptor_duplicated().  writes_mapped(): the file may be stored to without a call. */
void writes_duplicated(int fd, int copy);
void writes_mapped(int fd);

/* writes_started(): a program was started that may have any descriptor of this process.  writes_key(): key of the file that a standard
 * descriptor of a program about to replace this image writes to; 0: none.  writes_inherit(): so it was; the program begins. */
void writes_started(void);
uint64_t writes_key(void);
void writes_inherit(uint64_t file_key);

/* writes_end(): the process ends.  flushed: what streams still hold is not written any more (_exit). */
void writes_end(bool flushed);

/* writes_fork(): in a copy that fork made: what it has open is its parent's to tell of. */
void writes_fork(void);

#endif
