/*
 * stops_at IN OUT NUMBERS COMMAND...
 *
 * Runs a command, and stops it before the system calls of these numbers (separated by commas, ascending; the first call is 1).  At each it writes
 * the line "stop NUMBER CALL" to the descriptor OUT, and goes on after a byte from the descriptor IN.  Behind the command's end it writes
 * "end COUNT": how many calls there were.
 *
 * The exit status is the command's.
 */
#include "traced.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>

static void wait_for_go(int in, int out, long number, uint64_t call)
{
	char byte;

	CHECK(dprintf(out, "stop %ld %llu\n", number, (unsigned long long)call) > 0);
	CHECK(read(in, &byte, 1) == 1);
}

int main(int argc, char **argv)
{
	struct __ptrace_syscall_info call;
	long count = 0;

	CHECK(argc > 4);
	int in = atoi(argv[1]), out = atoi(argv[2]);
	char *rest = argv[3];
	long next = strtol(rest, &rest, 10);
	(void)fcntl(in, F_SETFD, FD_CLOEXEC);
	(void)fcntl(out, F_SETFD, FD_CLOEXEC);
	struct traced traced = traced_start(argv + 4);
	while (traced_next(&traced, &call)) {
		if (++count != next)
			continue;
		wait_for_go(in, out, next, call.entry.nr);
		next = *rest == ',' ? strtol(rest + 1, &rest, 10) : 0;
	}
	CHECK(dprintf(out, "end %ld\n", count) > 0);
	return traced_exit_status(&traced);
}
