/*
 * JSON, written member by member: nothing is kept but how deep it is.
 *
 * A member without a value is left out: NULL for a text, 0 for a number that is not known.  The
 * caller checks the stream's errors.
 */
#ifndef SEEN_CLI_JSON_OUT_H
#define SEEN_CLI_JSON_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
	FILE *file;
	bool more;       /* a member of this object stands before */
	bool incomplete; /* there was no memory for a value */
};

/* json_out_init(): begins an object or an array; json_out_finish() ends it.
 *
 * name: of the member; NULL: the document, or an array's item.  bracket: '{' or '['; '}' or ']'. */
void json_out_init(struct json_out *out, const char *name, char bracket);
void json_out_finish(struct json_out *out, char bracket);

/* json_out_word(): a text of ours, that needs no escape.  json_out_text(): bytes of others, as
 * text_json_append(). */
void json_out_word(struct json_out *out, const char *name, const char *word);
void json_out_text(struct json_out *out, const char *name, const char *bytes);

/* json_out_number(): left out if it is above INT64_MAX: a reader of integers of 64 bits would
 * refuse all of it, and it is no count, size or status either.  json_out_known(): if it is 0,
 * too. */
void json_out_number(struct json_out *out, const char *name, uint64_t number);
void json_out_known(struct json_out *out, const char *name, uint64_t number);

void json_out_boolean(struct json_out *out, const char *name, bool value);

/* json_out_value(): takes the reference; NULL: there was no memory for it. */
void json_out_value(struct json_out *out, const char *name, json_t *value);

/* json_out_line(): ends a document's line, to begin the next.  Returns 0 or -ENOMEM. */
int json_out_line(struct json_out *out);

#endif
