/*
 * What a confined run may reach (`--confine`, [confine] of seen.ini): a list of places.
 *
 * 	confinement.h  the list
 * 	sets.h         what each set means
 * 	paths.h        globs of the configuration as paths that are there
 * 	search.h       the files that are protected, or read-only, found by walking
 * 	aliases.h      other names of one file: other mounts, hard links
 * 	bwrap.h        the list as a command line of bubblewrap
 * 	grants.h       the list as what is granted, since Landlock knows no exception
 * 	landlock.h     those grants, given to the kernel
 * 	capabilities.h, socket_filter.h  what else is taken there
 *
 * The list is made before the command starts, by its user, before anything is confined.  Paths in
 * it are canonical.
 */
#ifndef SEEN_CLI_CONFINE_CONFINEMENT_H
#define SEEN_CLI_CONFINE_CONFINEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* In the order in which they are put in place. */
enum confine_access {
	CONFINE_HIDDEN,     /* an empty directory in its place */
	CONFINE_READABLE,   /* as it is, read-only */
	CONFINE_WRITABLE,   /* as it is */
	CONFINE_PINNED,     /* a writable directory that cannot be renamed: it holds a fixed one */
	CONFINE_FIXED,      /* read-only in a writable directory */
	CONFINE_UNREADABLE, /* protected: a file that no process may open, or a directory */
	CONFINE_CLOSED,     /* likewise, of what asks an external process */
	CONFINE_EXCEPTED,   /* readable in an unreadable directory */
};

struct confine_place {
	char *path;
	enum confine_access access;
	bool is_directory, is_link;
	dev_t device;
	ino_t inode;
};

enum { CONFINE_PROBLEM_BYTES = 1024 };

struct confinement {
	struct confine_place *places;
	size_t count, capacity;
	bool shares_network; /* it reaches the network */
	/* a line for the user: why it cannot be confined so, and the remedy; "": it can */
	char problem[CONFINE_PROBLEM_BYTES];
};

/* confinement_destroy(): accepts one that is all zero. */
void confinement_destroy(struct confinement *confinement);

/* confinement_add(): a place, by its canonical path.  One that is not there is left out; one that
 * is there twice gets the later access of both.  Returns 0 or -ENOMEM. */
int confinement_add(struct confinement *confinement, const char *path, enum confine_access access);

/* confinement_fail(): notes the first problem.  Returns -EPERM. */
__attribute__((format(printf, 2, 3))) int confinement_fail(struct confinement *confinement,
							   const char *format, ...);

/* confinement_drop(): takes the place at an index out; the last one comes in its stead. */
void confinement_drop(struct confinement *confinement, size_t index);

/* confinement_count(): how many places there are of an access. */
size_t confinement_count(const struct confinement *confinement, enum confine_access access);

/* confinement_above(): the place of the longest path at or above a path that hides it or says
 * whether it may be written to; NULL: none. */
const struct confine_place *confinement_above(const struct confinement *confinement,
					      const char *path);

#endif
