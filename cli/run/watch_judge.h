/*
 * What became of a file, and who made it so.
 */
#ifndef SEEN_CLI_WATCH_JUDGE_H
#define SEEN_CLI_WATCH_JUDGE_H

#include "cli/run/watch_state.h"

/* judge(): inspects a file, and decides.  Afterwards it is not due, or due later.  A fresh one that
 * is not due is done with. */
void judge(struct watch *watch, struct file *file, enum phase phase);

/* judge_note_unobserved(): checks whether an unobserved program lives, twice a second. */
void judge_note_unobserved(struct watch *watch);

#endif
