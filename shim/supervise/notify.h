/* Taking calls from a listener of seccomp(2), and answering them. */
#ifndef SEEN_SUPERVISE_NOTIFY_H
#define SEEN_SUPERVISE_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

#include "shim/supervise/exchange.h"

enum { NOTIFY_BYTES = 512 }; /* room for a notification of a later kernel */

/* A call that a thread has taken.  Shared with the guardian. */
struct received {
	_Alignas(64) unsigned char call[NOTIFY_BYTES]; /* struct seccomp_notif; id 0: none */
};

/* notify_read_sizes(): how many bytes of a call this kernel writes.  Returns 0; -ENOSYS where it
 * has no notifications, or larger ones; other errors of seccomp(2). */
int notify_read_sizes(size_t *ret_call);

/* notify_answer(): answers a call.  One that was answered already, or whose process was killed, is
 * no error. */
void notify_answer(int listener, uint64_t id, struct verdict verdict);

/* notify_receive(): takes a call, waits for one where none is there.  Returns 0; -EINTR; -ENOENT
 * when its process was killed meanwhile; other errors of the ioctl. */
int notify_receive(int listener, struct received *received, size_t call_bytes);

#endif
