/* What a process destroys or replaces, by path as given. */
#ifndef SEEN_SHIM_CHANGE_H
#define SEEN_SHIM_CHANGE_H

/* change_note(): the content behind a path was changed, replaced or removed by this process. */
void change_note(int directory, const char *path);

#endif
