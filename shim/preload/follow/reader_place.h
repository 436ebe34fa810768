/*
 * Where the paths that a reader gives to its calls lead: from the directories that it holds open,
 * and from the current one.
 *
 * Any thread, where a descriptor is one thread's at a time; lock-free; async-signal-safe.
 */
#ifndef SEEN_FOLLOW_READER_PLACE_H
#define SEEN_FOLLOW_READER_PLACE_H

#include <stdbool.h>

/* reader_place_init(): a reader begins.  moves: it may change its current directory: then all paths
 * are absolute, else relative to that.  Returns whether there is memory for it, and the directory is
 * known. */
bool reader_place_init(bool moves);

/* reader_place_moved(): the current directory is another one.  Returns whether that is known. */
bool reader_place_moved(void);

/* reader_place(): the path of what a call was given.  directory: AT_FDCWD, or a descriptor.
 * ret_path: SEGMENT_PATH_BYTES.  False where it is not known. */
bool reader_place(int directory, const char *path, char *ret_path);

/* reader_place_open(): a descriptor of a directory, and its path.  False where it cannot be kept.
 * reader_place_of(): its path; NULL: it is none.  reader_place_close(): it is to be closed. */
bool reader_place_open(int fd, const char *path);
const char *reader_place_of(int fd);
void reader_place_close(int fd);

/* reader_place_is_of_process(): what libraries of readers inspect to know their own process; nothing
 * that is printed hangs on it. */
bool reader_place_is_of_process(const char *path);

/* reader_place_is_of_devices(): what lies there is never the same. */
bool reader_place_is_of_devices(const char *path);

#endif
