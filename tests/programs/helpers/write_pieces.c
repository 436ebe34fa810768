/*
 * A program that writes a file in pieces, with pauses, so that it can be killed in the middle (tests/stress/test_guard.py).
 *
 * usage: write_pieces WAY SOURCE PATH PIECES PAUSE_US
 *
 *	truncate    the file is emptied, then written
 *	in_place    written over what is there, then cut
 *	append      behind what is there
 *	rename      written to PATH.tmp, which takes its place
 *
 * Exit status 0, or 1 when a call failed; says which.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char content[1 << 20];

static int failed(const char *call)
{
	(void)fprintf(stderr, "write_pieces: %s: %s\n", call, strerror(errno));
	return 1;
}

static int write_all(int fd, size_t size_bytes, size_t pieces, useconds_t pause_us)
{
	size_t piece = size_bytes / pieces + 1;

	for (size_t at = 0; at < size_bytes; at += piece) {
		size_t part = size_bytes - at < piece ? size_bytes - at : piece;
		if (write(fd, content + at, part) != (ssize_t)part)
			return -1;
		(void)usleep(pause_us);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	const char *way = argv[1], *path = argv[3];
	int renames = strcmp(way, "rename") == 0, in_place = strcmp(way, "in_place") == 0;
	int flags = O_WRONLY | O_CREAT;
	char temporary[4096];

	int source = open(argv[2], O_RDONLY);
	ssize_t size_bytes = source < 0 ? -1 : read(source, content, sizeof(content));
	if (size_bytes < 0 || close(source) < 0)
		return failed("source");
	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", path);
	if (strcmp(way, "append") == 0)
		flags |= O_APPEND;
	else if (!in_place)
		flags |= O_TRUNC;
	int fd = open(renames ? temporary : path, flags, 0644);
	if (fd < 0)
		return failed("open");
	if (write_all(fd, (size_t)size_bytes, strtoul(argv[4], NULL, 10),
		      (useconds_t)strtoul(argv[5], NULL, 10)) < 0)
		return failed("write");
	if (in_place && ftruncate(fd, size_bytes) < 0)
		return failed("ftruncate");
	if (close(fd) < 0)
		return failed("close");
	if (renames && rename(temporary, path) < 0)
		return failed("rename");
	return 0;
}
