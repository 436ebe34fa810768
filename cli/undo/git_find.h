/* Which git directory a path of an undo lies in, and what it is there. */
#ifndef SEEN_CLI_GIT_FIND_H
#define SEEN_CLI_GIT_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/undo/schedule_making.h"
#include "tracker/content/pack.h"

enum git_class {
	GIT_NONE,  /* no git directory above it */
	GIT_PLAIN, /* of a git directory, and a file like others: hooks */
	GIT_LOCK, /* a lock file: one that the session did not leave is a program's that is at work */
	GIT_OBJECT, /* objects, or below it */
	GIT_SHARED, /* of a split index: as an object it never changes, and git sets its time when it reads it */
	GIT_LOG,   /* a reflog, but that of the stash */
	GIT_STATE, /* HEAD, index, a ref, the stash, the state of a merge or rebase */
	GIT_SETTINGS, /* config: it stays where the state stays, but a change of it alone leaves nothing else */
	GIT_OTHER, /* of another version control system, whose files belong together */
};

/* What was found for the path before: paths come in their order. */
struct git_find {
	char path[PACK_PATH_BYTES_MAX + 1];
	char is_git[PACK_PATH_BYTES_MAX +
		    1]; /* of each part that ends there: a letter of git_find.c */
};

/* git_find_directory(): length of the part of a path that is its git directory: the innermost
 * directory with HEAD, objects and refs, on disk or before; where there is none, what ends with the
 * first component `.git`, if that is a directory; 0: none.  A directory as `.hg` counts as one.
 *
 * find: all zero at first. */
size_t git_find_directory(struct git_find *find, const struct making *making, const char *path);

/* git_find_class(): what a path is.  length: of its part that is the git directory, as
 * git_find_directory() has it, not 0.  Pure. */
enum git_class git_find_class(const char *path, size_t length);

/* git_find_other_lock(): the locks of other version control systems, below their directories: "wlock"
 * of .hg; NULL: there are no more.  The first ones are hg's, symbolic links.  Pure. */
enum { GIT_FIND_HG_LOCKS = 2 };
const char *git_find_other_lock(size_t number);

/* git_find_worktree(): length of the part `worktrees/NAME/` of what lies below a git directory; 0: it
 * is of the main worktree.  Pure. */
size_t git_find_worktree(const char *below);

#endif
