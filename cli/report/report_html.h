/*
 * `seen report --format html`: one file for a browser, that needs nothing beside itself and asks no
 * network.
 *
 * Its parts are the files of config/data/page: page.html, whose marks @NAME@ tell where the others
 * go; page.css; and the scripts, that are written one behind the other as one.  The report's JSON
 * and the journal's events are elements that no browser takes for a program.
 * The page's policy lets run what has the digests of that one style and that one script, and
 * nothing else: whatever a file is called, its name is data.
 */
#ifndef SEEN_CLI_REPORT_HTML_H
#define SEEN_CLI_REPORT_HTML_H

#include <jansson.h>
#include <stdio.h>

#include "cli/report/report.h"

/* report_html_write(): writes the page.
 *
 * report: what was gathered.  document: its JSON, as `--format json` prints it; borrowed.  journal:
 * path of the journal.
 * Returns 0; -ENOMEM; the errors of events_open().  Those of `file` are the caller's to ask. */
int report_html_write(FILE *file, const struct report *report, const json_t *document,
		      const char *journal);

#endif
