/*
 * What can be made again, by its name with its mark: its content is not kept for undo.
 *
 *	node_modules beside package.json, directories with pyvenv.cfg (.venv) or CACHEDIR.TAG, __pycache__,
 *	*.o, *.pyc
 *
 * Nothing by .gitignore.  [undo] include and exclude add to this.  Async-signal-safe; makes system calls.
 */
#ifndef SEEN_TRACKER_REBUILDABLE_H
#define SEEN_TRACKER_REBUILDABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "tracker/segment/segment.h"

/* rebuildable_directory(): is a directory of the workspace such a one, or below one?  path: absolute, as the
 * kernel names it, in memory that has room for 16 bytes more behind its NUL; it comes back as it was.
 * Returns the length of the uppermost such directory's path; 0: it is none. */
size_t rebuildable_directory(const struct segment *segment, char *path);

/* rebuildable_is_name(): is a file's content one that can be made again, by its name, or by
 * [undo] exclude?  No system call. */
bool rebuildable_is_name(const struct segment *segment, const char *path);

#endif
