/* A journal of this program as a transcript: what viewers gave whole, in which version; what
 * readers ran; what was forgotten. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/journal/events.h"
#include "cli/replay/transcript_formats.h"
#include "cli/replay/transcript_reader.h"
#include "cli/session/journal_file.h"
#include "tracker/process/role.h"

enum { STDOUT = 1, WRITERS = 64 };

/* What a process's first write was: the total that comes later has it, too. */
struct writer {
	uint64_t process, bytes;
};

struct journal_reader {
	struct transcript *transcript;
	struct events *events;
	struct writer writers[WRITERS];
};

static bool is_asking(const struct event *event)
{
	return event->role == ROLE_VIEWER || event->role == ROLE_READER;
}

static uint64_t written(struct journal_reader *reader, const struct event *event)
{
	struct writer *writer = &reader->writers[event->process % WRITERS];
	uint64_t bytes = event->entry->record.amount;

	if (event->op == JOURNAL_WRITE) {
		*writer = (struct writer){ event->process, bytes };
		return bytes;
	}
	uint64_t first = writer->process == event->process ? writer->bytes : 0;
	return bytes > first ? bytes - first : 0;
}

static int report(struct journal_reader *reader, const struct event *event)
{
	struct transcript *transcript = reader->transcript;
	struct call call = { .session = transcript->file_id,
			     .scope = event->scope_id,
			     .path = event->resolved ? event->resolved : event->path,
			     .directory = events_workspace(reader->events),
			     .time_ns = event->time_realtime_ns };

	switch (event->op) {
	case JOURNAL_START:
		if (!is_asking(event) || !event->scope_id)
			return 0;
		call.kind = CALL_RAN;
		call.path = NULL;
		break;
	case JOURNAL_WRITE:
	case JOURNAL_WRITE_TOTAL:
		if (!is_asking(event) || !event->scope_id || event->entry->record.fd != STDOUT)
			return 0;
		call.kind = CALL_WROTE;
		call.output_bytes = written(reader, event);
		break;
	case JOURNAL_YIELDED:
		if (event->process) /* a viewer's: what it gave is an event of its own */
			return 0;
		__attribute__((fallthrough));
	case JOURNAL_GIVEN:
		call.kind = CALL_GIVEN;
		call.version = event->entry->details.after;
		call.own = !is_asking(event);
		break;
	case JOURNAL_EDITED:
		call.kind = CALL_EDIT;
		break;
	case JOURNAL_FORGOTTEN:
		call.kind = CALL_INVALIDATED;
		call.scope = event->entry->record.amount;
		break;
	default:
		return 0;
	}
	return transcript->sink(&call, transcript->data);
}

int transcript_journal(struct transcript *transcript)
{
	struct transcript_result *result = transcript->result;
	struct journal_reader reader = { .transcript = transcript };
	struct event event;
	enum events_found found;
	int error = events_open(transcript->path, false, &reader.events);

	if (error < 0) {
		(void)snprintf(result->error, sizeof(result->error), "%s",
			       journal_file_explain(error));
		return error;
	}
	while (error == 0 && (found = events_next(reader.events, &event)) != EVENTS_END) {
		if (found == EVENTS_UNDONE)
			events_pass(reader.events);
		else if (event.op != EVENT_DAMAGED)
			error = report(&reader, &event);
	}
	int unread = events_error(reader.events);
	if (error == 0 && unread < 0) {
		(void)snprintf(result->error, sizeof(result->error), "%s",
			       journal_file_explain(unread));
		error = unread;
	}
	struct events_counts counts = events_counts(reader.events);
	result->damaged = counts.damaged;
	if (error == 0 && counts.damaged)
		(void)snprintf(result->error, sizeof(result->error),
			       "%llu of its records are damaged and were passed over; `seen "
			       "verify` tells more",
			       (unsigned long long)counts.damaged);
	events_close(reader.events);
	return error;
}
