/*
 * Which inputs a reader's output hangs on: by its name and its words.
 *
 * Pure functions; async-signal-safe.
 */
#ifndef SEEN_TRACKER_INPUTS_NEEDED_H
#define SEEN_TRACKER_INPUTS_NEEDED_H

#include <stdbool.h>

/* What of a reader's inputs its output tells. */
struct inputs_needed {
	bool content;   /* what is in files, which it opens */
	bool details;   /* what lstat returns for files, not their bytes and names alone */
	bool asks;      /* what stat(2) and access(2) are asked */
	bool is_git;    /* and all that stat(2) returns; reader_git.h */
	bool is_here;   /* what the current directory is, which no word names */
	unsigned flags; /* enum input_flags */
};

/* inputs_needed(): is all that an invocation's output hangs on seen when it opens files and lists
 * directories, or told by its words? name: of the program; argv: its words, as given.  False: it is
 * never remembered. */
bool inputs_needed(const char *name, char *const argv[], struct inputs_needed *ret_plan);

#endif
