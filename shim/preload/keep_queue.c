/* Requests for a queue of the kernel's, for undo: see keep_queue.h. */
#include "shim/preload/keep_queue.h"

#include "shim/preload/keep_file.h"
#include "shim/preload/memory.h"

void keep_submitted(struct iocb *const *requests, long count)
{
	for (long i = 0; i < count && launch_is_readable(&requests[i]); i++) {
		const struct iocb *request = requests[i];
		/* of both fields, which lie side by side */
		if (!launch_is_readable(&request->aio_lio_opcode))
			break;
		if (request->aio_lio_opcode == IOCB_CMD_PWRITE ||
		    request->aio_lio_opcode == IOCB_CMD_PWRITEV)
			keep_changing_by((int)request->aio_fildes, false);
	}
}
