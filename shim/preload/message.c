/* A line for the agent: see message.h. */
#include "shim/preload/message.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "shim/keep/scratch.h"
#include "shim/preload/state.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/capture.h"
#include "tracker/process/receiver.h"
#include "tracker/process/runs.h"
#include "tracker/sys/sys.h"

enum { STDERR = 2 };

bool message_may(struct stat *ret_stat)
{
	struct pollfd writable = { .fd = STDERR, .events = POLLOUT };
	struct timespec at_once = { 0, 0 };

	return shim.role != ROLE_AGENT && sys_fstat(STDERR, ret_stat) == 0 &&
	       capture_is_errors(&shim.segment, &shim.request.context, ret_stat) &&
	       sys_call6(SYS_ppoll, (long)&writable, 1, (long)&at_once, 0, 0, 0) == 1 &&
	       writable.revents == POLLOUT;
}

bool message_line(const struct stat *stream, const char *line, size_t length)
{
	ssize_t written = 0;

	if (length && S_ISSOCK(stream->st_mode))
		written = sys_call6(SYS_sendto, STDERR, (long)line, (long)length,
				    MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
	else if (length && (!S_ISREG(stream->st_mode) ||
			    sys_may_be_this_large((uint64_t)stream->st_size + length)))
		written = sys_write(STDERR, line, length);
	return length && written == (ssize_t)length;
}

/* Does the agent, and it alone, read that stream? */
static bool is_received(const struct stat *stream)
{
	const struct request *request = &shim.request;

	return process_run_lives(&shim.segment, &request->context) &&
	       receiver_find_of_errors(&shim.segment, request->subject, &request->context, stream,
				       request->pid_ns) == RECEIVER_AGENT;
}

void message_unreported(void)
{
	struct guard_answer answer;
	struct stat stream;
	unsigned place;

	if (!shim.scope_id || !unreported_waits(&shim.segment, shim.scope_id) ||
	    !message_may(&stream) || !is_received(&stream))
		return;
	char *path = scratch_acquire(), *line = scratch_acquire();
	for (int i = 0; path && line && i < UNREPORTED_AT_ONCE &&
			unreported_claim(&shim.segment, shim.scope_id, &place, &answer, path,
					 SEGMENT_PATH_BYTES);
	     i++) {
		size_t length = guard_format_message(&shim.segment, &answer, path, line,
						     SEGMENT_PATH_BYTES);
		if (!message_may(&stream) || !message_line(&stream, line, length)) {
			unreported_release(&shim.segment, place);
			break;
		}
	}
	scratch_release(line);
	scratch_release(path);
}
