/*
 * What a bench program measured, handed to tests/bench/run: a line "COUNT WALL_NS CPU_NS" in the
 * file that the environment variable BENCH_REPORT names, then the program's /proc/self/maps and
 * /proc/self/status, which show who was in it.  Written when all work is done, so that a run without the
 * line is a run that failed.
 */
#ifndef SEEN_TESTS_BENCH_REPORT_H
#define SEEN_TESTS_BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t report_now_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* User and system time of this process so far, and of its children that were waited for. */
static inline uint64_t report_cpu_ns(void)
{
	static const int WHO[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	uint64_t sum_us = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage usage;
		(void)getrusage(WHO[i], &usage);
		sum_us += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
			  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	}
	return sum_us * 1000u;
}

static inline void report_copy(const char *path, FILE *to)
{
	FILE *from = fopen(path, "r");
	char line[4096];

	while (from && fgets(line, sizeof(line), from))
		(void)fputs(line, to);
	if (from)
		(void)fclose(from);
}

/* report_write(): count: iterations done; wall_ns, cpu_ns: of all of them.  Ends the program on failure. */
static inline void report_write(uint64_t count, uint64_t wall_ns, uint64_t cpu_ns)
{
	const char *path = getenv("BENCH_REPORT");
	FILE *file = path ? fopen(path, "w") : stderr;

	bool written = file && fprintf(file, "%lu %lu %lu\n", count, wall_ns, cpu_ns) > 0;
	if (written && path) {
		report_copy("/proc/self/maps", file);
		report_copy("/proc/self/status", file);
	}
	if (!written || fflush(file) != 0) {
		perror("BENCH_REPORT");
		exit(1);
	}
}

#endif
