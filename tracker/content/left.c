/* Contents as they were left: see left.h. */
#include "tracker/content/left.h"

#include <stddef.h>
#include <string.h>

#include "tracker/content/pack.h"

enum { INDEX_BYTES_MAX = 4 << 20 /* some 40,000 files */ };

/* Behind the slash of its last directory with the name of a git directory (x/.git, x.git).  NULL: it is in none. */
static const char *behind_git(const char *path)
{
	static const char GIT[] = ".git/";
	const char *found = NULL;

	for (const char *at = path; (at = strstr(at, GIT)); at++)
		found = at + sizeof(GIT) - 1;
	return found;
}

/* git writes index.lock, and renames it; other programs write the index itself. */
bool left_is_git_index(const char *path)
{
	static const char *const DIRECTORIES[] = { "worktrees/", "modules/" };
	const char *name = strrchr(path, '/');
	const char *behind = behind_git(path);

	if (!behind || (strcmp(name, "/index") != 0 && strcmp(name, "/index.lock") != 0))
		return false;
	if (behind == name + 1)
		return true;
	for (size_t i = 0; i < sizeof(DIRECTORIES) / sizeof(DIRECTORIES[0]); i++) {
		size_t length = strlen(DIRECTORIES[i]);
		if (strncmp(behind, DIRECTORIES[i], length) == 0)
			return name > behind + length;
	}
	return false;
}

uint64_t left_bytes_max(const char *path)
{
	return left_is_git_index(path) ? INDEX_BYTES_MAX : PACK_INLINE_BYTES_MAX;
}
