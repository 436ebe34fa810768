/* The guard inside a process, behind a call: what is written by a descriptor that was opened for
 * writing. */
#ifndef SEEN_FOLLOW_WRITES_H
#define SEEN_FOLLOW_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/preload/follow/guarded_entries.h"
#include "shim/preload/state.h"
#include "tracker/content/version.h"

struct write_check;

/* write_check_opened(): the call came back.  fd < 0: with an error.  stream: libc writes by itself,
 * and the rest of it when the process ends. */
void write_check_opened(struct write_check *check, int fd, int flags, bool stream);

/* A descriptor about to be closed that was opened for writing. */
struct closing {
	int fd;     /* of the same file, for reading; -1: this one is not inspected */
	char *kept; /* keep_stream_closing(); NULL: nothing is due */
	int shared; /* a copy, where others may go on at its offset; -1: none */
	char *path; /* where the file was when it was opened as `fd`, in scratch; NULL: to be asked for */
	struct opening opening;
};

/* guarded_closing(), guarded_closed(): before and after a close, or what closes by other means
 * (fclose).  guarded_closed() returns 0, or -1 with errno where the file was put back to what it
 * had been: the caller of close gets an error. */
void guarded_closing(int fd, struct closing *ret_closing);
int guarded_closed(struct closing *closing);

/* guarded_closing_many(): a range of descriptors is about to be closed. */
void guarded_closing_many(unsigned first, unsigned last);

/* guarded_refuses(): data is about to be written to a descriptor.  True when it has to be refused:
 * errno is EIO then, and the file is what it was before it was opened. */
bool guarded_refuses(int fd, const void *data, size_t size_bytes);
struct iovec;
bool guarded_refuses_parts(int fd, const struct iovec *parts, int count);

/* guarded_touched(): what is in a descriptor's file was changed by other means than a write: its
 * size, a copy inside the kernel. */
void guarded_touched(int fd);

/* guarded_stream(): a stream writes to that descriptor.  guarded_answered(): this process was given
 * its first notice. */
void guarded_stream(int fd, void *stream);
void guarded_answered(void);

/* guarded_duplicated(): as descriptor_duplicated().  guarded_mapped(): the file may be stored to
 * without a call. */
void guarded_duplicated(int fd, int copy);
void guarded_mapped(int fd);

/* guarded_started(): a program was started that may have any descriptor of this process.
 * guarded_key(): key of the file that a standard descriptor of a program about to replace this
 * image writes to; 0: none.  guarded_inherit(): so it was; the program begins. */
void guarded_started(void);
uint64_t guarded_key(void);
void guarded_inherit(uint64_t file_key);

/* guarded_finish(): the process ends.  flushed: what streams still hold is not written any more
 * (_exit). */
void guarded_finish(bool flushed);

/* guarded_fork(): in a copy that fork made: what it has open is its parent's to report. */
void guarded_fork(void);

#endif
