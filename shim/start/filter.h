/*
 * The filter of system calls (seccomp(2)) that the command runs below, and all it starts.
 *
 * Trapped, by number, architecture and flags of open: opening a file, changing a name or the
 * current directory (so that it need not be asked for at each call), starting a program, ending,
 * taking rights away from itself.  Never reading, writing, closing, stat.  What the preloaded
 * library does itself bears a mark in a register that the call does not use, and passes.
 * io_uring_setup is answered ENOSYS, so that programs take calls that can be seen.  Calls of
 * another architecture pass untouched; where a rule is to keep files from being read, they are answered
 * ENOSYS, and so is open_by_handle_at, which names no file.
 */
#ifndef SEEN_START_FILTER_H
#define SEEN_START_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* filter_install(): installs it in the calling process, for good.
 *
 * mark: an even number by chance, that the library puts into the sixth argument of calls that pass;
 * with 1 added the call is for the supervisor (shim/supervise/handshake.h).  0: there are no such
 * calls.
 * is_strict: what cannot be judged is refused.
 * ret_no_new_privs: whether no_new_privs had to be set (a process without CAP_SYS_ADMIN): setuid
 * programs below have no effect.
 * Returns the listener, a descriptor with FD_CLOEXEC; -EBUSY when a filter above has one; -ENOSYS,
 * -EINVAL on a kernel that cannot; -EACCES, -EPERM where policy forbids.  On failure no_new_privs
 * may be set all the same. */
int filter_install(uint64_t mark, bool is_strict, bool *ret_no_new_privs);

#endif
