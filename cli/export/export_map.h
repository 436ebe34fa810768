/*
 * Exports that are a mapping: a table names the fields of the other program's schema and the value
 * of each.
 *
 * A table is an array of struct export_field, written with the macros below and ended by MAP_DONE.
 * An object or an array starts with a field of its own and ends with MAP_END.  A field whose
 * condition does not hold, or whose value is not known, is left out; so is an object with all in
 * it.
 * The values and conditions that formats share are in export_values.def; a format adds its own.
 */
#ifndef SEEN_CLI_EXPORT_MAP_H
#define SEEN_CLI_EXPORT_MAP_H

#include "cli/base/json_out.h"
#include "cli/base/text.h"
#include "cli/export/export.h"
#include "cli/journal/event_class.h"
#include "cli/journal/event_members.h"
#include "cli/journal/event_words.h"
#include "tracker/content/version.h"

enum export_value_kind {
	EXPORT_VALUE_WORD,   /* a text of seen's own */
	EXPORT_VALUE_TEXT,   /* bytes of others */
	EXPORT_VALUE_NUMBER, /* left out above INT64_MAX */
	EXPORT_VALUE_KNOWN,  /* the same; left out if it is 0, too */
	EXPORT_VALUE_DIGITS, /* a number, as text; left out if it is 0 */
	EXPORT_VALUE_BOOLEAN,
	EXPORT_VALUE_ARGUMENTS, /* those of the event, an array */
	EXPORT_VALUE_REST,      /* what has no field: an object, in the words of seen/log/1 */
};

struct export_value {
	enum export_value_kind kind;
	const char *text;
	uint64_t number;
};

enum {
	EXPORT_WORD_BYTES = 64,
	EXPORT_ID_BYTES = JOURNAL_NONCE_BYTES + 24,
	/* of a path and what stands around it */
	EXPORT_TEXT_BYTES = 2 * JOURNAL_TEXT_BYTES_MAX + 256,
	EXPORT_HASH_BYTES = 33,
	EXPORT_DIGITS_BYTES = 24,
};
_Static_assert((int)EXPORT_WORD_BYTES >= (int)TEXT_TIME_BYTES &&
		       (int)EXPORT_WORD_BYTES >= (int)EXPORT_HASH_BYTES &&
		       (int)EXPORT_WORD_BYTES >= (int)EVENT_ERROR_BYTES,
	       "room for each");

/* What the functions of a table get.  The first member of a struct with a format's own values. */
struct export_map {
	struct json_out out;
	const struct export *export;
	const struct event *event; /* NULL: a table of the journal as a whole */
	struct event_class class;
	uint64_t time_ns; /* of the event, or of the one before it that tells */
	uint64_t last_time_ns;
	char id[EXPORT_ID_BYTES]; /* room for values */
	char word[EXPORT_WORD_BYTES];
	char text[EXPORT_TEXT_BYTES];
};

enum export_shape {
	EXPORT_SHAPE_DONE, /* the table's end */
	EXPORT_SHAPE_END,  /* of an object or array */
	EXPORT_SHAPE_OBJECT,
	EXPORT_SHAPE_ARRAY,
	/* an array of OTLP: each field is an object of `key` and `value` */
	EXPORT_SHAPE_ATTRIBUTES,
	EXPORT_SHAPE_FIELD,
	EXPORT_SHAPE_WORD,   /* a constant */
	EXPORT_SHAPE_NUMBER, /* likewise */
	EXPORT_SHAPE_TABLE,  /* all fields of another table */
	EXPORT_SHAPE_ROWS,   /* the same, as often as `next` has something for it */
};

struct export_field {
	enum export_shape shape;
	const char *name;                           /* NULL: an item of an array */
	bool (*when)(const struct export_map *map); /* NULL: always */
	struct export_value (*value)(struct export_map *map);
	const char *word;
	uint64_t number;
	const struct export_field *table;
	bool (*next)(struct export_map *map);
};

/* A function for each line of export_values.def; `expression` is of `event` and `map`. */
#define EXPORT_SET_WORD(expression) .text = (expression)
#define EXPORT_SET_TEXT(expression) .text = (expression)
#define EXPORT_SET_NUMBER(expression) .number = (expression)
#define EXPORT_SET_KNOWN(expression) .number = (expression)
#define EXPORT_SET_DIGITS(expression) .number = (expression)
#define EXPORT_SET_BOOLEAN(expression) .number = (expression)
#define EXPORT_SET_ARGUMENTS(expression) .text = (expression)
#define EXPORT_SET_REST(expression) .text = (expression)
#define EXPORT_VALUE(name, what, expression) \
	struct export_value export_value_##name(struct export_map *map) \
	{ \
		const struct event *event = map->event; \
		(void)event; \
		return (struct export_value){ .kind = EXPORT_VALUE_##what, \
					      EXPORT_SET_##what(expression) }; \
	}
#define EXPORT_WHEN(name, expression) \
	bool export_when_##name(const struct export_map *map) \
	{ \
		const struct event *event = map->event; \
		(void)event; \
		return (expression); \
	}
#define VALUE(name, kind, expression) \
	struct export_value export_value_##name(struct export_map *map);
#define WHEN(name, expression) bool export_when_##name(const struct export_map *map);
#include "cli/export/export_values.def"
#undef VALUE
#undef WHEN

/* A format's own. */
#define OWN_VALUE(name, what, expression) static EXPORT_VALUE(name, what, expression)
#define OWN_WHEN(name, expression) static EXPORT_WHEN(name, expression)

/* The rows of a table.  The forms with _IF: on a condition. */
/* clang-format off */
#define export_when_always NULL
#define MAP_ROW(what, condition, ...) \
	{ .shape = EXPORT_SHAPE_##what, .when = export_when_##condition, __VA_ARGS__ }
#define MAP_FIELD_IF(field, of, condition) \
	MAP_ROW(FIELD, condition, .name = (field), .value = export_value_##of)
#define MAP_FIELD(field, of) MAP_FIELD_IF(field, of, always)
#define MAP_WORD_IF(field, constant, condition) \
	MAP_ROW(WORD, condition, .name = (field), .word = (constant))
#define MAP_WORD(field, constant) MAP_WORD_IF(field, constant, always)
#define MAP_NUMBER_IF(field, constant, condition) \
	MAP_ROW(NUMBER, condition, .name = (field), .number = (constant))
#define MAP_NUMBER(field, constant) MAP_NUMBER_IF(field, constant, always)
#define MAP_TABLE_IF(fields, condition) MAP_ROW(TABLE, condition, .table = (fields))
#define MAP_TABLE(fields) MAP_TABLE_IF(fields, always)
#define MAP_ROWS(fields, function) MAP_ROW(ROWS, always, .table = (fields), .next = (function))
#define MAP_OBJECT_IF(field, condition) MAP_ROW(OBJECT, condition, .name = (field))
#define MAP_OBJECT(field) MAP_OBJECT_IF(field, always)
#define MAP_ARRAY_IF(field, condition) MAP_ROW(ARRAY, condition, .name = (field))
#define MAP_ARRAY(field) MAP_ARRAY_IF(field, always)
#define MAP_ATTRIBUTES(field) MAP_ROW(ATTRIBUTES, always, .name = (field))
#define MAP_END { .shape = EXPORT_SHAPE_END }
#define MAP_DONE { .shape = EXPORT_SHAPE_DONE }
#define MAP_ONE(object, row) MAP_OBJECT(object), row, MAP_END /* of one member */
/* clang-format on */

/* export_id(): the name of a record that no other has, of any journal: NONCE-NUMBER.  Returns
 * ret_text, EXPORT_ID_BYTES long. */
const char *export_id(const struct export *export, uint64_t number, char *ret_text);

/* export_program(): name of an event's program, without its directory; NULL: not known. */
const char *export_program(const struct event *event);

/* export_path(): of the file, absolute if it is known, else as given; NULL: there is none.
 * export_base(): a path's last name; "/" for the root.  export_name(): what an event is about, for
 * a person: its path; a program; NULL: nothing. */
static inline const char *export_path(const struct event *event)
{
	return event->resolved ? event->resolved : event->path;
}
const char *export_base(const char *path);
const char *export_name(const struct event *event);

/* export_digits(): a number as text.  Returns ret_digits, EXPORT_DIGITS_BYTES long. */
const char *export_digits(uint64_t number, char *ret_digits);

/* export_map_new(): sets export->own to a struct export_map and what follows it, all zero.
 *
 * bytes: of all.  file: that it writes to.  Returns 0 or -ENOMEM. */
int export_map_new(struct export *export, size_t bytes, FILE *file);

/* export_map_event(): the event that is written next. */
void export_map_event(struct export_map *map, const struct event *event);

/* export_map_write(): writes the fields of a table. */
void export_map_write(struct export_map *map, const struct export_field *table);

/* export_map_free(): for struct export_format. */
void export_map_free(struct export *export);

/* A format that is a line for each event, and no more than its table. */
int export_lines_start(struct export *export);
int export_lines_event(struct export *export, const struct event *event,
		       const struct export_field *table);

#define EXPORT_LINES(format, fields) \
	static int write_event(struct export *export, const struct event *event) \
	{ \
		return export_lines_event(export, event, fields); \
	} \
	const struct export_format export_##format = { .name = #format, \
						       .kind = EXPORT_ROWS, \
						       .start = export_lines_start, \
						       .event = write_event, \
						       .close = export_map_free };

#endif
