/* Paths from the command line: see argument.h. */
#include "cli/base/argument.h"

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

int argument_path(const char *path, char *ret_path, size_t capacity)
{
	char resolved[PATH_MAX], normal[PATH_MAX], directory[PATH_MAX];

	if (!path[0])
		return -EINVAL;
	if (realpath(path, resolved))
		return copy(resolved, ret_path, capacity);
	if (!getcwd(directory, sizeof(directory)))
		return -errno;
	int length = path_normalize(directory, path, normal, sizeof(normal));
	if (length < 0)
		return length;
	/* The file is gone: its directory, resolved, and its name. */
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

bool argument_is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);
	if (strcmp(directory, "/") == 0)
		return true;
	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}
