/*
 * Viewers: answers, deliveries; and readers: what they sent.
 *
 * What is in this directory follows what a process does with files: what a viewer prints (viewer.c,
 * diff.c), what a reader prints and is remembered for (range.c, reader.c), what an agent reads by
 * itself (in_process.c), what is about to be destroyed and what is written (write_check.c,
 * guarded.c).  Nothing here is reached in a tool.  It may use the tracker, and of shim/preload what
 * is below it: state, scratch, memory, thread, directory, say and record.  It knows no exported
 * function: hooks_*.c call it, and only they know libc's names.
 */
#ifndef SEEN_FOLLOW_VIEW_H
#define SEEN_FOLLOW_VIEW_H

#include <sys/types.h>

struct open_facts;

/* viewer_opened(): a viewer opened a file for reading; the descriptor may now hold a notice.
 * path: as given to the call, relative to `directory`; NULL: not by name.  ret_facts: all zero
 * before; its result. */
void viewer_opened(int fd, int directory, const char *path, struct open_facts *ret_facts);

/* viewer_moved(): the current directory is another. */
void viewer_moved(void);

/* viewer_shown(): a reader that prints what is in its files opened one: its scope knows it, if it
 * goes to the capture.
 * path: as given to the call; NULL: not by name. */
void viewer_shown(int fd, const char *path);

/* viewer_read(): a viewer read bytes from a descriptor, one behind the other. */
void viewer_read(int fd, const void *bytes, ssize_t count);

/* viewer_wrote(): a viewer wrote to a descriptor.  count: what the call returned. */
void viewer_wrote(int fd, ssize_t count);

/* viewer_closing(): a viewer is about to close a descriptor. */
void viewer_closing(int fd);

/* viewer_finish(): a viewer or reader ended by exit(status). */
void viewer_finish(int status);

#endif
