/*
 * Which lines an invocation prints: head, tail and sed -n of one file, told by their arguments
 * alone.  What is not understood exactly is not understood: no lines.  Syntax of coreutils 9.1 and
 * sed 4.9 (their manuals).
 *
 * A line ends with a newline; the last one may be without.  Lines are counted from 1; both ends of
 * a span belong to it.
 * All functions are async-signal-safe.
 */
#ifndef SEEN_TRACKER_LINES_H
#define SEEN_TRACKER_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/content/version.h"

enum { LINES_SPANS_MAX = 8 };

/* One end of a span, as it was asked for. */
struct lines_bound {
	uint64_t number; /* of a line, from 1; is_from_end: so many lines before the last one */
	bool is_from_end;
};

/* What is asked for. */
struct lines {
	const char *file; /* as given; points into the arguments */
	unsigned count;
	struct {
		struct lines_bound first;
		struct lines_bound last;
	} asked[LINES_SPANS_MAX];
};

/* Lines `first` to `last` of a file. */
struct span {
	uint64_t first;
	uint64_t last;
};

/* lines_parse(): what an invocation prints.
 *
 * executable: path of the program file.  argv: ended by NULL.
 * Returns false, and leaves *ret_lines alone, where that is anything but plain lines of one named
 * file. */
bool lines_parse(const char *executable, char *const argv[], struct lines *ret_lines);

/* lines_resolve(): the same of a file with that many lines.  ret_spans: LINES_SPANS_MAX, as asked
 * for: they may overlap, and what is in several is printed as often.  Returns how many; 0: nothing
 * is printed. */
unsigned lines_resolve(const struct lines *lines, uint64_t line_count, struct span *ret_spans);

/* lines_shape(): what it is to print them.
 *
 * fd: an open regular file, read by pread.  Returns 0, the errors of pread(2), or -ENOMEM where all
 * memory for it (chunk.h) is in use. */
int lines_shape(int fd, const struct span *spans, unsigned count, struct shape *ret_shape);

#endif
