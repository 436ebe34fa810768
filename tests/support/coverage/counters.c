/*
 * Where the branches that a program of the coverage build takes are counted: in a file that it shares with all other processes of it.
 *
 * gcc's own run time writes its counters when a process exits.  Most processes that the library is in end by _exit(), exec or a signal.
 * So the counters are a section of their own (counters.ld), and the file COVERAGE_FILE is mapped in its place before main(): what was
 * counted is in the file, however the process ends.  Where that file cannot be opened (a sandbox, another user), its counts are lost.
 *
 * With COVERAGE_DUMP in its environment the program writes what is in its file to standard output instead, as gcc's .gcda files:
 * blocks of two 32-bit words, 0 for a file's name and 1 for a part of its content, and the bytes that follow; then the bytes.
 * tests/support/coverage.py reads it.
 */
#include <fcntl.h>
#include <gcov.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracker/sys/sys.h" /* by number: what it does is not taken for the program's */

extern uint64_t coverage_counters[], coverage_counters_end[];
extern const struct gcov_info *const __start_coverage_info[], *const __stop_coverage_info[];

static void write_block(uint32_t kind, const void *bytes, uint32_t size)
{
	uint32_t head[2] = { kind, size };

	(void)sys_call6(SYS_write, STDOUT_FILENO, (long)head, sizeof(head), 0, 0, 0);
	while (size > 0) {
		long written = sys_call6(SYS_write, STDOUT_FILENO, (long)bytes, size, 0, 0, 0);

		if (written <= 0)
			break;
		bytes = (const char *)bytes + written;
		size -= (uint32_t)written;
	}
}

static void write_name(const char *name, void *unused)
{
	(void)unused;
	write_block(0, name, (uint32_t)strlen(name));
}

static void write_part(const void *bytes, unsigned size, void *unused)
{
	(void)unused;
	write_block(1, bytes, size);
}

static void *allocate(unsigned size, void *unused)
{
	(void)unused;
	return (void *)sys_call6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((constructor(101), no_profile_instrument_function)) static void count_in_file(
	int count, char **arguments, char **environment)
{
	size_t size = (size_t)((char *)coverage_counters_end - (char *)coverage_counters);
	int fd = (int)sys_call6(SYS_openat, AT_FDCWD, (long)COVERAGE_FILE,
				O_RDWR | O_CREAT | O_CLOEXEC, 0666, 0, 0);

	(void)count;
	(void)arguments;
	if (fd < 0)
		return;
	(void)sys_call6(SYS_fchmod, fd, 0666, 0, 0, 0, 0); /* for other users' processes */
	if (sys_call6(SYS_ftruncate, fd, (long)size, 0, 0, 0, 0) == 0) {
		uint64_t *shared = (uint64_t *)sys_call6(SYS_mmap, 0, (long)size,
							 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if ((unsigned long)shared < -4095UL) {
			for (size_t i = 0; i < size / sizeof(*shared); i++) {
				if (coverage_counters[i] > 0) /* by what ran before */
					__atomic_fetch_add(&shared[i], coverage_counters[i],
							   __ATOMIC_RELAXED);
			}
			(void)sys_call6(SYS_mremap, (long)shared, (long)size, (long)size,
					MREMAP_MAYMOVE | MREMAP_FIXED, (long)coverage_counters, 0);
		}
	}
	(void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	for (; *environment != NULL; environment++) {
		if (strncmp(*environment, "COVERAGE_DUMP=", strlen("COVERAGE_DUMP=")) != 0)
			continue;
		for (const struct gcov_info *const *info = __start_coverage_info;
		     info < __stop_coverage_info; info++)
			__gcov_info_to_gcda(*info, write_name, write_part, allocate, NULL);
		(void)sys_call6(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
}
