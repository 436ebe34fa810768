/*
 * Lines of a text as Claude Code's Read counts them: a newline ends one and begins another, so that a
 * text with a last newline has an empty last line, and none of them has its newline.
 */
#ifndef SEEN_CLI_FILE_LINES_H
#define SEEN_CLI_FILE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracker/content/lines.h"

struct file_lines {
	uint64_t first, count, total; /* of these lines; of the text */
	const char *bytes;            /* borrowed from the text; without the last one's newline */
	size_t length;
	bool is_whole;
	struct span span; /* as the tracker counts: without an empty last line; first 0: none */
};

/* file_lines_count(): how many there are. */
uint64_t file_lines_count(const char *bytes, size_t length);

/* file_lines_find(): lines from `first` on, `count` of them or as many as there are.  Returns false
 * where there is no such line. */
bool file_lines_find(const char *bytes, size_t length, uint64_t first, uint64_t count,
		     struct file_lines *ret_lines);

#endif
