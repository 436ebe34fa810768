/* The git directory of a workspace: see git_directory.h. */
#include "cli/session/git_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* The git directory of a work tree, and the one that it shares its refs with. */
struct places {
	char own[PATH_MAX], common[PATH_MAX];
	bool is_elsewhere; /* a file names it */
};

static bool is_git(const char *directory)
{
	return has(directory, "HEAD") && has(directory, "objects") && has(directory, "refs");
}

/* The git directory that a symbolic link has the refs of another one in. */
static bool find_linked(const char *own, char *ret_common)
{
	static const char REFS[] = "/refs";
	size_t bytes = sizeof(REFS) - 1;

	if (!resolve(own, "refs", ret_common))
		return false;
	size_t length = strlen(ret_common);
	if (length <= bytes || strcmp(ret_common + length - bytes, REFS) != 0)
		return false;
	ret_common[length - bytes] = '\0';
	return is_git(ret_common);
}

static bool find_places(const char *root, struct places *ret_places)
{
	static const char GITDIR[] = "gitdir: ";
	char line[PATH_MAX];

	ret_places->is_elsewhere = read_line(root, ".git", line, sizeof(line)) &&
				   strncmp(line, GITDIR, sizeof(GITDIR) - 1) == 0;
	if (!resolve(root, ret_places->is_elsewhere ? line + sizeof(GITDIR) - 1 : ".git",
		     ret_places->own) ||
	    !has(ret_places->own, "HEAD"))
		return false;
	bool is_shared = read_line(ret_places->own, "commondir", line, sizeof(line))
				 ? resolve(ret_places->own, line, ret_places->common)
				 : find_linked(ret_places->own, ret_places->common);
	if (!is_shared)
		strcpy(ret_places->common, ret_places->own);
	/* A file that an agent wrote may name anything. */
	return is_git(ret_places->common);
}

bool git_directory_of_worktree(const char *root, char *ret_common)
{
	struct places places;
	char line[PATH_MAX], back[PATH_MAX];

	if (!find_places(root, &places) || !places.is_elsewhere ||
	    !read_line(places.own, "gitdir", line, sizeof(line)) ||
	    !resolve(places.own, line, back))
		return false;
	size_t bytes = strlen(root);
	if (strncmp(back, root, bytes) != 0 || strcmp(back + bytes, "/.git") != 0)
		return false;
	strcpy(ret_common, places.common);
	return true;
}

void git_directory_observe(const struct segment *segment)
{
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	struct places places;

	if (!root || !find_places(root, &places) || argument_is_below(root, places.common) ||
	    argument_is_below(root, places.own))
		return;
	if (!path_in_workspace(segment, places.common))
		(void)path_add_observed(segment, places.common);
	if (!path_in_workspace(segment, places.own))
		(void)path_add_observed(segment, places.own);
}

/* ---- one above the workspace ---- */

bool git_directory_above(const char *root, struct git_directory_above *ret_above)
{
	struct places places;
	char directory[PATH_MAX];

	if (has(root, ".git") || strlen(root) >= sizeof(directory))
		return false;
	strcpy(directory, root);
	for (char *slash; (slash = strrchr(directory, '/')) && slash != directory;) {
		*slash = '\0';
		if (!find_places(directory, &places))
			continue;
		strcpy(ret_above->own, places.own);
		strcpy(ret_above->common, places.common);
		return true;
	}
	return false;
}

static bool is_younger(const struct stat *stat, int64_t time_ns)
{
	return stat->st_ctim.tv_sec * INT64_C(1000000000) + stat->st_ctim.tv_nsec > time_ns;
}

/* A ref that is written, or removed, writes its directory, too. */
static bool has_younger(const char *directory, int64_t time_ns)
{
	char path[PATH_MAX];
	struct dirent *entry;
	struct stat stat;
	DIR *entries = opendir(directory);
	bool is = false;

	while (entries && !is && (entry = readdir(entries))) {
		if (strcmp(entry->d_name, "..") == 0 ||
		    snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >=
			    (int)sizeof(path) ||
		    lstat(path, &stat) < 0)
			continue;
		is = is_younger(&stat, time_ns) ||
		     (S_ISDIR(stat.st_mode) && entry->d_name[0] != '.' &&
		      has_younger(path, time_ns));
	}
	if (entries)
		(void)closedir(entries);
	return is;
}

bool git_directory_written(const struct git_directory_above *above, int64_t time_ns)
{
	static const char *const NAMES[] = { "HEAD", "index", "packed-refs", "logs/HEAD" };
	const char *const directories[] = { above->own, above->common };
	char path[PATH_MAX];
	struct stat stat;

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		for (size_t j = 0; j < sizeof(NAMES) / sizeof(*NAMES); j++)
			if (snprintf(path, sizeof(path), "%s/%s", directories[i], NAMES[j]) <
				    (int)sizeof(path) &&
			    lstat(path, &stat) == 0 && is_younger(&stat, time_ns))
				return true;
		if (snprintf(path, sizeof(path), "%s/refs", directories[i]) < (int)sizeof(path) &&
		    has_younger(path, time_ns))
			return true;
	}
	return false;
}

/* ---- HEAD ---- */

static bool is_commit(const char *text)
{
	size_t length = strspn(text, "0123456789abcdef");

	return (length == 40 || length == 64) && !text[length];
}

/* A ref in packed-refs: "COMMIT NAME". */
static bool find_packed(const char *directory, const char *name, char *ret_commit)
{
	char path[PATH_MAX], *line = NULL;
	size_t capacity = 0;
	bool found = false;

	if (snprintf(path, sizeof(path), "%s/packed-refs", directory) >= (int)sizeof(path))
		return false;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file && fd >= 0)
		(void)close(fd);
	while (file && !found && getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *space = strchr(line, ' ');
		if (!space || strcmp(space + 1, name) != 0)
			continue;
		*space = '\0';
		found = is_commit(line);
		if (found)
			strcpy(ret_commit, line);
	}
	free(line);
	if (file)
		(void)fclose(file);
	return found;
}

bool git_directory_commit(const char *root, char *ret_commit)
{
	enum { DEPTH_MAX = 5 }; /* as git follows symbolic refs */
	static const char REF[] = "ref: ";
	struct places places;
	char line[PATH_MAX], name[PATH_MAX];

	if (!find_places(root, &places) || !read_line(places.own, "HEAD", line, sizeof(line)))
		return false;
	for (int depth = 0; depth < DEPTH_MAX && strncmp(line, REF, sizeof(REF) - 1) == 0;
	     depth++) {
		strcpy(name, line + sizeof(REF) - 1);
		if (strncmp(name, "refs/", 5) != 0 || strstr(name, ".."))
			return false;
		if (!read_line(places.common, name, line, sizeof(line)) &&
		    !read_line(places.own, name, line, sizeof(line)))
			return find_packed(places.common, name, ret_commit);
	}
	if (!is_commit(line))
		return false;
	strcpy(ret_commit, line);
	return true;
}
