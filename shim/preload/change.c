/*
 * Changes: what this process writes to, replaces or removes, by path as given.  A path that cannot be known without asking the
 * kernel (directory.c) is counted as not recorded.
 */
#include "shim/preload/change.h"

#include "shim/preload/directory.h"
#include "shim/preload/scratch.h"
#include "shim/preload/state.h"
#include "tracker/content/file.h"

void change_note(int directory, const char *path)
{
	char *normal = scratch_take();

	if (!normal || change_path(directory, path, normal, SEGMENT_PATH_BYTES) < 0)
		segment_count(&shim.segment, COUNTER_lost_changes, 1);
	else
		file_note_edit(&shim.segment, normal, &shim.request.context, shim.role);
	scratch_give(normal);
}
