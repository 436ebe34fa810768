/* An event as JSON for programs: see event_members.h. */
#include "cli/journal/event_members.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/text.h"
#include "cli/journal/event_class.h"
#include "cli/journal/event_words.h"
#include "cli/journal/fact.h"
#include "cli/journal/reported.h"
#include "cli/session/scopes.h"
#include "tracker/answer/decision.h"
#include "tracker/content/version.h"
#include "tracker/guard/rule.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

enum { MEMBERS_MAX = 16 };

enum member {
	MEMBER_END,
#define COMMON(name, ...) MEMBER_##name,
#define MEMBER(name, ...) MEMBER_##name,
#define VARIANT(id, ...) MEMBER_##id,
#include "cli/journal/members.def"
};

/* What each op has. */
static const unsigned char MEMBERS[JOURNAL_OP_COUNT][MEMBERS_MAX] = {
#define M(name) MEMBER_##name,
#define OP(name, word, words, about, action, file, effect, author, traits, readers, members, ...) \
	[JOURNAL_##name] = { members MEMBER_END },
#include "tracker/journal/ops.def"
#undef OP
#undef M
};

/* One of the texts of a hook's report; NULL: it gave none. */
static const char *event_reported(const struct event *event, enum reported_text which)
{
	return reported_text(event->other, event->other_bytes, which);
}

/* In place of a number: null, and no member at all. */
static const uint64_t NO_NUMBER = UINT64_MAX, NO_MEMBER = UINT64_MAX - 1;

/* ---- types ---- */

static void set(struct event_members *members, const char *name, json_t *value)
{
	members->set(members, name, value);
}

/* Bytes of others, or a word of ours; NULL: not known. */
static void set_text(struct event_members *members, const char *name, const char *bytes)
{
	if (members->set_text)
		members->set_text(members, name, bytes);
	else
		set(members, name, bytes ? text_json(bytes) : json_null());
}

#define set_role set_text
#define set_decision set_text
#define set_request_decision set_text
#define set_reason set_text
#define set_guard_reason set_text
#define set_kept_reason set_text
#define set_verdict set_text
#define set_change set_text
#define set_create_kind set_text
#define set_metadata_kind set_text
#define set_way set_text
#define set_access set_text
#define set_action set_text

/* JSON has no numbers for the upper half: they are no counts, bytes or descriptors either. */
static void set_count(struct event_members *members, const char *name, uint64_t number)
{
	if (number > INT64_MAX)
		set_text(members, name, NULL);
	else if (members->set_number)
		members->set_number(members, name, (int64_t)number);
	else
		set(members, name, json_integer((json_int_t)number));
}

static void set_optional_count(struct event_members *members, const char *name, uint64_t number)
{
	if (number != NO_MEMBER)
		set_count(members, name, number);
}

/* A name of something, 0: not known. */
static void set_number(struct event_members *members, const char *name, uint64_t number)
{
	set_count(members, name, number ? number : NO_NUMBER);
}

static void set_descriptor(struct event_members *members, const char *name, int fd)
{
	set_count(members, name, fd >= 0 ? (uint64_t)fd : NO_NUMBER);
}

static void set_boolean(struct event_members *members, const char *name, bool value)
{
	set(members, name, json_boolean(value));
}

static void set_id(struct event_members *members, const char *name, uint64_t id)
{
	char text[SCOPES_ID_BYTES];

	(void)snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	set_text(members, name, id ? text : NULL);
}

static void set_time(struct event_members *members, const char *name, uint64_t realtime_ns)
{
	char time[TEXT_TIME_BYTES];

	(void)text_time_ns(realtime_ns, time);
	set_text(members, name, time[0] ? time : NULL);
}

static void set_error(struct event_members *members, const char *name, int error)
{
	char text[EVENT_ERROR_BYTES];
	set_text(members, name, error ? event_error_name(error, text) : NULL);
}

/* version: NULL or none: null. */
static void set_version(struct event_members *members, const char *name,
			const struct version *version)
{
	char digits[VERSION_DIGITS + 1];
	bool is_known = version && !version_is_none(version);

	if (is_known)
		version_digits(version, digits);
	set_text(members, name, is_known ? digits : NULL);
}

static void set_mode(struct event_members *members, const char *name, uint64_t mode)
{
	char text[24];
	(void)snprintf(text, sizeof(text), "%04llo", (unsigned long long)mode);
	set_text(members, name, text);
}

static void set_optional_mode(struct event_members *members, const char *name, uint64_t mode)
{
	if (mode != NO_MEMBER)
		set_mode(members, name, mode);
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

static bool has_details(const struct journal_record *record)
{
	return record->marks & JOURNAL_DETAILS;
}

/* What the record knows of its file. */
static void set_file(struct event_members *members, const char *name,
		     const struct journal_entry *entry)
{
	if (!has_details(&entry->record)) {
		set(members, name, json_null());
		return;
	}
	/* What stands behind a write that was guarded is no version of its result. */
	bool has_after = entry->record.head.op != JOURNAL_GUARDED;
	json_t *object = json_object();
	(void)json_object_set_new_nocheck(object, "dev", json_known(entry->details.dev));
	(void)json_object_set_new_nocheck(object, "ino", json_known(entry->details.ino));
	(void)json_object_set_new_nocheck(object, "bytes", json_number(entry->details.size_bytes));
	(void)json_object_set_new_nocheck(object, "before", json_version(&entry->details.before));
	(void)json_object_set_new_nocheck(
		object, "after", has_after ? json_version(&entry->details.after) : json_null());
	set(members, name, object);
}

/* Texts that are each ended by NUL; the last one perhaps not, where it was cut. */
static void set_arguments(struct event_members *members, const char *name,
			  const struct event *event)
{
	json_t *array = event->other ? json_array() : json_null();

	for (size_t at = 0; event->other && at < event->other_bytes;
	     at += strlen(event->other + at) + 1)
		(void)json_array_append_new(array, text_json(event->other + at));
	set(members, name, array);
}

static json_t *json_flags(uint32_t flags, json_t *array, const struct event_flag *known,
			  size_t count)
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

static void set_open_flags(struct event_members *members, const char *name, uint32_t flags)
{
	size_t count;
	const struct event_flag *known = event_open_flags(&count);
	json_t *array = json_array();

	(void)json_array_append_new(array, json_string_nocheck(event_access_name(flags, false)));
	set(members, name, json_flags(flags & ~(uint32_t)O_ACCMODE, array, known, count));
}

static void set_map_flags(struct event_members *members, const char *name, uint32_t flags)
{
	size_t count;
	const struct event_flag *known = event_map_flags(&count);
	set(members, name, json_flags(flags, json_array(), known, count));
}

static void set_made(struct event_members *members, const char *name, unsigned marks)
{
	set(members, name,
	    marks & (JOURNAL_MADE | JOURNAL_WAS_THERE) ? json_boolean(marks & JOURNAL_MADE)
						       : json_null());
}

/* Of other events there is no source to be known. */
static void set_optional_source(struct event_members *members, const char *name,
				const struct event *event)
{
	if (event->source || op_info(event->op)->author == AUTHOR_RECORDED)
		set_text(members, name, source_name(event->source));
}

/* ---- values ---- */

/* What a viewer's open was answered with; NULL: it was not asked for. */
static const char *event_decision(const struct event *event)
{
	return event_is_answered(event) ? event_decision_name(event->entry->record.decision) : NULL;
}

static const char *event_reason(const struct event *event)
{
	return event_is_answered(event) ? event_reason_name(event->entry->record.reason) : NULL;
}

/* Of METADATA.  -1: left as it is (chown(2)). */
static uint64_t owner(const struct journal_record *record, uint64_t id)
{
	if (record->flags != JOURNAL_METADATA_OWNER)
		return NO_MEMBER;
	return (uint32_t)id == UINT32_MAX ? NO_NUMBER : (uint32_t)id;
}

/* ---- members ---- */

void event_members_common(struct event_members *members, const struct event *event)
{
#define COMMON(name, column, type, value, text) set_##type(members, #name, value);
#include "cli/journal/members.def"
}

static void set_member(struct event_members *members, enum member member, const struct event *event)
{
	const struct journal_entry *entry = event->entry;
	const struct journal_record *record = &entry->record;

	switch (member) {
#define COMMON(name, ...) case MEMBER_##name:
#include "cli/journal/members.def"
	case MEMBER_END:
		break;
#define MEMBER(name, column, type, value, text) \
	case MEMBER_##name: \
		set_##type(members, #name, value); \
		break;
#define VARIANT(id, name, column, type, value) \
	case MEMBER_##id: \
		set_##type(members, #name, value); \
		break;
#include "cli/journal/members.def"
	}
}

void event_members_own(struct event_members *members, const struct event *event)
{
	if (!event->entry || event->op >= JOURNAL_OP_COUNT) /* damaged, or of a later version */
		return;
	for (const unsigned char *member = MEMBERS[event->op]; *member; member++)
		set_member(members, *member, event);
}
