/*
 * The content store: copies of files' contents.  What agents were given is there, and what is about to be destroyed
 * where nothing keeps it for undo (pack.h).
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

#include "tracker/content/contents_index.h"
#include "tracker/content/version.h"
#include "tracker/segment/segment.h"

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
 * the size.  What the store has not is looked for in the session's packs (pack_find.h).
 *
 * fd: open for writing, without O_APPEND; its offset stays.  Checks the content against its version
 * first (-EBADMSG: the file is as it was), then allocates what it needs (-ENOSPC, -EFBIG:
 * likewise).  Returns 0 or a negative errno. */
int contents_restore(const struct segment *segment, const struct version *version, int fd);

/* contents_restore_from(): the same of any content.  from: open for reading; its offset stays. */
int contents_restore_from(int from, const struct version *version, int fd);

#endif
