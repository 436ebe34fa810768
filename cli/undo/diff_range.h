/*
 * What `--step` and `--since` mean, and what was changed there.
 */
#ifndef SEEN_CLI_DIFF_RANGE_H
#define SEEN_CLI_DIFF_RANGE_H

#include "cli/undo/diff_set.h"
#include "cli/undo/undo_session.h"

/* What of a session; both NULL: all. */
struct diff_request {
	const char *step;   /* number of a step */
	const char *since;  /* as steps_point() takes it */
	char *const *paths; /* absolute, ended by NULL; NULL: all */
};

struct diff_result {
	struct tree_records records;
	struct tree_changes changes;
	struct diff_set set;
};

/* diff_range_read(): ret_result: diff_result_free() it in any case.
 *
 * Says on stderr what is wrong, and returns an exit code. */
int diff_range_read(const struct undo_session *session, const struct diff_request *request,
		    struct diff_result *ret_result);
void diff_result_free(struct diff_result *result);

/* diff_range_of_step(): what a step changed: the state before its first record against the one
 * behind its last; of what other steps did meanwhile nothing, but where it is the same file.
 *
 * ret_changes, ret_set: tree_changes_free(), diff_set_free() them in any case; both empty where it
 * changed nothing.  Returns 0 or -ENOMEM. */
int diff_range_of_step(const struct tree_records *records, const struct steps *steps,
		       const char *workspace, uint32_t number, char *const *paths,
		       struct tree_changes *ret_changes, struct diff_set *ret_set);

#endif
