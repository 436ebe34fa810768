/* A directory in which many new files are made before they get their names.
 *
 * ext4 looks for a new inode near the directory that it is made in, and passes over each one there that was deleted in
 * the last minutes: where thousands were, a file takes half a millisecond to make.  So these are made in a directory
 * that ext4 is asked to place elsewhere (chattr +T of the one above), and renamed.  It is the operation's own, so that
 * nothing of it is seen in the workspace.  On other file systems, and where that is on another mount, there is none. */
#ifndef SEEN_CLI_APPLY_FRESH_H
#define SEEN_CLI_APPLY_FRESH_H

#include "cli/undo/schedule.h"

enum {
	APPLY_FRESH_MIN = 64, /* files: below, it is not worth it */
	APPLY_FRESH_NAME_BYTES = 24,
};

struct apply_fresh {
	int directory; /* -1: there is none, files are made beside their places */
	char name[APPLY_FRESH_NAME_BYTES];
};

/* apply_fresh_open(): makes the directory where a plan makes so many files, or opens the one that an interrupted undo
 * left.  above: the operation's directory.
 *
 * apply_fresh_close(): removes it, where it is empty. */
void apply_fresh_open(int above, const struct schedule *plan, const char *workspace,
		      struct apply_fresh *ret_fresh);
void apply_fresh_close(int above, struct apply_fresh *fresh);

#endif
