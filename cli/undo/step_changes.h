/*
 * What each step of a session changed, as files with two sides (diff_set.h): the state before the
 * step's first undo record against the one behind its last.  Of what other steps did meanwhile it
 * has nothing, but where that is the same file.
 *
 * All steps are visited in one walk through the records, the one that ended last first.
 */
#ifndef SEEN_CLI_STEP_CHANGES_H
#define SEEN_CLI_STEP_CHANGES_H

#include "cli/undo/diff_set.h"
#include "cli/undo/step.h"
#include "cli/undo/tree_record.h"

struct step_changes_visit {
	const struct tree_records *records;
	const struct steps *steps;
	const char *workspace; /* absolute */
	char *const *paths;    /* these and what is below, absolute, ended by NULL; NULL: all */
	uint32_t only;         /* number of a step; 0: all */
	bool omits_git;        /* as a diff_filter's */
	/* Called for each step that has records.  The set holds during the call.  Returns 0 or a
	 * negative errno, which ends the visit. */
	int (*visit)(const struct tree_records *records, const struct step *step,
		     struct diff_set *set, void *data);
	void *data;
};

/* step_changes_visit(): Returns 0, -ENOMEM, or what the function returned. */
int step_changes_visit(const struct step_changes_visit *visit);

#endif
