/*
 * What comes first in a report.
 */
#ifndef SEEN_CLI_REPORT_ORDER_H
#define SEEN_CLI_REPORT_ORDER_H

#include "cli/report/report.h"

/* report_files_by(): the files that are first by an order and that have any of it; equal ones by
 * path.
 *
 * ret_rows: room for `top`; borrowed from the report.  Returns how many there are in all: more
 * perhaps than `top`.  -ENOMEM. */
int64_t report_files_by(const struct report *report, enum report_order order, size_t top,
			const struct report_file **ret_rows);

/* report_processes_by_work(): the processes that read and wrote most.  report_programs_by_work():
 * the same.  As above. */
int64_t report_processes_by_work(const struct report *report, size_t top,
				 const struct report_process **ret_rows);
int64_t report_programs_by_work(const struct report *report, size_t top,
				const struct report_program **ret_rows);

#endif
