/*
 * The same work on one file, again and again, in one process: what a single intercepted call costs.
 * The start of the process is not counted.
 *
 * usage: calls WORK COUNT FILE BYTES
 *
 *	open     open, read, close; every byte of the file is read
 *	fopen    the same by stdio
 *	pread    pread alone, on one descriptor
 *	write    open for writing, write the file's bytes anew, close
 *
 * Fails when one of the calls did not give or take BYTES bytes.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/report.h"

static char buffer[1 << 16];
static size_t size_bytes;

static bool do_open(const char *path)
{
	int fd = open(path, O_RDONLY);
	return fd >= 0 && read(fd, buffer, sizeof(buffer)) == (ssize_t)size_bytes && close(fd) == 0;
}

static bool do_fopen(const char *path)
{
	FILE *file = fopen(path, "r");
	return file && fread(buffer, 1, sizeof(buffer), file) == size_bytes && fclose(file) == 0;
}

static bool do_pread(const char *path)
{
	static int fd = -1;
	if (fd < 0)
		fd = open(path, O_RDONLY);
	return fd >= 0 && pread(fd, buffer, sizeof(buffer), 0) == (ssize_t)size_bytes;
}

static bool do_write(const char *path)
{
	int fd = open(path, O_WRONLY);
	return fd >= 0 && write(fd, buffer, size_bytes) == (ssize_t)size_bytes && close(fd) == 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*call)(const char *path);
	} WORKS[] = { { "open", do_open },
		      { "fopen", do_fopen },
		      { "pread", do_pread },
		      { "write", do_write } };
	bool (*work)(const char *path) = NULL;

	for (size_t i = 0; argc == 5 && i < sizeof(WORKS) / sizeof(WORKS[0]); i++)
		if (strcmp(argv[1], WORKS[i].name) == 0)
			work = WORKS[i].call;
	if (!work) {
		(void)fprintf(stderr, "usage: calls open|fopen|pread|write COUNT FILE BYTES\n");
		return 2;
	}
	uint64_t count = strtoul(argv[2], NULL, 10);
	size_bytes = strtoul(argv[4], NULL, 10);
	if (size_bytes >= sizeof(buffer)) {
		(void)fprintf(stderr, "calls: at most %zu bytes\n", sizeof(buffer) - 1);
		return 2;
	}
	memset(buffer, 'x', sizeof(buffer));

	uint64_t cpu_ns = 0, wall_ns = 0;
	for (uint64_t i = 0; i <= count; i++) {
		if (i == 1) { /* the first one finds the pages and the symbols */
			cpu_ns = report_cpu_ns();
			wall_ns = report_now_ns();
		}
		if (!work(argv[3])) {
			perror(argv[3]);
			return 1;
		}
	}
	wall_ns = report_now_ns() - wall_ns;
	cpu_ns = report_cpu_ns() - cpu_ns;
	report_write(count, wall_ns, cpu_ns);
	return 0;
}
