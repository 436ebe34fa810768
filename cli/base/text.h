/*
 * Text for people and programs: numbers, times, paths, JSON.
 */
#ifndef SEEN_CLI_TEXT_H
#define SEEN_CLI_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TEXT_NUMBER_BYTES = 32, TEXT_TIME_BYTES = 40 };

/* text_number(): 1234567 as "1,234,567".  Returns ret_text, TEXT_NUMBER_BYTES long. */
const char *text_number(uint64_t number, char *ret_text);

/* text_plural(): what follows a word of which there are `count`.  Static. */
const char *text_plural(uint64_t count);

/* text_time(): UTC, RFC 3339 with milliseconds; "" for 0.  Returns ret_text, TEXT_TIME_BYTES
 * long. */
const char *text_time(uint64_t realtime_ns, char *ret_text);

/* text_time_ns(): the same with nanoseconds.  For many times in nearly their order. */
const char *text_time_ns(uint64_t realtime_ns, char *ret_text);

/* text_json_watch(): from now on it is noted where a value had no memory, for text_json_document().
 * For main(), before the first value. */
void text_json_watch(void);

/* text_json_is_whole(): has no value lacked memory since text_json_watch()?  text_json_lacks(): one did, that jansson was
 * not asked for.  Returns NULL. */
bool text_json_is_whole(void);
json_t *text_json_lacks(void);

/* text_json(): a JSON string for bytes of others.  JSON is UTF-8; a byte that is no part of valid
 * UTF-8 becomes the two characters `\x` and two hexadecimal digits, and a backslash is doubled, so
 * that the bytes can be recovered (docs/DESIGN.md, "Paths in JSON").  Returns a new reference;
 * NULL when out of memory. */
json_t *text_json(const char *bytes);

/* text_json_append(): writes the same, in quotes.  The caller checks the errors of `file`; the lock
 * of the stream is not taken. */
void text_json_append(FILE *file, const char *bytes);

/* text_json_write(): writes a value on one line.  Returns 0 or -ENOMEM: also for NULL. */
int text_json_write(FILE *file, const json_t *value);

/* text_json_dump(): as json_dumps(3), which leaves out names of members where memory ends: NULL then.  The caller frees it. */
char *text_json_dump(const json_t *value, size_t flags);

/* text_json_time(): as text_time(), null for 0. */
json_t *text_json_time(uint64_t realtime_ns);

/* text_json_document(): writes a document, and takes the reference; NULL: there was no memory for
 * it.  Nothing is written where any value lacked memory since text_json_watch().  Returns 0 or -ENOMEM; the caller checks the errors of `file`.  text_json_print():
 * on standard output. */
int text_json_document(FILE *file, json_t *document);
int text_json_print(json_t *document);

/* text_style(): an escape sequence for standard output (or standard error) if that is a terminal,
 * NO_COLOR is not set and TERM is not "dumb"; else "".  code: "1" bold, "2" faint, "32" green, "33"
 * yellow, "0" off. */
const char *text_style(FILE *file, const char *code);

/* text_style_keep(): what goes to standard output from now on reaches the terminal that it was,
 * through another program. */
void text_style_keep(void);

#endif
