/*
 * Viewers: answers, deliveries; and readers: what they sent.
 *
 * What is in this folder follows what a process does with files: what a viewer prints (view.c, diff.c), what a reader prints and is
 * remembered for (part.c, reader.c), what an agent reads by itself (own.c), what is about to be destroyed and what is written (plan.c,
 * writes.c).  Nothing here is reached in a tool.  It may use the tracker, and of shim/preload what is below it: state, scratch, memory,
 * thread, directory, say and record.  It knows no exported function: hooks_*.c call it, and only they know libc's names.
 */
#ifndef SEEN_FOLLOW_VIEW_H
#define SEEN_FOLLOW_VIEW_H

#include <sys/types.h>

struct look;

/* view_opened(): a viewer opened a file for reading; the descriptor may now hold a notice.
 * path: as given to the call, relative to `directory`; NULL: not by name.  ret_look: all zero before; what came of it. */
void view_opened(int fd, int directory, const char *path, struct look *ret_look);

/* view_moved(): the current folder is another. */
void view_moved(void);

/* view_shown(): a reader that prints what is in its files opened one: its scope knows it, if it goes to the capture.
 * path: as given to the call; NULL: not by name. */
void view_shown(int fd, const char *path);

/* view_read(): a viewer read bytes from a descriptor, one behind the other. */
void view_read(int fd, const void *bytes, ssize_t count);

/* view_wrote(): a viewer wrote to a descriptor.  count: what the call returned. */
void view_wrote(int fd, ssize_t count);

/* view_closing(): a viewer is about to close a descriptor. */
void view_closing(int fd);

/* view_end(): a viewer or reader ended by exit(status). */
void view_end(int status);

#endif
