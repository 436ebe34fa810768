/* Files that the kernel is asked to write to by io_submit(2), for undo (keep_file.h). */
#ifndef SEEN_SHIM_KEEP_QUEUE_H
#define SEEN_SHIM_KEEP_QUEUE_H

#include <linux/aio_abi.h>

/* keep_submitted(): requests are about to be given to a queue.  They are in the caller's memory, which the kernel has not
 * read yet.  Async-signal-safe. */
void keep_submitted(struct iocb *const *requests, long count);

#endif
