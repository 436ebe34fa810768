/* The end of the process: see end.h. */
#include "shim/preload/end.h"

#include "shim/preload/follow/own.h"
#include "shim/preload/follow/view.h"
#include "shim/preload/follow/writes.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "tracker/process/capture.h"
#include "tracker/sys/sys.h"

/* The program that stands where a capture's shell stood ends: so does the command. */
static void end_command(void)
{
	if (shim.ends_capture && !shim.sandboxed && sys_getpid() == shim.pid)
		capture_finish(&shim.segment, SUBJECT_SELF, shim.request.context.capture_id);
}

/* Runs behind every atexit() of the program: it was registered first.  Not after a signal or exec. */
void at_exit(int status, void *unused)
{
	(void)unused;
	/* Not for a copy that was made behind libc's back, nor for a child in its parent's memory. */
	if (!shim.on || (!shim.sandboxed && sys_getpid() != shim.pid))
		return;
	if (shim.guards)
		writes_end(false);
	record_end(status);
	shim.plain = false;
	if (shim.is_fork) {
		shim.on = false;
		return;
	}
	if (!shim.sandboxed)
		view_end(status);
	if (shim.reads_own)
		own_end();
	end_command();
	process_exit(&shim.segment, shim.process);
	shim.on = false;
}

/* Shells end so, and so do copies.  A child between vfork and exec may call this too, in the memory of its parent, and so may
 * a copy made behind libc's back: the kernel is asked. */
void ending_now(int status)
{
	if (!shim.on || shim.sandboxed || sys_getpid() != shim.pid)
		return;
	if (shim.guards)
		writes_end(true);
	record_end(status);
	if (shim.is_fork)
		return;
	end_command();
	process_exit(&shim.segment, shim.process);
}
