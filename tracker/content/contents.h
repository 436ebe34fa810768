/*
 * The content store: copies of files' contents, so that nothing that was destroyed or given is
 * lost.
 *
 * 	STATE/NAME/content/HHHH...-SIZE    one content: XXH3-128 as 32 hexadecimal digits, a dash, its bytes in decimal
 * 	STATE/NAME/content/index           one line a copy: time, version, why, mode, path
 * 	STATE/NAME/content/inputs-N        what a remembered command read (remembered.h)
 * 	STATE/NAME/content/.PID.SERIAL     a copy that is being made or dropped, or whose maker was killed
 *
 * A copy is written under a temporary name and renamed when it is whole, so that after a kill at
 * any instant a content is whole or absent.  Its blocks are allocated first: on a full disk there
 * is a warning and no copy, never a file with holes.
 * Its line is in the index before it gets its name: a line whose content is absent says nothing, a
 * content without a line would be one of an unknown file.
 * What is kept in all is bounded by [content] max_bytes, the oldest first out: by the modification
 * time, which is when it was last kept.  Several processes may save, keep and drop at once.
 *
 * The directory is this user's alone; a process of another user saves nothing.  What is in it that
 * is no content is neither followed nor removed nor counted.
 *
 * No allocation, no printing, no descriptor left open; async-signal-safe but for the time that it
 * takes.  errno is left alone.
 * At most 6 KiB of stack.
 */
#ifndef SEEN_TRACKER_CONTENTS_H
#define SEEN_TRACKER_CONTENTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

/* Why a content is kept: the words of the index. */
enum contents_reason {
	CONTENTS_DESTROYED, /* "destroyed": the session is about to destroy it */
	CONTENTS_GIVEN,     /* "given": a scope was given it */
	CONTENTS_RESTORED,  /* "replaced": `seen restore` replaces it */
	CONTENTS_REASON_COUNT,
};

/* The names of the store's directory below the session's, and of the index in it. */
#define CONTENTS_DIRECTORY "content"
#define CONTENTS_INDEX "index"

/* contents_reason_name(): the word of the index; "unknown" for what is no reason. */
const char *contents_reason_name(enum contents_reason reason);

enum { CONTENTS_NAME_BYTES = 64 }; /* of a content's file name, NUL counted */

/* contents_name(): the file name of a version. */
void contents_name(const struct version *version, char *ret_name);

/* contents_version(): is it the file name of a content, and of which version?  ret_version: set
 * where it is. */
bool contents_version(const char *name, struct version *ret_version);

/* contents_is_temporary(): is it the name of a copy in the making?  ret_pid: of who makes it, in
 * its PID namespace. */
bool contents_is_temporary(const char *name, uint64_t *ret_pid);

/* contents_save(): keeps the content of an open file.
 *
 * fd: open for reading; its offset stays.  path: absolute, for the index.  Content that is there
 * already is not copied again, but is the youngest from now on, and gets a line in the index.
 * ret_version: of what was kept: the bytes that were copied; set only on success.
 * Returns 0; -ENOENT where the session has no store; -EFBIG for more than [content] max_file_bytes,
 * or max_bytes, or than this process may write (setrlimit(2)); -EINVAL for what is no regular file;
 * -EPERM where the store is another user's; -ENOSPC, -EDQUOT and other errors of the file system:
 * then nothing is kept, and COUNTER_lost_contents was raised, but not where there is no store. */
int contents_save(const struct segment *segment, int fd, const char *path,
		  enum contents_reason reason, struct version *ret_version);

/* contents_has(): is it there?  By its name and size. */
bool contents_has(const struct segment *segment, const struct version *version);

/* contents_open(): opens a content for reading.  Returns a descriptor, close-on-exec, which the
 * caller closes, or a negative errno:
 * -ENOENT when it is not there, -EBADMSG when what is there is not of its size. */
int contents_open(const struct segment *segment, const struct version *version);

/* contents_open_in(): the same of any store.  path: of its directory; NULL: there is none. */
int contents_open_in(const char *path, const struct version *version);

/* contents_restore(): makes the content that of an open file: writes it from offset 0 on and sets
 * the size.
 *
 * fd: open for writing, without O_APPEND; its offset stays.  Checks the content against its version
 * first (-EBADMSG: the file is as it was), then allocates what it needs (-ENOSPC, -EFBIG:
 * likewise).  Returns 0 or a negative errno. */
int contents_restore(const struct segment *segment, const struct version *version, int fd);

/* contents_restore_from(): the same from any store.  path: of its directory; NULL: there is
 * none. */
int contents_restore_from(const char *path, const struct version *version, int fd);

/* contents_write_inputs(): keeps a list of inputs (inputs.h) beside the contents, as
 * `inputs-NUMBER`, in the place of what was there.  It is no content: it is not counted among them,
 * and goes with the session.  Returns 0; -ENOENT where the session has no store; the errors of the
 * file system. */
int contents_write_inputs(const struct segment *segment, uint64_t number, const void *bytes,
			  size_t size_bytes);

/* contents_read_inputs(): reads such a list.  Returns its size in bytes; -ENOENT; -EFBIG for more
 * than `capacity`; -EBADMSG for what is no file of this user. */
ssize_t contents_read_inputs(const struct segment *segment, uint64_t number, void *ret_bytes,
			     size_t capacity);

/* contents_is_inputs(): is it the name of such a list? */
bool contents_is_inputs(const char *name);

/* contents_recount(): counts what is kept in all anew: a process that was killed may have left the
 * number wrong. */
void contents_recount(const struct segment *segment);

#endif
