/* What can be made again: see rebuildable.h. */
#include "tracker/content/rebuildable.h"

#include <string.h>

#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

/* Is there a file of that name in the directory that the first `length` bytes of a path name? */
static bool has(char *path, size_t length, const char *name)
{
	char saved[16];
	size_t bytes = strlen(name) + 2;
	struct stat stat;

	memcpy(saved, path + length, bytes);
	path[length] = '/';
	memcpy(path + length + 1, name, bytes - 1);
	bool found = sys_fstatat(AT_FDCWD, path, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
		     S_ISREG(stat.st_mode);
	memcpy(path + length, saved, bytes);
	return found;
}

static bool is_named(const char *name, size_t bytes, const char *word)
{
	return strlen(word) == bytes && memcmp(name, word, bytes) == 0;
}

/* Is the directory from `begin` to `end` of a path one whose content can be made again? */
static bool can_be_made(char *path, size_t begin, size_t end)
{
	const char *name = path + begin;
	size_t bytes = end - begin;

	if (is_named(name, bytes, "__pycache__"))
		return true;
	if (is_named(name, bytes, "node_modules"))
		return has(path, begin - 1, "package.json");
	return has(path, end, "CACHEDIR.TAG") || has(path, end, "pyvenv.cfg");
}

size_t rebuildable_directory(const struct segment *segment, char *path)
{
	const char *relative = path_relative(segment, path);
	size_t length = strlen(path);

	if (relative == path || !path_in_workspace(segment, path))
		return 0;
	for (size_t begin = (size_t)(relative - path), end; begin < length; begin = end + 1) {
		const char *slash = strchr(path + begin, '/');
		end = slash ? (size_t)(slash - path) : length;
		if (!can_be_made(path, begin, end))
			continue;
		char after = path[end];
		path[end] = '\0';
		bool is_wanted = path_matches_list(segment, segment->settings->undo_include, path);
		path[end] = after;
		if (!is_wanted)
			return end;
	}
	return 0;
}

bool rebuildable_is_name(const struct segment *segment, const char *path)
{
	const struct settings *settings = segment->settings;
	const char *base = path_base(path);

	if (path_matches_list(segment, settings->undo_exclude, path))
		return true;
	return (path_ends_with(base, ".o") || path_ends_with(base, ".pyc")) &&
	       !path_matches_list(segment, settings->undo_include, path);
}
