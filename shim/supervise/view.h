/*
 * Viewers that the library is not in.
 *
 * A notice is a sealed memfd, added to the process in the place of the file.  Otherwise the process gets a descriptor that the
 * supervisor opened, and keeps a copy of: they share one offset, which tells at the end how far it was read.  What was
 * read is a delivery if that is all of it, the file is still what it was when it was opened (its bytes are hashed both times), the
 * viewer wrote as many bytes as it read (proc(5), io) and ends by exit(0).
 */
#ifndef SEEN_SUPERVISE_VIEW_H
#define SEEN_SUPERVISE_VIEW_H

#include "shim/supervise/look.h"
#include "shim/supervise/target.h"

struct views;

/* What became of a viewer's open. */
struct view_answer {
	int fd; /* to be added to the process, then closed; -1: the process opens the file by itself */
	struct answer answer;
	struct journal_details details;
	bool is_decided;
};

/* view_open(): a viewer opens a file for reading. */
void view_open(const struct supervision *supervision, struct target *target,
	       const struct named *named, uint32_t flags, struct view_answer *ret_answer);

/* view_undo(): the descriptor could not be added. */
void view_undo(const struct supervision *supervision, struct target *target,
	       struct view_answer *answer);

/* view_ends(): a viewer ends by exit(status). */
void view_ends(const struct supervision *supervision, struct target *target, int status);

/* views_free(): accepts NULL. */
void views_free(struct views *views);

#endif
