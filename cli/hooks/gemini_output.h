/*
 * What Gemini CLI's read tool gives of a file that it does not give whole, tried with 0.61.0.
 */
#ifndef SEEN_CLI_GEMINI_OUTPUT_H
#define SEEN_CLI_GEMINI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

/* A part: lines, from 1. */
struct gemini_lines {
	uint64_t first, last;
	uint64_t total;   /* of the file; an empty one behind its last newline counts */
	const char *text; /* within the output, to its end */
};

/* gemini_output_lines(): is the output a part?  ret_part: set if it is. */
bool gemini_output_lines(const char *output, struct gemini_lines *ret_part);

#endif
