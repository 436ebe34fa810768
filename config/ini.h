/*
 * Reading one seen.ini strictly, over inih.
 *
 * inih (Debian's build) keeps 199 bytes of a line and silently reads the rest as the next line,
 * keeps 49 bytes of a section's name, goes on after an error, takes an indented line for a second
 * value of the name before it, forgets what follows a "]", and tells its handler no line numbers.
 * The reader that feeds it therefore inspects every line first, counts it, and refuses what inih
 * would misread.
 *
 * The format:
 *   [section]          a heading; names are case-sensitive
 *   name = value       white space around both is dropped; "name: value" is the same
 *   ; text, # text     a comment, of any length; may be indented
 *   name = value ; x   white space and then ";" begin a comment; "#" inside a value does not
 * Anything else is an error: an indented line, a line longer than INI_LINE_BYTES_MAX, bytes that
 * are no UTF-8, control characters other than a tab (and the CR of a CRLF).
 */
#ifndef SEEN_CONFIG_INI_H
#define SEEN_CONFIG_INI_H

#include <stddef.h>

enum {
	INI_LINE_BYTES_MAX = 199,         /* of a line that is no comment, without its newline */
	INI_SECTION_BYTES_MAX = 49,       /* of a section's name */
	INI_FILE_BYTES_MAX = 1024 * 1024, /* of a file */
};

struct ini_error {
	unsigned line;  /* counted from 1 */
	char text[256]; /* what is wrong and what is allowed; no newline */
};

/* What is called for each heading and each value, in the file's order.  Both return 0, or a
 * negative errno, which ends the reading and becomes ini_read()'s result.  The strings live for the
 * call. */
struct ini_handler {
	int (*section)(void *context, const char *section, unsigned line);
	int (*value)(void *context, const char *section, const char *name, const char *value,
		     unsigned line);
	void *context;
};

/* ini_read(): reads the text of a seen.ini.
 *
 * data: `size_bytes` bytes, need not end in NUL.  Returns 0 when every line was right and every
 * handler returned 0.  Otherwise the first error in the file's order:
 *   -EBADMSG  a line is malformed: *ret_error says which and why
 *   -E2BIG    the text is larger than INI_FILE_BYTES_MAX; *ret_error says so
 *   -EIO      inih failed for want of memory; *ret_error is not set
 *   other     what a handler returned; *ret_error is not set
 * Handlers may have been called for lines before (and, for a line that only inih refuses, after)
 * the bad one: let them work on a draft.  Thread-safe, not async-signal-safe.
 */
int ini_read(const char *data, size_t size_bytes, const struct ini_handler *handler,
	     struct ini_error *ret_error);

/* ini_text_check(): whether bytes may stand in a value: UTF-8 without control characters.
 *
 * allow_space: whether tab, newline and the like are let pass (a list from the environment).
 * Returns NULL when they may, else a phrase that says what is wrong.
 */
const char *ini_text_check(const char *text, size_t size_bytes, int allow_space);

#endif
