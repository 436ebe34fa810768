/*
 * Which lines of a file a text holds: what a read tool's output proves.  Pure.
 */
#ifndef SEEN_CLI_HOOK_LINES_H
#define SEEN_CLI_HOOK_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/files/file_lines.h"

/* hook_lines_plain(): is the text lines of the file from line `first` on, byte for byte, each of
 * them whole, and nothing else?  The last one may have its newline or not. */
bool hook_lines_plain(const char *file, size_t length, uint64_t first, const char *text,
		      size_t text_length, struct file_lines *ret_lines);

/* hook_lines_numbered(): how far a text is lines of the file, byte for byte, each of them behind its
 * number and `separator`, and ended by a newline, without a gap.
 *
 * padding: the numbers may have spaces in front.  Returns how many bytes of the text these lines
 * are; 0: none. */
size_t hook_lines_numbered(const char *file, size_t length, const char *text, size_t text_length,
			   const char *separator, bool padding, struct file_lines *ret_lines);

#endif
