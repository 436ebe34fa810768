/* Files of a patch: see patched_files.h. */
#include "cli/hooks/patched_files.h"

#include <string.h>

/* Is the line one that names a file?  A line of a file begins with a space, + or -. */
static bool names_file(const char *line, size_t length, struct patched_file *ret_file)
{
	static const struct {
		const char *head;
		enum hook_tool_kind kind;
	} HEADS[] = {
		{ "*** Update File: ", HOOK_TOOL_EDIT },
		{ "*** Delete File: ", HOOK_TOOL_EDIT },
		{ "*** Add File: ", HOOK_TOOL_WRITE },
		{ "*** Move to: ", HOOK_TOOL_WRITE },
	};

	for (size_t i = 0; i < sizeof(HEADS) / sizeof(HEADS[0]); i++) {
		size_t head = strlen(HEADS[i].head);
		if (length <= head || length - head >= sizeof(ret_file->name) ||
		    strncmp(line, HEADS[i].head, head) != 0)
			continue;
		memcpy(ret_file->name, line + head, length - head);
		ret_file->name[length - head] = '\0';
		ret_file->kind = HEADS[i].kind;
		return true;
	}
	return false;
}

bool patched_files_at(const char *patch, size_t index, struct patched_file *ret_file)
{
	for (size_t length; *patch; patch += length + (patch[length] == '\n')) {
		length = strcspn(patch, "\n");
		size_t bare = length;
		while (bare && strchr(" \t\r", patch[bare - 1]))
			bare--;
		if (names_file(patch, bare, ret_file) && index-- == 0)
			return true;
	}
	return false;
}
