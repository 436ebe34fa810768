/*
 * git as a reader: what its output hangs on beside the bytes of what it opens.
 *
 * Pure functions, but for what is asked of files; async-signal-safe.
 */
#ifndef SEEN_FOLLOW_READER_GIT_H
#define SEEN_FOLLOW_READER_GIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/content/inputs.h"

/* reader_git_applies(): is none of git's variables set that may change more than is known of it?
 * GIT_CONFIG_COUNT is another configuration, GIT_TRACE writes.  environment: ended by NULL; may be
 * NULL. */
bool reader_git_applies(char *const environment[]);

/* reader_git_is_lock(): is it the lock of an index, which a command that reads makes and removes?
 * By its path, as the next ones. */
bool reader_git_is_lock(const char *path);

/* reader_git_asked_as(): which kind of input it is that git asks for by stat(2). */
enum input_kind reader_git_asked_as(const char *path);

/* reader_git_is_named_by_content(): is it a file of git's objects whose name tells what it holds?  What
 * lstat(2) returns for it is enough. */
bool reader_git_is_named_by_content(const char *path);

/* reader_git_is_index(): the time of an index decides which files git reads. */
bool reader_git_is_index(const char *path);

/* reader_git_depends_on_more(): is it a configuration that makes output depend on the time, on programs or
 * on files that are not known to be ones, or an index that keeps what git saw of directories?  fd:
 * open, read by pread. */
bool reader_git_depends_on_more(const char *path, int fd);

/* reader_git_asked_so(): is what a name stands for still there, or still not?  error: what the
 * call returned. */
bool reader_git_asked_so(const char *path, int flags, int error);

#endif
