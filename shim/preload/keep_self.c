/* This process, as one that keeps: see keep_self.h. */
#include "shim/preload/keep_self.h"

#include "shim/preload/follow/locks.h"
#include "shim/preload/memory.h"
#include "shim/preload/state.h"

struct keeper keep_self(void)
{
	return (struct keeper){
		.segment = &shim.segment,
		.process = shim.record,
		.pid = (uint32_t)shim.pid,
		.may_be_locked = write_check_may_be_locked,
		.is_text = launch_is_text,
	};
}
