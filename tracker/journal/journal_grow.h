/*
 * Room in the journal's file: chunks whose blocks are allocated before anybody may write to them.
 */
#ifndef SEEN_TRACKER_JOURNAL_GROW_H
#define SEEN_TRACKER_JOURNAL_GROW_H

#include "tracker/journal/journal.h"

/* journal_make_room(): makes the file longer if a process that lives an ordinary life could use up
 * what it has.  For the start of a process, where system calls are free to be made, and for `seen
 * run`, which does it in time for others.  units: as many as should be there. */
void journal_make_room(struct journal *journal, uint64_t units);

/* journal_choose_clock(): finds out which clock the times of records may come from, for this view
 * and for those that are mapped from now on.
 * Reads a file; for the program. */
void journal_choose_clock(struct journal *journal);

/* journal_provide(): for journal.c: sees to it that a record may be written whose units are
 * `first` and those behind it up to `behind`.  Makes system calls.  Returns false where there is
 * no room. */
bool journal_provide(struct journal *journal, uint64_t first, uint64_t behind);

#endif
