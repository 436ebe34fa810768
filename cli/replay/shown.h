/*
 * The lines of a file that an output shows: their numbers, and a hash and the length of each.
 * Texts are not kept.
 *
 * Outputs show files in several ways: plain; with numbers before the lines, as `cat -n`, Claude
 * Code's Read and SWE-agent's windows have them; as a window with "[File: PATH (N lines total)]"
 * above it.  A line's number is then told by the output itself, else by what was asked for.  Where
 * an output was cut, is a notice of this program in place of a file, or is not understood in full,
 * nothing is known of its lines.
 */
#ifndef SEEN_CLI_SHOWN_H
#define SEEN_CLI_SHOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/files/line_script.h"

struct shown {
	struct line_key *lines;
	size_t count, capacity;
	uint64_t first;          /* number of the first one, from 1 */
	bool whole;              /* they are all that the file has */
	uint64_t version;        /* of the lines in their order */
	uint64_t version_before; /* of all but the last one */
	uint64_t bytes;          /* of them, newlines counted */
	const char *path;        /* that the output names, within it; NULL: it does not */
	size_t path_bytes;
};

enum shown_form {
	SHOWN_PLAIN,    /* lines as they are */
	SHOWN_NUMBERED, /* with numbers before them, perhaps in a window */
	SHOWN_ANY,      /* of a tool: what it resembles */
};

/* How to take an output. */
struct shown_as {
	enum shown_form form;
	uint64_t from;        /* PLAIN: number of the first line */
	bool asked_whole;     /* no part was asked for */
	uint64_t total_lines; /* of the file, 0: not known */
	/* NUMBERED: what ends a line's number; NULL: a tab, an arrow, or (in a window) a colon */
	const char *number_end;
};

/* shown_read(): takes an output apart.  shown: zero at first; reused.
 * Returns 1 when its lines are known, 0 when not, or -ENOMEM. */
int shown_read(struct shown *shown, const struct shown_as *as, const char *output, size_t bytes);

/* shown_is_cut(): says the output that some of it was left out? */
bool shown_is_cut(const char *output, size_t bytes);

/* shown_free(): accepts zero. */
void shown_free(struct shown *shown);

#endif
