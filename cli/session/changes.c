/* Changes: see changes.h. */
#include "cli/session/changes.h"

struct change change_of(const struct file_slot *file, enum change_period period)
{
	bool is_ever = period == CHANGE_EVER;
	struct change change = {
		.fate = fate_of(file->flags),
		.by_agent = file->flags & (is_ever ? FILE_EDITED_BY_AGENT : FILE_EDIT_UNREPORTED),
		.by_tool = file->flags &
			   (is_ever ? FILE_EDITED_BY_TOOL : FILE_TOOL_EDIT_UNREPORTED),
	};

	change.counts = fate_is_change(change.fate);
	change.source = change.by_agent ? SOURCE_AGENT : change.by_tool ? SOURCE_TOOL : SOURCE_NONE;
	return change;
}
