/*
 * The locks that this process set on files, which every close of the file gives up (fcntl(2),
 * F_SETLK): such a file is not opened here.
 */
#ifndef SEEN_FOLLOW_LOCKS_H
#define SEEN_FOLLOW_LOCKS_H

#include <stdbool.h>
#include <sys/stat.h>

/* guarded_locked(): the process sets a lock by that descriptor. */
void guarded_locked(int fd);

/* write_check_may_be_locked(): has this process set a lock on the file that opening and closing it
 * would give up? */
bool write_check_may_be_locked(const struct stat *file);

#endif
