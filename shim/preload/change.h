/* What a process destroys or replaces, by path as given. */
#ifndef SEEN_SHIM_CHANGE_H
#define SEEN_SHIM_CHANGE_H

#include "tracker/content/fate.h"

/* change_note(): the content behind a path was changed, replaced or removed by this process.  Of a path that is relative to a
 * descriptor's directory the kernel is asked. */
void change_note(int directory, const char *path, enum file_action kind);

#endif
