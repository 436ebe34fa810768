/*
 * The directory of a session: which files in it are a session's, by their names, how it is listed,
 * and how it is locked.  For store.c and store_remove.c.
 */
#ifndef SEEN_CLI_STORE_FILES_H
#define SEEN_CLI_STORE_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/session/store.h"

/* Names in a session's directory. */
#define STORE_SEGMENT "segment"
#define STORE_JOURNAL "journal"
#define STORE_INSTRUCTIONS "instructions" /* cli/files/content_cache.h */

/* store_file_is_unfinished(): what segment_create(), journal_create() and content_cache_leave() build
 * first: NAME, pid, a dot, a time in hexadecimal. */
bool store_file_is_unfinished(const char *name);

/* store_file_is_of_session(): the name of a file that a session's directory has: segment, journal,
 * seal, task metadata, instructions, or one that is unfinished. */
bool store_file_is_of_session(const char *name);

/* store_file_is_of_contents(): likewise in the directory of its content store. */
bool store_file_is_of_contents(const char *name);

/* store_files_list(): opens a directory a second time, to list it.
 *
 * fd: stays the caller's.
 * Returns a stream for closedir(3); NULL and errno on failure. */
DIR *store_files_list(int fd);

/* store_files_next(): the name of the next entry but the directory itself and the one above it,
 * valid until the next call for that stream; NULL at the end, errno 0, or where it cannot be read, errno. */
const char *store_files_next(DIR *stream);

/* store_files_lock(): locks a session's directory against use and removal, until its descriptor is
 * closed.  Returns 0; -EBUSY: it is held after several attempts; other errors of flock(2). */
int store_files_lock(int fd);

/* store_file_path(): path of a file of a session.  Returns 0, or an error of session_path(). */
int store_file_path(const struct store *store, enum store_place place, const char *name,
		    const char *file, char *ret_path, size_t capacity);

#endif
