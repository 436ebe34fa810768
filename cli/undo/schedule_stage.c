/* Where what is renamed waits for its place: see schedule_stage.h. */
#include "cli/undo/schedule_stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The mount that a path is on; 0: not known. */
static uint64_t mount_of(const char *path)
{
	struct statx status;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &status) == 0 &&
			       (status.stx_mask & STATX_MNT_ID)
		       ? status.stx_mnt_id
		       : 0;
}

/* The highest directory above a path that is on its mount. */
static void find_root(const char *path, char *ret_root)
{
	char above[SCHEDULE_STAGED_BYTES];
	uint64_t mount = mount_of(path);

	(void)snprintf(above, sizeof(above), "%s", path);
	ret_root[0] = '\0';
	for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
		*slash = '\0';
		if (mount_of(above) != mount)
			return;
		strcpy(ret_root, above);
	}
}

void schedule_stage_directory(const char *workspace, uint32_t number, char *ret_path)
{
	(void)snprintf(ret_path, SCHEDULE_STAGED_BYTES, "%s/.seen-undo.%u", workspace,
		       (unsigned)number);
}

void schedule_stage_path(const struct making *making, const struct tree_change *change,
			 char *ret_path)
{
	const char *workspace = making->options->workspace;
	char directory[SCHEDULE_STAGED_BYTES];
	size_t index = (size_t)(change - making->changes->changes);
	uint64_t mount = mount_of(change->path);

	if (mount && mount != mount_of(workspace)) {
		find_root(change->path, directory);
		if (directory[0] &&
		    snprintf(ret_path, SCHEDULE_STAGED_BYTES, "%s/.seen-undo.%u.%zu.staged",
			     directory, (unsigned)making->options->number,
			     index) < SCHEDULE_STAGED_BYTES)
			return;
	}
	schedule_stage_directory(workspace, making->options->number, directory);
	size_t length = strlen(directory);
	memcpy(ret_path, directory, length);
	(void)snprintf(ret_path + length, SCHEDULE_STAGED_BYTES - length, "/%zu", index);
}
