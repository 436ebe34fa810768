/* What an event is to those who collect them: see event_class.h. */
#include "cli/journal/event_class.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cli/journal/event_filter.h"
#include "config/settings.h"
#include "tracker/content/version.h"
#include "tracker/guard/guard.h"
#include "tracker/journal/journal.h"
#include "tracker/process/role.h"

/* What an event of this op is, unless its record says more. */
static const struct {
	unsigned char about, action, file_kind;
} OPS[EVENT_OP_COUNT] = {
#define OP(name, word, words, about, action, file, ...) \
	[JOURNAL_##name] = { EVENT_ABOUT_##about, EVENT_##action, EVENT_FILE_##file },
#include "tracker/journal/ops.def"
#undef OP
	[EVENT_DAMAGED] = { EVENT_ABOUT_SESSION, EVENT_TELLS, 0 },
};

static enum event_file_kind kind_of_mode(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return EVENT_FILE_REGULAR;
	case S_IFDIR:
		return EVENT_FILE_DIRECTORY;
	case S_IFCHR:
		return EVENT_FILE_CHARACTER;
	case S_IFBLK:
		return EVENT_FILE_BLOCK;
	case S_IFSOCK:
		return EVENT_FILE_SOCKET;
	case S_IFIFO:
		return EVENT_FILE_FIFO;
	default:
		return EVENT_FILE_UNKNOWN;
	}
}

/* O_CREAT alone does not tell whether the file was there. */
static enum event_action action_of_open(uint32_t flags)
{
	if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return EVENT_CREATES;
	return flags & O_TRUNC ? EVENT_WRITES : EVENT_OPENS;
}

static enum event_action action_of_change(uint32_t flags)
{
	switch (flags) {
	case JOURNAL_CHANGED_ADDED:
		return EVENT_CREATES;
	case JOURNAL_CHANGED_DELETED:
		return EVENT_DELETES;
	default:
		return EVENT_WRITES;
	}
}

static enum event_action action_of_access(uint32_t access)
{
	switch (access) {
	case RULE_READ:
		return EVENT_READS;
	case RULE_WRITE:
		return EVENT_WRITES;
	case RULE_CREATE:
	case RULE_LINK:
		return EVENT_CREATES;
	case RULE_DELETE:
		return EVENT_DELETES;
	case RULE_RENAME:
		return EVENT_RENAMES;
	case RULE_METADATA:
		return EVENT_SETS_ATTRIBUTES;
	case RULE_LIST:
		return EVENT_OPENS;
	default: /* a program that is started is a file here */
		return EVENT_TELLS;
	}
}

static void classify_closely(const struct event *event, struct event_class *class)
{
	const struct journal_record *record = &event->entry->record;
	const struct version *after = &event->entry->details.after;

	switch (event->op) {
	case JOURNAL_OPEN:
		class->action = action_of_open(record->flags);
		if (record->flags & O_DIRECTORY)
			class->file_kind = EVENT_FILE_DIRECTORY;
		break;
	case JOURNAL_MAP:
		if (record->flags & PROT_WRITE && record->flags & JOURNAL_MAP_SHARED)
			class->action = EVENT_WRITES;
		break;
	case JOURNAL_CREATE:
		class->file_kind = kind_of_mode(record->flags);
		break;
	case JOURNAL_DELETE:
		if (record->flags & AT_REMOVEDIR)
			class->file_kind = EVENT_FILE_DIRECTORY;
		break;
	case JOURNAL_METADATA:
		if (record->flags == JOURNAL_METADATA_MODE ||
		    record->flags == JOURNAL_METADATA_OWNER)
			class->action = EVENT_SETS_SECURITY;
		break;
	case JOURNAL_CHANGED:
		class->action = action_of_change(record->flags);
		break;
	case JOURNAL_EDITED:
		if ((record->marks & JOURNAL_DETAILS) && version_is_none(after))
			class->action = EVENT_DELETES;
		break;
	case JOURNAL_FORGOTTEN:
		if (!event->path)
			class->about = EVENT_ABOUT_SESSION;
		break;
	case JOURNAL_GUARDED:
		class->prevented = record->decision == GUARD_DENY;
		break;
	case JOURNAL_RULED:
		class->action = action_of_access(record->flags);
		class->prevented = record->decision == RULE_ACTION_DENY;
		class->rule = event->other;
		break;
	default:
		break;
	}
}

static enum event_finding finding_of_guard(const struct journal_record *record)
{
	if (record->decision == GUARD_PASS)
		return EVENT_FINDING_NONE;
	switch (record->reason) {
	case GUARD_STALE:
		return EVENT_FINDING_STALE;
	case GUARD_UNREAD:
		return EVENT_FINDING_UNREAD;
	case GUARD_NOTICE:
		return EVENT_FINDING_NOTICE;
	default:
		return EVENT_FINDING_GUARDED;
	}
}

static enum event_finding finding_of(const struct event *event)
{
	switch (event->op) {
	case EVENT_DAMAGED:
		return EVENT_FINDING_DAMAGED;
	case JOURNAL_GUARDED:
		return event->entry ? finding_of_guard(&event->entry->record) : EVENT_FINDING_NONE;
	case JOURNAL_RULED:
		return EVENT_FINDING_RULE;
	case JOURNAL_UNOBSERVED:
		return event->entry && event->entry->record.flags & JOURNAL_UNOBSERVED_PARTLY
			       ? EVENT_FINDING_PARTLY
			       : EVENT_FINDING_UNOBSERVED;
	case JOURNAL_COVERAGE:
		return event->entry && event->entry->coverage.lost ? EVENT_FINDING_LOST
								   : EVENT_FINDING_NONE;
	default:
		return event_is_denied(event) ? EVENT_FINDING_DENIED : EVENT_FINDING_NONE;
	}
}

/* The graver, the more a rule does about it. */
static enum event_severity severity_of_rule(unsigned action)
{
	switch (action) {
	case RULE_ACTION_FAIL:
	case RULE_ACTION_DENY:
		return EVENT_SEVERITY_HIGH;
	case RULE_ACTION_WARN:
		return EVENT_SEVERITY_MEDIUM;
	default:
		return EVENT_SEVERITY_LOW;
	}
}

/* Does the record report something that was not done yet, or that its writer cannot know? */
static bool is_open_yet(const struct event *event)
{
	return event->attempted || op_info(event->op)->traits & OP_OUTCOME_OPEN ||
	       event->op == EVENT_DAMAGED;
}

struct event_class event_class(const struct event *event)
{
	struct event_class class = { .about = EVENT_ABOUT_SESSION };

	if (event->op < EVENT_OP_COUNT) {
		class.about = OPS[event->op].about;
		class.action = OPS[event->op].action;
		class.file_kind = OPS[event->op].file_kind;
	}
	if (event->entry)
		classify_closely(event, &class);
	class.outcome = event->error || op_info(event->op)->effect == EFFECT_WITHDRAWS ||
					class.prevented
				? EVENT_FAILED
			: is_open_yet(event) ? EVENT_OUTCOME_UNKNOWN
					     : EVENT_SUCCEEDED;
	class.finding = finding_of(event);
	if (class.finding == EVENT_FINDING_RULE && event->entry)
		class.severity = severity_of_rule(event->entry->record.decision);
	else if (class.finding)
		class.severity = event_finding_severity(class.finding);
	return class;
}

bool event_is_alert(const struct event_class *class)
{
	return class->finding && class->finding != EVENT_FINDING_DENIED;
}

bool event_is_answered(const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	return event->op == JOURNAL_OPEN && event->role == ROLE_VIEWER && !event->error &&
	       ((record->marks & JOURNAL_DETAILS) || record->decision || record->reason);
}

bool event_begins_run(const struct event *event)
{
	return event->op == JOURNAL_EXEC && event->entry->record.process == 0 && !event->attempted;
}

static const struct {
	const char *id, *name, *title, *text;
	enum event_severity severity;
} FINDINGS[] = {
#define FINDING(name, id, word, severity, title, text) \
	[EVENT_FINDING_##name] = { id, word, title, text, EVENT_SEVERITY_##severity },
	EVENT_FINDINGS(FINDING)
#undef FINDING
};

const char *event_finding_id(enum event_finding finding)
{
	return FINDINGS[finding].id;
}

const char *event_finding_name(enum event_finding finding)
{
	return FINDINGS[finding].name;
}

const char *event_finding_title(enum event_finding finding)
{
	return FINDINGS[finding].title;
}

const char *event_finding_text(enum event_finding finding)
{
	return FINDINGS[finding].text;
}

enum event_severity event_finding_severity(enum event_finding finding)
{
	return FINDINGS[finding].severity;
}

const char *event_severity_name(enum event_severity severity)
{
	static const char *const NAMES[EVENT_SEVERITY_COUNT] = { "information", "low", "medium",
								 "high" };
	return NAMES[severity];
}

const struct version *event_version(const struct event *event)
{
	const struct journal_details *details;

	if (!event->entry || !(event->entry->record.marks & JOURNAL_DETAILS))
		return NULL;
	details = &event->entry->details;
	/* What stands behind a write that was guarded is the writer's baseline, and no version
	 * of the file. */
	if (event->op != JOURNAL_GUARDED && !version_is_none(&details->after))
		return &details->after;
	return version_is_none(&details->before) ? NULL : &details->before;
}
