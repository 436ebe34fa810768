/* A process that is about to make a sandbox of itself: see sandbox.h. */
#include "shim/preload/sandbox.h"

#include <string.h>

#include "shim/preload/handshake.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "shim/start/request.h"
#include "tracker/sys/sys.h"

void sandbox_begins(bool drops)
{
	if (!shim.on || shim.sandboxed || shim.supervised || in_vfork_child() ||
	    sys_getpid() != shim.pid)
		return;
	const struct request_start start = {
		.directory = strchr(shim.session, '=') + 1,
		.run = shim.request.context.flags >> CONTEXT_RUN_SHIFT,
		.may_drop = drops,
		.goes_on = true,
	};
	if (!start.run || request_supervision(&start) != MECHANISM_SUPERVISOR)
		return;
	(void)handshake_send();
	handshake_known();
	process_note_supervised(&shim.segment, shim.process);
}
