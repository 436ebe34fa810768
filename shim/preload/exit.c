/* The end of the process: see exit.h. */
#include "shim/preload/exit.h"

#include "shim/preload/follow/guarded.h"
#include "shim/preload/follow/in_process.h"
#include "shim/preload/follow/viewer.h"
#include "shim/preload/keep.h"
#include "shim/preload/keep_file.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "tracker/process/capture.h"
#include "tracker/sys/sys.h"

/* The program that stands where a capture's shell stood ends: so does the command. */
static void finish_command(void)
{
	uint64_t capture_id = shim.request.context.capture_id;

	if (!shim.ends_capture || shim.sandboxed || sys_getpid() != shim.pid)
		return;
	(void)capture_aside(&shim.segment, capture_id, sys_aside_bytes);
	capture_finish(&shim.segment, SUBJECT_SELF, capture_id);
}

/* Runs behind every atexit() of the program: it was registered first.  Not after a signal or
 * exec. */
void at_exit(int status, void *unused)
{
	(void)unused;
	/* Not for a copy that was made behind libc's back, nor for a child in its parent's
	 * memory. */
	if (!shim.on || (!shim.sandboxed && sys_getpid() != shim.pid))
		return;
	if (shim.guards)
		guarded_finish(false);
	if (keep_any())
		keep_files_finish(false);
	record_exit(status);
	shim.plain = false;
	if (shim.is_fork) {
		shim.on = false;
		return;
	}
	if (!shim.sandboxed)
		viewer_finish(status);
	if (shim.reads_own)
		in_process_finish();
	keep_step_ends();
	finish_command();
	process_exit(&shim.segment, shim.process);
	shim.on = false;
}

/* Shells end so, and so do copies.  A child between vfork and exec may call this too, in the memory
 * of its parent, and so may a copy made behind libc's back: the kernel is asked. */
void ending_now(int status)
{
	if (!shim.on || shim.sandboxed || sys_getpid() != shim.pid)
		return;
	if (shim.guards)
		guarded_finish(true);
	if (keep_any())
		keep_files_finish(true);
	record_exit(status);
	if (shim.is_fork)
		return;
	keep_step_ends();
	finish_command();
	process_exit(&shim.segment, shim.process);
}
