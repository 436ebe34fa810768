/* Exports that are a mapping: see export_map.h. */
#include "cli/export/export_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static const char *export_second(const struct event *event)
{
	return event->other_resolved ? event->other_resolved : event->other;
}

static const char *export_absolute(const char *path)
{
	return path && path[0] == '/' ? path : NULL;
}

static const char *export_own_time(const struct event *event, char *ret_word)
{
	return text_time_ns(event->time_realtime_ns, ret_word)[0] ? ret_word : NULL;
}

/* The number of the EXEC that announced what this event reports; 0: none. */
static uint64_t export_announcement(const struct event *event)
{
	return event->op == JOURNAL_EXEC ? event->number : event->exec;
}

static uint64_t export_argument_count(const struct event *event)
{
	uint64_t count = 0;

	for (size_t at = 0; at < event->other_bytes; at += strlen(event->other + at) + 1)
		count++;
	return count;
}

#define VALUE(name, what, expression) EXPORT_VALUE(name, what, expression)
#define WHEN(name, expression) EXPORT_WHEN(name, expression)
#include "cli/export/export_values.def"
#undef VALUE
#undef WHEN

/* ---- as members ---- */

static void write_arguments(struct export_map *map, const char *name, const char *wrapper)
{
	struct json_out *out = &map->out;
	const struct event *event = map->event;

	json_out_init(out, name, '[');
	for (size_t at = 0; event->other && at < event->other_bytes;
	     at += strlen(event->other + at) + 1) {
		if (wrapper)
			json_out_init(out, NULL, '{');
		json_out_text(out, wrapper, event->other + at);
		if (wrapper)
			json_out_finish(out, '}');
	}
	json_out_finish(out, ']');
}

static void write_member(struct export_map *map, const char *name, const struct export_value *value)
{
	struct json_out *out = &map->out;
	char digits[EXPORT_DIGITS_BYTES];

	switch (value->kind) {
	case EXPORT_VALUE_WORD:
		json_out_word(out, name, value->text);
		break;
	case EXPORT_VALUE_TEXT:
		json_out_text(out, name, value->text);
		break;
	case EXPORT_VALUE_NUMBER:
		json_out_number(out, name, value->number);
		break;
	case EXPORT_VALUE_KNOWN:
		json_out_known(out, name, value->number);
		break;
	case EXPORT_VALUE_DIGITS:
		json_out_word(out, name,
			      value->number ? export_digits(value->number, digits) : NULL);
		break;
	case EXPORT_VALUE_BOOLEAN:
		json_out_boolean(out, name, value->number);
		break;
	case EXPORT_VALUE_ARGUMENTS:
		write_arguments(map, name, NULL);
		break;
	case EXPORT_VALUE_REST:
		export_rest_object(out, name, map->event);
		break;
	}
}

/* ---- as attributes of OTLP ---- */

static void start_attribute(struct json_out *out, const char *key)
{
	json_out_init(out, NULL, '{');
	json_out_word(out, "key", key);
	json_out_init(out, "value", '{');
}

static void finish_attribute(struct json_out *out)
{
	json_out_finish(out, '}');
	json_out_finish(out, '}');
}

static void write_text_attribute(struct json_out *out, const char *key, const char *bytes)
{
	if (!bytes)
		return;
	start_attribute(out, key);
	json_out_text(out, "stringValue", bytes);
	finish_attribute(out);
}

/* 64 bit numbers are texts, as the protocol has it. */
static void write_number_attribute(struct json_out *out, const char *key, uint64_t number)
{
	char digits[EXPORT_DIGITS_BYTES];

	if (number > INT64_MAX) /* as json_out_number() */
		return;
	start_attribute(out, key);
	json_out_word(out, "intValue", export_digits(number, digits));
	finish_attribute(out);
}

/* What a value is in this protocol: the member of an AnyValue. */
static void write_any(struct json_out *out, json_t *value)
{
	char digits[EXPORT_DIGITS_BYTES];
	json_t *item;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_STRING:
		json_out_value(out, "stringValue", json_incref(value));
		break;
	case JSON_INTEGER:
		json_out_word(out, "intValue",
			      export_digits((uint64_t)json_integer_value(value), digits));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		json_out_boolean(out, "boolValue", json_is_true(value));
		break;
	case JSON_ARRAY:
		json_out_init(out, "arrayValue", '{');
		json_out_init(out, "values", '[');
		json_array_foreach(value, i, item)
		{
			json_out_init(out, NULL, '{');
			write_any(out, item);
			json_out_finish(out, '}');
		}
		json_out_finish(out, ']');
		json_out_finish(out, '}');
		break;
	default: /* members have no other */
		break;
	}
}

/* seen.NAME; of an object, seen.NAME.MEMBER. */
struct attributes {
	struct event_members members;
	struct json_out *out;
};

enum { KEY_BYTES = 80 };

static const char *key_of(const char *above, const char *name, char *ret_key)
{
	(void)snprintf(ret_key, KEY_BYTES, "seen.%s%s%s", above ? above : "", above ? "." : "",
		       name);
	return ret_key;
}

static void write_value(struct json_out *out, const char *key, json_t *value)
{
	if (json_is_null(value))
		return;
	start_attribute(out, key);
	write_any(out, value);
	finish_attribute(out);
}

static void append_member(struct event_members *members, const char *name, json_t *value)
{
	struct json_out *out = ((struct attributes *)members)->out;
	char key[KEY_BYTES];
	const char *inner;
	json_t *item;

	if (!value)
		out->incomplete = true;
	else if (!json_is_object(value))
		write_value(out, key_of(NULL, name, key), value);
	json_object_foreach(value, inner, item)
	{
		write_value(out, key_of(name, inner, key), item);
	}
	json_decref(value);
}

static void write_text(struct event_members *members, const char *name, const char *bytes)
{
	char key[KEY_BYTES];

	write_text_attribute(((struct attributes *)members)->out, key_of(NULL, name, key), bytes);
}

static void write_number(struct event_members *members, const char *name, int64_t number)
{
	char key[KEY_BYTES];

	write_number_attribute(((struct attributes *)members)->out, key_of(NULL, name, key),
			       (uint64_t)number);
}

static void write_attribute(struct export_map *map, const char *key,
			    const struct export_value *value)
{
	struct json_out *out = &map->out;
	struct attributes rest = { .members = { append_member, write_text, write_number },
				   .out = out };
	char digits[EXPORT_DIGITS_BYTES];

	switch (value->kind) {
	case EXPORT_VALUE_WORD:
	case EXPORT_VALUE_TEXT:
		write_text_attribute(out, key, value->text);
		break;
	case EXPORT_VALUE_DIGITS:
		write_text_attribute(out, key,
				     value->number ? export_digits(value->number, digits) : NULL);
		break;
	case EXPORT_VALUE_BOOLEAN: /* none has such a field */
		break;
	case EXPORT_VALUE_KNOWN:
		if (value->number)
			write_number_attribute(out, key, value->number);
		break;
	case EXPORT_VALUE_NUMBER:
		write_number_attribute(out, key, value->number);
		break;
	case EXPORT_VALUE_ARGUMENTS:
		start_attribute(out, key);
		json_out_init(out, "arrayValue", '{');
		write_arguments(map, "values", "stringValue");
		json_out_finish(out, '}');
		finish_attribute(out);
		break;
	case EXPORT_VALUE_REST:
		export_rest(map->event, &rest.members);
		break;
	}
}

/* ---- tables ---- */

static bool opens(const struct export_field *field)
{
	return field->shape == EXPORT_SHAPE_OBJECT || field->shape == EXPORT_SHAPE_ARRAY ||
	       field->shape == EXPORT_SHAPE_ATTRIBUTES;
}

/* The end of what a field begins; itself, where it begins nothing. */
static const struct export_field *closing_of(const struct export_field *field)
{
	int depth = opens(field);

	while (depth > 0) {
		field++;
		depth += opens(field) - (field->shape == EXPORT_SHAPE_END);
	}
	return field;
}

static struct export_value value_of(struct export_map *map, const struct export_field *field)
{
	if (field->shape == EXPORT_SHAPE_FIELD)
		return field->value(map);
	return (struct export_value){ .kind = field->word ? EXPORT_VALUE_WORD : EXPORT_VALUE_NUMBER,
				      .text = field->word,
				      .number = field->number };
}

/* Returns the field that ended it. */
static const struct export_field *write_fields(struct export_map *map,
					       const struct export_field *field, bool is_attributes)
{
	for (; field->shape != EXPORT_SHAPE_DONE && field->shape != EXPORT_SHAPE_END; field++) {
		if (field->when && !field->when(map)) {
			field = closing_of(field);
		} else if (field->shape == EXPORT_SHAPE_TABLE) {
			(void)write_fields(map, field->table, is_attributes);
		} else if (opens(field)) {
			bool is_object = field->shape == EXPORT_SHAPE_OBJECT;
			json_out_init(&map->out, field->name, is_object ? '{' : '[');
			field = write_fields(map, field + 1,
					     field->shape == EXPORT_SHAPE_ATTRIBUTES);
			json_out_finish(&map->out, is_object ? '}' : ']');
		} else {
			struct export_value value = value_of(map, field);
			if (is_attributes)
				write_attribute(map, field->name, &value);
			else
				write_member(map, field->name, &value);
		}
	}
	return field;
}

void export_map_write(struct export_map *map, const struct export_field *table)
{
	(void)write_fields(map, table, false);
}

int export_map_new(struct export *export, size_t bytes, FILE *file)
{
	struct export_map *map = calloc(1, bytes);

	if (!map)
		return -ENOMEM;
	map->export = export;
	map->out.file = file;
	export->own = map;
	return 0;
}

void export_map_event(struct export_map *map, const struct event *event)
{
	map->event = event;
	map->class = event_class(event);
	map->time_ns = export_time(map->export, event, &map->last_time_ns);
}

int export_lines_start(struct export *export)
{
	return export_map_new(export, sizeof(struct export_map), export->file);
}

int export_lines_event(struct export *export, const struct event *event,
		       const struct export_field *table)
{
	struct export_map *map = export->own;

	export_map_event(map, event);
	export_map_write(map, table);
	return json_out_line(&map->out);
}

void export_map_free(struct export *export)
{
	free(export->own);
}
