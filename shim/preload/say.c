/* A line for the agent: see say.h. */
#include "shim/preload/say.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "shim/preload/state.h"
#include "tracker/process/capture.h"
#include "tracker/sys/sys.h"

enum { STDERR = 2 };

bool say_may(struct stat *ret_stat)
{
	struct pollfd writable = { .fd = STDERR, .events = POLLOUT };
	struct timespec at_once = { 0, 0 };

	return shim.role != ROLE_AGENT && sys_fstat(STDERR, ret_stat) == 0 &&
	       capture_is_errors(&shim.segment, &shim.request.context, ret_stat) &&
	       sys_call6(SYS_ppoll, (long)&writable, 1, (long)&at_once, 0, 0, 0) == 1 &&
	       writable.revents == POLLOUT;
}

void say_line(const struct stat *stream, const char *line, size_t length)
{
	if (length && S_ISSOCK(stream->st_mode))
		(void)sys_call6(SYS_sendto, STDERR, (long)line, (long)length,
				MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
	else if (length && (!S_ISREG(stream->st_mode) ||
			    sys_may_be_this_large((uint64_t)stream->st_size + length)))
		(void)sys_write(STDERR, line, length);
}
