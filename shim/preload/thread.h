/*
 * Which thread and which process runs this: a child between vfork and exec, which is in the memory
 * of its parent; the one thread of a process that is followed; one of many.
 */
#ifndef SEEN_SHIM_THREAD_H
#define SEEN_SHIM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/preload/state.h"
#include "tracker/journal/journal.h"

enum {
	STANDARD_UNKNOWN = 255,
	VFORK_TOUCHED = 64,
	VFORK_CALLED = 1, /* by this thread: this is its child, or the parent again */
	VFORK_CHILD = 2,  /* the child, for as long as one function runs */
};

/* What vfork leaves in its thread.  Two words: vfork.S sets the first to 1 and the second to 0. */
struct vfork_note {
	unsigned char called; /* 0, VFORK_CALLED, VFORK_CHILD */
	/* Of the child: which of its parent's descriptors its own 0, 1 and 2 are, and one more; 0:
	 * the same; or STANDARD_UNKNOWN. */
	unsigned char standard[JOURNAL_STANDARD];
	uint32_t unused;
	uint64_t touched; /* descriptors that the child closed or opened, below VFORK_TOUCHED */
};
_Static_assert(sizeof(struct vfork_note) == 16, "vfork.S writes two words");

/* in_vfork_child(): is this a child between vfork and exec, in the memory of its parent?  Asks the
 * kernel only after this thread called vfork. */
bool in_vfork_child_asked(void) __attribute__((noinline, cold));
extern __thread struct vfork_note shim_vforked HIDDEN;
static inline bool in_vfork_child(void)
{
	return __builtin_expect(shim_vforked.called, 0) && in_vfork_child_asked();
}

/* shim_is_alone(): is this the process that was started, which has one thread, as far as libc
 * knows?  Then there is no need to ask the kernel for it at each call. */
bool shim_is_alone(void);

/* viewer_is_followed(): is this the one thread, and the process, that is followed? */
bool viewer_is_followed(void);

/* viewer_is_followed_still(): the same, of what comes between an open and the end, where that is
 * asked: a copy of the process that libc does not know of may be taken for it here. */
bool viewer_is_followed_still(void);

/* viewer_untrackable(): a viewer did something that is not followed: it delivers nothing. */
void viewer_untrackable(void);

#endif
