/* The events of `seen top` that are worth a line: see top_model.h. */
#include "cli/top/top_model_notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/journal/event_words.h"
#include "cli/top/top_model.h"
#include "tracker/answer/decision.h"
#include "tracker/guard/rule.h"
#include "tracker/process/source.h"

static void add(struct top_model *model, const struct event *event, const char *path, bool is_grave,
		const char *text)
{
	if (model->note_count == TOP_NOTES_MAX) {
		free(model->notes[model->note_first].path);
		model->note_first = (model->note_first + 1) % TOP_NOTES_MAX;
		model->note_count--;
		model->notes_dropped++;
	}
	struct top_note *note =
		&model->notes[(model->note_first + model->note_count++) % TOP_NOTES_MAX];
	*note = (struct top_note){ .number = event->number,
				   .time_realtime_ns = event->time_realtime_ns,
				   .op = event->op,
				   .pid = event->pid,
				   .is_grave = is_grave,
				   .path = path ? strdup(path) : NULL };
	(void)snprintf(note->text, sizeof(note->text), "%s", text ? text : "");
}

const struct top_note *top_model_note(const struct top_model *model, size_t index)
{
	return &model->notes[(model->note_first + index) % TOP_NOTES_MAX];
}

/* What a GUARDED record says, as `seen log` does. */
static void note_guarded(struct top_model *model, const struct event *event, const char *path)
{
	const struct journal_record *record = &event->entry->record;
	const char *verdict = event_verdict_name(record->decision);
	const char *reason = event_guard_reason_name(record->reason);
	char text[TOP_TEXT_BYTES];

	(void)snprintf(text, sizeof(text), "%s: %s%s%s", verdict ? verdict : "?",
		       reason ? reason : "?",
		       record->flags & JOURNAL_GUARDED_DEGRADED ? ", degraded" : "",
		       record->flags & JOURNAL_GUARDED_KEPT ? ", kept" : "");
	add(model, event, path, true, text);
}

static void note_ruled(struct top_model *model, const struct event *event, const char *path)
{
	const struct journal_record *record = &event->entry->record;
	const char *op = rule_op_name(record->flags);
	const char *action = rule_action_name(record->decision);
	char text[TOP_TEXT_BYTES];

	(void)snprintf(text, sizeof(text), "%s %s: %s", op ? op : "?", action ? action : "?",
		       event->other ? event->other : "");
	add(model, event, path, record->decision != RULE_ACTION_LOG, text);
}

static void note_bytes(struct top_model *model, const struct event *event, const char *path,
		       const char *what)
{
	char number[TEXT_NUMBER_BYTES], text[TOP_TEXT_BYTES];
	(void)snprintf(text, sizeof(text), "%s %s",
		       text_number(event->entry->record.amount, number), what);
	add(model, event, path, false, text);
}

static void note_unobserved(struct top_model *model, const struct event *event)
{
	char text[TOP_TEXT_BYTES];
	(void)snprintf(text, sizeof(text), "%s%s",
		       event->entry->record.flags & JOURNAL_UNOBSERVED_PARTLY ? "in part: " : "",
		       event->other ? event->other : "");
	add(model, event, event->program, true, text);
}

void top_model_learn_note(struct top_model *model, const struct event *event, const char *path,
			  const struct top_process *process)
{
	if (!event->entry) {
		add(model, event, NULL, true, "a record whose check does not hold");
		return;
	}
	if (!(op_info(event->op)->traits & OP_NOTED))
		return;
	const struct journal_record *record = &event->entry->record;
	char text[TOP_TEXT_BYTES];

	switch (event->op) {
	case JOURNAL_NOTICE:
		note_bytes(model, event, path, "bytes not given again");
		break;
	case JOURNAL_DIFFED:
		note_bytes(model, event, path, "bytes not given: what changed was");
		break;
	case JOURNAL_REQUEST:
		if (record->decision == DECISION_NOTICE)
			note_bytes(model, event, process ? process->command : NULL,
				   "bytes not given again");
		break;
	case JOURNAL_YIELDED:
		add(model, event, path, false, "asked again: given in full");
		break;
	case JOURNAL_CHANGED: {
		const char *change = event_change_name(record->flags);
		const char *source = source_name(event->source);
		(void)snprintf(text, sizeof(text), "%s%s%s", change ? change : "changed",
			       source ? ": " : "", source ? source : "");
		add(model, event, path, false, text);
		break;
	}
	case JOURNAL_GUARDED:
		note_guarded(model, event, path);
		break;
	case JOURNAL_RULED:
		note_ruled(model, event, path);
		break;
	case JOURNAL_FORGOTTEN:
		add(model, event, path ? path : "everything", false, event->other);
		break;
	case JOURNAL_UNOBSERVED:
		note_unobserved(model, event);
		break;
	case JOURNAL_INSTRUCTED:
		add(model, event, path, false, "an instruction file was given");
		break;
	default: /* what its record says */
		add(model, event, path, false, event->other);
		break;
	}
}
