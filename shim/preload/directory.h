/*
 * The current directory, and paths that begin there.
 *
 * It is asked for at the start and when it was changed, and paths are normalized by text: in a tool
 * nothing but memory is touched.
 */
#ifndef SEEN_SHIM_DIRECTORY_H
#define SEEN_SHIM_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* change_start(): learns the current directory.  At the start of the process. */
void change_start(void);

/* change_directory(): the process changed its directory, which is asked for at once.
 * change_unsure(): libc may have changed it:
 * it is asked for when it is needed next. */
void change_directory(void);
void change_unsure(void);

/* change_walks(): libc begins (1), or ends (-1), to go from directory to directory and call the
 * program back. */
void change_walks(int more);

/* change_folder_text(): number in the journal of the current directory's path; 0: it is not
 * known. */
uint32_t change_directory_text(void);

/* change_path(): an absolute, normalized path for one that was given to a call.  Returns 0, or a
 * negative errno where it is not known (a directory's descriptor, a directory changed by
 * descriptor).  No system call. */
int change_path(int directory, const char *path, char *ret_path, size_t capacity);

/* change_resolve(): the same, and where that cannot know it the kernel is asked: of a directory's
 * descriptor, and for the current directory between vfork and exec, which may not be the parent's.
 * What lies behind a descriptor's name in /proc is relative to what that is open for.  path:
 * readable.  ret_path: SEGMENT_PATH_BYTES.  Not when sandboxed. */
bool change_resolve(int directory, const char *path, char *ret_path);

/* change_identify(): the path of a file as the kernel knows it, behind all symbolic links; of one
 * that is not there, as the kernel knows its directory.  follows: also behind a link that the name
 * itself is.  Where the kernel cannot tell, as change_resolve().  Two system calls or more; no
 * descriptor is kept.  ret_path: SEGMENT_PATH_BYTES.  ret_found: what was there; NULL: not asked for.
 * Not when sandboxed, not between vfork and exec. */
struct change_found {
	int error;     /* of its stat, negative; 0: there is something */
	bool is_plain; /* nothing, or no symbolic link that is followed: stat(2) finds the same */
	struct stat stat; /* where there is something */
};
bool change_identify(int directory, const char *path, bool follows, char *ret_path,
		     struct change_found *ret_found);

#endif
