/*
 * Looking into another process: its memory, its descriptors, its directories.  What is found may
 * have changed by the time it is used: a reader asks afterwards whether the call still waits
 * (SECCOMP_IOCTL_NOTIF_ID_VALID).
 *
 * `tid` is a thread in this process's PID namespace.
 */
#ifndef SEEN_SUPERVISE_MEMORY_H
#define SEEN_SUPERVISE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* memory_read(): process_vm_readv(2), /proc/TID/mem where that is refused: as many bytes as can be
 * read, page by page.  Returns their number; -EPERM, -ESRCH, -EFAULT. */
ssize_t memory_read(pid_t tid, uint64_t address, void *buffer, size_t size_bytes);

/* memory_text(): a text ended by NUL.  Returns its length; -EFAULT; -ENAMETOOLONG when it does not
 * end within `capacity`; -EPERM, -ESRCH. */
ssize_t memory_text(pid_t tid, uint64_t address, char *ret_text, size_t capacity);

/* memory_write(): process_vm_writev(2), or /proc/TID/mem.  Returns 0 or a negative errno. */
int memory_write(pid_t tid, uint64_t address, const void *bytes, size_t size_bytes);

/* memory_words(): arguments as given to exec, each ended by NUL, one behind the other.
 * ret_cut: there was more than `capacity`.  Returns the number of bytes. */
size_t memory_words(pid_t tid, uint64_t array, char *ret_bytes, size_t capacity, bool *ret_cut);

/* inspection_start(): may this thread inspect files, which takes as long as their file system
 * likes?  That may be served by a process below (FUSE), which needs other threads: not all may wait
 * for it.  inspection_finish(): it has, if it might.
 * inspection_wait(): the same, but where others inspect it waits for one of them, up to 1 s, and not
 * where none of them began or was done for 200 ms: they may wait for who waits here.
 * inspection_wait_for_rules(): up to 5 s, and 1 s: for rules that deny, which cannot judge a file else. */
bool inspection_start(void);
bool inspection_wait(void);
bool inspection_wait_for_rules(void);
void inspection_finish(void);

/* proc_link(): readlink of /proc/TID/NAME ("cwd", "root", "exe", "fd/3"), ended by NUL.  Returns
 * its length, or a negative errno;
 * -ENOENT too for what was deleted. */
ssize_t proc_link(pid_t tid, const char *name, char *ret_path, size_t capacity);

/* proc_folder(): the directory that a path relative to `directory` begins at, as this process would
 * name it. */
ssize_t proc_directory(pid_t tid, int directory, char *ret_path, size_t capacity);

/* proc_open(): opens /proc/TID/NAME with O_PATH.  Returns a descriptor or a negative errno. */
int proc_open_path(pid_t tid, const char *name);

#endif
