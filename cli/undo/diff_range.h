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
	const char *since;  /* as step_point_find() takes it */
	char *const *paths; /* absolute, ended by NULL; NULL: all */
};

/* Called once with what was changed, which holds during the call.  Returns 0 or a negative
 * errno. */
struct diff_visitor {
	int (*visit)(const struct tree_records *records, struct diff_set *set, void *data);
	void *data;
};

/* diff_range_visit(): Says on stderr what is wrong, and returns an exit code. */
int diff_range_visit(const struct undo_session *session, const struct diff_request *request,
		     const struct diff_visitor *visitor);

#endif
