/* Globs as paths: see paths.h. */
#include "cli/confine/paths.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/pack.h"
#include "config/value.h"

bool confine_path_is_below(const char *path, const char *directory)
{
	size_t bytes = strlen(directory);

	if (bytes == 1)
		return true;
	return strncmp(path, directory, bytes) == 0 && (path[bytes] == '/' || path[bytes] == '\0');
}

/* Makes a directory and those above it.  What cannot be made is not there. */
static void make_directories(char *path)
{
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
}

/* Cuts a glob before the component that holds `**`: all below is meant. */
static void cut_any_depth(char *glob)
{
	char *at = strstr(glob, "**");

	if (!at)
		return;
	while (at > glob + 1 && *at != '/')
		at--;
	*at = '\0';
}

static int each_match(const char *pattern, confine_path_call *call, void *data)
{
	glob_t found;
	char path[PATH_MAX];
	int error = glob(pattern, GLOB_NOSORT, NULL, &found);

	if (error == GLOB_NOSPACE)
		return -ENOMEM;
	if (error)
		return 0;
	/* A link that leads nowhere is there, too. */
	for (size_t i = 0; i < found.gl_pathc && error == 0; i++)
		error = call(data, realpath(found.gl_pathv[i], path) ? path : found.gl_pathv[i],
			     found.gl_pathv[i]);
	globfree(&found);
	return error;
}

/* One glob.  workspace: what ./ stands for. */
static int each_of(const char *glob, const char *workspace, bool makes, confine_path_call *call,
		   void *data)
{
	char pattern[PATH_MAX];
	size_t length = strlen(glob);
	bool is_directory = length > 1 && glob[length - 1] == '/';
	bool is_local = strncmp(glob, "./", 2) == 0;

	if (!is_local && glob[0] != '/')
		return 0;
	int bytes = snprintf(pattern, sizeof(pattern), "%s%s", is_local ? workspace : "",
			     is_local ? glob + 1 : glob);
	if (bytes < 0 || bytes >= (int)sizeof(pattern))
		return 0;
	if (makes && is_directory && !strpbrk(pattern, "*?["))
		make_directories(pattern);
	cut_any_depth(pattern);
	return each_match(pattern, call, data);
}

int confine_paths_each(const struct config *config, const char *words, bool makes,
		       confine_path_call *call, void *data)
{
	struct config_globs globs = { .text = NULL };
	int error = config_list_globs(config, words, &globs);
	const char *glob = globs.text;

	for (size_t i = 0; i < globs.count && error == 0; i++, glob += strlen(glob) + 1)
		error = each_of(glob, config_workspace(config), makes, call, data);
	free(globs.text);
	return error;
}
