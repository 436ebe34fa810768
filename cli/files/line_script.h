/*
 * Which lines differ between two texts: the one line diff of this program.
 */
#ifndef SEEN_CLI_LINE_SCRIPT_H
#define SEEN_CLI_LINE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line of which the text is not there. */
struct line_key {
	uint32_t hash;  /* two lines are the same where both are */
	uint32_t bytes; /* newline not counted */
};

/* A text by its lines, each with its newline; the last one may have none. */
struct line_list {
	const char *bytes; /* NULL: the text is not there */
	size_t *starts;    /* count + 1: where each line begins, and the end of the text */
	size_t count;
	uint32_t *ids; /* of both texts of a script: two lines are equal where these are */
	bool *changed; /* of the old text: removed; of the new one: added */
};

struct line_script {
	struct line_list old, new;
	size_t removed, added; /* lines */
};

/* line_script_make(): compares two texts.
 *
 * old, new: bytes of any kind, borrowed until line_script_free().  The script is a shortest one but
 * where the texts differ so much that it would take long to find.
 * ret_script: line_script_free() it in any case.  Returns 0 or -ENOMEM; -EFBIG for more than
 * 2^31 lines in all. */
int line_script_make(const char *old, size_t old_bytes, const char *new, size_t new_bytes,
		     struct line_script *ret_script);

/* line_script_of_keys(): compares two texts by what is known of their lines.  As
 * line_script_make(). */
int line_script_of_keys(const struct line_key *old, size_t old_count, const struct line_key *new,
			size_t new_count, struct line_script *ret_script);

void line_script_free(struct line_script *script);

#endif
