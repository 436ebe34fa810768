/* Runs: see runs.h. */
#include "tracker/process/runs.h"

#include <errno.h>

#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

/* A run among those of the session: its pid, and a serial. */
static uint32_t run_pid(uint64_t run)
{
	return (uint32_t)(run >> 32);
}

static uint32_t run_flags(uint64_t run)
{
	return (uint32_t)(run & 0xffff) << CONTEXT_RUN_SHIFT;
}

/* Has the process ended?  Where that is hidden it has not. */
static bool is_ended(uint32_t pid)
{
	char path[PROC_PATH_BYTES];
	struct stat stat;

	proc_path(pid, "", path);
	return sys_stat(path, &stat) == -ENOENT && sys_stat("/proc/self", &stat) == 0;
}

uint32_t process_begin_run(const struct segment *segment)
{
	uint64_t serial = segment_serial(segment) % 0xffff + 1;
	uint64_t run = (uint64_t)sys_getpid() << 32 | serial;

	for (int i = 0; i < SEGMENT_RUNS; i++) {
		uint64_t *slot = &segment->header->runs[i];
		uint64_t other = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if ((!other || is_ended(run_pid(other))) &&
		    __atomic_compare_exchange_n(slot, &other, run, false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return run_flags(run);
	}
	return 0;
}

void process_end_run(const struct segment *segment, uint32_t run)
{
	for (int i = 0; run && i < SEGMENT_RUNS; i++) {
		uint64_t *slot = &segment->header->runs[i];
		uint64_t other = __atomic_load_n(slot, __ATOMIC_RELAXED);
		if (run_pid(other) == (uint32_t)sys_getpid() && run_flags(other) == run)
			__atomic_store_n(slot, 0, __ATOMIC_RELEASE);
	}
}

bool process_is_only_run(const struct segment *segment)
{
	for (int i = 0; i < SEGMENT_RUNS; i++) {
		uint32_t pid = run_pid(
			__atomic_load_n(&segment->header->runs[i], __ATOMIC_RELAXED));
		if (pid && pid != (uint32_t)sys_getpid() && !is_ended(pid))
			return false;
	}
	return true;
}

bool process_run_lives(const struct segment *segment, const struct context *context)
{
	uint32_t run = context->flags >> CONTEXT_RUN_SHIFT << CONTEXT_RUN_SHIFT;

	for (int i = 0; run && i < SEGMENT_RUNS; i++) {
		uint64_t other = __atomic_load_n(&segment->header->runs[i], __ATOMIC_ACQUIRE);
		if (other && run_flags(other) == run)
			return !is_ended(run_pid(other));
	}
	return !run;
}
