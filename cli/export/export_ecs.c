/*
 * Export as ECS, the Elastic Common Schema 8.17 (https://www.elastic.co/guide/en/ecs/8.17): one
 * document a line.
 *
 * What ECS has no field for is below `seen`, in the words of seen/log/1.  A file's path is the one
 * that the call names first: of a rename the old one, the new one is seen.new_resolved.
 */
#include "cli/export/export_map.h"

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

OWN_VALUE(kind, WORD, event_is_alert(&map->class) ? "alert" : "event")
OWN_VALUE(category, WORD, CATEGORIES[map->class.about])
OWN_VALUE(type, WORD, TYPES[map->class.action])
OWN_VALUE(outcome, WORD, OUTCOMES[map->class.outcome])
OWN_VALUE(severity, NUMBER, (uint64_t)map->class.severity + 1)
OWN_VALUE(level, WORD, LEVELS[map->class.severity])
OWN_VALUE(file_type, WORD, FILE_TYPES[map->class.file_kind])
OWN_WHEN(has_target, event->op == JOURNAL_EXEC || event->process || event->pid)

/* A program that another process is about to start: not one in its own place. */
OWN_WHEN(has_starter,
	 event->op == JOURNAL_EXEC && event->process && event->entry->record.count != event->pid)
OWN_WHEN(has_parent_alone, event->op != JOURNAL_EXEC && event->parent_pid)
OWN_WHEN(is_no_exec, event->op != JOURNAL_EXEC)

/* clang-format off */
/* The process of an event. */
static const struct export_field ACTOR[] = {
	MAP_FIELD("pid", pid),
	MAP_FIELD_IF("entity_id", process_id, has_process),
	MAP_FIELD("executable", executable_path),
	MAP_FIELD("name", executable_name),
	MAP_OBJECT_IF("thread", has_thread),
		MAP_FIELD("id", tid),
	MAP_END,
	MAP_DONE,
};

static const struct export_field ARGUMENTS[] = {
	MAP_FIELD("args", arguments),
	MAP_FIELD("args_count", argument_count),
	MAP_DONE,
};

/* The program that is about to be started. */
static const struct export_field ANNOUNCED[] = {
	MAP_FIELD("pid", announced_pid),
	MAP_FIELD("entity_id", id),
	MAP_FIELD("executable", announced_path),
	MAP_FIELD("name", announced_name),
	MAP_TABLE_IF(ARGUMENTS, has_arguments),
	MAP_FIELD("working_directory", working_directory),
	MAP_DONE,
};

static const struct export_field DOCUMENT[] = {
	MAP_OBJECT(NULL),
	MAP_FIELD("@timestamp", timestamp),
	MAP_FIELD("message", message),
	MAP_ONE("ecs", MAP_WORD("version", "8.17.0")),
	MAP_OBJECT("event"),
		MAP_FIELD("kind", kind),
		MAP_ARRAY("category"),
			MAP_FIELD(NULL, category),
			MAP_WORD_IF(NULL, "intrusion_detection", is_alert),
		MAP_END,
		MAP_ARRAY("type"),
			MAP_FIELD(NULL, type),
			MAP_WORD_IF(NULL, "denied", is_prevented),
		MAP_END,
		MAP_FIELD("action", op),
		MAP_FIELD("outcome", outcome),
		MAP_FIELD("id", id),
		MAP_FIELD("sequence", number),
		MAP_FIELD("severity", severity),
		MAP_WORD("provider", "seen"),
		MAP_WORD("module", "seen"),
		MAP_WORD("dataset", "seen.log"),
	MAP_END,
	MAP_ONE("log", MAP_FIELD("level", level)),
	MAP_OBJECT_IF("error", has_error),
		MAP_FIELD("code", error),
	MAP_END,
	MAP_OBJECT_IF("file", has_path),
		MAP_FIELD("path", path),
		MAP_FIELD("name", file_name),
		MAP_FIELD("extension", extension),
		MAP_FIELD("directory", directory),
		MAP_FIELD("type", file_type),
		MAP_FIELD_IF("target_path", target, is_symlink),
		MAP_FIELD_IF("size", size, has_version),
		MAP_FIELD_IF("inode", inode, has_inode),
	MAP_END,
	MAP_OBJECT_IF("process", has_target),
		MAP_TABLE_IF(ANNOUNCED, is_exec),
		MAP_TABLE_IF(ACTOR, is_no_exec),
		MAP_TABLE_IF(ARGUMENTS, is_start_with_arguments),
		MAP_FIELD_IF("working_directory", working_directory, is_start),
		MAP_FIELD_IF("exit_code", exit_status, is_exit),
		MAP_OBJECT_IF("parent", has_starter),
			MAP_TABLE(ACTOR),
		MAP_END,
		MAP_OBJECT_IF("parent", has_parent_alone),
			MAP_FIELD("pid", parent_pid),
		MAP_END,
	MAP_END,
	MAP_OBJECT_IF("rule", is_alert),
		MAP_FIELD("id", finding_id),
		MAP_FIELD("name", rule),
		MAP_FIELD("description", finding_title),
	MAP_END,
	MAP_OBJECT("agent"),
		MAP_WORD("type", "seen"),
		MAP_WORD("version", SEEN_VERSION),
		MAP_FIELD("ephemeral_id", journal),
		MAP_FIELD("name", session),
	MAP_END,
	MAP_OBJECT("host"),
		MAP_FIELD("name", host),
		MAP_FIELD("hostname", host),
		MAP_ONE("os", MAP_WORD("type", "linux")),
	MAP_END,
	MAP_FIELD("seen", rest),
	MAP_END,
	MAP_DONE,
};

/* clang-format on */

EXPORT_LINES(ecs, DOCUMENT)
