/*
 * A confinement as what is granted: Landlock knows no exception to what a directory's rule allows, so a
 * directory that holds something kept back is granted entry by entry.
 *
 * An entry that is made later in such a directory is not granted.  Where the directory is writable, that
 * would be every new file: what is kept back there cannot be granted around (grants_take_writable()).
 */
#ifndef SEEN_CLI_CONFINE_GRANTS_H
#define SEEN_CLI_CONFINE_GRANTS_H

#include "cli/confine/confinement.h"

/* In this order each holds all of the one before. */
enum grant_level {
	GRANT_NONE,
	GRANT_LIST, /* names in directories */
	GRANT_READ, /* and to read files, and to run programs */
	GRANT_WRITE,
};

/* Called with a path, for it and for all below it.  Not 0: ends the walk with that. */
typedef int grant_call(void *data, const char *path, enum grant_level level);

/* grants_each(): what a confinement grants, from the root on.
 *
 * confinement: sorted by this.
 * Returns 0; what `call` returned; -ENOMEM. */
int grants_each(struct confinement *confinement, grant_call *call, void *data);

/* grants_take_writable(): takes out of a confinement what is kept back in writable directories.
 *
 * ret_first: PATH_MAX bytes: the path of the first of these.
 * Returns how many there were. */
size_t grants_take_writable(struct confinement *confinement, char *ret_first);

#endif
