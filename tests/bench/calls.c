/*
 * The same work on one file, again and again, in one process: what a single intercepted call costs.
 * The start of the process is not counted.
 *
 * usage: calls WORK COUNT FILE BYTES [PROCESSES]
 *
 *	open     open, read, close; every byte of the file is read
 *	close    open, close
 *	fopen    the same by stdio
 *	pread    pread alone, on one descriptor
 *	write    open for writing, write the file's bytes anew, close
 *	replace  open to be emptied, write as many bytes, which were never there before, close
 *	mixed    in turns: open, fopen, close, open, write, of those above
 *
 * PROCESSES do COUNT each, at once; the i-th, from 0, with FILE.i.  The wall time is from the common start
 * until the last one is through.
 *
 * Fails when one of the calls did not give or take BYTES bytes.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/report.h"
#include "tests/support/support.h"

static char buffer[1 << 16];
static size_t size_bytes;

static bool do_open(const char *path)
{
	int fd = open(path, O_RDONLY);
	return fd >= 0 && read(fd, buffer, sizeof(buffer)) == (ssize_t)size_bytes && close(fd) == 0;
}

static bool do_close(const char *path)
{
	int fd = open(path, O_RDONLY);
	return fd >= 0 && close(fd) == 0;
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

static bool do_replace(const char *path)
{
	static uint64_t number;
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (!number)
		number = report_now_ns();
	number++;
	memcpy(buffer, &number, sizeof(number));
	return fd >= 0 && write(fd, buffer, size_bytes) == (ssize_t)size_bytes && close(fd) == 0;
}

typedef bool (*work_call)(const char *path);

static bool do_mixed(const char *path)
{
	static const work_call TURNS[] = { do_open, do_fopen, do_close, do_open, do_write };
	static unsigned turn;

	return TURNS[turn++ % (sizeof(TURNS) / sizeof(TURNS[0]))](path);
}

static void call(work_call work, const char *path)
{
	if (!work(path)) {
		perror(path);
		exit(1);
	}
}

static void measure_one(work_call work, uint64_t count, const char *path)
{
	call(work, path); /* the first one finds the pages and the symbols */
	uint64_t cpu_ns = report_cpu_ns(), wall_ns = report_now_ns();
	for (uint64_t i = 0; i < count; i++)
		call(work, path);
	wall_ns = report_now_ns() - wall_ns;
	report_write(count, wall_ns, report_cpu_ns() - cpu_ns);
}

struct result {
	uint64_t end_ns, cpu_ns;
};

static void do_part(work_call work, uint64_t count, const char *path, const int *pipes,
		    struct result *ret_result)
{
	char byte;

	call(work, path);
	must(write(pipes[0], "", 1) == 1 && read(pipes[1], &byte, 1) == 0);
	uint64_t cpu_ns = report_cpu_ns();
	for (uint64_t i = 0; i < count; i++)
		call(work, path);
	*ret_result = (struct result){ report_now_ns(), report_cpu_ns() - cpu_ns };
}

static void measure_all(work_call work, uint64_t count, const char *path, uint64_t processes)
{
	int ready[2], start[2];
	uint64_t end_ns = 0, cpu_ns = 0;
	struct result *results = mmap(NULL, processes * sizeof(*results), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(results != MAP_FAILED && pipe(ready) == 0 && pipe(start) == 0);
	for (uint64_t i = 0; i < processes; i++) {
		pid_t pid = fork();
		must(pid >= 0);
		if (pid > 0)
			continue;
		char own[4096];
		(void)snprintf(own, sizeof(own), "%s.%lu", path, i);
		must(close(start[1]) == 0);
		do_part(work, count, own, (int[]){ ready[1], start[0] }, &results[i]);
		_exit(0);
	}
	must(close(ready[1]) == 0);
	for (uint64_t i = 0; i < processes; i++) {
		char byte;
		must(read(ready[0], &byte, 1) == 1);
	}
	uint64_t start_ns = report_now_ns();
	must(close(start[1]) == 0); /* what all of them wait for */
	for (uint64_t i = 0; i < processes; i++) {
		int status;
		must(wait(&status) > 0 && status == 0);
	}
	for (uint64_t i = 0; i < processes; i++) {
		cpu_ns += results[i].cpu_ns;
		if (results[i].end_ns > end_ns)
			end_ns = results[i].end_ns;
	}
	report_write(count * processes, end_ns - start_ns, cpu_ns);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		work_call call;
	} WORKS[] = { { "open", do_open },   { "close", do_close }, { "fopen", do_fopen },
		      { "pread", do_pread }, { "write", do_write }, { "replace", do_replace },
		      { "mixed", do_mixed } };
	work_call work = NULL;

	for (size_t i = 0; (argc == 5 || argc == 6) && i < sizeof(WORKS) / sizeof(WORKS[0]); i++)
		if (strcmp(argv[1], WORKS[i].name) == 0)
			work = WORKS[i].call;
	if (!work) {
		(void)fprintf(
			stderr,
			"usage: calls open|close|fopen|pread|write|replace|mixed COUNT FILE BYTES "
			"[PROCESSES]\n");
		return 2;
	}
	uint64_t count = strtoul(argv[2], NULL, 10);
	size_bytes = strtoul(argv[4], NULL, 10);
	if (size_bytes >= sizeof(buffer)) {
		(void)fprintf(stderr, "calls: at most %zu bytes\n", sizeof(buffer) - 1);
		return 2;
	}
	memset(buffer, 'x', sizeof(buffer));
	if (argc == 6)
		measure_all(work, count, argv[3], strtoul(argv[5], NULL, 10));
	else
		measure_one(work, count, argv[3]);
	return 0;
}
