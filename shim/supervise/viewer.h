/*
 * Viewers that the library is not in.
 *
 * A notice is a sealed memfd, added to the process in the place of the file.  Otherwise the process
 * gets a descriptor that the supervisor opened, and keeps a copy of: they share one offset, which
 * tells at the end how far it was read.  What was read is a delivery if that is all of it, the file
 * is still what it was when it was opened (its bytes are hashed both times), the viewer wrote as
 * many bytes as it read (proc(5), io) and ends by exit(0).
 */
#ifndef SEEN_SUPERVISE_VIEW_H
#define SEEN_SUPERVISE_VIEW_H

#include "shim/supervise/resolve.h"
#include "shim/supervise/target.h"

struct viewed_files;

/* The result of a viewer's open. */
struct viewer_answer {
	/* to be added to the process, then closed; -1: the process opens the file by itself */
	int fd;
	struct answer answer;
	struct journal_details details;
	bool is_decided;
};

/* viewer_open(): a viewer opens a file for reading. */
void viewer_open(const struct supervision *supervision, struct target *target,
		 const struct named *named, uint32_t flags, struct viewer_answer *ret_answer);

/* viewer_undo(): the descriptor could not be added. */
void viewer_undo(const struct supervision *supervision, struct target *target,
		 struct viewer_answer *answer);

/* viewer_ended(): a viewer ends by exit(status). */
void viewer_ended(const struct supervision *supervision, struct target *target, int status);

/* viewed_free(): accepts NULL. */
void viewed_free(struct viewed_files *views);

#endif
