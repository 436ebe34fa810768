/*
 * Files that a program had open when the walk's point came, and wrote to afterwards by ways that are not seen
 * (streams of libc, mappings): a record tells how they were left, and none what they were at the point.
 */
#ifndef SEEN_CLI_TREE_UNSEEN_H
#define SEEN_CLI_TREE_UNSEEN_H

#include "cli/undo/tree_walk.h"

/* tree_unseen_note(): an AFTER record was taken back.  An older one, which tells what the file was before, ends it
 * (tree_walk.c). */
void tree_unseen_note(const struct tree_walk *walk, const struct tree_record *record);

/* tree_unseen_mapped(): an AFTER record from before the walk's point, of a file whose mapping may have been stored to
 * since.  Returns 0 or -ENOMEM. */
int tree_unseen_mapped(struct tree_walk *walk, const struct tree_record *record);

/* tree_unseen_mark(): at the walk's point: the content of such files is lost (TREE_OPEN).  point_ns: its time.
 * Returns 0 or -ENOMEM. */
int tree_unseen_mark(struct tree_walk *walk, uint64_t point_ns);

#endif
