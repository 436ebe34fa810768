/* Files to read: see replay_find.h. */
#include "cli/replay/replay_find.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/agents/hooks.h"
#include "config/value.h"
#include "tracker/path/glob.h"
#include "tracker/path/path.h"

static bool ends(const char *text, const char *with)
{
	size_t length = strlen(text), bytes = strlen(with);
	return length > bytes && strcmp(text + length - bytes, with) == 0;
}

static bool is_named_so(const char *path)
{
	static const char *const ENDINGS[] = { ".jsonl", ".json", ".traj" };
	static const char *const DATABASES[] = { "opencode*.db", "kilo*.db" };

	for (size_t i = 0; i < sizeof(ENDINGS) / sizeof(ENDINGS[0]); i++)
		if (ends(path, ENDINGS[i]))
			return true;
	for (size_t i = 0; i < sizeof(DATABASES) / sizeof(DATABASES[0]); i++)
		if (fnmatch(DATABASES[i], path_base(path), 0) == 0)
			return true;
	return strcmp(path_base(path), "journal") == 0;
}

static int add(struct replay_paths *paths, const char *path, bool is_found)
{
	if (paths->count == paths->capacity) {
		size_t capacity = paths->capacity ? 2 * paths->capacity : 64;
		struct replay_path *grown = reallocarray(paths->paths, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		paths->paths = grown;
		paths->capacity = capacity;
	}
	struct replay_path *added = &paths->paths[paths->count];
	*added = (struct replay_path){ .path = strdup(path), .is_found = is_found };
	if (!added->path)
		return -ENOMEM;
	paths->count++;
	return 0;
}

/* A session's file comes before those of its sub-agents, which lie in directories beside it. */
static int by_name(const FTSENT **a, const FTSENT **b)
{
	bool of_a = (*a)->fts_info == FTS_D, of_b = (*b)->fts_info == FTS_D;

	return of_a != of_b ? of_a - of_b : strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The files below a directory that a pattern matches; NULL: that are named as transcripts are. */
static int walk(const char *directory, const char *pattern, struct replay_paths *paths)
{
	char *top = strdup(directory), *tops[] = { top, NULL };
	FTS *tree = top ? fts_open(tops, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name)
			: NULL;
	int error = 0;

	if (!tree) {
		error = errno == ENOENT ? 0 : -ENOMEM;
		free(top);
		return error;
	}
	for (FTSENT *entry; error == 0 && (entry = fts_read(tree));) {
		if (entry->fts_info != FTS_F)
			continue;
		bool is_one = pattern ? path_glob(pattern, entry->fts_path, false)
				      : is_named_so(entry->fts_path);
		if (is_one)
			error = add(paths, entry->fts_path, true);
	}
	(void)fts_close(tree);
	free(top);
	return error;
}

int replay_find_named(char *const words[], size_t count, struct replay_paths *ret_paths)
{
	int error = 0;

	*ret_paths = (struct replay_paths){ .count = 0 };
	for (size_t i = 0; i < count && error == 0; i++) {
		struct stat stat_buffer;
		bool is_directory = stat(words[i], &stat_buffer) == 0 &&
				    S_ISDIR(stat_buffer.st_mode);
		error = is_directory ? walk(words[i], NULL, ret_paths)
				     : add(ret_paths, words[i], false);
	}
	return error;
}

/* The directory that all matches of a pattern lie below; false: out of memory, or no pattern. */
static char *top_of(const char *pattern)
{
	size_t length = strcspn(pattern, "*?[\\");

	while (length > 1 && pattern[length - 1] != '/')
		length--;
	return pattern[0] == '/' ? strndup(pattern, length > 1 ? length - 1 : length) : NULL;
}

static int by_path(const void *a, const void *b)
{
	const char *left = ((const struct replay_path *)a)->path,
		   *right = ((const struct replay_path *)b)->path;
	size_t same = 0;

	while (left[same] && left[same] == right[same])
		same++;
	bool of_left = strchr(left + same, '/'), of_right = strchr(right + same, '/');
	return of_left != of_right ? of_left - of_right : strcmp(left + same, right + same);
}

/* Profiles share files. */
static void drop_doubles(struct replay_paths *paths)
{
	size_t kept = 0;

	if (paths->count)
		qsort(paths->paths, paths->count, sizeof(*paths->paths), by_path);
	for (size_t i = 0; i < paths->count; i++) {
		if (kept && strcmp(paths->paths[kept - 1].path, paths->paths[i].path) == 0)
			free(paths->paths[i].path);
		else
			paths->paths[kept++] = paths->paths[i];
	}
	paths->count = kept;
}

/* What globs of a profile match. */
static int find_by_globs(const char *globs, struct replay_paths *paths)
{
	char *words = strdup(globs), *rest = NULL;
	char pattern[PATH_MAX];
	int error = words ? 0 : -ENOMEM;

	for (char *word = words ? strtok_r(words, " \t\n", &rest) : NULL; word && error == 0;
	     word = strtok_r(NULL, " \t\n", &rest)) {
		if (hooks_expand(word, pattern, sizeof(pattern)) < 0)
			continue; /* its variable is not set */
		char *top = top_of(pattern);
		if (top)
			error = walk(top, pattern, paths);
		free(top);
	}
	free(words);
	return error;
}

int replay_find_kept(const struct config *config, struct replay_paths *ret_paths)
{
	int error = 0;

	*ret_paths = (struct replay_paths){ .count = 0 };
	for (size_t i = 0; i < config_profile_count(config) && error == 0; i++) {
		const struct config_value *values = config_profile_at(config, i)->values;
		error = find_by_globs(values[PROFILE_OPTION_TRANSCRIPT].text, ret_paths);
		if (error == 0)
			error = find_by_globs(values[PROFILE_OPTION_RECORD].text, ret_paths);
	}
	drop_doubles(ret_paths);
	return error;
}

void replay_paths_free(struct replay_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->paths[i].path);
	free(paths->paths);
	*paths = (struct replay_paths){ .count = 0 };
}
