/*
 * Export as OCSF, the Open Cybersecurity Schema Framework (https://schema.ocsf.io), version 1.8.0:
 * one event a line.
 *
 * 	a file, a directory, a name     File System Activity  1001
 * 	a process, a program         Process Activity      1007
 * 	a finding                    Detection Finding     2004, but an access that was denied: that is an activity that failed
 * 	anything else                Base Event               0
 *
 * With the profiles host (who did it, on which machine) and, of findings, security_control (what
 * was done about it).  What has no place there is in `unmapped`, in the words of seen/log/1.
 */
#include "cli/export/export_map.h"

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

/* ---- classes ---- */

static enum ocsf_class class_of(const struct export_map *map)
{
	if (event_is_alert(&map->class))
		return OCSF_FINDING;
	switch (map->class.about) {
	case EVENT_ABOUT_FILE:
		return OCSF_FILE;
	case EVENT_ABOUT_PROCESS:
		return OCSF_PROCESS;
	default:
		return OCSF_BASE;
	}
}

static unsigned category_of(enum ocsf_class uid)
{
	return uid == OCSF_FINDING ? OCSF_FINDINGS_CATEGORY
	       : uid == OCSF_BASE  ? 0
				   : OCSF_SYSTEM_CATEGORY;
}

static unsigned activity_of(const struct export_map *map)
{
	enum ocsf_class uid = class_of(map);
	unsigned id = uid == OCSF_FILE      ? FILE_ACTIVITY[map->class.action]
		      : uid == OCSF_PROCESS ? PROCESS_ACTIVITY[map->class.action]
		      : uid == OCSF_FINDING ? OCSF_CREATE
					    : 0;
	return id ? id : OCSF_OTHER;
}

OWN_WHEN(is_file_activity, class_of(map) == OCSF_FILE)
OWN_WHEN(is_process_activity, class_of(map) == OCSF_PROCESS)
OWN_VALUE(class_uid, NUMBER, class_of(map))

OWN_VALUE(category_uid, NUMBER, category_of(class_of(map)))
OWN_VALUE(activity_id, NUMBER, activity_of(map))
OWN_VALUE(activity_name, WORD, activity_of(map) == OCSF_OTHER ? event_op_name(event->op) : NULL)
OWN_VALUE(type_uid, NUMBER, class_of(map) * 100 + activity_of(map))
OWN_VALUE(severity_id, NUMBER, SEVERITY[map->class.severity])
OWN_VALUE(status_id, NUMBER, event_is_alert(&map->class) ? OCSF_NEW : STATUS[map->class.outcome])

/* ---- files and processes ---- */

OWN_VALUE(file_name_or_unknown, TEXT,
	  export_path(event) ? export_base(export_path(event)) : NOT_KNOWN)
OWN_VALUE(file_type, NUMBER, FILE_TYPE[map->class.file_kind])
OWN_VALUE(failed_id, WORD, export_id(map->export, event->exec, map->id))

/* posix_spawn(3) does not tell whom it makes. */
static unsigned launch_of(const struct event *event)
{
	switch (event->op) {
	case JOURNAL_FORK:
		return OCSF_FORK;
	case JOURNAL_START:
		return OCSF_EXEC;
	case JOURNAL_EXEC:
		return event->entry->record.count ? OCSF_EXEC : OCSF_SPAWN;
	default:
		return 0;
	}
}

OWN_VALUE(launch_type, KNOWN, launch_of(event))

/* Is the event a process's own first word, so that its starter is needed? */
static bool is_first(const struct export_map *map)
{
	return class_of(map) == OCSF_PROCESS &&
	       (map->event->op == JOURNAL_START || map->event->op == JOURNAL_FORK);
}

OWN_WHEN(is_actor_self, !is_first(map) && event->process)
OWN_WHEN(is_actor_parent, is_first(map) && event->parent_pid)
OWN_WHEN(is_actor_unknown, !(is_first(map) ? event->parent_pid : event->process))
OWN_WHEN(is_failed, event->op == JOURNAL_EXEC_FAILED && event->exec)
OWN_WHEN(is_self, event->op != JOURNAL_EXEC && !(event->op == JOURNAL_EXEC_FAILED && event->exec))
OWN_WHEN(has_actor, class_of(map) != OCSF_BASE)
OWN_VALUE(action_id, NUMBER, map->class.prevented ? OCSF_DENIED : OCSF_OBSERVED)
OWN_VALUE(disposition_id, NUMBER, map->class.prevented ? OCSF_BLOCKED : OCSF_DETECTED)
OWN_VALUE(alert, BOOLEAN, map->class.severity >= EVENT_SEVERITY_MEDIUM)

/* ---- the mapping ---- */

/* clang-format off */
/* The process of an event. */
static const struct export_field PROCESS[] = {
	MAP_FIELD("pid", pid),
	MAP_FIELD("uid", process_id),
	MAP_FIELD("ptid", tid),
	MAP_FIELD("name", executable_name),
	MAP_OBJECT_IF("file", has_executable),
		MAP_FIELD("name", executable_name),
		MAP_NUMBER("type_id", OCSF_EXECUTABLE),
		MAP_FIELD("path", executable_path),
	MAP_END,
	MAP_FIELD_IF("cmd_line", command_line, is_start),
	MAP_FIELD_IF("working_directory", working_directory, is_start),
	MAP_OBJECT_IF("parent_process", has_parent),
		MAP_FIELD("pid", parent_pid),
	MAP_END,
	MAP_DONE,
};

/* The program that an EXEC is about to start, known by its announcement. */
static const struct export_field ANNOUNCED[] = {
	MAP_FIELD("uid", id),
	MAP_FIELD("pid", announced_pid),
	MAP_FIELD("name", announced_name),
	MAP_OBJECT_IF("file", has_program_name),
		MAP_FIELD("name", announced_name),
		MAP_NUMBER("type_id", OCSF_EXECUTABLE),
		MAP_FIELD("path", announced_path),
	MAP_END,
	MAP_FIELD("cmd_line", command_line),
	MAP_FIELD("working_directory", working_directory),
	MAP_DONE,
};

static const struct export_field THE_FILE[] = {
	MAP_OBJECT("file"),
		MAP_FIELD("name", file_name_or_unknown),
		MAP_FIELD("type_id", file_type),
		MAP_FIELD("path", path),
		MAP_FIELD("ext", extension),
		MAP_FIELD_IF("size", size, has_version),
		MAP_ARRAY_IF("hashes", has_version),
			MAP_OBJECT(NULL),
				MAP_NUMBER("algorithm_id", OCSF_XXH3_128),
				MAP_FIELD("value", hash),
			MAP_END,
		MAP_END,
	MAP_END,
	MAP_DONE,
};

static const struct export_field FILE_ACTIVITY_FIELDS[] = {
	MAP_TABLE(THE_FILE),
	MAP_OBJECT_IF("file_result", has_second),
		MAP_FIELD("name", second_name),
		MAP_NUMBER("type_id", 0),
		MAP_FIELD("path", second_path),
	MAP_END,
	MAP_DONE,
};

static const struct export_field PROCESS_ACTIVITY_FIELDS[] = {
	MAP_OBJECT("process"),
		MAP_TABLE_IF(ANNOUNCED, is_exec),
		MAP_FIELD_IF("uid", failed_id, is_failed),
		MAP_TABLE_IF(PROCESS, is_self),
	MAP_END,
	MAP_FIELD_IF("exit_code", exit_status, is_exit),
	MAP_FIELD("launch_type_id", launch_type),
	MAP_DONE,
};

static const struct export_field FINDING_FIELDS[] = {
	MAP_OBJECT("finding_info"),
		MAP_FIELD("uid", id),
		MAP_FIELD("title", finding_title),
		MAP_FIELD("desc", finding_text),
		MAP_OBJECT("analytic"),
			MAP_NUMBER("type_id", OCSF_RULE),
			MAP_FIELD("uid", finding_id),
			MAP_FIELD("name", rule),
		MAP_END,
	MAP_END,
	MAP_ARRAY("evidences"),
		MAP_OBJECT(NULL),
			MAP_OBJECT_IF("process", has_process),
				MAP_TABLE(PROCESS),
			MAP_END,
			MAP_TABLE_IF(THE_FILE, is_of_file),
			MAP_OBJECT("data"),
				MAP_FIELD("record", id),
				MAP_FIELD("program", program),
			MAP_END,
		MAP_END,
	MAP_END,
	MAP_OBJECT_IF("policy", has_rule),
		MAP_FIELD("name", rule),
	MAP_END,
	MAP_FIELD("action_id", action_id),
	MAP_FIELD("disposition_id", disposition_id),
	MAP_FIELD("is_alert", alert),
	MAP_DONE,
};

static const struct export_field EVENT[] = {
	MAP_OBJECT(NULL),
	MAP_FIELD("class_uid", class_uid),
	MAP_FIELD("category_uid", category_uid),
	MAP_FIELD("activity_id", activity_id),
	MAP_FIELD("activity_name", activity_name),
	MAP_FIELD("type_uid", type_uid),
	MAP_FIELD("severity_id", severity_id),
	MAP_FIELD("time", time_ms),
	MAP_FIELD("status_id", status_id),
	MAP_FIELD("status_code", error),
	MAP_FIELD("message", message),
	MAP_OBJECT("metadata"),
		MAP_WORD("version", "1.8.0"),
		MAP_OBJECT("product"),
			MAP_WORD("name", "seen"),
			MAP_WORD("vendor_name", "seen"),
			MAP_WORD("version", SEEN_VERSION),
		MAP_END,
		MAP_ARRAY("profiles"),
			MAP_WORD(NULL, "host"),
			MAP_WORD_IF(NULL, "security_control", is_alert),
		MAP_END,
		MAP_FIELD("uid", id),
		MAP_FIELD("sequence", number),
		MAP_FIELD("event_code", op),
		MAP_FIELD("log_name", session),
		MAP_FIELD("original_time", own_timestamp),
		MAP_FIELD_IF("correlation_uid", announcement, has_announcement),
		MAP_FIELD_IF("is_truncated", cut, is_cut),
	MAP_END,
	MAP_OBJECT("device"),
		MAP_NUMBER("type_id", 0),
		MAP_FIELD("hostname", host),
		MAP_WORD_IF("name", NOT_KNOWN, has_no_host),
	MAP_END,
	MAP_OBJECT_IF("actor", has_actor),
		MAP_OBJECT_IF("process", is_actor_self),
			MAP_TABLE(PROCESS),
		MAP_END,
		MAP_OBJECT_IF("process", is_actor_parent),
			MAP_FIELD("pid", parent_pid),
		MAP_END,
		MAP_WORD_IF("app_name", NOT_KNOWN, is_actor_unknown),
	MAP_END,
	MAP_TABLE_IF(FINDING_FIELDS, is_alert),
	MAP_TABLE_IF(FILE_ACTIVITY_FIELDS, is_file_activity),
	MAP_TABLE_IF(PROCESS_ACTIVITY_FIELDS, is_process_activity),
	MAP_FIELD("unmapped", rest),
	MAP_END,
	MAP_DONE,
};

/* clang-format on */

EXPORT_LINES(ocsf, EVENT)
