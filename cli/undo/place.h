/*
 * Reaching a path without following any symbolic link: by a descriptor of its directory.
 */
#ifndef SEEN_CLI_PLACE_H
#define SEEN_CLI_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "tracker/content/pack.h"

/* The directory that was reached last stays open: what follows is mostly in the same. */
struct places {
	int root; /* descriptor of "/" */
	int directory;
	char path[PATH_MAX]; /* of that directory; "": none */
};

/* places_open(): Returns 0 or the errors of open(2).  places_close() accepts one that was not
 * opened. */
int places_open(struct places *places);
void places_close(struct places *places);

/* place_of(): the directory that a path is in, and its name there.
 *
 * path: absolute, normalized.  ret_directory: borrowed, until the next call.  ret_name: borrowed
 * from the path.  Returns 0; -ELOOP: a symbolic link is on the way; errors of openat(2). */
int place_of(struct places *places, const char *path, int *ret_directory, const char **ret_name);

/* places_forget(): the directory may have been moved or removed. */
void places_forget(struct places *places);

/* place_state(): what is there.  Returns 0; -ENOENT also where its directory is none. */
int place_state(struct places *places, const char *path, struct pack_state *ret_state);

/* place_inspect(): what has a name in a directory, a symbolic link itself.  name: "": what the descriptor is open for.
 * Returns 0 or a negative errno. */
int place_inspect(int directory, const char *name, struct pack_state *ret_state);

/* place_is_same(): is it the same thing, unchanged?  Not by ctime, which renames change. */
bool place_is_same(const struct pack_state *a, const struct pack_state *b);

#endif
