/*
 * Searches in several threads: rg and ugrep print in the order in which their threads end, which is
 * another each time.
 *
 * Pure functions, but for what is asked of files.
 */
#ifndef SEEN_TRACKER_SEARCH_ORDER_H
#define SEEN_TRACKER_SEARCH_ORDER_H

#include <stdbool.h>

/* search_order_counts(): is a program one of these? */
bool search_order_counts(const char *name);

/* search_order_is_fixed(): does the same search print the same, in the same order, as long as names,
 * types and contents are the same?  So it does where it has one thread: rg sorted by path, of one
 * file, or told so; and where no option is given that is not known to change nothing of that.
 *
 * argv: ended by NULL.  environment: ended by NULL; may be NULL: a file of more options that it
 * names is not read, and leaves the order unknown.  is_file: does a path lead to a regular file?
 * NULL: not known. */
bool search_order_is_fixed(const char *name, char *const argv[], char *const environment[],
			   bool (*is_file)(const char *path));

#endif
