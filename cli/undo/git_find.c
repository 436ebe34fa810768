/* Which git directory a path lies in: see git_find.h. */
#include "cli/undo/git_find.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/undo/git_path.h"
#include "cli/undo/schedule_find.h"

enum { NOT_ASKED = 0, IS_GIT = 'g', IS_NOT = 'n' };

static bool has(const struct making *making, const char *directory, size_t length, const char *name)
{
	char path[PATH_MAX];
	struct stat stat;

	if (snprintf(path, sizeof(path), "%.*s/%s", (int)length, directory, name) >=
	    (int)sizeof(path))
		return false;
	if (lstat(path, &stat) == 0)
		return true;
	const struct tree_change *change = making_find(making, path);
	return change && change->before.known && change->before.exists;
}

static bool is_git(const struct making *making, const char *path, size_t length)
{
	return has(making, path, length, "HEAD") && has(making, path, length, "objects") &&
	       has(making, path, length, "refs");
}

static bool is_directory(const struct making *making, const char *path, size_t length)
{
	char directory[PATH_MAX];
	struct stat stat;

	if (length >= sizeof(directory))
		return false;
	memcpy(directory, path, length);
	directory[length] = '\0';
	const struct tree_change *change = making_find(making, directory);
	return (change && change->before.exists && S_ISDIR(change->before.mode)) ||
	       (lstat(directory, &stat) == 0 && S_ISDIR(stat.st_mode)) ||
	       (!change && path[length] == '/');
}

/* Is its last part the directory of another version control system? */
static bool is_other(const char *path, size_t length)
{
	static const char *const NAMES[] = { ".hg", ".jj", ".svn", ".bzr", ".pijul", "_darcs" };
	size_t from = length;

	while (from > 0 && path[from - 1] != '/')
		from--;
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(*NAMES); i++)
		if (strlen(NAMES[i]) == length - from &&
		    strncmp(path + from, NAMES[i], length - from) == 0)
			return true;
	return false;
}

size_t git_find_directory(struct git_find *find, const struct making *making, const char *path)
{
	size_t length = strlen(path), same = 0;

	if (length >= sizeof(find->path))
		return 0;
	while (same < length && find->path[same] == path[same])
		same++;
	/* A component that goes on is another one. */
	while (same > 0 && !(path[same] == '/' || !path[same]))
		same--;
	if (find->path[same] != '/' && find->path[same])
		while (same > 0 && path[--same] != '/')
			;
	memset(find->is_git + same + 1, NOT_ASKED, length - same);
	memcpy(find->path + same, path + same, length - same + 1);
	for (size_t end = length; end > 1; end--) {
		if (path[end] != '/' && path[end])
			continue;
		if (find->is_git[end] == NOT_ASKED)
			find->is_git[end] = is_git(making, path, end) ||
							    (is_other(path, end) &&
							     is_directory(making, path, end))
						    ? IS_GIT
						    : IS_NOT;
		if (find->is_git[end] == IS_GIT)
			return end;
	}
	size_t named = git_path_directory(path);
	return named && is_directory(making, path, named) ? named : 0;
}

/* ---- what lies below one ---- */

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool ends(const char *text, const char *end)
{
	size_t length = strlen(text), bytes = strlen(end);

	return length >= bytes && strcmp(text + length - bytes, end) == 0;
}

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 && (path[length] == '/' || !path[length]);
}

size_t git_find_worktree(const char *below)
{
	static const char NAME[] = "worktrees/";
	const char *end = begins(below, NAME) ? strchr(below + sizeof(NAME) - 1, '/') : NULL;

	return end ? (size_t)(end - below) + 1 : 0;
}

static enum git_class class_of(const char *below)
{
	static const char *const DIRECTORIES[] = { "refs",         "reftable",  "rebase-merge",
						   "rebase-apply", "sequencer", "worktrees" };
	static const char *const FILES[] = {
		"HEAD",       "index",      "packed-refs",     "shallow",
		"AUTO_MERGE", "SQUASH_MSG", "config.worktree", "info/sparse-checkout"
	};
	static const char *const STARTS[] = { "MERGE_", "BISECT_" };
	size_t worktree = git_find_worktree(below);
	const char *name = below + worktree;

	if (ends(name, ".lock"))
		return GIT_LOCK;
	if (strcmp(below, "config") == 0)
		return GIT_SETTINGS;
	if (is_below(name, "objects"))
		return GIT_OBJECT;
	if (begins(name, "sharedindex."))
		return GIT_SHARED;
	if (is_below(name, "logs/refs/stash"))
		return GIT_STATE;
	if (is_below(name, "logs"))
		return GIT_LOG;
	for (size_t i = 0; i < sizeof(DIRECTORIES) / sizeof(*DIRECTORIES); i++)
		if (is_below(name, DIRECTORIES[i]))
			return GIT_STATE;
	for (size_t i = 0; i < sizeof(FILES) / sizeof(*FILES); i++)
		if (strcmp(name, FILES[i]) == 0)
			return GIT_STATE;
	for (size_t i = 0; i < sizeof(STARTS) / sizeof(*STARTS); i++)
		if (begins(name, STARTS[i]))
			return GIT_STATE;
	if (ends(name, "_HEAD") && strcmp(name, "FETCH_HEAD") != 0 && !strchr(name, '/'))
		return GIT_STATE;
	return worktree ? GIT_STATE : GIT_PLAIN;
}

const char *git_find_other_lock(size_t number)
{
	static const char *const NAMES[] = { "wlock",
					     "store/lock",
					     "lock",
					     "branch/lock/held",
					     "checkout/lock/held",
					     "repository/lock/held" };

	return number < sizeof(NAMES) / sizeof(*NAMES) ? NAMES[number] : NULL;
}

static enum git_class class_of_other(const char *below)
{
	const char *lock;

	for (size_t i = 0; (lock = git_find_other_lock(i)); i++)
		if (is_below(below, lock))
			return GIT_LOCK;
	/* what a mere question writes */
	return is_below(below, "cache") || is_below(below, "wcache") ? GIT_PLAIN : GIT_OTHER;
}

enum git_class git_find_class(const char *path, size_t length)
{
	const char *below = path[length] ? path + length + 1 : path + length;

	return is_other(path, length) ? class_of_other(below) : class_of(below);
}
