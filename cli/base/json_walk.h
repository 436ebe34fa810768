/*
 * A JSON file from its beginning to its end, value by value, without holding more of it than one
 * value.
 *
 * A recorded session may be a gigabyte in one document, or a line of JSON for each event.  A walk
 * stands between two values: it inspects what comes next, takes it (parsed by jansson), passes over
 * it, or goes into it.  Values may follow each other with nothing but blanks between them, as in
 * JSON lines.
 *
 * Such files are bytes of others, made by programs that cut texts anywhere: bytes that are no
 * UTF-8, and halves of surrogate pairs, which jansson refuses, are taken as U+FFFD or '?'.
 */
#ifndef SEEN_CLI_JSON_WALK_H
#define SEEN_CLI_JSON_WALK_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_WALK_ERROR_BYTES = 160, JSON_WALK_DEPTH_MAX = 512 };

struct json_walk {
	FILE *file;
	uint64_t line;     /* of what comes next, from 1 */
	uint64_t position; /* in bytes */
	char *text;        /* of the value that was taken last */
	size_t text_bytes, text_capacity;
	char error[JSON_WALK_ERROR_BYTES]; /* what is wrong, once a function returned -EBADMSG */
};

/* json_walk_open(): opens a file; json_walk_close() it.  Returns 0, or the errors of open(2);
 * -EISDIR for a directory. */
int json_walk_open(struct json_walk *walk, const char *path);
void json_walk_close(struct json_walk *walk);

/* json_walk_rewind(): to the beginning again.  Returns 0, or -ESPIPE for what has none (a pipe). */
int json_walk_rewind(struct json_walk *walk);

/* json_walk_peek(): the first byte of what comes next, which stays; EOF at the end. */
int json_walk_peek(struct json_walk *walk);

/* json_walk_is(): passes over one byte if it is the next.  Returns whether it was. */
bool json_walk_is(struct json_walk *walk, char byte);

/* json_walk_key(): in an object: the next member's name, and passes over the colon.
 * ret_key: cut to capacity.  Returns 1; 0 at the object's end, which is passed over; -EBADMSG. */
int json_walk_key(struct json_walk *walk, char *ret_key, size_t capacity);

/* json_walk_item(): in an array: is there a next value?  Returns 1; 0 at the array's end, which is
 * passed over; -EBADMSG. */
int json_walk_item(struct json_walk *walk);

/* json_walk_read(): parses the next value.  Returns 0 and a new reference; -ENODATA at the end of
 * the file; -EBADMSG where it is damaged or ends within a value: the walk then stands behind what
 * was read; -ENOMEM. */
int json_walk_read(struct json_walk *walk, json_t **ret_value);

/* json_walk_read_line(): parses the next line that is not blank: in JSON lines a damaged one costs
 * itself alone.  As json_walk_read(). */
int json_walk_read_line(struct json_walk *walk, json_t **ret_value);

/* json_walk_pass(): passes over the next value, whatever its size, without keeping it.  As
 * json_walk_read(). */
int json_walk_pass(struct json_walk *walk);

#endif
