/*
 * The lock files that an undo makes, on disk beside its records: by this the next one knows those of one that was
 * killed.
 */
#ifndef SEEN_CLI_LOCK_LIST_H
#define SEEN_CLI_LOCK_LIST_H

#include <stddef.h>

struct lock_made {
	const char *path;
	const char *text; /* of a symbolic link; "": a file, which is known by its own text */
};

struct lock_list {
	struct lock_made *locks;
	size_t count;
	char *bytes; /* of their texts */
};

/* lock_list_read(): what a list has of locks by name and text; nothing where there is none, or no memory.
 *
 * directory: descriptor of the session's undo records.  ret_list: lock_list_free() it. */
void lock_list_read(int directory, struct lock_list *ret_list);
void lock_list_free(struct lock_list *list);

/* lock_list_add(): notes a lock that is about to be made.  On a full disk it is not noted.
 * lock_list_remove(): all were released. */
void lock_list_add(int directory, const char *path, const char *text);
void lock_list_remove(int directory);

#endif
