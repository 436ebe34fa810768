/* Events as Claude Code calls them: see hook_form.h. */
#include "cli/hooks/hook_form.h"

const struct hook_event HOOK_EVENTS[] = {
	{ "SessionStart", HOOK_START },
	{ "Rewind", HOOK_REWIND },
	{ "SessionResumed", HOOK_RESUMED },
	{ "UserPromptSubmit", HOOK_PROMPT },
	{ "PreToolUse", HOOK_BEFORE_TOOL },
	{ "PostToolUse", HOOK_AFTER_TOOL },
	{ "PostToolUseFailure", HOOK_TOOL_FAILED },
	{ NULL, HOOK_OTHER },
};
