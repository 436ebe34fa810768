/* Warnings at the end of a run: see unsaid.h. */
#include "cli/run/unsaid.h"

#include <stdio.h>

#include "cli/base/text.h"
#include "cli/journal/events.h"
#include "tracker/guard/unreported.h"
#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

enum { SHOWN = 8, LINE_BYTES = 4 * SEGMENT_PATH_BYTES };

/* Returns the length of the line; 0: it has none. */
static size_t format(const struct segment *segment, const struct event *event, char *ret_line,
		     size_t capacity)
{
	const struct journal_entry *entry = event->entry;
	struct guard_answer answer = {
		.verdict = (enum guard_verdict)entry->record.decision,
		.reason = (enum guard_reason)entry->record.reason,
		.kept = entry->record.flags & JOURNAL_GUARDED_KEPT,
		.before = entry->details.before,
	};

	return guard_format_message(segment, &answer, event->resolved, ret_line, capacity);
}

/* Is it a write that the guard warned of or refused? */
static bool is_conflict(const struct event *event, uint64_t since)
{
	if (event->op != JOURNAL_GUARDED || event->number < since || !event->entry ||
	    !event->resolved)
		return false;
	const struct journal_record *record = &event->entry->record;
	return (record->marks & JOURNAL_DETAILS) &&
	       (record->reason == GUARD_STALE || record->reason == GUARD_UNREAD) &&
	       (record->decision == GUARD_WARN || record->decision == GUARD_DENY);
}

/* Was no agent shown it, neither at once nor since? */
static bool is_unsaid(const struct segment *segment, const struct journal_entry *entry,
		      const char *path)
{
	return !(entry->record.flags & JOURNAL_GUARDED_REPORTED) &&
	       !unreported_finish(segment, path, &entry->details.before);
}

void unsaid_print(const struct segment *segment, const char *journal, uint64_t since)
{
	char number[TEXT_NUMBER_BYTES], line[LINE_BYTES];
	struct events *events;
	struct event event;
	uint64_t count = 0;

	if (!journal || events_open(journal, false, &events) < 0)
		return;
	for (enum events_found found; (found = events_next(events, &event)) != EVENTS_END;) {
		if (found == EVENTS_UNDONE) {
			events_pass(events);
			continue;
		}
		if (!is_conflict(&event, since) || !is_unsaid(segment, event.entry, event.resolved))
			continue;
		if (count++ < SHOWN && format(segment, &event, line, sizeof(line)))
			(void)fputs(line, stderr);
	}
	events_close(events);
	if (count > SHOWN)
		(void)fprintf(stderr, "seen: and %s more; `seen log --op guarded` lists them\n",
			      text_number(count - SHOWN, number));
}

/* What became of a file, and what brings its content back. */
static bool describe(const struct segment *segment, const struct event *event, char *ret_line,
		     size_t capacity)
{
	const struct journal_record *record = &event->entry->record;
	char name[4 * SEGMENT_PATH_BYTES], digits[VERSION_DIGITS + 1];
	bool is_denied = record->decision == GUARD_DENY;
	const char *what = record->reason == GUARD_UNREAD
				   ? is_denied ? "not overwritten: it was never read"
					       : "overwritten though it was never read"
			   : is_denied ? "not overwritten: the agent had not seen a change of it"
				       : "a change unseen by the agent was overwritten";

	if (path_escape(path_relative(segment, event->resolved), name, sizeof(name)) < 0)
		return false;
	version_digits(&event->entry->details.before, digits);
	if (!is_denied && (record->flags & JOURNAL_GUARDED_KEPT))
		(void)snprintf(ret_line, capacity, "%s: %s; `seen restore %s %s` brings it back",
			       name, what, name, digits);
	else
		(void)snprintf(ret_line, capacity, "%s: %s", name, what);
	return true;
}

bool unsaid_first(const struct segment *segment, const char *journal, uint64_t since,
		  char *ret_line, size_t capacity)
{
	struct events *events;
	struct event event;
	bool found = false;

	if (!journal || events_open(journal, false, &events) < 0)
		return false;
	for (enum events_found next;
	     !found && (next = events_next(events, &event)) != EVENTS_END;) {
		if (next == EVENTS_UNDONE)
			events_pass(events);
		else
			found = is_conflict(&event, since) &&
				describe(segment, &event, ret_line, capacity);
	}
	events_close(events);
	return found;
}
