/*
 * stops_at IN OUT NUMBERS CALLS NUMBERS_OF_CALLS COMMAND...
 *
 * Runs a command, and stops it before the system calls of these numbers (separated by commas, ascending; the first call is 1), and before
 * the calls of NUMBERS_OF_CALLS among those that are one of CALLS (likewise).  "0": none.  At each it writes the line "stop NUMBER CALL" to the
 * descriptor OUT, and goes on after a byte from the descriptor IN.  Behind the command's end it writes "end COUNT": how many calls there were.
 *
 * The exit status is the command's.
 */
#include "traced.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>

/* Numbers that are counted up to. */
struct numbers {
	char *rest;
	long next, count;
};

static struct numbers numbers_of(char *text)
{
	struct numbers result = { .rest = text };

	result.next = strtol(text, &result.rest, 10);
	return result;
}

/* Counts one more: is it the next one? */
static bool is_reached(struct numbers *numbers)
{
	if (++numbers->count != numbers->next)
		return false;
	numbers->next = *numbers->rest == ',' ? strtol(numbers->rest + 1, &numbers->rest, 10) : 0;
	return true;
}

static bool is_one_of(char *calls, uint64_t call)
{
	char *at = calls;

	for (;;) {
		if (strtoull(at, &at, 10) == call)
			return true;
		if (*at++ != ',')
			return false;
	}
}

static void wait_for_go(int in, int out, long number, uint64_t call)
{
	char byte;

	CHECK(dprintf(out, "stop %ld %llu\n", number, (unsigned long long)call) > 0);
	CHECK(read(in, &byte, 1) == 1);
}

int main(int argc, char **argv)
{
	struct __ptrace_syscall_info call;

	CHECK(argc > 6);
	int in = atoi(argv[1]), out = atoi(argv[2]);
	struct numbers all = numbers_of(argv[3]), of_calls = numbers_of(argv[5]);
	(void)fcntl(in, F_SETFD, FD_CLOEXEC);
	(void)fcntl(out, F_SETFD, FD_CLOEXEC);
	struct traced traced = traced_start(argv + 6);
	while (traced_next(&traced, &call)) {
		bool stops = is_reached(&all);
		if (of_calls.next && is_one_of(argv[4], call.entry.nr) && is_reached(&of_calls))
			stops = true;
		if (stops)
			wait_for_go(in, out, all.count, call.entry.nr);
	}
	CHECK(dprintf(out, "end %ld\n", all.count) > 0);
	return traced_exit_status(&traced);
}
