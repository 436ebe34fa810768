/* What became of files, and by which command. */
#ifndef SEEN_CLI_REPORT_FATE_H
#define SEEN_CLI_REPORT_FATE_H

#include "cli/report/report.h"
#include "cli/report/report_rows.h"
#include "tracker/content/fate.h"

/* report_file_action(): an event is about a file: what it does to its name.  is_second: the file is
 * the second of two. */
void report_file_action(struct report_gather *gather, struct report_file *file,
			const struct event *event, bool is_second);

/* report_session_fates(): what the session's own table of files says goes before what the journal
 * tells, so that a report says what `seen files` does. */
void report_session_fates(struct report *report, const struct segment *segment);

/* report_changed_files(): what the session made, changed or removed and that is not reported
 * together with others (`fold`), what was removed first, then by time.
 *
 * ret_rows: room for `top`; borrowed from the report.  Returns how many there are in all: more
 * perhaps than `top`.  -ENOMEM. */
int64_t report_changed_files(const struct report *report, size_t top,
			     const struct report_file **ret_rows);

/* report_changed_count(): how many files of a fold the session changed. */
uint64_t report_changed_count(const struct report *report, enum report_fold fold);

#endif
