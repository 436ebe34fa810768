/* Export as JSON lines, seen/log/1: what `seen log --json` prints, and of which journal it is. */
#include "cli/export/export.h"
#include "cli/journal/event_print.h"

static int add_event(struct export *export, const struct event *event)
{
	return event_print_json(export->file, export->facts.journal, event);
}

const struct export_format export_jsonl = {
	.name = "jsonl",
	.kind = EXPORT_ROWS,
	.event = add_event,
};
