/* Where what is renamed waits for its place. */
#ifndef SEEN_CLI_SCHEDULE_STAGE_H
#define SEEN_CLI_SCHEDULE_STAGE_H

#include "cli/undo/schedule_making.h"

enum { SCHEDULE_STAGED_BYTES = PACK_PATH_BYTES_MAX + 1 };

/* schedule_stage_path(): the path at which what a change renames waits: in the staging directory of the
 * workspace; of what lies on another mount, beside that mount's root, since no rename leads across.
 *
 * ret_path: SCHEDULE_STAGED_BYTES. */
void schedule_stage_path(const struct making *making, const struct tree_change *change,
			 char *ret_path);

/* schedule_stage_directory(): that of the workspace.  ret_path: likewise. */
void schedule_stage_directory(const char *workspace, uint32_t number, char *ret_path);

#endif
