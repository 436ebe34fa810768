/*
 * What external programs changed between two records of a session: the state that one left is not the
 * state that the next one found.  Undo of the first would destroy that change.
 *
 * What is not certain is no such change: names below a directory that was renamed, files with several
 * names, files that a writer held open.
 */
#ifndef SEEN_CLI_TREE_BETWEEN_H
#define SEEN_CLI_TREE_BETWEEN_H

#include "cli/undo/tree_walk.h"

/* tree_between_names(): is a record about a name?  tree_between_two(): about two? */
bool tree_between_names(const struct tree_record *record);
bool tree_between_two(const struct tree_record *record);

/* tree_between_left(): before the walk takes a record back or passes it.  Where what it left is not what the next
 * later record found, the name is marked `external`.
 *
 * ret_edited: as what the file that was renamed was found afterwards, other than it was: tree_between_found()
 * marks its name; NULL: it was not. */
void tree_between_left(const struct tree_walk *walk, const struct tree_record *record,
		       const struct pack_state **ret_edited);

/* tree_between_found(): after the walk took a record back, or passed it.  Returns 0 or -ENOMEM. */
int tree_between_found(struct tree_walk *walk, const struct tree_record *record,
		       const struct pack_state *edited);

#endif
