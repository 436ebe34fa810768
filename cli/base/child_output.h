/*
 * What another program prints.  In a header of its own: the scripted agent (agents/demo_agent.c) is
 * linked with no other file.
 */
#ifndef SEEN_CLI_CHILD_OUTPUT_H
#define SEEN_CLI_CHILD_OUTPUT_H

#include <errno.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* child_output_read(): reads to the end of an output, closes it, and waits for the child.
 *
 * fd: the reading end; the child alone has the writing one.  child: -1: it could not be made.
 * ret_text: capacity bytes, ended by NUL; what is longer is cut.  ret_status: as waitpid(2) has it.
 * Returns the number of bytes; or a negative errno. */
static inline ssize_t child_output_read(int fd, pid_t child, char *ret_text, size_t capacity,
					int *ret_status)
{
	size_t length = 0;
	int error = child < 0 ? -ECHILD : 0;

	while (error == 0 && length + 1 < capacity) {
		ssize_t got = read(fd, ret_text + length, capacity - 1 - length);
		if (got == 0)
			break;
		if (got > 0)
			length += (size_t)got;
		else if (errno != EINTR)
			error = -errno;
	}
	(void)close(fd);
	ret_text[length] = '\0';
	while (child > 0 && waitpid(child, ret_status, 0) < 0 && errno == EINTR)
		;
	return error < 0 ? error : (ssize_t)length;
}

#endif
