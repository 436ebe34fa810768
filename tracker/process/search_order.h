/*
 * Searches in several threads: rg and ugrep print in the order in which their threads end, which is
 * another each time.
 *
 * rg's threads write what they found in a file when they are done with it: all of it, by one call
 * (ripgrep 13 to 15, termcolor's BufferWriter on Rust's line-buffered standard output).  A line's end
 * at its end is what has it written at once.
 *
 * Pure functions, but for what is asked of files.
 */
#ifndef SEEN_TRACKER_SEARCH_ORDER_H
#define SEEN_TRACKER_SEARCH_ORDER_H

#include <stdbool.h>

/* search_order_counts(): is a program one of these? */
bool search_order_counts(const char *name);

enum search_order {
	SEARCH_UNKNOWN, /* it may depend on more than names, types and contents */
	SEARCH_FIXED,   /* it prints the same, in the same order, as long as these are the same */
	/* So does what it prints about a file, by one write(2); which file comes first is chance. */
	SEARCH_BY_FILE,
};

/* search_order(): in which order does a search print?  It is fixed where it has one thread: rg sorted
 * by path, of one file, or told so; and where no option is given that is not known to change
 * nothing of that.
 *
 * argv: ended by NULL.  environment: ended by NULL; may be NULL: a file of more options that it
 * names is not read, and leaves the order unknown.  is_file: does a path lead to a regular file?
 * NULL: not known. */
enum search_order search_order(const char *name, char *const argv[], char *const environment[],
			       bool (*is_file)(const char *path));

#endif
