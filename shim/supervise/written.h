/*
 * Files that supervised processes opened for writing, for undo: what each is when it was closed goes on record (AFTER,
 * tracker/content/pack.h): what an external program changes later differs from that.
 *
 * No close is trapped.  Directories of such files are watched (inotify(7)): an event reports each close of a
 * descriptor that could write, at once and in order.  As many of a file as there were opens are the session's, but
 * that the kernel makes one event of equal ones that were not read yet.  Where there are no events, how a file was left is not known.
 *
 * Any thread.
 */
#ifndef SEEN_SUPERVISE_WRITTEN_H
#define SEEN_SUPERVISE_WRITTEN_H

#include <stdbool.h>

#include "shim/keep/keeper.h"
#include "tracker/content/pack.h"

/* written_descriptor(): readable when there are events; -1: there are none here.  Made by the first call. */
int written_descriptor(void);

/* written_opens(): a file is about to be opened for writing.  path: absolute, as the kernel knows it.  found: NULL: it
 * is not there yet.  written_opens_not(): it could not be. */
void written_opens(const struct keeper *keeper, const char *path, const struct pack_state *found);
void written_opens_not(const struct segment *segment, const char *path);

/* written_opened(): it was.  ino: what has the name then.  written_is_open(): is a close of it still to come?
 * written_moves(): a file or directory is about to be renamed.  exchanges: the two change places. */
void written_opened(const struct segment *segment, const char *path, uint64_t ino);
bool written_is_open(const struct segment *segment, const char *path);
void written_moves(const struct segment *segment, const char *from, const char *to, bool exchanges);

/* written_goes(): a name is about to go.  Where its file is open and has others, its closes are seen still. */
void written_goes(const struct segment *segment, const char *path);

/* written_tend(): takes the events that there are.  written_finish(): all processes have ended: how files were left
 * whose close was not seen is not known. */
void written_tend(const struct segment *segment);
void written_finish(const struct segment *segment);

#endif
