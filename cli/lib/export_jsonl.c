/* Export as JSON lines, seen/log/1: byte for byte what `seen log --json` prints. */
#include "cli/lib/event_print.h"
#include "cli/lib/export.h"

static int tell_event(struct export *export, const struct event *event)
{
	return event_print_json(export->file, event);
}

const struct export_format export_jsonl = {
	.name = "jsonl",
	.kind = EXPORT_ROWS,
	.event = tell_event,
};
