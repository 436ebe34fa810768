/*
 * What an event is to programs that collect the events of many others: what it is about, what was
 * done, its result, how grave it is, and whether it is a finding: something that a person
 * should inspect.
 *
 * One place for all of them: each format has its own words (export_ocsf.c, export_ecs.c ...), none
 * decides anew.  docs/export.md has the table.
 */
#ifndef SEEN_CLI_EVENT_CLASS_H
#define SEEN_CLI_EVENT_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/journal/events.h"

enum event_about {
	EVENT_ABOUT_FILE,    /* a file, a directory, or their name */
	EVENT_ABOUT_PROCESS, /* a process, or a program */
	EVENT_ABOUT_SESSION, /* neither: what a run saw, the journal itself */
};

enum event_action {
	EVENT_TELLS, /* nothing was done to it: an answer was given, a version kept ... */
	EVENT_OPENS,
	EVENT_READS,
	EVENT_WRITES, /* its content */
	EVENT_CREATES,
	EVENT_DELETES,
	EVENT_RENAMES,
	EVENT_SETS_ATTRIBUTES,
	EVENT_SETS_SECURITY, /* mode, owner */
	EVENT_STARTS,
	EVENT_ENDS,
	EVENT_ACTION_COUNT,
};

enum event_outcome {
	/* reported before it was done, or by a process that could not know */
	EVENT_OUTCOME_UNKNOWN,
	EVENT_SUCCEEDED,
	EVENT_FAILED,
};

enum event_severity {
	EVENT_SEVERITY_INFORMATION,
	EVENT_SEVERITY_LOW,
	EVENT_SEVERITY_MEDIUM,
	EVENT_SEVERITY_HIGH,
	EVENT_SEVERITY_COUNT,
};

/* EVENT_FINDINGS(FINDING): FINDING(NAME, "id", "Name", SEVERITY, "title", "text").  Appended to:
 * the ids are what people filter by. */
#define EVENT_FINDINGS(FINDING) \
	FINDING(STALE, "stale-write", "StaleWrite", HIGH, \
		"a write that would destroy another program's change", \
		"What was in the file is neither what the writer was given, read or wrote, nor " \
		"what the session made.") \
	FINDING(UNREAD, "unread-write", "UnreadWrite", MEDIUM, \
		"a write to a file that the agent never read", \
		"The file was there, and the agent that is about to replace it does not know " \
		"what is in it.") \
	FINDING(NOTICE, "notice-write", "NoticeWrite", HIGH, \
		"a write of a notice in place of a file's content", \
		"The data held a notice of this session, which stands for content and is none.") \
	FINDING(GUARDED, "guarded-write", "GuardedWrite", LOW, "a write that the guard warned of", \
		"The guard could not tell that nothing is lost by this write: another one had " \
		"not ended, or the file could not be read.") \
	FINDING(RULE, "rule-hit", "RuleHit", MEDIUM, "an access that a rule speaks of", \
		"A rule of the configuration names this path, this program and what was done.") \
	FINDING(DENIED, "access-denied", "AccessDenied", LOW, "an access that was denied", \
		"The call failed with EACCES, EPERM or EROFS.") \
	FINDING(UNOBSERVED, "unobserved-program", "UnobservedProgram", MEDIUM, \
		"a program that was not observed", \
		"It was started in this session, and what it did to files is not in the journal.") \
	FINDING(PARTLY, "partly-observed-program", "PartlyObservedProgram", LOW, \
		"a program that was observed in part", \
		"It works in ways of which the journal does not have everything.") \
	FINDING(DAMAGED, "damaged-record", "DamagedRecord", HIGH, \
		"a record of the journal that is damaged", \
		"Its check does not hold: it was changed, or never written in whole.") \
	FINDING(LOST, "lost-records", "LostRecords", MEDIUM, "records that could not be written", \
		"The journal had no room for them; what they told is not known.")

enum event_finding {
	EVENT_FINDING_NONE,
#define FINDING(name, id, word, severity, title, text) EVENT_FINDING_##name,
	EVENT_FINDINGS(FINDING)
#undef FINDING
		EVENT_FINDING_COUNT,
};

/* What is known of a file's kind, by the event. */
enum event_file_kind {
	EVENT_FILE_UNKNOWN,
	EVENT_FILE_REGULAR,
	EVENT_FILE_DIRECTORY,
	EVENT_FILE_CHARACTER,
	EVENT_FILE_BLOCK,
	EVENT_FILE_SOCKET,
	EVENT_FILE_FIFO,
	EVENT_FILE_SYMLINK,
};

struct event_class {
	enum event_about about;
	enum event_action action;
	enum event_outcome outcome;
	enum event_severity severity;
	enum event_finding finding;
	enum event_file_kind file_kind;
	bool prevented; /* seen itself saw to it that it was not done */
	const char *
		rule; /* name of the rule that held, bytes of others, as long as the event; NULL: none */
};

/* event_class(): what an event is.  No memory, no input or output. */
struct event_class event_class(const struct event *event);

/* event_is_alert(): is it for a person to inspect, and not only an access that failed? */
bool event_is_alert(const struct event_class *class);

/* event_is_answered(): is it an open by a viewer that a decision was made on?  event: with a
 * record. */
bool event_is_answered(const struct event *event);

/* event_begins_run(): is it the announcement of a run's first program?  `seen run` makes it,
 * which is no process of the session. */
bool event_begins_run(const struct event *event);

/* event_finding_id(): "stale-write" ...; _name(): "StaleWrite" ..., _title(): in some words;
 * _text(): in a sentence; _severity(): unless its event says more.  finding: not
 * EVENT_FINDING_NONE.  Static. */
const char *event_finding_id(enum event_finding finding);
const char *event_finding_name(enum event_finding finding);
const char *event_finding_title(enum event_finding finding);
const char *event_finding_text(enum event_finding finding);
enum event_severity event_finding_severity(enum event_finding finding);

/* event_severity_name(): "information", "low", "medium", "high". */
const char *event_severity_name(enum event_severity severity);

/* event_version(): the version of that file that the event tells: what it is after the event,
 * else what it was.  NULL: none.  Valid as long as the event. */
const struct version *event_version(const struct event *event);

#endif
