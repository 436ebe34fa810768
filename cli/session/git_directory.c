/* The git directory of a workspace: see git_directory.h. */
#include "cli/session/git_directory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "tracker/segment/workspace.h"

/* The first line of a small file.  Nothing else there is followed. */
static bool read_line(const char *directory, const char *name, char *ret_line, size_t capacity)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return false;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, ret_line, capacity - 1);
	if (fd >= 0)
		(void)close(fd);
	if (length <= 0)
		return false;
	ret_line[length] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
	return true;
}

static bool resolve(const char *directory, const char *name, char *ret_path)
{
	char path[PATH_MAX];
	int length = name[0] == '/' ? snprintf(path, sizeof(path), "%s", name)
				    : snprintf(path, sizeof(path), "%s/%s", directory, name);

	return length < (int)sizeof(path) && realpath(path, ret_path);
}

static bool has(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

void git_directory_observe(const struct segment *segment)
{
	static const char GITDIR[] = "gitdir: ";
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	char line[PATH_MAX], own[PATH_MAX], common[PATH_MAX];

	if (!root || !read_line(root, ".git", line, sizeof(line)) ||
	    strncmp(line, GITDIR, sizeof(GITDIR) - 1) != 0 ||
	    !resolve(root, line + sizeof(GITDIR) - 1, own) || !has(own, "HEAD"))
		return;
	if (!read_line(own, "commondir", line, sizeof(line)) || !resolve(own, line, common))
		strcpy(common, own);
	/* A file that an agent wrote may name anything. */
	if (!has(common, "HEAD") || !has(common, "objects") || !has(common, "refs") ||
	    argument_is_below(root, common) || argument_is_below(root, own))
		return;
	if (!path_in_workspace(segment, common))
		(void)path_add_observed(segment, common);
	if (!path_in_workspace(segment, own))
		(void)path_add_observed(segment, own);
}
