/*
 * What the read tool of opencode and kilo gives of a file, tried with 1.18.33 and 7.7.7: numbered
 * lines between a head and a foot, and a remark below the lines.
 */
#ifndef SEEN_CLI_OPENCODE_OUTPUT_H
#define SEEN_CLI_OPENCODE_OUTPUT_H

#include <stdbool.h>

/* OPENCODE_NUMBER_END: between a line's number and its text. */
#define OPENCODE_NUMBER_END ": "

/* opencode_output_lines(): where the lines begin.  NULL: it is a picture, a directory. */
const char *opencode_output_lines(const char *output);

/* opencode_output_foot(): what stands below lines and remark: no line before it has no number.
 * opencode_output_behind(): what the agent tells behind it, instructions that belong to the file's
 * directory.  NULL: there is no foot. */
const char *opencode_output_foot(const char *output);
const char *opencode_output_behind(const char *output);

/* Is a text behind the lines the agent's remark about them, in parentheses? */
bool opencode_output_is_remark(const char *text);

/* ... that it was the whole file? */
bool opencode_output_is_whole(const char *text);

#endif
