/* The course of `seen undo` and `seen redo`: finding the session, the plan, doing it, the report. */
#ifndef SEEN_CLI_UNDO_RUN_H
#define SEEN_CLI_UNDO_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/undo/git_lock.h"
#include "cli/undo/operation.h"
#include "cli/undo/schedule_make.h"
#include "cli/undo/tree_change.h"
#include "cli/undo/undo_range.h"
#include "cli/undo/undo_session.h"

/* What a run planned, for a caller that asks before it is done. */
struct undo_planned {
	uint32_t step;   /* 0: not one step */
	size_t changes;  /* of the plan */
	uint64_t digest; /* of what would be done, and left: undo_report_plan()'s text; not 0 */
};

struct undo_request {
	enum operation_kind kind;
	bool dry_run, force, times, json;
	bool merge;   /* what others changed, too */
	bool resumes; /* --continue */
	bool all, last;
	const char *step, *since;     /* NULL: not given */
	char **paths;                 /* absolute, ended by NULL; NULL: all */
	struct undo_planned expected; /* is planned, else nothing is done; a 0 in it: any */
	struct undo_planned *planned; /* set before anything is done; NULL: not wanted */
};

struct undo_run {
	const struct undo_request *request;
	struct undo_session session;
	int directory; /* of the undo records; -1: there are none */
	struct tree_records records;
	struct undo_ranges ranges;
	struct tree_range range;
	uint32_t step;       /* what is undone is this one alone; 0: not */
	uint64_t unrecorded; /* undo_session_unrecorded() */
	struct tree_changes changes;
	struct schedule schedule;
	struct schedule_report report;
	struct git_locks locks;
};

/* undo_run(): all of it.  name: of the session, NULL: as undo_session_find().  Says on stderr what is
 * wrong, and returns an exit code. */
int undo_run(const struct config *config, const char *name, const struct undo_request *request);

/* undo_run_show(): what undo_run() would do, for a person.  Does nothing.
 *
 * session: borrowed.  file: written to.  Returns 0 or a negative errno. */
int undo_run_show(const struct undo_session *session, const struct undo_request *request,
		  FILE *file, struct undo_planned *ret_planned);

/* undo_run_undone(): as undo_range_undone(), of a session.  Returns 0 or a negative errno. */
int undo_run_undone(const struct undo_session *session, const struct tree_records *records,
		    bool *is_undone);

#endif
