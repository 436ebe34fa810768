/* Which thread and which process runs this: see thread.h. */
#include "shim/preload/thread.h"

#include "shim/preload/state.h"
#include "tracker/sys/sys.h"

static bool untrackable;    /* something that is not followed was done */
static pid_t viewer_thread; /* the only one that may be followed; 0: nothing opened yet */

/* Set by vfork (vfork.S) in the thread that calls it, and so in the child, which shares the
 * thread's memory. */
__thread struct vfork_note shim_vforked;

bool in_vfork_child_asked(void)
{
	if (shim.sandboxed)
		return false;
	if (shim_vforked.called == VFORK_CHILD || sys_getpid() != shim.pid)
		return true;
	shim_vforked.called = 0; /* the parent, which goes on */
	shim.resumed();
	return false;
}

void viewer_untrackable(void)
{
	untrackable = true;
}

/* glibc's, 2.32: has the process only ever had one thread? */
extern char __libc_single_threaded __attribute__((weak));

bool shim_is_alone(void)
{
	return !shim.is_fork && &__libc_single_threaded && __libc_single_threaded &&
	       !in_vfork_child();
}

bool viewer_is_followed_still(void)
{
	return (viewer_thread && !untrackable && shim_is_alone()) || viewer_is_followed();
}

bool viewer_is_followed(void)
{
	pid_t thread = viewer_thread && shim_is_alone() ? viewer_thread
							: (pid_t)sys_call3(SYS_gettid, 0, 0, 0);
	if (!viewer_thread)
		viewer_thread = thread;
	if (thread != viewer_thread || thread != sys_getpid())
		untrackable = true;
	return !untrackable;
}
