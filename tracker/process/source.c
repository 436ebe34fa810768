/* Whose a change is: see source.h. */
#include "tracker/process/source.h"

#include <stddef.h>

#include "tracker/process/role.h"

const char *source_name(uint32_t source)
{
	static const char *const NAMES[SOURCE_COUNT] = {
		[SOURCE_READ] = "read_tool",
		[SOURCE_AGENT] = "agent_edited",
		[SOURCE_TOOL] = "tool_edited",
		[SOURCE_USER] = "user_edited",
		[SOURCE_UNATTRIBUTED] = "unattributed",
		[SOURCE_MENTIONED] = "file_mentioned",
	};
	return source < SOURCE_COUNT ? NAMES[source] : NULL;
}

enum source source_of_process(uint32_t context_flags, uint32_t role)
{
	return role_is_of_agent((int)role) &&
			       (context_flags & (CONTEXT_AGENT | CONTEXT_EXTERNAL_AGENT))
		       ? SOURCE_AGENT
		       : SOURCE_TOOL;
}
