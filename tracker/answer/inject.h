/*
 * Instruction files before a viewer's own output ([context] inject = viewers): those that apply to
 * the file which it opens, and which its scope was not given yet, are put before the file's bytes,
 * or before the notice that stands for them, in a sealed file in memory.  So it is the viewer that
 * prints them, in its place in the output, and what it read is what it must have written.
 *
 * Only where descriptor 1 is the capture, as for a notice; only as far as the command stays within
 * what its agent takes without cutting it: instructions must not cost the model the end of the
 * file.  They are given when all that the viewer read went out.  In doubt, the real bytes alone.
 *
 * All functions are async-signal-safe.
 */
#ifndef SEEN_TRACKER_INJECT_H
#define SEEN_TRACKER_INJECT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tracker/answer/instruction.h"
#include "tracker/answer/request.h"
#include "tracker/journal/journal.h"
#include "tracker/segment/segment.h"

enum { INJECTED_MAX = 16 }; /* by one process */

/* The line between the last one and the viewer's own bytes: these, the session's nonce,
 * INJECT_END_CLOSE.  By the nonce a program that takes all of it for the file's content, and writes
 * it to one, is refused as with a notice (guard.h). */
#define INJECT_END "[End of instruction files. (Here begins the file, "
#define INJECT_END_CLOSE ")]\n"

struct injected {
	uint64_t dev, ino;
	struct version version;
	uint32_t text; /* of its path, in the journal */
};

/* What one process was given, or is about to be.  All zero before. */
struct inject {
	struct moment moment; /* when the first was put in */
	int count;
	struct injected files[INJECTED_MAX];
	int viewed_count; /* instruction files that it views itself */
	struct {
		uint64_t dev, ino;
	} viewed[INJECTED_MAX];
};

/* What comes behind them. */
struct inject_rest {
	const char *
		path; /* of the file that is viewed: absolute, normalized, as the kernel knows it */
	const struct stat *stat;       /* of it */
	int fd;                        /* of it, or of what is given in its place; read by pread */
	uint64_t bytes;                /* that are given */
	const char *notice;            /* what these are, in place of fd's, not empty; NULL */
	const struct version *version; /* that fd's must have; NULL: whatever it is */
};

/* Gives the number of a path's text in the journal. */
typedef uint32_t inject_text(const char *path, void *data);

/* inject_file(): makes the file in memory that a viewer is given.
 *
 * request: at_sink is as of now.  inject: what it puts in is added to.
 * ret_before_bytes: how many bytes stand before the tail.  Returns a descriptor, read-only and
 * close-on-exec, at offset 0; -ENOENT when there is nothing to be put in; other errors, on which
 * the viewer is given what it would have been: -ESTALE when a file changed meanwhile, -EFBIG,
 * -ENOMEM, -EINVAL when the nonce is damaged. */
int inject_file(const struct segment *segment, const struct request *request,
		const struct inject_rest *rest, inject_text *text, void *data,
		struct inject *inject, uint64_t *ret_before_bytes);

/* inject_given(): all of it went out.  Returns whether that one of `inject->files` is on record as
 * given now. */
bool inject_given(const struct segment *segment, const struct inject *inject, int index);

/* inject_write_record(): fills the journal's record INSTRUCTED of a file that was given to a scope.
 * record: begun by the mechanism.  ret_details: what follows it. */
void inject_write_record(const struct injected *injected, uint64_t scope_id,
			 struct journal_record *record, struct journal_details *ret_details);

#endif
