/* Who wrote each line of the files that a session changed, for the page of a report. */
#ifndef SEEN_CLI_REPORT_HTML_BLAME_H
#define SEEN_CLI_REPORT_HTML_BLAME_H

#include <jansson.h>

#include "cli/report/report.h"

/* report_html_blame(): of texts that steps changed and that are on disk now, those changed last
 * first, as many as fit.
 *
 * Returns a new reference: "files", each with "path", "text", "origins" ("kind", "step") and "runs"
 * (pairs: index of an origin, and so many lines); "left_out": files that did not fit.  NULL: no
 * memory. */
json_t *report_html_blame(const struct report *report);

#endif
