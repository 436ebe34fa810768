/*
 * JSON with comments, as people write settings: line and block comments, a comma behind the last
 * item, a byte order mark.  Comments are made spaces of the same length, so that what a JSON parser
 * finds in the rest stands where it stands in the text.
 */
#ifndef SEEN_CLI_JSONC_H
#define SEEN_CLI_JSONC_H

#include <jansson.h>
#include <stddef.h>

/* jsonc_plain(): a copy of a text with spaces in place of its comments and its byte order mark; line
 * ends stay.  Commas behind a last item stay, too.
 *
 * bytes: ended by a NUL.  Returns the copy, of the same length, which the caller frees; or NULL with
 * ret_line, the line of the fault, from 1, and ret_fault, words for it: a NUL byte, a comment without an
 * end, a comment in which a carriage return stands alone (programs do not agree whether it ends there),
 * or too little memory. */
char *jsonc_plain(const char *bytes, size_t length, int *ret_line, const char **ret_fault);

/* jsonc_parse(): the value of a part of a plain text.
 *
 * plain: of jsonc_plain(); commas behind a last item are passed over.  flags, ret_error: as of
 * json_loadb(); ret_error may be NULL.  Returns a new reference; NULL: no JSON, or no memory. */
json_t *jsonc_parse(const char *plain, size_t length, size_t flags, json_error_t *ret_error);

/* jsonc_load(): the document that a text holds, or NULL.  bytes: ended by a NUL. */
json_t *jsonc_load(const char *bytes, size_t length);

#endif
