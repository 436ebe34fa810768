/*
 * Events as text: see event_print.h.  What an event has to tell beside the common members is said once for
 * each op and form: event_print_members() for programs, print_details() for people.
 */
#include "cli/journal/event_print.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli/base/json_out.h"
#include "cli/base/text.h"
#include "cli/journal/event_filter.h"
#include "cli/session/scopes.h"
#include "tracker/answer/decision.h"
#include "tracker/content/contents.h"
#include "tracker/guard/guard.h"
#include "tracker/guard/rule.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"
#include "tracker/segment/tables.h"

/* ---- words ---- */

struct flag {
	uint32_t bits;
	const char *name, *brief; /* brief: for the table; NULL: of no interest there */
};

/* open(2).  What is made of others comes first. */
static const struct flag OPEN_FLAGS[] = {
	{ O_TMPFILE, "O_TMPFILE", "tmpfile" },
	{ O_DIRECTORY, "O_DIRECTORY", "dir" },
	{ O_SYNC, "O_SYNC", NULL },
	{ O_DSYNC, "O_DSYNC", NULL },
	{ O_APPEND, "O_APPEND", "append" },
	{ O_CREAT, "O_CREAT", "creat" },
	{ O_EXCL, "O_EXCL", "excl" },
	{ O_TRUNC, "O_TRUNC", "trunc" },
	{ O_PATH, "O_PATH", "path" },
	{ O_NOFOLLOW, "O_NOFOLLOW", NULL },
	{ O_CLOEXEC, "O_CLOEXEC", NULL },
	{ O_NONBLOCK, "O_NONBLOCK", NULL },
	{ O_NOCTTY, "O_NOCTTY", NULL },
	{ O_NOATIME, "O_NOATIME", NULL },
	{ O_DIRECT, "O_DIRECT", NULL },
	{ O_ASYNC, "O_ASYNC", NULL },
#if O_LARGEFILE
	{ O_LARGEFILE, "O_LARGEFILE", NULL },
#endif
};

static const struct flag MAP_FLAGS[] = {
	{ PROT_READ, "PROT_READ", "r" },
	{ PROT_WRITE, "PROT_WRITE", "w" },
	{ PROT_EXEC, "PROT_EXEC", "x" },
	{ JOURNAL_MAP_SHARED, "MAP_SHARED", "shared" },
};

static const char *access_name(uint32_t flags, bool brief)
{
	switch (flags & O_ACCMODE) {
	case O_RDONLY:
		return brief ? "r" : "O_RDONLY";
	case O_WRONLY:
		return brief ? "w" : "O_WRONLY";
	case O_RDWR:
		return brief ? "rw" : "O_RDWR";
	default: /* neither: for ioctl(2) alone */
		return brief ? "-" : "O_ACCMODE";
	}
}

const char *event_decision_name(unsigned decision)
{
	static const char *const NAMES[] = { [DECISION_CONTENT] = "content",
					     [DECISION_GIVEN_AGAIN] = "yielded",
					     [DECISION_NOTICE] = "notice",
					     [DECISION_DIFF] = "diff" };
	return decision < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[decision] : NULL;
}

static const char *reason_name(unsigned reason)
{
	static const char *const NAMES[] = {
		[REASON_NOT_TRACKED] = "not_tracked", [REASON_NOT_DELIVERED] = "not_delivered",
		[REASON_NOT_ALLOWED] = "not_allowed", [REASON_CHANGED] = "changed",
		[REASON_BINARY] = "binary",           [REASON_ASKED_AGAIN] = "insisted",
		[REASON_TOO_SHORT] = "too_short",     [REASON_UNREADABLE] = "unreadable",
		[REASON_REPEATED] = "repeated",
	};
	return reason < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[reason] : NULL;
}

const char *event_verdict_name(unsigned verdict)
{
	static const char *const NAMES[] = {
		[GUARD_PASS] = "pass", [GUARD_WARN] = "warned", [GUARD_DENY] = "denied"
	};
	return verdict < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[verdict] : NULL;
}

const char *event_guard_reason_name(unsigned reason)
{
	static const char *const NAMES[] = {
		[GUARD_UNCONCERNED] = "unconcerned",
		[GUARD_NEW] = "new",
		[GUARD_FRESH] = "fresh",
		[GUARD_UNFINISHED] = "unfinished",
		[GUARD_STALE] = "stale",
		[GUARD_UNREAD] = "unread",
		[GUARD_NOTICE] = "notice",
		[GUARD_UNREADABLE] = "unreadable",
	};
	return reason < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[reason] : NULL;
}

static const char *kept_reason_name(unsigned reason)
{
	return reason < CONTENTS_REASON_COUNT ? contents_reason_name((enum contents_reason)reason)
					      : NULL;
}

/* How an instruction file was given. */
static const char *instructed_name(uint32_t flags)
{
	switch (flags) {
	case 0:
		return "context";
	case JOURNAL_INSTRUCTED_INJECTED:
		return "inject";
	default:
		return NULL;
	}
}

/* What became of a file that somebody else changed. */
const char *event_change_name(uint32_t flags)
{
	switch (flags) {
	case 0:
		return "changed";
	case JOURNAL_CHANGED_ADDED:
		return "added";
	case JOURNAL_CHANGED_DELETED:
		return "deleted";
	default:
		return NULL;
	}
}

static const char *metadata_name(uint32_t kind)
{
	static const char *const NAMES[] = {
		[JOURNAL_METADATA_MODE] = "mode",
		[JOURNAL_METADATA_OWNER] = "owner",
		[JOURNAL_METADATA_TIMES] = "times",
		[JOURNAL_METADATA_ATTRIBUTE] = "attribute_set",
		[JOURNAL_METADATA_NO_ATTRIBUTE] = "attribute_removed",
	};
	return kind < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[kind] : NULL;
}

const char *event_error_name(int error, char *ret_text)
{
	const char *name = strerrorname_np(error);
	if (name)
		return name;
	(void)snprintf(ret_text, EVENT_ERROR_BYTES, "errno %d", error);
	return ret_text;
}

/* What a CREATE made; NULL: not told. */
static const char *kind_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "folder";
	case S_IFREG:
		return "file";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block";
	case S_IFCHR:
		return "character";
	default:
		return NULL;
	}
}

static bool is_answered(const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	return event->op == JOURNAL_OPEN && event->role == ROLE_VIEWER && !event->error &&
	       ((record->marks & JOURNAL_DETAILS) || record->decision || record->reason);
}

/* ---- for programs ---- */

/* A line of JSON in the making.  Its members are written as they come: an object that holds them all first costs three times
 * as much as everything else. */
struct line {
	struct event_members members;
	struct json_out out;
};

static void put(struct event_members *members, const char *name, json_t *value)
{
	members->put(members, name, value);
}

/* Bytes of others, or a word of ours; NULL: not known. */
static void put_text(struct event_members *members, const char *name, const char *bytes)
{
	if (members->put_text)
		members->put_text(members, name, bytes);
	else
		put(members, name, bytes ? text_json(bytes) : json_null());
}

/* JSON has no numbers for the upper half: they are no counts, bytes or descriptors either. */
static void put_number(struct event_members *members, const char *name, uint64_t number)
{
	if (number > INT64_MAX)
		put_text(members, name, NULL);
	else if (members->put_number)
		members->put_number(members, name, (int64_t)number);
	else
		put(members, name, json_integer((json_int_t)number));
}

static void put_known(struct event_members *members, const char *name, uint64_t number)
{
	put_number(members, name, number ? number : UINT64_MAX);
}

static void put_descriptor(struct event_members *members, const char *name, int fd)
{
	put_number(members, name, fd >= 0 ? (uint64_t)fd : UINT64_MAX);
}

static void put_boolean(struct event_members *members, const char *name, bool value)
{
	put(members, name, json_boolean(value));
}

static void put_id(struct event_members *members, const char *name, uint64_t id)
{
	char text[SCOPES_ID_BYTES];

	(void)snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	put_text(members, name, id ? text : NULL);
}

static void put_version(struct event_members *members, const char *name,
			const struct version *version)
{
	char digits[VERSION_DIGITS + 1];

	if (!version_is_none(version))
		version_digits(version, digits);
	put_text(members, name, version_is_none(version) ? NULL : digits);
}

static void put_in_line(struct event_members *members, const char *name, json_t *value)
{
	json_out_value(&((struct line *)members)->out, name, value);
}

static void put_text_in_line(struct event_members *members, const char *name, const char *bytes)
{
	if (bytes)
		json_out_text(&((struct line *)members)->out, name, bytes);
	else
		put_in_line(members, name, json_null());
}

static void put_number_in_line(struct event_members *members, const char *name, int64_t number)
{
	json_out_number(&((struct line *)members)->out, name, (uint64_t)number);
}

static json_t *json_version(const struct version *version)
{
	char digits[VERSION_DIGITS + 1];
	if (version_is_none(version))
		return json_null();
	version_digits(version, digits);
	return json_string_nocheck(digits);
}

static json_t *json_number(uint64_t number)
{
	return number <= INT64_MAX ? json_integer((json_int_t)number) : json_null();
}

static json_t *json_known(uint64_t number)
{
	return number ? json_number(number) : json_null();
}

/* What the record knows of its file. */
static json_t *json_file(const struct journal_entry *entry)
{
	if (!(entry->record.marks & JOURNAL_DETAILS))
		return json_null();
	/* What stands behind a write that was guarded is no version of what came of it. */
	bool has_after = entry->record.head.op != JOURNAL_GUARDED;
	json_t *object = json_object();
	(void)json_object_set_new_nocheck(object, "dev", json_known(entry->details.dev));
	(void)json_object_set_new_nocheck(object, "ino", json_known(entry->details.ino));
	(void)json_object_set_new_nocheck(object, "bytes", json_number(entry->details.size_bytes));
	(void)json_object_set_new_nocheck(object, "before", json_version(&entry->details.before));
	(void)json_object_set_new_nocheck(
		object, "after", has_after ? json_version(&entry->details.after) : json_null());
	return object;
}

/* Texts that are each ended by NUL; the last one perhaps not, where it was cut. */
static json_t *json_arguments(const struct event *event)
{
	if (!event->other)
		return json_null();
	json_t *array = json_array();
	for (size_t at = 0; at < event->other_bytes; at += strlen(event->other + at) + 1)
		(void)json_array_append_new(array, text_json(event->other + at));
	return array;
}

static json_t *json_flags(uint32_t flags, json_t *array, const struct flag *known, size_t count)
{
	char rest[16];

	for (size_t i = 0; i < count; i++) {
		if (!known[i].bits || (flags & known[i].bits) != known[i].bits)
			continue;
		(void)json_array_append_new(array, json_string_nocheck(known[i].name));
		flags &= ~known[i].bits;
	}
	if (flags) {
		(void)snprintf(rest, sizeof(rest), "0x%x", flags);
		(void)json_array_append_new(array, json_string_nocheck(rest));
	}
	return array;
}

static json_t *json_open_flags(uint32_t flags)
{
	json_t *array = json_array();
	(void)json_array_append_new(array, json_string_nocheck(access_name(flags, false)));
	return json_flags(flags & ~(uint32_t)O_ACCMODE, array, OPEN_FLAGS,
			  sizeof(OPEN_FLAGS) / sizeof(OPEN_FLAGS[0]));
}

static void put_path(struct event_members *members, const struct event *event)
{
	put_text(members, "path", event->path);
	put_text(members, "directory", event->directory);
	put_text(members, "resolved", event->resolved);
}

/* A name that the call gave, perhaps relative to a descriptor. */
static void put_name(struct event_members *members, const struct event *event)
{
	put_path(members, event);
	put_descriptor(members, "directory_fd", event->entry->record.directory_fd);
}

static void put_mode(struct event_members *members, uint64_t mode)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "%04llo", (unsigned long long)mode);
	put_text(members, "mode", text);
}

static void put_process(struct event_members *members, const struct event *event)
{
	const struct journal_process *process = &event->entry->process;
	put_known(members, "pid_namespace", process->pid_ns);
	put_boolean(members, "attached", process->context & CONTEXT_ATTACHED);
	put_boolean(members, "partial", process->context & CONTEXT_PARTIAL);
}

static void put_metadata(struct event_members *members, const struct journal_record *record)
{
	const char *kind = metadata_name(record->flags);
	put_text(members, "kind", kind);
	if (record->flags == JOURNAL_METADATA_MODE)
		put_mode(members, record->amount);
	if (record->flags == JOURNAL_METADATA_OWNER) {
		/* -1: left as it is (chown(2)) */
		uint32_t uid = (uint32_t)(record->amount >> 32), gid = (uint32_t)record->amount;
		put_number(members, "uid", uid == UINT32_MAX ? UINT64_MAX : uid);
		put_number(members, "gid", gid == UINT32_MAX ? UINT64_MAX : gid);
	}
}

static void put_guarded(struct event_members *members, const struct event *event)
{
	const struct journal_entry *entry = event->entry;
	const struct journal_record *record = &entry->record;

	put_path(members, event);
	put_text(members, "verdict", event_verdict_name(record->decision));
	put_text(members, "reason", event_guard_reason_name(record->reason));
	put_boolean(members, "degraded", record->flags & JOURNAL_GUARDED_DEGRADED);
	put_boolean(members, "kept", record->flags & JOURNAL_GUARDED_KEPT);
	if (record->marks & JOURNAL_DETAILS)
		put_version(members, "baseline", &entry->details.after);
	else
		put_text(members, "baseline", NULL);
	put_id(members, "changed_by", record->marks & JOURNAL_DETAILS ? entry->details.changer : 0);
	put(members, "file", json_file(entry));
}

static void put_coverage(struct event_members *members, const struct event *event)
{
	const struct journal_coverage *coverage = &event->entry->coverage;
	put_number(members, "observed", coverage->observed);
	put_number(members, "unobserved", coverage->unobserved);
	put_number(members, "partial", coverage->partial);
	put_number(members, "unattached", coverage->unattached);
	put_number(members, "opens", coverage->opens);
	put_number(members, "lost", coverage->lost);
	put_number(members, "without_journal", coverage->without_journal);
	put_text(members, "text", event->other);
}

void event_print_members(struct event_members *members, const struct event *event)
{
	const struct journal_entry *entry = event->entry;
	const char *decision, *reason, *kind;

	if (!entry) /* damaged */
		return;
	const struct journal_record *record = &entry->record;
	switch (event->op) {
	case JOURNAL_START:
		put_path(members, event);
		put(members, "arguments", json_arguments(event));
		put_id(members, "serial", entry->process.serial);
		put_known(members, "exec", event->exec);
		put_process(members, event);
		break;
	case JOURNAL_FORK:
		put_known(members, "starter", entry->process.starter);
		put_process(members, event);
		break;
	case JOURNAL_EXEC:
		put_path(members, event);
		put(members, "arguments", json_arguments(event));
		put_id(members, "serial", record->amount);
		put_known(members, "program_pid", record->count);
		break;
	case JOURNAL_EXEC_FAILED:
		put_id(members, "serial", record->amount);
		put_known(members, "exec", event->exec);
		break;
	case JOURNAL_EXIT:
		put_number(members, "status", record->amount);
		break;
	case JOURNAL_UNOBSERVED:
		put_text(members, "program", event->program);
		put_text(members, "reason", event->other);
		put_known(members, "count", record->count);
		put_boolean(members, "partly", record->flags & JOURNAL_UNOBSERVED_PARTLY);
		break;
	case JOURNAL_OPEN:
		put_name(members, event);
		put_descriptor(members, "fd", record->fd);
		put(members, "flags", json_open_flags(record->flags));
		put_boolean(members, "planned", record->marks & JOURNAL_PLANNED);
		put(members, "made",
		    record->marks & (JOURNAL_MADE | JOURNAL_WAS_THERE)
			    ? json_boolean(record->marks & JOURNAL_MADE)
			    : json_null());
		decision = is_answered(event) ? event_decision_name(record->decision) : NULL;
		reason = is_answered(event) ? reason_name(record->reason) : NULL;
		put_text(members, "decision", decision);
		put_text(members, "reason", reason);
		put(members, "file", json_file(entry));
		break;
	case JOURNAL_LIST:
		put_name(members, event);
		put_descriptor(members, "fd", record->fd);
		put_boolean(members, "pattern", record->marks & JOURNAL_PATTERN);
		break;
	case JOURNAL_READ:
	case JOURNAL_WRITE:
	case JOURNAL_READ_TOTAL:
	case JOURNAL_WRITE_TOTAL:
		put_name(members, event);
		put_descriptor(members, "fd", record->fd);
		put_number(members, "bytes", record->amount);
		put_boolean(members, "at_least", record->marks & JOURNAL_AT_LEAST);
		if (event->op == JOURNAL_READ_TOTAL || event->op == JOURNAL_WRITE_TOTAL)
			put_known(members, "calls", record->count);
		break;
	case JOURNAL_MAP:
		put_name(members, event);
		put_descriptor(members, "fd", record->fd);
		put(members, "flags",
		    json_flags(record->flags, json_array(), MAP_FLAGS,
			       sizeof(MAP_FLAGS) / sizeof(MAP_FLAGS[0])));
		put_number(members, "bytes", record->amount);
		break;
	case JOURNAL_CREATE:
		put_name(members, event);
		kind = kind_name(record->flags);
		put_text(members, "kind", kind);
		put_mode(members, record->flags & ~(uint32_t)S_IFMT);
		break;
	case JOURNAL_DELETE:
		put_name(members, event);
		put_boolean(members, "is_folder", record->flags & AT_REMOVEDIR);
		break;
	case JOURNAL_RENAME:
	case JOURNAL_LINK:
		put_name(members, event);
		put_text(members, "new_path", event->other);
		put_descriptor(members, "new_directory_fd", record->fd);
		put_text(members, "new_resolved", event->other_resolved);
		break;
	case JOURNAL_SYMLINK:
		put_name(members, event);
		put_text(members, "target", event->other);
		break;
	case JOURNAL_TRUNCATE:
		put_name(members, event);
		put_descriptor(members, "fd", record->fd);
		put_number(members, "bytes", record->amount);
		put_boolean(members, "allocates", record->flags & JOURNAL_TRUNCATE_ALLOCATES);
		break;
	case JOURNAL_METADATA:
		put_name(members, event);
		put_descriptor(members, "fd", record->fd);
		put_metadata(members, record);
		break;
	case JOURNAL_CHDIR:
		put_name(members, event);
		put_descriptor(members, "fd", record->fd);
		break;
	case JOURNAL_NOTICE:
	case JOURNAL_DIFFED:
		put_path(members, event);
		put_number(members, "bytes_saved", record->amount);
		put(members, "file", json_file(entry));
		break;
	case JOURNAL_GIVEN:
		put_path(members, event);
		put_number(members, "bytes", record->amount);
		put(members, "file", json_file(entry));
		break;
	case JOURNAL_CHANGED:
		put_path(members, event);
		put_text(members, "change", event_change_name(record->flags));
		put(members, "file", json_file(entry));
		break;
	case JOURNAL_YIELDED:
	case JOURNAL_EDITED:
	case JOURNAL_MENTIONED:
		put_path(members, event);
		put(members, "file", json_file(entry));
		break;
	case JOURNAL_GUARDED:
		put_guarded(members, event);
		break;
	case JOURNAL_RULED:
		put_path(members, event);
		put_text(members, "rule", event->other);
		put_text(members, "access", rule_op_name(record->flags));
		put_text(members, "action", rule_action_name(record->decision));
		break;
	case JOURNAL_KEPT:
		put_path(members, event);
		put_text(members, "reason", kept_reason_name(record->reason));
		put(members, "file", json_file(entry));
		break;
	case JOURNAL_INSTRUCTED:
		put_path(members, event);
		put_text(members, "way", instructed_name(record->flags));
		put_id(members, "to_scope", record->amount);
		put(members, "file", json_file(entry));
		break;
	case JOURNAL_REQUEST:
		put_text(members, "decision", event_decision_name(record->decision));
		put_number(members, "bytes",
			   record->decision == DECISION_NOTICE ? UINT64_MAX : record->amount);
		put_number(members, "bytes_saved",
			   record->decision == DECISION_NOTICE ? record->amount : UINT64_MAX);
		put_number(members, "inputs", record->count);
		break;
	case JOURNAL_FORGOTTEN:
		put_text(members, "path", event->path);
		put_text(members, "resolved", event->resolved);
		put_id(members, "forgotten_scope", record->amount);
		put_text(members, "cause", event->other);
		break;
	case JOURNAL_COVERAGE:
		put_coverage(members, event);
		break;
	default: /* of a later version */
		break;
	}
}

/* Of other events there is nothing to be said of whose change they are. */
static bool has_source(const struct event *event)
{
	return event->source || event->op == JOURNAL_EDITED || event->op == JOURNAL_CHANGED;
}

void event_print_common(struct event_members *members, const struct event *event)
{
	char error[EVENT_ERROR_BYTES], time[TEXT_TIME_BYTES];

	put_number(members, "number", event->number);
	(void)text_time_ns(event->time_realtime_ns, time);
	put_text(members, "time", time[0] ? time : NULL);
	put_text(members, "op", event_op_name(event->op));
	put_text(members, "error", event->error ? event_error_name(event->error, error) : NULL);
	put_known(members, "process", event->process);
	put_known(members, "pid", event->pid);
	put_known(members, "tid", event->tid);
	put_known(members, "parent_pid", event->parent_pid);
	put_text(members, "role", event->role >= 0 ? role_name((uint32_t)event->role) : NULL);
	put_id(members, "scope", event->scope_id);
	put_id(members, "epoch", event->epoch);
	put_text(members, "executable", event->executable);
	put_boolean(members, "vforked", event->vforked);
	put_boolean(members, "cut", event->cut);
	put_boolean(members, "attempted", event->attempted);
	if (has_source(event))
		put_text(members, "source", source_name(event->source));
}

int event_print_json(FILE *file, const char *journal, const struct event *event)
{
	struct line line = { .members = { .put = put_in_line,
					  .put_text = put_text_in_line,
					  .put_number = put_number_in_line },
			     .out = { .file = file } };

	json_out_init(&line.out, NULL, '{');
	put_text(&line.members, "schema", "seen/log/1");
	if (journal)
		put_text(&line.members, "journal", journal);
	event_print_common(&line.members, event);
	event_print_members(&line.members, event);
	json_out_finish(&line.out, '}');
	int error = json_out_line(&line.out);
	return ferror(file) ? 0 : error;
}

/* ---- for people ---- */

/* Room for a path with every byte escaped. */
static char escaped[(2 * JOURNAL_TEXT_BYTES_MAX + 2) * 4];

static const char *safe(const char *bytes)
{
	if (path_escape(bytes, escaped, sizeof(escaped)) < 0)
		return "?";
	return escaped;
}

static void print_name(FILE *file, const char *resolved, const char *given, const char *workspace)
{
	if (resolved)
		(void)fputs(safe(event_path_shown(workspace, resolved)), file);
	else if (given)
		(void)fprintf(file, "%s%s", given[0] == '/' ? "" : "?/", safe(given));
	else
		(void)fputs("?", file);
}

/* A word of the details: two spaces before the first, one before each other. */
__attribute__((format(printf, 3, 4))) static void print_word(FILE *file, bool *first,
							     const char *format, ...)
{
	va_list arguments;

	(void)fputs(*first ? "  " : " ", file);
	*first = false;
	va_start(arguments, format);
	(void)vfprintf(file, format, arguments);
	va_end(arguments);
}

static void print_bytes(FILE *file, bool *first, uint64_t bytes, const char *what)
{
	char number[TEXT_NUMBER_BYTES];
	print_word(file, first, "%s %s", text_number(bytes, number), what);
}

static void print_flags(FILE *file, bool *first, uint32_t flags, const struct flag *known,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!known[i].bits || (flags & known[i].bits) != known[i].bits)
			continue;
		if (known[i].brief)
			print_word(file, first, "%s", known[i].brief);
		flags &= ~known[i].bits;
	}
}

static void print_arguments(FILE *file, const struct event *event)
{
	for (size_t at = 0, i = 0; at < event->other_bytes; i++) {
		const char *argument = event->other + at;
		/* The first one is the program again. */
		if (i > 0)
			(void)fprintf(file, "%s%s", i == 1 ? "  " : " ", safe(argument));
		at += strlen(argument) + 1;
	}
}

/* A version that can be asked for: `seen restore`. */
static void print_version(FILE *file, bool *first, const struct version *version)
{
	char digits[VERSION_DIGITS + 1];

	version_digits(version, digits);
	if (!version_is_none(version))
		print_word(file, first, "%s", digits);
}

static void print_words(FILE *file, bool *first, const char *word)
{
	if (word)
		print_word(file, first, "%s", word);
}

/* Without the details that a record may not have, they are none. */
static void print_guarded(FILE *file, const struct journal_entry *entry)
{
	const struct journal_record *record = &entry->record;
	bool first = true;

	print_words(file, &first, event_verdict_name(record->decision));
	print_words(file, &first, event_guard_reason_name(record->reason));
	if ((record->marks & JOURNAL_DETAILS) && entry->details.changer)
		print_word(file, &first, "changed by scope %016llx",
			   (unsigned long long)entry->details.changer);
	if (record->flags & JOURNAL_GUARDED_DEGRADED)
		print_word(file, &first, "degraded");
	if (record->flags & JOURNAL_GUARDED_KEPT) {
		print_word(file, &first, "kept");
		print_version(file, &first, &entry->details.before);
	}
}

static void print_details(FILE *file, const struct event *event, const char *workspace)
{
	const struct journal_record *record = &event->entry->record;
	const char *at_least = record->marks & JOURNAL_AT_LEAST ? "bytes or more" : "bytes";
	const struct journal_coverage *coverage = &event->entry->coverage;
	bool first = true;

	switch (event->op) {
	case JOURNAL_START:
	case JOURNAL_EXEC:
		print_arguments(file, event);
		break;
	case JOURNAL_FORK:
		print_word(file, &first, "parent %u", event->parent_pid);
		break;
	case JOURNAL_EXIT:
		print_word(file, &first, "status %llu", (unsigned long long)record->amount);
		break;
	case JOURNAL_FORGOTTEN:
		if (event->other)
			print_word(file, &first, "%s", safe(event->other));
		break;
	case JOURNAL_UNOBSERVED:
		if (record->flags & JOURNAL_UNOBSERVED_PARTLY)
			print_word(file, &first, "in part:");
		print_word(file, &first, "%s", event->other ? safe(event->other) : "?");
		if (record->count > 1)
			print_word(file, &first, "(%u times)", record->count);
		break;
	case JOURNAL_OPEN:
		print_word(file, &first, "%s", access_name(record->flags, true));
		print_flags(file, &first, record->flags & ~(uint32_t)O_ACCMODE, OPEN_FLAGS,
			    sizeof(OPEN_FLAGS) / sizeof(OPEN_FLAGS[0]));
		if (record->marks & JOURNAL_PLANNED)
			print_word(file, &first, "planned");
		if (is_answered(event) && record->decision != DECISION_CONTENT &&
		    event_decision_name(record->decision))
			print_word(file, &first, "%s", event_decision_name(record->decision));
		break;
	case JOURNAL_TRUNCATE:
		print_bytes(file, &first, record->amount,
			    record->flags & JOURNAL_TRUNCATE_ALLOCATES ? "bytes allocated"
								       : "bytes");
		break;
	case JOURNAL_READ:
	case JOURNAL_WRITE:
		print_bytes(file, &first, record->amount, at_least);
		break;
	case JOURNAL_READ_TOTAL:
	case JOURNAL_WRITE_TOTAL:
		print_bytes(file, &first, record->amount, at_least);
		print_bytes(file, &first, record->count, "calls");
		break;
	case JOURNAL_MAP:
		print_flags(file, &first, record->flags, MAP_FLAGS,
			    sizeof(MAP_FLAGS) / sizeof(MAP_FLAGS[0]));
		print_bytes(file, &first, record->amount, "bytes");
		break;
	case JOURNAL_CREATE:
		print_word(file, &first, "%s %04o",
			   kind_name(record->flags) ? kind_name(record->flags) : "file",
			   record->flags & ~(uint32_t)S_IFMT);
		break;
	case JOURNAL_DELETE:
		if (record->flags & AT_REMOVEDIR)
			print_word(file, &first, "folder");
		break;
	case JOURNAL_RENAME:
	case JOURNAL_LINK:
		(void)fputs(" -> ", file);
		print_name(file, event->other_resolved, event->other, workspace);
		break;
	case JOURNAL_SYMLINK:
		(void)fprintf(file, " -> %s", event->other ? safe(event->other) : "?");
		break;
	case JOURNAL_METADATA:
		if (metadata_name(record->flags))
			print_word(file, &first, "%s", metadata_name(record->flags));
		if (record->flags == JOURNAL_METADATA_MODE)
			print_word(file, &first, "%04llo", (unsigned long long)record->amount);
		else if (record->flags == JOURNAL_METADATA_OWNER)
			print_word(file, &first, "%d:%d", (int)(record->amount >> 32),
				   (int)(uint32_t)record->amount);
		break;
	case JOURNAL_NOTICE:
	case JOURNAL_DIFFED:
		print_bytes(file, &first, record->amount, "bytes not given again");
		break;
	case JOURNAL_GIVEN:
		print_bytes(file, &first, record->amount, "bytes");
		break;
	case JOURNAL_REQUEST:
		print_words(file, &first, event_decision_name(record->decision));
		print_bytes(file, &first, record->amount,
			    record->decision == DECISION_NOTICE ? "bytes not given again"
								: "bytes");
		print_bytes(file, &first, record->count, "inputs");
		break;
	case JOURNAL_EDITED:
		print_words(file, &first, source_name(event->source));
		if ((record->marks & JOURNAL_DETAILS) &&
		    version_is_none(&event->entry->details.after))
			print_word(file, &first, "deleted");
		print_version(file, &first, &event->entry->details.after);
		break;
	case JOURNAL_CHANGED:
		print_words(file, &first, source_name(event->source));
		if (record->flags)
			print_words(file, &first, event_change_name(record->flags));
		break;
	case JOURNAL_GUARDED:
		print_guarded(file, event->entry);
		break;
	case JOURNAL_RULED:
		print_words(file, &first, rule_op_name(record->flags));
		print_words(file, &first, rule_action_name(record->decision));
		if (event->other)
			print_word(file, &first, "%s", safe(event->other));
		break;
	case JOURNAL_INSTRUCTED:
		print_words(file, &first, instructed_name(record->flags));
		print_version(file, &first, &event->entry->details.after);
		break;
	case JOURNAL_KEPT:
		print_words(file, &first, kept_reason_name(record->reason));
		print_version(file, &first, &event->entry->details.after);
		break;
	case JOURNAL_COVERAGE:
		print_bytes(file, &first, coverage->observed, "observed,");
		print_bytes(file, &first, coverage->unobserved, "not,");
		print_bytes(file, &first, coverage->lost, "records lost");
		break;
	default:
		break;
	}
}

static bool has_path(const struct event *event)
{
	switch (event->op) {
	case JOURNAL_FORK:
	case JOURNAL_EXEC_FAILED:
	case JOURNAL_EXIT:
	case JOURNAL_COVERAGE:
	case EVENT_DAMAGED:
		return false;
	case JOURNAL_FORGOTTEN:
		return event->path;
	default:
		return true;
	}
}

/* A program's name, that is no path: known by it, or to be found through PATH. */
static const char *name_alone(const struct event *event)
{
	if (event->op == JOURNAL_EXEC && event->path && !strchr(event->path, '/'))
		return event->path;
	return event->program;
}

void event_print_head(FILE *file)
{
	(void)fprintf(file, "%s%-24s  %7s  %-6s  %-11s  %-6s  %s%s\n", text_style(file, "1"),
		      "TIME", "PID", "ROLE", "OP", "RESULT", "PATH", text_style(file, "0"));
}

void event_print_subject(FILE *file, const struct event *event, const char *workspace)
{
	if (event->op == EVENT_DAMAGED)
		(void)fprintf(file, "record %llu", (unsigned long long)event->number);
	else if (event->op == JOURNAL_FORGOTTEN && !event->path)
		(void)fputs("everything", file);
	if (name_alone(event))
		(void)fputs(safe(name_alone(event)), file);
	else if (event->op == JOURNAL_COVERAGE)
		(void)fputs(event->other ? safe(event->other) : "run", file);
	else if (has_path(event))
		print_name(file, event->resolved, event->path, workspace);
	else if (event->executable)
		(void)fputs(safe(path_base(event->executable)), file);
}

void event_print_details(FILE *file, const struct event *event, const char *workspace)
{
	if (event->entry)
		print_details(file, event, workspace);
}

void event_print_line(FILE *file, const struct event *event, const char *workspace)
{
	char time[TEXT_TIME_BYTES], pid[16] = "-", number[EVENT_ERROR_BYTES];
	const char *name = event_op_name(event->op);
	bool failed = event->error || event->op == EVENT_DAMAGED;

	(void)text_time(event->time_realtime_ns, time);
	if (event->pid)
		(void)snprintf(pid, sizeof(pid), "%u", event->pid);
	(void)fprintf(file, "%-24s  %7s  %-6s  %-11s  %s%-6s%s  ", time[0] ? time : "-", pid,
		      event->role >= 0 ? role_name((uint32_t)event->role) : "-", name ? name : "?",
		      failed ? text_style(file, "33") : "",
		      event->error                 ? event_error_name(event->error, number)
		      : event->op == EVENT_DAMAGED ? "-"
		      : event->attempted           ? "tried"
						   : "ok",
		      failed ? text_style(file, "0") : "");
	event_print_subject(file, event, workspace);
	event_print_details(file, event, workspace);
	(void)fputc('\n', file);
}
