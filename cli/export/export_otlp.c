/*
 * Export as OTLP/JSON logs, the JSON form of OpenTelemetry's protocol: one LogsData (that is,
 * ExportLogsServiceRequest) a line, as the Collector's file exporter writes it and its otlpjsonfile
 * receiver reads it.
 *
 * Attributes by the semantic conventions where they have a name for it; below `seen.`, in the words
 * of seen/log/1, where they have none.
 * 64 bit numbers are texts, as the protocol has it.
 */
#include <errno.h>

#include "cli/export/export_map.h"

enum {
	RECORDS_MAX = 256,
	/* A line that is longer than this gets no further record.  With the longest that files and
	 * arguments make it stays below the 1 MiB that the Collector lets a line of a file have. */
	LINE_BYTES = 128 << 10,
	CAPACITY = 4 << 20,
	BUFFER_BYTES = 64 << 10,
};

/* severityNumber: INFO, INFO2, WARN, ERROR. */
static const unsigned char SEVERITY[EVENT_SEVERITY_COUNT] = { 9, 10, 13, 17 };

struct otlp {
	struct export_map map; /* into `line` */
	FILE *line; /* the request in the making, in `bytes`: a line is written as a whole */
	char bytes[CAPACITY];
	char buffer[BUFFER_BYTES];
	unsigned records;
};

/* ---- the mapping ---- */

static const char *name_of(const struct event *event, char *ret_word)
{
	(void)snprintf(ret_word, EXPORT_WORD_BYTES, "seen.%s", event_op_name(event->op));
	return ret_word;
}

OWN_VALUE(severity, NUMBER, SEVERITY[map->class.severity])
OWN_VALUE(observed_time, WORD, export_digits(map->time_ns, map->word))
OWN_VALUE(severity_text, WORD, event_severity_name(map->class.severity))

OWN_VALUE(event_name, WORD, name_of(event, map->word))

/* clang-format off */
static const struct export_field RESOURCE[] = {
	MAP_OBJECT("resource"),
		MAP_ATTRIBUTES("attributes"),
			MAP_WORD("service.name", "seen"),
			MAP_WORD("service.version", SEEN_VERSION),
			MAP_FIELD("service.instance.id", journal),
			MAP_FIELD("host.name", host),
			MAP_WORD("os.type", "linux"),
			MAP_FIELD("seen.session", session),
			MAP_FIELD("seen.workspace", workspace),
		MAP_END,
	MAP_END,
	MAP_DONE,
};

static const struct export_field SCOPE[] = {
	MAP_OBJECT("scope"),
		MAP_WORD("name", "seen.log"),
		MAP_WORD("version", SEEN_VERSION),
	MAP_END,
	MAP_DONE,
};

static const struct export_field FILE_ATTRIBUTES[] = {
	MAP_FIELD("file.path", path),
	MAP_FIELD("file.name", file_name),
	MAP_FIELD("file.extension", extension),
	MAP_FIELD("file.directory", directory),
	MAP_FIELD_IF("file.symbolic_link.target_path", target, is_symlink),
	MAP_FIELD_IF("file.size", size, has_version),
	MAP_FIELD_IF("file.inode", inode, has_inode),
	MAP_DONE,
};

static const struct export_field RECORD[] = {
	MAP_OBJECT(NULL),
	MAP_FIELD("timeUnixNano", own_time_ns),
	MAP_FIELD("observedTimeUnixNano", observed_time),
	MAP_FIELD("severityNumber", severity),
	MAP_FIELD("severityText", severity_text),
	MAP_FIELD("eventName", event_name),
	MAP_ONE("body", MAP_FIELD("stringValue", message)),
	MAP_ATTRIBUTES("attributes"),
		MAP_FIELD("log.record.uid", id),
		MAP_FIELD("seen.number", number),
		MAP_FIELD("error.type", error),
		MAP_FIELD_IF("seen.finding", finding_id, has_finding),
		MAP_TABLE_IF(FILE_ATTRIBUTES, has_path),
		MAP_FIELD("process.pid", pid),
		MAP_FIELD("process.parent_pid", parent_pid),
		MAP_FIELD("thread.id", tid),
		MAP_FIELD("process.executable.path", executable_path),
		MAP_FIELD("process.executable.name", program_name),
		MAP_FIELD_IF("process.exit.code", exit_status, is_exit),
		MAP_FIELD_IF("process.working_directory", working_directory, is_start),
		MAP_FIELD_IF("process.command_args", arguments, is_start_with_arguments),
		MAP_FIELD("seen", rest),
	MAP_END,
	MAP_END,
	MAP_DONE,
};

/* clang-format on */

/* ---- lines ---- */

static int start(struct export *export)
{
	int error = export_map_new(export, sizeof(struct otlp), NULL);
	struct otlp *otlp = export->own;

	if (error < 0)
		return error;
	otlp->line = fmemopen(otlp->bytes, sizeof(otlp->bytes), "w");
	if (!otlp->line)
		return -ENOMEM;
	(void)setvbuf(otlp->line, otlp->buffer, _IOFBF, sizeof(otlp->buffer));
	otlp->map.out.file = otlp->line;
	return 0;
}

static void start_line(struct export_map *map)
{
	json_out_init(&map->out, NULL, '{');
	json_out_init(&map->out, "resourceLogs", '[');
	json_out_init(&map->out, NULL, '{');
	export_map_write(map, RESOURCE);
	json_out_init(&map->out, "scopeLogs", '[');
	json_out_init(&map->out, NULL, '{');
	export_map_write(map, SCOPE);
	json_out_init(&map->out, "logRecords", '[');
}

static int finish_line(struct export *export)
{
	static const char CLOSED[] = "]}]}]}";
	struct otlp *otlp = export->own;
	struct json_out *out = &otlp->map.out;

	for (const char *bracket = CLOSED; *bracket; bracket++)
		json_out_finish(out, *bracket);
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

static int write_event(struct export *export, const struct event *event)
{
	struct otlp *otlp = export->own;

	if (otlp->records++ == 0)
		start_line(&otlp->map);
	export_map_event(&otlp->map, event);
	export_map_write(&otlp->map, RECORD);
	bool is_full = otlp->records == RECORDS_MAX || ftell(otlp->line) >= LINE_BYTES;
	return ferror(otlp->line) ? -ENOMEM : is_full ? finish_line(export) : 0;
}

static int finish(struct export *export)
{
	return ((struct otlp *)export->own)->records ? finish_line(export) : 0;
}

static void release(struct export *export)
{
	struct otlp *otlp = export->own;

	if (otlp && otlp->line)
		(void)fclose(otlp->line);
	export_map_free(export);
}

const struct export_format export_otlp = {
	.name = "otlp",
	.kind = EXPORT_ROWS,
	.start = start,
	.event = write_event,
	.finish = finish,
	.close = release,
};
