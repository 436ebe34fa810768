/* Summaries of steps: see step_summary.h. */
#include "cli/report/step_summary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"

static const char CUT[] =
	"\n**Cut here: GitHub takes 1 MiB of a step's summary. `seen report` says the "
	"rest.**\n";

/* What of the text fits into `room` with the line that says that it was cut; whole lines.  0:
 * nothing does. */
static size_t fitting(const char *text, size_t room)
{
	if (room < sizeof(CUT))
		return 0;
	const char *end = memrchr(text, '\n', room - (sizeof(CUT) - 1));
	return end ? (size_t)(end + 1 - text) : 0;
}

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t written = write(fd, text, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		text += written;
		length -= (size_t)written;
	}
	return 0;
}

/* Returns 0 or a negative errno; then the file is as it was. */
static int append(int fd, off_t size, const char *text, size_t length, bool is_cut)
{
	bool begins_line = true;
	char last;

	/* A line of another program that has no end yet. */
	if (size > 0 && pread(fd, &last, 1, size - 1) == 1)
		begins_line = last == '\n';
	int error = begins_line ? 0 : write_all(fd, "\n", 1);
	if (error == 0)
		error = write_all(fd, text, length);
	if (error == 0 && is_cut)
		error = write_all(fd, CUT, sizeof(CUT) - 1);
	if (error < 0)
		(void)!ftruncate(fd, size);
	return error;
}

int step_summary_add(const char *text, size_t length)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");
	struct stat status;

	if (!path || !path[0]) {
		message("--github: $GITHUB_STEP_SUMMARY is not set: this is no step of GitHub "
			"Actions");
		return EXIT_CODE_USAGE;
	}
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0 || fstat(fd, &status) < 0) {
		message("%s: %s", path, strerror(errno));
		if (fd >= 0)
			(void)close(fd);
		return EXIT_CODE_OUTPUT;
	}
	/* One for the end of a line that another left open. */
	off_t room = STEP_SUMMARY_BYTES_MAX - status.st_size - 1;
	bool is_cut = room < (off_t)length;
	if (is_cut)
		length = room > 0 ? fitting(text, (size_t)room) : 0;
	int error = is_cut && length == 0 ? -EFBIG
					  : append(fd, status.st_size, text, length, is_cut);
	(void)close(fd);
	if (error == -EFBIG)
		message("%s: nothing was added: GitHub takes 1 MiB of a step's summary, and it has "
			"that",
			path);
	else if (error < 0)
		message("%s: %s", path, strerror(-error));
	else if (is_cut)
		message("the step's summary was cut: GitHub takes 1 MiB of it");
	return error < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
}
