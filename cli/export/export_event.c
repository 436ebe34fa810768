/* What the forms of export say alike of an event: see export_event.h. */
#include "cli/export/export_event.h"

#include <stdio.h>
#include <string.h>

#include "cli/session/scopes.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

const char *export_id(const struct export *export, uint64_t number, char *ret_text)
{
	(void)snprintf(ret_text, EXPORT_ID_BYTES, "%s-%llu", export->facts.journal,
		       (unsigned long long)number);
	return ret_text;
}

uint64_t export_time(const struct export *export, const struct event *event, uint64_t *last)
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

const char *export_message(const struct event *event, char *ret_text)
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

const char *export_extension(const char *path)
{
	const char *base = path_base(path), *dot = strrchr(base, '.');
	return dot && dot != base && dot[1] ? dot + 1 : NULL;
}

const char *export_directory(const char *path, char *ret_text)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash - path >= EXPORT_TEXT_BYTES)
		return NULL;
	size_t length = slash == path ? 1 : (size_t)(slash - path);
	memcpy(ret_text, path, length);
	ret_text[length] = '\0';
	return ret_text;
}

const char *export_arguments(const struct event *event, char *ret_text)
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

const char *export_hash(const struct version *version, char *ret_text)
{
	(void)snprintf(ret_text, EXPORT_HASH_BYTES, "%016llx%016llx",
		       (unsigned long long)version->high, (unsigned long long)version->low);
	return ret_text;
}

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

void export_rest(const struct event *event, struct event_members *members)
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

static void write_value(struct event_members *members, const char *name, json_t *value)
{
	struct object *object = (struct object *)members;

	if (json_is_null(value))
		json_decref(value);
	else
		json_out_value(object->out, name, value);
}

static void write_text(struct event_members *members, const char *name, const char *bytes)
{
	json_out_text(((struct object *)members)->out, name, bytes);
}

static void write_number(struct event_members *members, const char *name, int64_t number)
{
	json_out_number(((struct object *)members)->out, name, (uint64_t)number);
}

void export_rest_object(struct json_out *out, const char *name, const struct event *event)
{
	struct object object = { .members = { write_value, write_text, write_number }, .out = out };

	json_out_init(out, name, '{');
	export_rest(event, &object.members);
	json_out_finish(out, '}');
}
