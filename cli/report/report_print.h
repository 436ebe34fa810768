/*
 * A report in its forms: for programs, for a terminal, in Markdown.  The page for a browser is report_html.h.
 */
#ifndef SEEN_CLI_REPORT_PRINT_H
#define SEEN_CLI_REPORT_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/base/sheet.h"
#include "cli/report/report.h"

/* report_json(): the document, seen/report/1.  top: rows of each table.  Returns a new reference.  Where memory was short a member is
 * null, or missing. */
json_t *report_json(const struct report *report, size_t top);

/* report_tell(): the same for people: the most useful first, no section about nothing.
 *
 * sheet: where to, and in which form.  top: rows of each table.  Returns 0 or -ENOMEM. */
int report_tell(const struct report *report, size_t top, struct sheet *sheet);

/* report_path(): event_path_shown() for the report's workspace. */
const char *report_path(const struct report *report, const char *path);

#endif
