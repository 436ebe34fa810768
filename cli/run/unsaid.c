/* Warnings at the end of a run: see unsaid.h. */
#include "cli/run/unsaid.h"

#include <stdio.h>

#include "cli/base/text.h"
#include "cli/journal/events.h"
#include "tracker/guard/unreported.h"

enum { SHOWN = 8, LINE_BYTES = 4 * SEGMENT_PATH_BYTES };

static void print(const struct segment *segment, const struct event *event)
{
	const struct journal_entry *entry = event->entry;
	struct guard_answer answer = {
		.verdict = (enum guard_verdict)entry->record.decision,
		.reason = (enum guard_reason)entry->record.reason,
		.kept = entry->record.flags & JOURNAL_GUARDED_KEPT,
		.before = entry->details.before,
	};
	char line[LINE_BYTES];

	if (guard_format_message(segment, &answer, event->resolved, line, sizeof(line)))
		(void)fputs(line, stderr);
}

/* Was no agent shown it, neither at once nor since? */
static bool is_unsaid(const struct segment *segment, const struct journal_entry *entry,
		      const char *path)
{
	const struct journal_record *record = &entry->record;

	return (record->marks & JOURNAL_DETAILS) && !(record->flags & JOURNAL_GUARDED_REPORTED) &&
	       (record->reason == GUARD_STALE || record->reason == GUARD_UNREAD) &&
	       (record->decision == GUARD_WARN || record->decision == GUARD_DENY) &&
	       !unreported_finish(segment, path, &entry->details.before);
}

void unsaid_print(const struct segment *segment, const char *journal, uint64_t since)
{
	char number[TEXT_NUMBER_BYTES];
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
		if (event.op != JOURNAL_GUARDED || event.number < since || !event.entry ||
		    !event.resolved || !is_unsaid(segment, event.entry, event.resolved))
			continue;
		if (count++ < SHOWN)
			print(segment, &event);
	}
	events_close(events);
	if (count > SHOWN)
		(void)fprintf(stderr, "seen: and %s more; `seen log --op guarded` lists them\n",
			      text_number(count - SHOWN, number));
}
