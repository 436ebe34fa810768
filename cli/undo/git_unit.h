/*
 * The git directories that an undo is about, and what they hold before and after it.
 *
 * HEAD, index, refs and the like of one git directory contradict each other where some come back and
 * some do not: they are one unit (git_state.h).
 */
#ifndef SEEN_CLI_GIT_UNIT_H
#define SEEN_CLI_GIT_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/undo/git_find.h"
#include "cli/undo/git_objects.h"
#include "cli/undo/schedule_making.h"

struct git_unit {
	char *directory;      /* absolute */
	char *disk;           /* where it is now: a directory above it may have been renamed */
	bool is_made;         /* the session made it: before, there was no repository */
	bool is_other;        /* of another version control system */
	bool is_left;         /* one of its files is left: then all are (git_state.h) */
	bool has_other_files; /* what is in its logs/ is not git's alone (git_log.h) */
	bool has_objects;
	struct git_objects objects;
	char *packed[2]; /* packed-refs at each side; NULL: not read */
};

struct git_units {
	struct git_unit *units;
	size_t count;
	uint32_t *unit_of; /* of each change: its number + 1; 0: it is of none */
	uint8_t *classes;  /* of each change: enum git_class */
};

enum git_side {
	GIT_NOW,    /* as it is */
	GIT_WANTED, /* as it will be: what is left stays */
};

/* git_units_read(): finds them.  Returns 0 or -ENOMEM; git_units_free() in any case, also NULL. */
int git_units_read(const struct making *making, struct git_units **ret_units);
void git_units_free(struct git_units *units);

/* git_unit_of(): the unit of a change; NULL: none.  git_unit_below(): its path below the directory. */
struct git_unit *git_unit_of(const struct making *making, size_t index);
const char *git_unit_below(const struct git_unit *unit, const char *path);

/* git_unit_read(): the content of a file of a unit.
 *
 * below: below its directory.  ret_text: free() it; a NUL follows.  Returns 0; -ENOENT: it is not there;
 * other negative errnos. */
int git_unit_read(const struct making *making, const struct git_unit *unit, enum git_side side,
		  const char *below, char **ret_text, size_t *ret_size);

/* git_unit_value(): the object that a ref names.
 *
 * name: as refs/heads/main, HEAD, or worktrees/NAME/HEAD.  ret_oid: GIT_OID_BYTES_MAX.  Returns its
 * bytes; 0: it names none. */
size_t git_unit_value(const struct making *making, struct git_unit *unit, enum git_side side,
		      const char *name, unsigned char *ret_oid);

/* git_unit_is_packed(): has packed-refs a ref?  It is read each time: what is left may still change. */
bool git_unit_is_packed(const struct making *making, const struct git_unit *unit,
			enum git_side side, const char *name);

/* git_unit_objects(): the objects that the repository will have, read at the first call; NULL: no
 * memory. */
struct git_objects *git_unit_objects(const struct making *making, struct git_unit *unit);

#endif
