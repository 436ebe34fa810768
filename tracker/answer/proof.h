/*
 * Proofs: what the agent's transcript, or its hook, holds of a command's output.  `seen run` reads
 * transcripts, agents run hooks; these are the writers, and every process of the session reads what
 * they found.  A command's proof
 * stands beside its id in one word: a slot that was given to another command meanwhile never passes
 * it on.
 *
 * Lock-free and async-signal-safe, but for proof_each_delivery(), which copies paths to its stack
 * and is for the program.
 */
#ifndef SEEN_TRACKER_PROOF_H
#define SEEN_TRACKER_PROOF_H

#include <stdbool.h>

#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* In a SCOPE_PROVES scope a delivery without a proof counts after this time, and then only as
 * assumed. */
#define PROOF_WAIT_NS UINT64_C(10000000000)

/* proof_command(): notes what the transcript or a hook holds of a command's output.  A later call replaces an
 * earlier one, so a branch that the conversation comes back to is proven again.
 * Returns 0; -ENOENT when the command is not in the table any more: its deliveries count no more
 * either. */
int proof_command(const struct segment *segment, uint64_t command_id, enum proof proof);

/* proof_of_command(): what was noted; PROOF_NONE for a command that is not in the table. */
enum proof proof_of_command(const struct segment *segment, uint64_t command_id);

/* proof_scope(): sets SCOPE_PROVES and SCOPE_MUTE of a scope, both at once; the other flags stay.
 * A scope begins with none, an interactive one of a run with SCOPE_MUTE.
 * Returns 0; -ENOENT for a scope that is not known; -EBUSY when other writers held its slot: call
 * it again. */
int proof_scope(const struct segment *segment, uint64_t scope_id, uint32_t flags);

/* proof_scope_flags(): its flags; 0 for a scope that is not known. */
uint32_t proof_scope_flags(const struct segment *segment, uint64_t scope_id);

enum proof_kind {
	PROOF_OF_FILE,        /* a whole file */
	PROOF_OF_LINES,       /* lines `first_line` to `last_line` of it */
	PROOF_OF_REQUEST,     /* the output of a reader's command */
	PROOF_OF_INSTRUCTION, /* an instruction file, whole */
};

/* One thing that a scope was given by a command. */
struct proof_delivery {
	enum proof_kind kind;
	uint64_t scope_id;
	uint64_t command_id;
	uint64_t request; /* its number in the scope; 0: not known (an instruction file) */
	uint64_t time_ns; /* when it was given, CLOCK_BOOTTIME */
	/* of a file or lines, and of an instruction file where its inode is known; else 0 */
	uint64_t file_key;
	const char *
		path; /* of that file, absolute; NULL where it is not known.  Borrowed for the call */
	struct version version; /* of the whole file; of a request: of the list of its inputs */
	uint64_t first_line, last_line; /* PROOF_OF_LINES */
	uint64_t output_bytes;          /* PROOF_OF_REQUEST: that it printed */
	uint64_t command_bytes; /* that viewers and readers of the command sent in all so far */
	enum proof proof;       /* of the command, as of now */
};

/* proof_each_delivery(): calls back for all that scopes were given by commands and that was not
 * forgotten, of the epochs that hold now, in no order.  A delivery that moves meanwhile may be
 * missed or come twice.
 *
 * scope_id: 0: of all scopes.  Stops when the callback returns nonzero, and returns that; else 0.
 * What no command gave (in-process reads) is left out, and so is what belongs to a command that
 * left the table. */
int proof_each_delivery(const struct segment *segment, uint64_t scope_id,
			int (*callback)(const struct proof_delivery *delivery, void *data),
			void *data);

#endif
