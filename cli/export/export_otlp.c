/*
 * Export as OTLP/JSON logs, the JSON form of OpenTelemetry's protocol: one LogsData (that is, ExportLogsServiceRequest) a line, as the
 * Collector's file exporter writes it and its otlpjsonfile receiver reads it.
 *
 * Attributes by the semantic conventions where they have a name for it; below `seen.`, in the words of seen/log/1, where they have none.
 * 64 bit numbers are texts, as the protocol has it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/export/export.h"
#include "cli/export/export_event.h"

enum {
	RECORDS_MAX = 256,
	/* A line that is longer than this gets no further record.  With the longest that files and arguments make it stays below the 1 MiB that
	 * the Collector lets a line of a file have. */
	LINE_BYTES = 128 << 10,
	CAPACITY = 4 << 20,
	BUFFER_BYTES = 64 << 10,
};

/* severityNumber: INFO, INFO2, WARN, ERROR. */
static const unsigned char SEVERITY[EVENT_SEVERITY_COUNT] = { 9, 10, 13, 17 };

struct otlp {
	struct json_out out; /* into `line` */
	FILE *line; /* the request in the making, in `bytes`: a line is written as a whole */
	char bytes[CAPACITY];
	char buffer[BUFFER_BYTES];
	unsigned records;
	uint64_t last_time_ns;
	char id[EXPORT_ID_BYTES];
	char text[EXPORT_TEXT_BYTES];
};

static int begin(struct export *export)
{
	struct otlp *otlp = calloc(1, sizeof(*otlp));

	export->own = otlp;
	if (otlp)
		otlp->line = fmemopen(otlp->bytes, sizeof(otlp->bytes), "w");
	if (!otlp || !otlp->line)
		return -ENOMEM;
	(void)setvbuf(otlp->line, otlp->buffer, _IOFBF, sizeof(otlp->buffer));
	otlp->out.file = otlp->line;
	return 0;
}

/* ---- values ---- */

static void begin_attribute(struct json_out *out, const char *key)
{
	json_out_init(out, NULL, '{');
	json_out_word(out, "key", key);
	json_out_init(out, "value", '{');
}

static void end_attribute(struct json_out *out)
{
	json_out_finish(out, '}');
	json_out_finish(out, '}');
}

static void put_text(struct json_out *out, const char *key, const char *bytes)
{
	if (!bytes)
		return;
	begin_attribute(out, key);
	json_out_text(out, "stringValue", bytes);
	end_attribute(out);
}

static void put_long(struct json_out *out, const char *name, uint64_t number)
{
	char digits[24];

	(void)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	json_out_word(out, name, digits);
}

static void put_number(struct json_out *out, const char *key, uint64_t number)
{
	if (number > INT64_MAX) /* as json_out_number() */
		return;
	begin_attribute(out, key);
	put_long(out, "intValue", number);
	end_attribute(out);
}

static void put_known(struct json_out *out, const char *key, uint64_t number)
{
	if (number)
		put_number(out, key, number);
}

/* What a value is in this protocol: the member of an AnyValue. */
static void put_any(struct json_out *out, json_t *value)
{
	json_t *item;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_STRING:
		json_out_value(out, "stringValue", json_incref(value));
		break;
	case JSON_INTEGER:
		put_long(out, "intValue", (uint64_t)json_integer_value(value));
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
			put_any(out, item);
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

static void put_value(struct json_out *out, const char *key, json_t *value)
{
	if (json_is_null(value))
		return;
	begin_attribute(out, key);
	put_any(out, value);
	end_attribute(out);
}

static void put_attribute(struct event_members *members, const char *name, json_t *value)
{
	struct json_out *out = ((struct attributes *)members)->out;
	char key[KEY_BYTES];
	const char *inner;
	json_t *item;

	if (!value)
		out->incomplete = true;
	else if (!json_is_object(value))
		put_value(out, key_of(NULL, name, key), value);
	json_object_foreach(value, inner, item)
	{
		put_value(out, key_of(name, inner, key), item);
	}
	json_decref(value);
}

static void put_text_attribute(struct event_members *members, const char *name, const char *bytes)
{
	char key[KEY_BYTES];

	put_text(((struct attributes *)members)->out, key_of(NULL, name, key), bytes);
}

static void put_number_attribute(struct event_members *members, const char *name, int64_t number)
{
	char key[KEY_BYTES];

	put_number(((struct attributes *)members)->out, key_of(NULL, name, key), (uint64_t)number);
}

/* ---- a record ---- */

static void put_file(struct otlp *otlp, const struct event *event, const struct event_class *class)
{
	struct json_out *out = &otlp->out;
	const struct version *version = event_version(event);
	const char *path = event->resolved ? event->resolved : event->path;

	if (class->about != EVENT_ABOUT_FILE || !path)
		return;
	put_text(out, "file.path", event->resolved);
	put_text(out, "file.name", export_base(path));
	put_text(out, "file.extension", export_extension(path));
	if (event->resolved)
		put_text(out, "file.directory", export_folder(event->resolved, otlp->text));
	if (event->op == JOURNAL_SYMLINK)
		put_text(out, "file.symbolic_link.target_path", event->other);
	if (version)
		put_number(out, "file.size", version->size_bytes);
	if (event->entry->record.marks & JOURNAL_DETAILS && event->entry->details.ino) {
		begin_attribute(out, "file.inode");
		put_long(out, "stringValue", event->entry->details.ino);
		end_attribute(out);
	}
}

static void put_process(struct otlp *otlp, const struct event *event)
{
	struct json_out *out = &otlp->out;

	put_known(out, "process.pid", event->pid);
	put_known(out, "process.parent_pid", event->parent_pid);
	put_known(out, "thread.id", event->tid);
	if (event->executable && event->executable[0] == '/')
		put_text(out, "process.executable.path", event->executable);
	put_text(out, "process.executable.name", export_program(event));
	if (event->op == JOURNAL_EXIT)
		put_number(out, "process.exit.code", event->entry->record.amount);
	if (event->op != JOURNAL_START)
		return;
	put_text(out, "process.working_directory", event->directory);
	if (event->other) {
		begin_attribute(out, "process.command_args");
		json_out_init(out, "arrayValue", '{');
		json_out_init(out, "values", '[');
		for (size_t at = 0; at < event->other_bytes; at += strlen(event->other + at) + 1) {
			json_out_init(out, NULL, '{');
			json_out_text(out, "stringValue", event->other + at);
			json_out_finish(out, '}');
		}
		json_out_finish(out, ']');
		json_out_finish(out, '}');
		end_attribute(out);
	}
}

static void put_record(struct export *export, const struct event *event)
{
	struct otlp *otlp = export->own;
	struct json_out *out = &otlp->out;
	struct event_class class = event_class(event);
	struct attributes rest = {
		.members = { put_attribute, put_text_attribute, put_number_attribute }, .out = out
	};
	char number[EVENT_ERROR_BYTES], name[40];

	json_out_init(out, NULL, '{');
	if (event->time_realtime_ns)
		put_long(out, "timeUnixNano", event->time_realtime_ns);
	put_long(out, "observedTimeUnixNano", export_time(export, event, &otlp->last_time_ns));
	json_out_number(out, "severityNumber", SEVERITY[class.severity]);
	json_out_word(out, "severityText", event_severity_name(class.severity));
	(void)snprintf(name, sizeof(name), "seen.%s", event_op_name(event->op));
	json_out_word(out, "eventName", name);
	json_out_init(out, "body", '{');
	json_out_text(out, "stringValue", export_message(event, otlp->text));
	json_out_finish(out, '}');
	json_out_init(out, "attributes", '[');
	put_text(out, "log.record.uid", export_id(export, event->number, otlp->id));
	put_number(out, "seen.number", event->number);
	if (event->error)
		put_text(out, "error.type", event_error_name(event->error, number));
	if (class.finding)
		put_text(out, "seen.finding", event_finding_id(class.finding));
	put_file(otlp, event, &class);
	put_process(otlp, event);
	export_rest(event, &rest.members);
	json_out_finish(out, ']');
	json_out_finish(out, '}');
}

/* ---- a line ---- */

static void begin_line(struct export *export)
{
	struct json_out *out = &((struct otlp *)export->own)->out;

	json_out_init(out, NULL, '{');
	json_out_init(out, "resourceLogs", '[');
	json_out_init(out, NULL, '{');
	json_out_init(out, "resource", '{');
	json_out_init(out, "attributes", '[');
	put_text(out, "service.name", "seen");
	put_text(out, "service.version", SEEN_VERSION);
	put_text(out, "service.instance.id", export->facts.journal);
	put_text(out, "host.name", export->facts.host);
	put_text(out, "os.type", "linux");
	put_text(out, "seen.session", export->facts.session);
	put_text(out, "seen.workspace", export->facts.workspace);
	json_out_finish(out, ']');
	json_out_finish(out, '}');
	json_out_init(out, "scopeLogs", '[');
	json_out_init(out, NULL, '{');
	json_out_init(out, "scope", '{');
	json_out_word(out, "name", "seen.log");
	json_out_word(out, "version", SEEN_VERSION);
	json_out_finish(out, '}');
	json_out_init(out, "logRecords", '[');
}

static int end_line(struct export *export)
{
	struct otlp *otlp = export->own;
	struct json_out *out = &otlp->out;

	json_out_finish(out, ']');
	json_out_finish(out, '}');
	json_out_finish(out, ']');
	json_out_finish(out, '}');
	json_out_finish(out, ']');
	json_out_finish(out, '}');
	int error = json_out_line(out);
	long size = ftell(otlp->line);
	if (fflush(otlp->line) != 0)
		error = -ENOMEM;
	if (error == 0)
		(void)fwrite_unlocked(otlp->bytes, 1, (size_t)size, export->file);
	rewind(otlp->line);
	otlp->records = 0;
	return error;
}

static int tell_event(struct export *export, const struct event *event)
{
	struct otlp *otlp = export->own;

	if (otlp->records++ == 0)
		begin_line(export);
	put_record(export, event);
	bool is_full = otlp->records == RECORDS_MAX || ftell(otlp->line) >= LINE_BYTES;
	return ferror(otlp->line) ? -ENOMEM : is_full ? end_line(export) : 0;
}

static int end(struct export *export)
{
	return ((struct otlp *)export->own)->records ? end_line(export) : 0;
}

static void release(struct export *export)
{
	struct otlp *otlp = export->own;

	if (otlp && otlp->line)
		(void)fclose(otlp->line);
	free(otlp);
}

const struct export_format export_otlp = {
	.name = "otlp",
	.kind = EXPORT_ROWS,
	.begin = begin,
	.event = tell_event,
	.end = end,
	.close = release,
};
