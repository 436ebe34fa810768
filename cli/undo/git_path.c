/* Which paths are git's own: see git_path.h. */
#include "cli/undo/git_path.h"

#include <string.h>

#include "tracker/path/path.h"

size_t git_path_directory(const char *path)
{
	static const char NAME[] = ".git";

	for (const char *at = path; (at = strstr(at, NAME)); at++) {
		const char *end = at + sizeof(NAME) - 1;
		if ((at == path || at[-1] == '/') && (*end == '/' || !*end))
			return (size_t)(end - path);
	}
	return 0;
}

size_t git_path_objects(const char *path)
{
	const char *at = path + git_path_directory(path);
	const char *objects = at > path ? strstr(at, "/objects/") : NULL;

	return objects ? (size_t)(objects - path) : 0;
}

bool git_path_is_ref(const char *path)
{
	return strstr(path, "/refs/") && !path_ends_with(path, ".lock");
}
