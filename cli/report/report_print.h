/*
 * A report for people: for a terminal, and in Markdown.  For programs: report_json.h.  The page for
 * a browser: report_html.h.
 */
#ifndef SEEN_CLI_REPORT_PRINT_H
#define SEEN_CLI_REPORT_PRINT_H

#include "cli/base/sheet.h"
#include "cli/report/report.h"

/* report_print(): the same for people: the most useful first, no section about nothing.
 *
 * sheet: where to, and in which form.  top: rows of each table.  Returns 0 or -ENOMEM. */
int report_print(const struct report *report, size_t top, struct sheet *sheet);

/* report_path(): event_path_shown() for the report's workspace. */
const char *report_path(const struct report *report, const char *path);

#endif
