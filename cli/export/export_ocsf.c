/*
 * Export as OCSF, the Open Cybersecurity Schema Framework (https://schema.ocsf.io), version 1.8.0: one event a line.
 *
 *	a file, a folder, a name     File System Activity  1001
 *	a process, a program         Process Activity      1007
 *	a finding                    Detection Finding     2004, but an access that was denied: that is an activity that failed
 *	anything else                Base Event               0
 *
 * With the profiles host (who did it, on which machine) and, of findings, security_control (what was done about it).  What has no
 * place there is in `unmapped`, in the words of seen/log/1.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/export/export.h"
#include "cli/export/export_event.h"

enum ocsf_class {
	OCSF_BASE = 0,
	OCSF_FILE = 1001,
	OCSF_PROCESS = 1007,
	OCSF_FINDING = 2004,
};

enum {
	OCSF_OTHER = 99, /* of every enumeration */
	OCSF_SYSTEM_CATEGORY = 1,
	OCSF_FINDINGS_CATEGORY = 2,
	OCSF_EXECUTABLE = 8, /* file.type_id */
	OCSF_XXH3_128 = 17,  /* fingerprint.algorithm_id */
	OCSF_RULE = 1,       /* analytic.type_id */
	/* finding: activity_id, status_id */
	OCSF_CREATE = 1,
	OCSF_NEW = 1,
	/* launch_type_id */
	OCSF_SPAWN = 1,
	OCSF_FORK = 2,
	OCSF_EXEC = 3,
	/* security_control: action_id, disposition_id */
	OCSF_DENIED = 2,
	OCSF_OBSERVED = 3,
	OCSF_BLOCKED = 2,
	OCSF_DETECTED = 15,
};

/* activity_id of 1001 and of 1007; what is not there is OCSF_OTHER, by the op's name. */
static const unsigned char FILE_ACTIVITY[EVENT_ACTION_COUNT] = {
	[EVENT_OPENS] = 14,          [EVENT_READS] = 2,         [EVENT_WRITES] = 3,
	[EVENT_CREATES] = 1,         [EVENT_DELETES] = 4,       [EVENT_RENAMES] = 5,
	[EVENT_SETS_ATTRIBUTES] = 6, [EVENT_SETS_SECURITY] = 7,
};
static const unsigned char PROCESS_ACTIVITY[EVENT_ACTION_COUNT] = {
	[EVENT_STARTS] = 1,
	[EVENT_ENDS] = 2,
};

static const unsigned char SEVERITY[EVENT_SEVERITY_COUNT] = { 1, 2, 3, 4 };

/* status_id of an activity. */
static const unsigned char STATUS[] = {
	[EVENT_OUTCOME_UNKNOWN] = 0,
	[EVENT_SUCCEEDED] = 1,
	[EVENT_FAILED] = 2,
};

static const unsigned char FILE_TYPE[] = {
	[EVENT_FILE_UNKNOWN] = 0,   [EVENT_FILE_REGULAR] = 1, [EVENT_FILE_DIRECTORY] = 2,
	[EVENT_FILE_CHARACTER] = 3, [EVENT_FILE_BLOCK] = 4,   [EVENT_FILE_SOCKET] = 5,
	[EVENT_FILE_FIFO] = 6,      [EVENT_FILE_SYMLINK] = 7,
};

static const char NOT_KNOWN[] = "unknown"; /* where a value is required */

struct ocsf {
	struct json_out out;
	uint64_t last_time_ns;
	char id[EXPORT_ID_BYTES];
	char text[EXPORT_TEXT_BYTES];
};

static int begin(struct export *export)
{
	struct ocsf *ocsf = calloc(1, sizeof(*ocsf));

	if (!ocsf)
		return -ENOMEM;
	ocsf->out.file = export->file;
	export->own = ocsf;
	return 0;
}

static enum ocsf_class class_uid(const struct event_class *class)
{
	if (event_is_alert(class))
		return OCSF_FINDING;
	switch (class->about) {
	case EVENT_ABOUT_FILE:
		return OCSF_FILE;
	case EVENT_ABOUT_PROCESS:
		return OCSF_PROCESS;
	default:
		return OCSF_BASE;
	}
}

static unsigned activity_id(enum ocsf_class uid, const struct event_class *class)
{
	unsigned id = uid == OCSF_FILE      ? FILE_ACTIVITY[class->action]
		      : uid == OCSF_PROCESS ? PROCESS_ACTIVITY[class->action]
		      : uid == OCSF_FINDING ? OCSF_CREATE
					    : 0;
	return id ? id : OCSF_OTHER;
}

static void put_metadata(struct export *export, const struct event *event, enum ocsf_class uid)
{
	struct ocsf *ocsf = export->own;
	struct json_out *out = &ocsf->out;
	char time[TEXT_TIME_BYTES];

	json_out_init(out, "metadata", '{');
	json_out_word(out, "version", "1.8.0");
	json_out_init(out, "product", '{');
	json_out_word(out, "name", "seen");
	json_out_word(out, "vendor_name", "seen");
	json_out_word(out, "version", SEEN_VERSION);
	json_out_finish(out, '}');
	json_out_init(out, "profiles", '[');
	json_out_word(out, NULL, "host");
	if (uid == OCSF_FINDING)
		json_out_word(out, NULL, "security_control");
	json_out_finish(out, ']');
	json_out_word(out, "uid", export_id(export, event->number, ocsf->id));
	json_out_number(out, "sequence", event->number);
	json_out_word(out, "event_code", event_op_name(event->op));
	json_out_text(out, "log_name", export->facts.session);
	if (text_time_ns(event->time_realtime_ns, time)[0])
		json_out_word(out, "original_time", time);
	/* What was announced, and what came of it. */
	uint64_t announced = event->op == JOURNAL_EXEC ? event->number : event->exec;
	if (announced)
		json_out_word(out, "correlation_uid", export_id(export, announced, ocsf->id));
	if (event->cut)
		json_out_boolean(out, "is_truncated", true);
	json_out_finish(out, '}');
}

static void put_device(struct json_out *out, const char *host)
{
	json_out_init(out, "device", '{');
	json_out_number(out, "type_id", 0);
	if (host)
		json_out_text(out, "hostname", host);
	else
		json_out_word(out, "name", NOT_KNOWN);
	json_out_finish(out, '}');
}

static void put_named_file(struct json_out *out, const char *name, const char *path, unsigned type)
{
	json_out_init(out, name, '{');
	json_out_text(out, "name", path ? export_base(path) : NOT_KNOWN);
	json_out_number(out, "type_id", type);
	if (path && path[0] == '/')
		json_out_text(out, "path", path);
	json_out_finish(out, '}');
}

/* The program of an event's process. */
static void put_program(struct json_out *out, const char *path)
{
	if (!path)
		return;
	json_out_text(out, "name", export_base(path));
	put_named_file(out, "file", path, OCSF_EXECUTABLE);
}

/* The process of an event. */
static void put_process(struct export *export, const char *name, const struct event *event)
{
	struct ocsf *ocsf = export->own;
	struct json_out *out = &ocsf->out;
	const struct journal_record *record = event->entry ? &event->entry->record : NULL;

	json_out_init(out, name, '{');
	json_out_known(out, "pid", event->pid);
	json_out_word(out, "uid", export_id(export, event->process, ocsf->id));
	json_out_known(out, "ptid", event->tid);
	put_program(out, event->executable);
	if (event->op == JOURNAL_START && record) {
		json_out_text(out, "cmd_line", export_arguments(event, ocsf->text));
		json_out_text(out, "working_directory", event->directory);
	}
	if (event->parent_pid) {
		json_out_init(out, "parent_process", '{');
		json_out_number(out, "pid", event->parent_pid);
		json_out_finish(out, '}');
	}
	json_out_finish(out, '}');
}

/* The program that an EXEC is about to start, known by its announcement. */
static void put_announced(struct export *export, const struct event *event)
{
	struct ocsf *ocsf = export->own;
	struct json_out *out = &ocsf->out;

	json_out_init(out, "process", '{');
	json_out_word(out, "uid", export_id(export, event->number, ocsf->id));
	json_out_known(out, "pid", event->entry->record.count);
	put_program(out, export_name(event));
	json_out_text(out, "cmd_line", export_arguments(event, ocsf->text));
	json_out_text(out, "working_directory", event->directory);
	json_out_finish(out, '}');
}

/* Who did it.  is_reflexive: false: the event is a process's own first word, and whoever started it is asked for. */
static void put_actor(struct export *export, const struct event *event, bool is_reflexive)
{
	struct json_out *out = &((struct ocsf *)export->own)->out;

	json_out_init(out, "actor", '{');
	if (is_reflexive && event->process) {
		put_process(export, "process", event);
	} else if (!is_reflexive && event->parent_pid) {
		json_out_init(out, "process", '{');
		json_out_number(out, "pid", event->parent_pid);
		json_out_finish(out, '}');
	} else {
		json_out_word(out, "app_name", NOT_KNOWN);
	}
	json_out_finish(out, '}');
}

static void put_file(struct ocsf *ocsf, const struct event *event, const struct event_class *class)
{
	struct json_out *out = &ocsf->out;
	const struct version *version = event_version(event);
	const char *path = event->resolved ? event->resolved : event->path;
	char hash[EXPORT_HASH_BYTES];

	json_out_init(out, "file", '{');
	json_out_text(out, "name", path ? export_base(path) : NOT_KNOWN);
	json_out_number(out, "type_id", FILE_TYPE[class->file_kind]);
	json_out_text(out, "path", event->resolved);
	if (path)
		json_out_text(out, "ext", export_extension(path));
	if (version) {
		json_out_number(out, "size", version->size_bytes);
		json_out_init(out, "hashes", '[');
		json_out_init(out, NULL, '{');
		json_out_number(out, "algorithm_id", OCSF_XXH3_128);
		json_out_word(out, "value", export_hash(version, hash));
		json_out_finish(out, '}');
		json_out_finish(out, ']');
	}
	json_out_finish(out, '}');
}

static void put_file_activity(struct export *export, const struct event *event,
			      const struct event_class *class)
{
	struct ocsf *ocsf = export->own;
	const char *other = event->other_resolved ? event->other_resolved : event->other;

	put_actor(export, event, true);
	put_file(ocsf, event, class);
	if ((event->op == JOURNAL_RENAME || event->op == JOURNAL_LINK) && other)
		put_named_file(&ocsf->out, "file_result", other, 0);
}

static void put_process_activity(struct export *export, const struct event *event)
{
	struct json_out *out = &((struct ocsf *)export->own)->out;
	bool is_first = event->op == JOURNAL_START || event->op == JOURNAL_FORK;

	put_actor(export, event, !is_first);
	if (event->op == JOURNAL_EXEC)
		put_announced(export, event);
	else if (event->op == JOURNAL_EXEC_FAILED && event->exec) {
		json_out_init(out, "process", '{');
		json_out_word(out, "uid",
			      export_id(export, event->exec, ((struct ocsf *)export->own)->id));
		json_out_finish(out, '}');
	} else {
		put_process(export, "process", event);
	}
	if (event->op == JOURNAL_EXIT)
		json_out_number(out, "exit_code", event->entry->record.amount);
	if (event->op == JOURNAL_FORK)
		json_out_number(out, "launch_type_id", OCSF_FORK);
	else if (event->op == JOURNAL_START)
		json_out_number(out, "launch_type_id", OCSF_EXEC);
	else if (event->op == JOURNAL_EXEC) /* posix_spawn(3) does not tell whom it makes */
		json_out_number(out, "launch_type_id",
				event->entry->record.count ? OCSF_EXEC : OCSF_SPAWN);
}

static void put_finding(struct export *export, const struct event *event,
			const struct event_class *class)
{
	struct ocsf *ocsf = export->own;
	struct json_out *out = &ocsf->out;
	const char *id = event_finding_id(class->finding);

	put_actor(export, event, true);
	json_out_init(out, "finding_info", '{');
	json_out_word(out, "uid", export_id(export, event->number, ocsf->id));
	json_out_word(out, "title", event_finding_title(class->finding));
	json_out_word(out, "desc", event_finding_text(class->finding));
	json_out_init(out, "analytic", '{');
	json_out_number(out, "type_id", OCSF_RULE);
	json_out_word(out, "uid", id);
	json_out_text(out, "name", class->rule ? class->rule : event_finding_name(class->finding));
	json_out_finish(out, '}');
	json_out_finish(out, '}');
	json_out_init(out, "evidences", '[');
	json_out_init(out, NULL, '{');
	if (event->process)
		put_process(export, "process", event);
	if (class->about == EVENT_ABOUT_FILE)
		put_file(ocsf, event, class);
	json_out_init(out, "data", '{');
	json_out_word(out, "record", export_id(export, event->number, ocsf->id));
	json_out_text(out, "program", event->program);
	json_out_finish(out, '}');
	json_out_finish(out, '}');
	json_out_finish(out, ']');
	if (class->rule) {
		json_out_init(out, "policy", '{');
		json_out_text(out, "name", class->rule);
		json_out_finish(out, '}');
	}
	json_out_number(out, "action_id", class->prevented ? OCSF_DENIED : OCSF_OBSERVED);
	json_out_number(out, "disposition_id", class->prevented ? OCSF_BLOCKED : OCSF_DETECTED);
	json_out_boolean(out, "is_alert", class->severity >= EVENT_SEVERITY_MEDIUM);
}

static int tell_event(struct export *export, const struct event *event)
{
	struct ocsf *ocsf = export->own;
	struct json_out *out = &ocsf->out;
	struct event_class class = event_class(event);
	enum ocsf_class uid = class_uid(&class);
	unsigned activity = activity_id(uid, &class);
	char number[EVENT_ERROR_BYTES];

	json_out_init(out, NULL, '{');
	json_out_number(out, "class_uid", uid);
	json_out_number(out, "category_uid",
			uid == OCSF_FINDING ? OCSF_FINDINGS_CATEGORY
			: uid == OCSF_BASE  ? 0
					    : OCSF_SYSTEM_CATEGORY);
	json_out_number(out, "activity_id", activity);
	if (activity == OCSF_OTHER)
		json_out_word(out, "activity_name", event_op_name(event->op));
	json_out_number(out, "type_uid", uid * 100 + activity);
	json_out_number(out, "severity_id", SEVERITY[class.severity]);
	json_out_number(out, "time", export_time(export, event, &ocsf->last_time_ns) / 1000000);
	json_out_number(out, "status_id", uid == OCSF_FINDING ? OCSF_NEW : STATUS[class.outcome]);
	if (event->error)
		json_out_word(out, "status_code", event_error_name(event->error, number));
	json_out_text(out, "message", export_message(event, ocsf->text));
	put_metadata(export, event, uid);
	put_device(out, export->facts.host);
	if (uid == OCSF_FINDING)
		put_finding(export, event, &class);
	else if (uid == OCSF_FILE)
		put_file_activity(export, event, &class);
	else if (uid == OCSF_PROCESS)
		put_process_activity(export, event);
	export_rest_object(out, "unmapped", event);
	json_out_finish(out, '}');
	return json_out_line(out);
}

static void release(struct export *export)
{
	free(export->own);
}

const struct export_format export_ocsf = {
	.name = "ocsf",
	.kind = EXPORT_ROWS,
	.begin = begin,
	.event = tell_event,
	.close = release,
};
