/*
 * The hunks of a unified diff.
 */
#ifndef SEEN_CLI_HUNKS_H
#define SEEN_CLI_HUNKS_H

#include <stdio.h>

#include "cli/files/line_script.h"

enum { HUNKS_CONTEXT = 3 }; /* lines, as diff(1) and git have them */

/* Escape sequences around lines; all "" for none. */
struct hunks_style {
	const char *head, *removed, *added, *off;
};

extern const struct hunks_style HUNKS_PLAIN;

/* hunks_write(): writes all hunks, each behind its `@@` line, with three lines of context.
 *
 * A last line without a newline is followed by "\ No newline at end of file".  The caller checks
 * the errors of `file`. */
void hunks_write(FILE *file, const struct line_script *script, const struct hunks_style *style);

/* hunks_bytes(): how long what hunks_write() writes would be, where each line ends with a newline;
 * the texts need not be there. */
uint64_t hunks_bytes(const struct line_script *script);

/* hunks_similarity(): how much of the larger text the other one has, in percent of bytes; 100 for
 * two that are the same. */
unsigned hunks_similarity(const struct line_script *script);

#endif
