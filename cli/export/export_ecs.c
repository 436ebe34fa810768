/*
 * Export as ECS, the Elastic Common Schema 8.17 (https://www.elastic.co/guide/en/ecs/8.17): one document a line.
 *
 * What ECS has no field for is below `seen`, in the words of seen/log/1.  A file's path is the one that the call names first: of a
 * rename the old one, the new one is seen.new_resolved.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/export/export.h"
#include "cli/export/export_event.h"

/* event.type, by what was done. */
static const char *const TYPES[EVENT_ACTION_COUNT] = {
	[EVENT_TELLS] = "info",
	[EVENT_OPENS] = "access",
	[EVENT_READS] = "access",
	[EVENT_WRITES] = "change",
	[EVENT_CREATES] = "creation",
	[EVENT_DELETES] = "deletion",
	[EVENT_RENAMES] = "change",
	[EVENT_SETS_ATTRIBUTES] = "change",
	[EVENT_SETS_SECURITY] = "change",
	[EVENT_STARTS] = "start",
	[EVENT_ENDS] = "end",
};

static const char *const CATEGORIES[] = {
	[EVENT_ABOUT_FILE] = "file",
	[EVENT_ABOUT_PROCESS] = "process",
	[EVENT_ABOUT_SESSION] = "host",
};

static const char *const OUTCOMES[] = {
	[EVENT_OUTCOME_UNKNOWN] = "unknown",
	[EVENT_SUCCEEDED] = "success",
	[EVENT_FAILED] = "failure",
};

static const char *const LEVELS[EVENT_SEVERITY_COUNT] = { "info", "notice", "warning", "error" };

/* file.type: ECS has words for these alone. */
static const char *const FILE_TYPES[] = {
	[EVENT_FILE_REGULAR] = "file",
	[EVENT_FILE_DIRECTORY] = "dir",
	[EVENT_FILE_SYMLINK] = "symlink",
};

struct ecs {
	struct json_out out;
	uint64_t last_time_ns;
	char id[EXPORT_ID_BYTES];
	char text[EXPORT_TEXT_BYTES];
};

static int begin(struct export *export)
{
	struct ecs *ecs = calloc(1, sizeof(*ecs));

	if (!ecs)
		return -ENOMEM;
	ecs->out.file = export->file;
	export->own = ecs;
	return 0;
}

static void put_event(struct export *export, const struct event *event,
		      const struct event_class *class)
{
	struct ecs *ecs = export->own;
	struct json_out *out = &ecs->out;

	json_out_init(out, "event", '{');
	json_out_word(out, "kind", event_is_alert(class) ? "alert" : "event");
	json_out_init(out, "category", '[');
	json_out_word(out, NULL, CATEGORIES[class->about]);
	if (event_is_alert(class))
		json_out_word(out, NULL, "intrusion_detection");
	json_out_finish(out, ']');
	json_out_init(out, "type", '[');
	json_out_word(out, NULL, TYPES[class->action]);
	if (class->prevented)
		json_out_word(out, NULL, "denied");
	json_out_finish(out, ']');
	json_out_word(out, "action", event_op_name(event->op));
	json_out_word(out, "outcome", OUTCOMES[class->outcome]);
	json_out_word(out, "id", export_id(export, event->number, ecs->id));
	json_out_number(out, "sequence", event->number);
	json_out_number(out, "severity", (uint64_t) class->severity + 1);
	json_out_word(out, "provider", "seen");
	json_out_word(out, "module", "seen");
	json_out_word(out, "dataset", "seen.log");
	json_out_finish(out, '}');
}

static void put_file(struct ecs *ecs, const struct event *event, const struct event_class *class)
{
	struct json_out *out = &ecs->out;
	const struct version *version = event_version(event);
	const char *path = event->resolved ? event->resolved : event->path;
	char number[24];

	if (class->about != EVENT_ABOUT_FILE || !path)
		return;
	json_out_init(out, "file", '{');
	json_out_text(out, "path", event->resolved);
	json_out_text(out, "name", export_base(path));
	json_out_text(out, "extension", export_extension(path));
	if (event->resolved)
		json_out_text(out, "directory", export_folder(event->resolved, ecs->text));
	json_out_word(out, "type", FILE_TYPES[class->file_kind]);
	if (event->op == JOURNAL_SYMLINK)
		json_out_text(out, "target_path", event->other);
	if (version)
		json_out_number(out, "size", version->size_bytes);
	if (event->entry->record.marks & JOURNAL_DETAILS && event->entry->details.ino) {
		(void)snprintf(number, sizeof(number), "%llu",
			       (unsigned long long)event->entry->details.ino);
		json_out_word(out, "inode", number);
	}
	json_out_finish(out, '}');
}

static void put_arguments(struct json_out *out, const struct event *event)
{
	uint64_t count = 0;

	if (!event->other)
		return;
	json_out_init(out, "args", '[');
	for (size_t at = 0; at < event->other_bytes; at += strlen(event->other + at) + 1, count++)
		json_out_text(out, NULL, event->other + at);
	json_out_finish(out, ']');
	json_out_number(out, "args_count", count);
}

static void put_program(struct json_out *out, const char *path)
{
	if (!path)
		return;
	if (path[0] == '/')
		json_out_text(out, "executable", path);
	json_out_text(out, "name", export_base(path));
}

/* The process of an event, in an object that was begun. */
static void put_actor(struct export *export, const struct event *event)
{
	struct ecs *ecs = export->own;
	struct json_out *out = &ecs->out;

	json_out_known(out, "pid", event->pid);
	if (event->process)
		json_out_word(out, "entity_id", export_id(export, event->process, ecs->id));
	put_program(out, event->executable);
	if (event->tid) {
		json_out_init(out, "thread", '{');
		json_out_number(out, "id", event->tid);
		json_out_finish(out, '}');
	}
}

/* A program that is about to be started, by another process or in its own place. */
static void put_announced(struct export *export, const struct event *event)
{
	struct ecs *ecs = export->own;
	struct json_out *out = &ecs->out;
	uint32_t pid = event->entry->record.count;

	json_out_init(out, "process", '{');
	json_out_known(out, "pid", pid);
	json_out_word(out, "entity_id", export_id(export, event->number, ecs->id));
	put_program(out, export_name(event));
	put_arguments(out, event);
	json_out_text(out, "working_directory", event->directory);
	if (event->process && pid != event->pid) {
		json_out_init(out, "parent", '{');
		put_actor(export, event);
		json_out_finish(out, '}');
	}
	json_out_finish(out, '}');
}

static void put_process(struct export *export, const struct event *event)
{
	struct json_out *out = &((struct ecs *)export->own)->out;

	if (event->op == JOURNAL_EXEC) {
		put_announced(export, event);
		return;
	}
	if (!event->process && !event->pid)
		return;
	json_out_init(out, "process", '{');
	put_actor(export, event);
	if (event->op == JOURNAL_START) {
		put_arguments(out, event);
		json_out_text(out, "working_directory", event->directory);
	}
	if (event->op == JOURNAL_EXIT)
		json_out_number(out, "exit_code", event->entry->record.amount);
	if (event->parent_pid) {
		json_out_init(out, "parent", '{');
		json_out_number(out, "pid", event->parent_pid);
		json_out_finish(out, '}');
	}
	json_out_finish(out, '}');
}

static void put_rule(struct json_out *out, const struct event_class *class)
{
	if (!event_is_alert(class))
		return;
	json_out_init(out, "rule", '{');
	json_out_word(out, "id", event_finding_id(class->finding));
	json_out_text(out, "name", class->rule ? class->rule : event_finding_name(class->finding));
	json_out_word(out, "description", event_finding_title(class->finding));
	json_out_finish(out, '}');
}

static void put_where(struct export *export)
{
	struct json_out *out = &((struct ecs *)export->own)->out;

	json_out_init(out, "agent", '{');
	json_out_word(out, "type", "seen");
	json_out_word(out, "version", SEEN_VERSION);
	json_out_word(out, "ephemeral_id", export->facts.journal);
	json_out_text(out, "name", export->facts.session);
	json_out_finish(out, '}');
	json_out_init(out, "host", '{');
	json_out_text(out, "name", export->facts.host);
	json_out_text(out, "hostname", export->facts.host);
	json_out_init(out, "os", '{');
	json_out_word(out, "type", "linux");
	json_out_finish(out, '}');
	json_out_finish(out, '}');
}

static int tell_event(struct export *export, const struct event *event)
{
	struct ecs *ecs = export->own;
	struct json_out *out = &ecs->out;
	struct event_class class = event_class(event);
	char time[TEXT_TIME_BYTES], number[EVENT_ERROR_BYTES];

	json_out_init(out, NULL, '{');
	json_out_word(out, "@timestamp",
		      text_time_ns(export_time(export, event, &ecs->last_time_ns), time));
	json_out_text(out, "message", export_message(event, ecs->text));
	json_out_init(out, "ecs", '{');
	json_out_word(out, "version", "8.17.0");
	json_out_finish(out, '}');
	put_event(export, event, &class);
	json_out_init(out, "log", '{');
	json_out_word(out, "level", LEVELS[class.severity]);
	json_out_finish(out, '}');
	if (event->error) {
		json_out_init(out, "error", '{');
		json_out_word(out, "code", event_error_name(event->error, number));
		json_out_finish(out, '}');
	}
	put_file(ecs, event, &class);
	put_process(export, event);
	put_rule(out, &class);
	put_where(export);
	export_rest_object(out, "seen", event);
	json_out_finish(out, '}');
	return json_out_line(out);
}

static void release(struct export *export)
{
	free(export->own);
}

const struct export_format export_ecs = {
	.name = "ecs",
	.kind = EXPORT_ROWS,
	.begin = begin,
	.event = tell_event,
	.close = release,
};
