/* Exports that are a mapping: see export_map.h. */
#include "cli/export/export_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/session/scopes.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

/* ---- values ---- */

const char *export_id(const struct export *export, uint64_t number, char *ret_text)
{
	(void)snprintf(ret_text, EXPORT_ID_BYTES, "%s-%llu", export->facts.journal,
		       (unsigned long long)number);
	return ret_text;
}

/* When it was.  Of a record that does not tell, the time of the one before; of the first, that of the
 * journal.
 * last: 0 at first; kept between the calls. */
static uint64_t export_time(const struct export *export, const struct event *event, uint64_t *last)
{
	if (event->time_realtime_ns)
		*last = event->time_realtime_ns;
	return *last ? *last : export->facts.created_realtime_ns;
}

const char *export_program(const struct event *event)
{
	return event->executable ? path_base(event->executable) : NULL;
}

const char *export_name(const struct event *event)
{
	const char *path = export_path(event);

	return path ? path : event->program ? event->program : event->executable;
}

/* OP NAME: ERROR.  Bytes of others as they are. */
static const char *export_message(const struct event *event, char *ret_text)
{
	char number[EVENT_ERROR_BYTES];
	const char *op = event_op_name(event->op), *name = export_name(event);

	(void)snprintf(ret_text, EXPORT_TEXT_BYTES, "%s%s%s%s%s", op ? op : "?", name ? " " : "",
		       name ? name : "", event->error ? ": " : "",
		       event->error ? event_error_name(event->error, number) : "");
	return ret_text;
}

const char *export_base(const char *path)
{
	const char *base = path_base(path);
	return *base ? base : path;
}

static const char *export_extension(const char *path)
{
	const char *base = path_base(path), *dot = strrchr(base, '.');
	return dot && dot != base && dot[1] ? dot + 1 : NULL;
}

static const char *export_directory(const char *path, char *ret_text)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash - path >= EXPORT_TEXT_BYTES)
		return NULL;
	size_t length = slash == path ? 1 : (size_t)(slash - path);
	memcpy(ret_text, path, length);
	ret_text[length] = '\0';
	return ret_text;
}

static const char *export_arguments(const struct event *event, char *ret_text)
{
	size_t length = event->other_bytes;

	if (!event->other || length >= EXPORT_TEXT_BYTES)
		return NULL;
	while (length > 0 && event->other[length - 1] == '\0')
		length--;
	for (size_t i = 0; i < length; i++)
		ret_text[i] = event->other[i] ? event->other[i] : ' ';
	ret_text[length] = '\0';
	return ret_text;
}

const char *export_digits(uint64_t number, char *ret_digits)
{
	(void)snprintf(ret_digits, EXPORT_DIGITS_BYTES, "%llu", (unsigned long long)number);
	return ret_digits;
}

static const char *export_hash(const struct version *version, char *ret_text)
{
	(void)snprintf(ret_text, EXPORT_HASH_BYTES, "%016llx%016llx",
		       (unsigned long long)version->high, (unsigned long long)version->low);
	return ret_text;
}

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

static void write_id(struct event_members *to, const char *name, uint64_t id)
{
	char text[SCOPES_ID_BYTES];

	(void)snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	if (id)
		to->set_text(to, name, text);
}

static void write_mark(struct event_members *to, const char *name, bool is_set)
{
	if (is_set)
		to->set(to, name, json_true());
}

/* All that has no field, in the words of seen/log/1: the members of an event beside number, time,
 * error, executable and ids of process and thread. */
static void export_rest(const struct event *event, struct event_members *members)
{
	members->set_text(members, "op", event_op_name(event->op));
	if (event->process)
		members->set_number(members, "process", (int64_t)event->process);
	members->set_text(members, "role",
			  event->role >= 0 ? role_name((uint32_t)event->role) : NULL);
	write_id(members, "scope", event->scope_id);
	write_id(members, "epoch", event->epoch);
	write_mark(members, "vforked", event->vforked);
	write_mark(members, "cut", event->cut);
	write_mark(members, "attempted", event->attempted);
	members->set_text(members, "source", source_name(event->source));
	event_members_own(members, event);
}

struct object {
	struct event_members members;
	struct json_out *out;
};

static void write_rest_value(struct event_members *members, const char *name, json_t *value)
{
	struct object *object = (struct object *)members;

	if (json_is_null(value))
		json_decref(value);
	else
		json_out_value(object->out, name, value);
}

static void write_rest_text(struct event_members *members, const char *name, const char *bytes)
{
	json_out_text(((struct object *)members)->out, name, bytes);
}

static void write_rest_number(struct event_members *members, const char *name, int64_t number)
{
	json_out_number(((struct object *)members)->out, name, (uint64_t)number);
}

static void export_rest_object(struct json_out *out, const char *name, const struct event *event)
{
	struct object object = {
		.members = { write_rest_value, write_rest_text, write_rest_number }, .out = out
	};

	json_out_init(out, name, '{');
	export_rest(event, &object.members);
	json_out_finish(out, '}');
}

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
		} else if (field->shape == EXPORT_SHAPE_ROWS) {
			while (field->next(map))
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
