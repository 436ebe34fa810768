/* What /proc reports of a process: its image, its code, its parent; of no process that is held. */
#ifndef SEEN_SUPERVISE_PROC_H
#define SEEN_SUPERVISE_PROC_H

#include "shim/supervise/target.h"

/* proc_read(): a file of the process's, ended by NUL.  Returns its length or a negative errno.
 * proc_read_whole(): all of it; NULL: not to be had.  The caller frees it. */
ssize_t proc_read(pid_t pid, const char *name, char *ret_text, size_t capacity);
char *proc_read_whole(pid_t pid, const char *name, size_t *ret_bytes);

/* proc_thread(): the process of a thread, and that one's parent (proc(5), status). */
bool proc_thread(pid_t tid, pid_t *ret_pid, pid_t *ret_parent);

/* proc_file(): what a name there leads to ("exe", "fd/1"); all zero where it is not known.
 * proc_mount_ns(): number of its namespace of mounts. */
struct identity proc_file(pid_t pid, const char *name);
uint64_t proc_mount_ns(pid_t pid);

struct image proc_image(pid_t pid);
bool proc_image_equal(const struct image *a, const struct image *b);

/* proc_has_open(): has the process a descriptor for that file?  writes: one that can write. */
bool proc_has_open(pid_t pid, uint64_t dev, uint64_t ino, bool writes);

/* Ranges of code in a process, by the files that are mapped (proc(5), maps). */
struct mapped {
	struct code_range libc, loader, library;
};

void proc_maps(pid_t pid, struct mapped *ret_mapped);

#endif
