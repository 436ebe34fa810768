/*
 * The process that a question is about: the caller, or another one that a supervisor watches and
 * inspects through /proc.  What is asked of the caller costs the same calls as if there were no
 * subject.
 *
 * All functions are async-signal-safe and hold no descriptor when they return.
 */
#ifndef SEEN_TRACKER_SUBJECT_H
#define SEEN_TRACKER_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct subject {
	uint32_t pid; /* 0: the calling process; else of a process, in the caller's PID namespace */
};

#define SUBJECT_SELF ((struct subject){ 0 })

enum { PROC_PATH_BYTES = 64 };

/* proc_path(): /proc/PID/FILE.  pid 0: of no process (a pid that is not known), never the caller.
 * file: at most 24 bytes.  ret_path: PROC_PATH_BYTES. */
void proc_path(uint32_t pid, const char *file, char *ret_path);

/* subject_pid(), subject_parent(): asked of the kernel each time for the caller.  A parent that is
 * not known is 0. */
uint32_t subject_pid(struct subject subject);
uint32_t subject_parent(struct subject subject);

/* subject_path(): the name of a descriptor in /proc (proc(5)).  ret_path: PROC_PATH_BYTES.  No
 * system call. */
void subject_path(struct subject subject, int fd, char *ret_path);

/* subject_stat(): as fstat, also for pipes and sockets.  Returns 0 or a negative errno: for a
 * descriptor that is not open -EBADF of the caller, -ENOENT of another process. */
int subject_stat(struct subject subject, int fd, struct stat *ret_stat);

/* subject_flags(): as F_GETFL: the access mode and status flags of an open descriptor, or a
 * negative errno. */
int subject_flags(struct subject subject, int fd);

/* subject_creation_ns(): when the file of a descriptor was made (statx(2)), 0 where the file system
 * does not say. */
uint64_t subject_creation_ns(struct subject subject, int fd);

/* subject_link(): the path of a descriptor's file as the kernel knows it, links resolved;
 * `pipe:[N]` and such for what has none.  Ended by NUL.  Returns its length, or a negative errno:
 * -ENAMETOOLONG when it does not fit. */
ssize_t subject_link(struct subject subject, int fd, char *ret_path, size_t capacity);

/* subject_name(): as subject_link(), of a file that has that name now.  -ENOENT: the name was removed, or another file
 * has it; the kernel puts " (deleted)" behind it then (proc_pid_fd(5)). */
ssize_t subject_name(struct subject subject, int fd, char *ret_path, size_t capacity);

/* process_parent_of(): parent of a process, by /proc; 0 when it is not known. */
uint32_t process_parent_of(uint32_t pid);

/* process_bytes_written(): bytes that a process handed to write calls, and the children it waited
 * for (proc(5), io, wchar).
 * Returns false where the kernel does not count, or may not tell. */
bool process_bytes_written(uint32_t pid, uint64_t *ret_bytes);

#endif
