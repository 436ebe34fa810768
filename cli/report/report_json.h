/*
 * A report for programs.
 */
#ifndef SEEN_CLI_REPORT_JSON_H
#define SEEN_CLI_REPORT_JSON_H

#include <jansson.h>

#include "cli/report/report.h"

/* report_json(): the document, seen/report/1.  top: rows of each table.  Returns a new reference.
 * Where memory was short a member is null, or missing. */
json_t *report_json(const struct report *report, size_t top);

#endif
