/* Readers' commands, remembered and answered as a whole. */
#ifndef SEEN_FOLLOW_READER_H
#define SEEN_FOLLOW_READER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* reader_start(): a reader begins, attached.  May not come back: its command is answered in its
 * place.  name: of the program.  execute: execve(2) as the program itself would call it. */
void reader_start(const char *executable, const char *name, char *const argv[],
		  char *const environment[],
		  int (*execute)(const char *path, char *const argv[], char *const environment[]));

/* Of a reader that `tracks`.  reader_opened(): a call opened something, or with fd < 0 could not;
 * errno then says why.  path: NULL: not by name.  reader_listed(): a directory is about to be
 * listed; path NULL: it was opened before.  reader_passed(): bytes were read from a descriptor, or
 * written to it.  reader_untrackable(): it did something that is not followed: its command is not
 * remembered. */
void reader_opened(int fd, int directory, const char *path, int flags);
/* reader_asked(): what a name stands for was asked, by stat(2) and the like; error: what the call
 * returned, errno then says why.  flags: AT_*. */
void reader_asked(int directory, const char *path, int flags, int error);
void reader_listed(int fd, int directory, const char *path);
void reader_closing(int fd);
void reader_duplicated(int fd, int copy);
void reader_moved(int fd, const char *path); /* the current directory changes */
void reader_made_stream(int fd);             /* over a descriptor: what passes is not seen */
void reader_passed(int fd, ssize_t count, bool written);
void reader_untrackable(void);

/* reader_changed(): a call about names was made, or failed.  operation: enum operation. */
void reader_changed(int operation, const char *path);

/* reader_flush(): it ends: what git leaves to exit(3), whose last step comes behind ours, is written.
 * Before its bytes are counted. */
void reader_flush(void);

/* reader_finish(): it ends by exit(status). */
void reader_finish(int status);

/* reader_stream_closing(), reader_reopening(): a stream of a reader that `tracks` is about to be
 * closed, or to be one of another file. */
void reader_stream_closing(const FILE *stream);
void reader_reopening(const FILE *stream);

#endif
