/* What a process destroys or replaces, by path as given. */
#ifndef SEEN_SHIM_CHANGE_H
#define SEEN_SHIM_CHANGE_H

#include <stdint.h>

#include "tracker/content/fate.h"

/* change_note(): the content behind a path was changed, replaced or removed by this process.  Of a
 * path that is relative to a descriptor's directory the kernel is asked. */
void change_note(int directory, const char *path, enum file_action kind);

/* change_inspect_new(): a file was opened for writing: was there such a file before?  Asks the
 * kernel.
 *
 * ret_size_bytes: of a regular file, else UINT64_MAX.  Returns FILE_ACTION_CREATE,
 * FILE_ACTION_CHANGE, or FILE_ACTION_WRITE where that is not known. */
enum file_action change_inspect_new(int fd, uint64_t *ret_size_bytes);

/* change_note_opened(): change_note() of a file that was opened for writing.  Of a file in the
 * workspace, and of every file of an agent, change_inspect_new() is asked where `kind` is
 * FILE_ACTION_WRITE.  Returns the kind. */
enum file_action change_note_opened(int directory, const char *path, int fd, enum file_action kind);

#endif
