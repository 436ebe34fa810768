/*
 * What the kernel reports of a process, by /proc: whether it lives, when it began, what it runs.
 *
 * All functions are async-signal-safe and hold no descriptor when they return.
 */
#ifndef SEEN_TRACKER_KERNEL_STATUS_H
#define SEEN_TRACKER_KERNEL_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/segment/tables.h"

/* Of /proc/PID/stat (proc(5)). */
struct kernel_status {
	uint64_t start_ns; /* since boot, in ticks of 10 ms */
	bool is_fork;      /* it runs the image that it was forked with (PF_FORKNOEXEC) */
};

/* kernel_status_of(): False for one that has ended, and where the kernel does not tell. */
bool kernel_status_of(uint32_t pid, struct kernel_status *ret_status);

/* kernel_executable_of(): what program file a process runs (proc(5), exe).  False where the kernel
 * does not tell. */
bool kernel_executable_of(uint32_t pid, struct identity *ret_identity);

/* process_same_image(): do two processes run the same program file (proc(5), exe)?  False where the
 * kernel does not tell. */
bool process_same_image(uint32_t pid, uint32_t other_pid);

/* kernel_is_in_sandbox_of_its_own(): has a process users, mounts or processes of its own, which another one has not
 * (namespaces(7))?  False where the kernel does not tell. */
bool kernel_is_in_sandbox_of_its_own(uint32_t pid, uint32_t other_pid);

/* process_start(): when a process began, CLOCK_BOOTTIME, to 10 ms.  False for one that has ended,
 * and where the kernel does not tell. */
bool process_start(uint32_t pid, uint64_t *ret_start_ns);

/* process_pid_ns(): inode of the caller's PID namespace, 0 where /proc does not tell. */
uint32_t process_pid_ns(void);

/* process_is_gone(): true when the slot's process has certainly ended; for the program, which may
 * wait and look.  Only a process of the caller's PID namespace can be judged. */
bool process_is_gone(const struct process_slot *process);

#endif
