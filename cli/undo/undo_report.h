/* What `seen undo` and `seen redo` print. */
#ifndef SEEN_CLI_UNDO_REPORT_H
#define SEEN_CLI_UNDO_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/undo/apply.h"
#include "cli/undo/undo_run.h"

/* undo_report_left(): on stderr, before anything is done: what is left as it is, and why. */
void undo_report_left(const struct undo_run *run);

/* undo_report_above(): on stderr: that git's state lies above the workspace, and what changed there stays. */
void undo_report_above(const struct undo_run *run);

/* undo_report_unrecorded(): on stderr: what the session changed without a record, where that is meant by an undo.
 * undo_report_lacking(): also that the oldest records went. */
void undo_report_unrecorded(const struct undo_run *run);
void undo_report_lacking(const struct undo_run *run);

/* undo_report_complete(): a plan was done: what is reported as done is what was.  Returns 0 or -ENOMEM. */
int undo_report_complete(struct undo_run *run);

/* undo_report_lines(): on standard output: what is done, or would be.  result: NULL: nothing was
 * done yet.  Returns how many lines. */
size_t undo_report_lines(const struct undo_run *run, const struct apply_result *result);

/* undo_report_can_redo(): is there something among what is done that another undo or redo takes back?  Entries of
 * reflogs stay, and so do git's objects that an undo brought back. */
bool undo_report_can_redo(const struct undo_run *run);

/* undo_report_plan(): what would be left, and what would be done, to a file. */
void undo_report_plan(const struct undo_run *run, FILE *file);

/* undo_report_digest(): of undo_report_plan()'s text; not 0.  Returns 0 or -ENOMEM. */
int undo_report_digest(const struct undo_run *run, uint64_t *ret_digest);

/* undo_report_failed(): on stderr: items of a plan that were skipped or failed. */
void undo_report_failed(const struct schedule *schedule, const struct apply_result *result,
			const char *workspace);

/* undo_report_json(): the document.  Returns an exit code. */
int undo_report_json(const struct undo_run *run, const struct apply_result *result);

/* undo_report_code(): the exit code of what was left, skipped or failed. */
int undo_report_code(const struct undo_run *run, const struct apply_result *result);

#endif
