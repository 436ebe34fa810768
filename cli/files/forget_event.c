/* Events of conversations: see forget_event.h. */
#include "cli/files/forget_event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/session/invalidation.h"
#include "tracker/answer/tracker.h"
#include "tracker/process/scope.h"

void forget_event(const struct segment *segment, struct journal *journal, uint64_t scope_id,
		  const char *event)
{
	static const struct {
		const char *event;
		enum scope_conversations said;
	} SAYING[] = {
		{ "SubagentStart", SCOPE_SUB_AGENT_BEGINS },
		{ "SubagentStop", SCOPE_SUB_AGENT_ENDS },
		{ "SessionStart", SCOPE_ALONE },
	};
	char cause[128];
	int error = -ENOENT;

	for (size_t i = 0; scope_id && i < sizeof(SAYING) / sizeof(SAYING[0]); i++)
		if (strcmp(event, SAYING[i].event) == 0)
			error = scope_converse(segment, scope_id, SAYING[i].said);
	if (error < 0)
		error = tracker_forget_all(segment, scope_id);
	(void)snprintf(cause, sizeof(cause), "hook %s", event);
	if (error == 0)
		invalidation_record(journal, scope_id, NULL, cause);
}
