/*
 * How long a unified diff between two lists of lines would be, told by the lines' hashes and
 * lengths alone: the texts need not be there.
 */
#ifndef SEEN_CLI_LINE_DIFF_H
#define SEEN_CLI_LINE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "cli/replay/shown.h"

/* line_diff_bytes(): bytes of `diff -u` with three lines of context, its two lines of header not
 * counted.
 *
 * Returns 0 for equal lists; UINT64_MAX where they differ in more than some 1,500 lines, or no
 * memory is left: it is then no short diff.
 */
uint64_t line_diff_bytes(const struct shown_line *old_lines, size_t old_count,
			 const struct shown_line *new_lines, size_t new_count);

#endif
