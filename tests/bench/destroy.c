/*
 * Destroys or changes files, one call or a few for each.
 *
 * usage: destroy unlink|rewrite|rename COUNT DIRECTORY BYTES [PAUSE]
 *
 * PAUSE: so many ns of work before each, which are not counted.  A disk that is asked again at once answers sooner than one that
 * rests: what comes between two rewrites then costs a multiple of its own time.
 *
 * The files are DIRECTORY/dNNN/fNNNNN.txt, a hundred to a directory; tests/bench/harness/works_undo.py makes them.
 * What a rewrite writes no file held before: the same content would be kept once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bench/report.h"

enum { BYTES_MAX = 65536, PATH_BYTES = 4096, FILES_OF_DIRECTORY = 100 };

static char buffer[BYTES_MAX];
static size_t size_bytes;
static uint64_t rewrites; /* from a time on */

static int do_unlink(const char *path)
{
	return unlink(path);
}

static int do_rename(const char *path)
{
	char other[PATH_BYTES + 8];

	(void)snprintf(other, sizeof(other), "%s.new", path);
	return rename(path, other);
}

static int do_rewrite(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	rewrites++;
	memcpy(buffer, &rewrites, sizeof(rewrites));
	if (fd < 0 || write(fd, buffer, size_bytes) != (ssize_t)size_bytes)
		return -1;
	return close(fd);
}

/* Returns for how long it did. */
static uint64_t pause_for(uint64_t pause_ns)
{
	uint64_t began_ns = report_now_ns(), now_ns = began_ns;

	while (now_ns - began_ns < pause_ns)
		now_ns = report_now_ns();
	return now_ns - began_ns;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*call)(const char *path);
	} KINDS[] = { { "unlink", do_unlink }, { "rewrite", do_rewrite }, { "rename", do_rename } };
	int (*call)(const char *path) = NULL;

	for (size_t i = 0; (argc == 5 || argc == 6) && i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		if (strcmp(argv[1], KINDS[i].name) == 0)
			call = KINDS[i].call;
	uint64_t count = call ? strtoul(argv[2], NULL, 10) : 0, paused_ns = 0;
	uint64_t pause_ns = argc == 6 ? strtoul(argv[5], NULL, 10) : 0;
	size_bytes = call ? strtoul(argv[4], NULL, 10) : 0;
	if (!call || size_bytes > sizeof(buffer)) {
		(void)fprintf(
			stderr,
			"usage: destroy unlink|rewrite|rename COUNT DIRECTORY BYTES [PAUSE]\n");
		return 2;
	}
	memset(buffer, 'x', sizeof(buffer));
	uint64_t cpu_ns = report_cpu_ns(), wall_ns = report_now_ns();
	rewrites = wall_ns;
	for (uint64_t i = 0; i < count; i++) {
		char path[PATH_BYTES];
		paused_ns += pause_for(pause_ns);
		(void)snprintf(path, sizeof(path), "%s/d%03lu/f%05lu.txt", argv[3],
			       i / FILES_OF_DIRECTORY, i);
		if (call(path) != 0) {
			perror(path);
			return 1;
		}
	}
	wall_ns = report_now_ns() - wall_ns - paused_ns;
	cpu_ns = report_cpu_ns() - cpu_ns;
	cpu_ns -= cpu_ns < paused_ns ? cpu_ns : paused_ns;
	report_write(count, wall_ns, cpu_ns);
	return 0;
}
