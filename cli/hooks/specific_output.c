/* "hookSpecificOutput": see specific_output.h. */
#include "cli/hooks/specific_output.h"

#include "cli/base/text.h"

json_t *specific_output(const struct hook_input *input, json_t *members)
{
	if (!members)
		return NULL;
	(void)json_object_set_new(members, "hookEventName", json_string(input->event));
	return json_pack("{s:o}", "hookSpecificOutput", members);
}

json_t *specific_output_refuse(const struct hook_input *input, const char *reason)
{
	return specific_output(input, json_pack("{s:s, s:o}", "permissionDecision", "deny",
						"permissionDecisionReason", text_json(reason)));
}

json_t *specific_output_add(const struct hook_input *input, const char *text)
{
	return specific_output(input, json_pack("{s:o}", "additionalContext", text_json(text)));
}
