/* A library to be preloaded beside others: it opens, reads, renames in its constructor and in its destructor, as
 * loggers and profilers do, and counts. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int work(const char *when)
{
	char bytes[100], text[200];
	int fd = open("early", O_RDWR | O_CREAT | O_TRUNC, 0644);
	ssize_t wrote = write(fd, "early bytes", 11);
	ssize_t read_back = pread(fd, bytes, sizeof(bytes), 0);
	int closed = close(fd);
	FILE *stream = fopen("early", "r");
	int renamed = rename("early", "late");
	char *line = stream ? fgets(bytes, sizeof(bytes), stream) : NULL;
	if (stream)
		fclose(stream);
	int length = snprintf(text, sizeof(text),
			      "%s: fd %d, wrote %zd, read %zd, closed %d, renamed %d, line %s\n",
			      when, fd, wrote, read_back, closed, renamed, line ? line : "none");
	return write(2, text, (size_t)length) == length;
}

__attribute__((constructor)) static void start(void)
{
	if (!work("constructor"))
		abort();
}

__attribute__((destructor)) static void finish(void)
{
	if (!work("destructor"))
		abort();
}
