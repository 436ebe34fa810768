/*
 * Command lines of processes, as the kernel shows them (proc(5), cmdline).
 *
 * All functions are async-signal-safe and hold no descriptor when they return.
 */
#ifndef SEEN_TRACKER_LAUNCHER_H
#define SEEN_TRACKER_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

/* launcher_passes_on(): does the command line of one process end with that of another, word for word (`nice bash
 * -c CMD` with `bash -c CMD`)?  The program itself may be named by another path.  False for one without arguments, for
 * command lines of more than 1 MiB, and where the kernel does not tell. */
bool launcher_passes_on(uint32_t pid, uint32_t launcher_pid);

#endif
