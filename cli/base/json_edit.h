/*
 * Changing a JSON text in place: what is put in or taken out is all that changes, so that a
 * person's order, spacing and line ends stay as they are, and taking out what was put in gives the
 * text of before, byte for byte.
 *
 * An item is an element of an array, or a member of an object with its key.  A new one comes last,
 * laid out as the items before it are: on a line of its own, or in theirs.  Into an empty array or
 * object it is put right behind the bracket: that tells later that these were not made for it.
 *
 * Comments, a comma behind the last item and a byte order mark are part of the layout (jsonc.h): a
 * new item comes behind the comments that stand in the line of the one before, and a comment stays
 * when an item is taken out.
 *
 * Texts must be valid JSON but for these, without equal keys in one object, and end with a NUL:
 * json_edit_check() tells.  Places in a text are valid until it is changed.
 */
#ifndef SEEN_CLI_JSON_EDIT_H
#define SEEN_CLI_JSON_EDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A text that can be changed: malloc'ed, ended by a NUL. */
struct json_text {
	char *bytes;
	size_t length; /* without the NUL */
	char *plain;   /* the same with spaces in place of comments; NULL: not checked yet */
};

/* From an offset to the one behind the last byte. */
struct json_span {
	size_t start, end;
};

struct json_item {
	struct json_span whole; /* with its key */
	struct json_span value;
};

/* json_edit_check(): is this text something that can be changed?  It must be, before any other
 * function here is called.
 *
 * Returns the document, a new reference; or NULL with ret_line, the line of the fault, from 1, and
 * ret_fault, words for it.  json_edit_free() the text in any case. */
json_t *json_edit_check(struct json_text *text, int *ret_line, char *ret_fault, size_t capacity);

/* json_edit_line(): the line of an offset, from 1. */
int json_edit_line(const struct json_text *text, size_t at);

/* json_edit_free(): of a text, or one of zeros. */
void json_edit_free(struct json_text *text);

/* json_edit_root(): the document's value. */
struct json_span json_edit_root(const struct json_text *text);

/* json_edit_item(): the item of that number, from 0, of an array or object.  Returns false where
 * there is none. */
bool json_edit_item(const struct json_text *text, struct json_span container, size_t index,
		    struct json_item *ret_item);

/* json_edit_member(): the member of an object with that key.  ret_index: its number.  False where
 * there is none, or it is no object. */
bool json_edit_member(const struct json_text *text, struct json_span object, const char *key,
		      size_t *ret_index, struct json_item *ret_item);

/* json_edit_value(): what stands there, a new reference; NULL when out of memory. */
json_t *json_edit_value(const struct json_text *text, struct json_span value);

/* json_edit_insert(): puts an item in as the last one.  key: of a member; NULL: an element.
 * Returns 0 or -ENOMEM. */
int json_edit_insert(struct json_text *text, struct json_span container, const char *key,
		     const json_t *value);

/* json_edit_remove(): takes an item out.  Returns 1 where its array or object is empty now and was
 * made for it, as its layout tells: then that is to be taken out too; else 0, or -ENOMEM. */
int json_edit_remove(struct json_text *text, struct json_span container, size_t index);

#endif
