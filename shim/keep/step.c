/* Which programs are steps: see step.h. */
#include "shim/keep/step.h"

bool step_keeps(const struct segment *segment, const struct context *context)
{
	return segment->settings->undo_enable == UNDO_ENABLE_YES && segment_undo(segment) &&
	       (context->flags & CONTEXT_ATTACHED);
}

bool step_begins(const struct segment *segment, struct process_ref process,
		 const struct context *context, bool ends_capture)
{
	struct process_slot own, starter;

	if (ends_capture)
		return true;
	if (!process_read(segment, process.index, &own))
		return false;
	if (own.starter_role == ROLE_AGENT || own.starter_index == UINT64_MAX)
		return true;
	if (own.starter_index == process.index ||
	    !process_read(segment, own.starter_index, &starter))
		return false;
	/* A shell that became its only command: the end of the step is the command's. */
	if (starter.pid == own.pid && starter.starter_role == ROLE_AGENT)
		return true;
	return !(context->flags & CONTEXT_AGENT) && starter.starter_index == UINT64_MAX;
}
