/*
 * A viewer, as cat is one, that tells how long it took: for each file open, read to the end, write
 * to standard output, close.  Opening, reading and closing are counted, writing is not (it waits for
 * the reader).  The CPU time is that of everything.
 *
 * usage: bench_viewer FILE...      nothing but files, or it would not be a viewer
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/bench/report.h"

static char buffer[1 << 17];

int main(int argc, char **argv)
{
	uint64_t wall_ns = 0, cpu_ns = report_cpu_ns();

	for (int i = 1; i < argc; i++) {
		size_t length = 0;
		ssize_t got;
		uint64_t start_ns = report_now_ns();
		int fd = open(argv[i], O_RDONLY);
		while (fd >= 0 && (got = read(fd, buffer + length, sizeof(buffer) - length)) > 0)
			length += (size_t)got;
		wall_ns += report_now_ns() - start_ns;
		if (fd < 0 || got < 0 || write(STDOUT_FILENO, buffer, length) != (ssize_t)length) {
			perror(argv[i]);
			return 1;
		}
		start_ns = report_now_ns();
		(void)close(fd);
		wall_ns += report_now_ns() - start_ns;
	}
	cpu_ns = report_cpu_ns() - cpu_ns;
	report_write((uint64_t)argc - 1, wall_ns, cpu_ns);
	return 0;
}
