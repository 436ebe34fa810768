/*
 * What stands above the tables of a report for people, and how it writes times and sums.
 */
#ifndef SEEN_CLI_REPORT_PRINT_HEAD_H
#define SEEN_CLI_REPORT_PRINT_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/sheet.h"
#include "cli/report/report.h"

enum {
	REPORT_DURATION_BYTES = 64,
};

/* report_print_head(): a report at a glance: a line for each fact. */
void report_print_head(const struct report *report, size_t top, struct sheet *sheet);

/* report_duration(): "2 min 5 s".  Returns ret_text, REPORT_DURATION_BYTES long. */
const char *report_duration(uint64_t ns, char *ret_text);

/* report_bytes(): a sum of bytes that is perhaps not all.  Valid until the next call. */
const char *report_bytes(uint64_t bytes, bool at_least);

#endif
