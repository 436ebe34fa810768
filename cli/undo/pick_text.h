/* A text that the picker shows line by line: a diff, a plan. */
#ifndef SEEN_CLI_PICK_TEXT_H
#define SEEN_CLI_PICK_TEXT_H

#include <stddef.h>
#include <stdio.h>

struct pick_text {
	char *bytes; /* each line ended by NUL, tabs as spaces */
	size_t *starts;
	size_t count;
};

/* pick_text_make(): takes what a function writes.
 *
 * write: returns 0 or a negative errno.  ret_text: pick_text_free() it, in any case.  Returns 0,
 * -ENOMEM, or what the function returned. */
int pick_text_make(int (*write)(FILE *file, void *data), void *data, struct pick_text *ret_text);
void pick_text_free(struct pick_text *text); /* accepts one that is all zero */

/* pick_text_line(): a line, without its end.  index: below count. */
const char *pick_text_line(const struct pick_text *text, size_t index);

#endif
