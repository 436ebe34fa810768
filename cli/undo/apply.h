/*
 * Doing a plan (schedule.h), item by item.
 *
 * Nothing is lost: what is there is in the operation's packs before it is changed.  Each file is
 * made beside its place, and gets its name by one rename: RENAME_NOREPLACE where nothing is to be
 * there, RENAME_EXCHANGE in the place of another one.  What comes out of an exchange is compared
 * with the plan, and exchanged back where it is another one.  A removed file first gets a name
 * beside it, and goes when it is what the plan says.
 *
 * Killed at any instant, the plan is as it was, and apply_plan() does the rest of it: an item that
 * was done is recognized by what is there.
 */
#ifndef SEEN_CLI_APPLY_H
#define SEEN_CLI_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/undo/schedule.h"

struct apply_result {
	uint64_t done, skipped, failed; /* items */
	int *errors;                    /* of each item: 0, or why it was skipped or failed */
	int error; /* the plan could not be gone on with: -ENOSPC, -EROFS, ... */
};

/* apply_plan(): does what is to be done of a plan that is on disk.
 *
 * directory: descriptor of the session's undo records.  records: that the plan was resolved with.
 * again: it was interrupted before.  ret_result: apply_result_free() it, in any case.
 * Returns 0, also where items were skipped or failed; or a negative errno, as ret_result->error:
 * then `--continue` may do the rest. */
int apply_plan(struct schedule *plan, const struct tree_records *records, int directory,
	       const char *workspace, bool again, struct apply_result *ret_result);
void apply_result_free(struct apply_result *result);

#endif
