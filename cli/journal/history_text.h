/*
 * Entries of the history as lines for people, and for a model.
 */
#ifndef SEEN_CLI_HISTORY_TEXT_H
#define SEEN_CLI_HISTORY_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/journal/history.h"
#include "cli/journal/kept_text.h"

/* What the lines are made with. */
struct history_text {
	FILE *out;
	const char *workspace; /* NULL: not known */
	uint64_t characters;   /* of one result, and of arguments */
	bool is_plain;         /* without the lines that name scopes */
	bool any;              /* line was written, with this scope and epoch */
	uint64_t scope_id, epoch;
	struct kept_text shown; /* of the entry at hand */
};

/* history_text_is_content(): was it given a file's own content? */
bool history_text_is_content(const struct history_entry *entry);

/* history_text_is_kept(): is the content that it was given, or that was not given again, at hand? */
bool history_text_is_kept(const struct history_text *text, const struct history_entry *entry);

/* history_text_write(): writes the line of an entry, of which text->shown is read; names of others are
 * escaped.  The caller checks the errors of text->out. */
void history_text_write(struct history_text *text, const struct history_entry *entry);

#endif
