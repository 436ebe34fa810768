/* Lines for the agent: see message.h. */
#include "shim/supervise/message.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/supervise/memory.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/capture.h"
#include "tracker/process/receiver.h"
#include "tracker/process/runs.h"
#include "tracker/sys/sys.h"

enum { STDERR = 2 };
static const char OWN[] = "seen: "; /* begins each line */

/* Else what the process writes next would go over the line. */
static bool appends(struct subject subject)
{
	int flags = subject_flags(subject, STDERR);

	return flags >= 0 && (flags & O_APPEND);
}

/* Is there a stream that the process's agent reads?  A file is one where it is the capture, too. */
static bool message_may_print(const struct supervision *supervision, const struct target *target,
			      struct stat *ret_stat)
{
	const struct context *context = &target->request.context;

	return context->role != ROLE_AGENT &&
	       subject_stat(target->request.subject, STDERR, ret_stat) == 0 &&
	       (!S_ISREG(ret_stat->st_mode) || appends(target->request.subject)) &&
	       capture_is_errors(supervision->segment, context, ret_stat);
}

/* All signals are blocked here. */
static bool write_line(const struct target *target, const struct stat *stream, const char *line,
		       size_t length)
{
	char name[PROC_PATH_BYTES];
	ssize_t written;
	int fd;

	if (!length)
		return false;
	/* A socket cannot be opened by its name in /proc. */
	if (S_ISSOCK(stream->st_mode)) {
		fd = (int)sys_call3(SYS_pidfd_getfd, target->descriptor, STDERR, 0);
	} else {
		subject_path(target->request.subject, STDERR, name);
		fd = sys_open(name, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
	}
	if (fd < 0)
		return false;
	if (S_ISSOCK(stream->st_mode))
		written = sys_call6(SYS_sendto, fd, (long)line, (long)length,
				    MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
	else
		written = sys_write(fd, line, length);
	(void)close(fd);
	return written == (ssize_t)length;
}

bool message_line(const struct supervision *supervision, const struct target *target,
		  const char *line, size_t length)
{
	struct stat stream;

	return length && message_may_print(supervision, target, &stream) &&
	       write_line(target, &stream, line, length);
}

void message_refusal(const struct supervision *supervision, const struct target *target,
		     const char *line)
{
	char text[2 * SEGMENT_PATH_BYTES];
	const size_t length = strlen(line);

	if (message_line(supervision, target, line, length) || !supervision->report)
		return;
	(void)snprintf(text, sizeof(text), "%.*s", (int)(length - 1 - strlen(OWN)),
		       line + strlen(OWN));
	supervision->report(supervision->data, text);
}

void message_unreported(const struct supervision *supervision, const struct target *target)
{
	const struct segment *segment = supervision->segment;
	const struct request *request = &target->request;
	char path[SEGMENT_PATH_BYTES], line[SEGMENT_PATH_BYTES];
	struct guard_answer answer;
	struct stat stream;
	unsigned place;

	if (!target->scope_id || !unreported_waits(segment, target->scope_id) ||
	    !message_may_print(supervision, target, &stream) ||
	    !process_run_lives(segment, &request->context) ||
	    receiver_find_of_errors(segment, request->subject, &request->context, &stream,
				    request->pid_ns) != RECEIVER_AGENT)
		return;
	for (int i = 0;
	     i < UNREPORTED_AT_ONCE &&
	     unreported_claim(segment, target->scope_id, &place, &answer, path, sizeof(path));
	     i++) {
		size_t length = guard_format_message(segment, &answer, path, line, sizeof(line));
		if (!write_line(target, &stream, line, length)) {
			unreported_release(segment, place);
			break;
		}
	}
}
