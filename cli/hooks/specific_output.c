/* "hookSpecificOutput": see specific_output.h. */
#include "cli/hooks/specific_output.h"

#include "cli/base/text.h"

json_t *specific_output(const char *event, json_t *members)
{
	if (!members)
		return NULL;
	(void)json_object_set_new(members, "hookEventName", json_string(event));
	return json_pack("{s:o}", "hookSpecificOutput", members);
}

json_t *specific_output_deny(const char *event, const char *reason)
{
	return specific_output(event, json_pack("{s:s, s:o}", "permissionDecision", "deny",
						"permissionDecisionReason", text_json(reason)));
}

json_t *specific_output_add(const char *event, const char *text)
{
	return specific_output(event, json_pack("{s:o}", "additionalContext", text_json(text)));
}
