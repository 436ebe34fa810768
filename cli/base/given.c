/* Paths from the command line: see given.h. */
#include "cli/base/given.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracker/path/path.h"

static int copy(const char *text, char *ret_path, size_t capacity)
{
	return snprintf(ret_path, capacity, "%s", text) < (int)capacity ? 0 : -ENAMETOOLONG;
}

int given_path(const char *path, char *ret_path, size_t capacity)
{
	char resolved[PATH_MAX], normal[PATH_MAX], folder[PATH_MAX];

	if (!path[0])
		return -EINVAL;
	if (realpath(path, resolved))
		return copy(resolved, ret_path, capacity);
	if (!getcwd(folder, sizeof(folder)))
		return -errno;
	int length = path_normalize(folder, path, normal, sizeof(normal));
	if (length < 0)
		return length;
	/* The file is gone: its folder, resolved, and its name. */
	char *slash = strrchr(normal, '/');
	if (slash == normal)
		return copy(normal, ret_path, capacity);
	*slash = '\0';
	if (!realpath(normal, resolved)) {
		*slash = '/';
		return copy(normal, ret_path, capacity);
	}
	length = snprintf(ret_path, capacity, "%s/%s", strcmp(resolved, "/") == 0 ? "" : resolved,
			  slash + 1);
	return length < (int)capacity ? 0 : -ENAMETOOLONG;
}

bool given_is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	if (strcmp(folder, "/") == 0)
		return true;
	return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}
