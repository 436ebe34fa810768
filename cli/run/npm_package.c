/* Packages of npm: see npm_package.h. */
#include "cli/run/npm_package.h"

#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "tracker/path/path.h"

enum { PACKAGE_BYTES = 256 };

/* How many words name the launcher; 0: it is none. */
static size_t launcher_words(const char *launcher, char *const words[])
{
	static const char *const TWO[][2] = { { "npm", "exec" },  { "npm", "x" },
					      { "pnpm", "exec" }, { "pnpm", "dlx" },
					      { "yarn", "exec" }, { "yarn", "dlx" } };

	if (strcmp(launcher, "npx") == 0 || strcmp(launcher, "bunx") == 0 ||
	    strcmp(launcher, "pnpx") == 0)
		return 1;
	for (size_t i = 0; i < sizeof(TWO) / sizeof(TWO[0]); i++)
		if (strcmp(launcher, TWO[i][0]) == 0 && words[1] &&
		    strcmp(words[1], TWO[i][1]) == 0)
			return 2;
	return 0;
}

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

/* The program that a package's own file names: of its name, or the only one. */
static bool find_in_package(const char *directory, const char *package, char *ret_path)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/node_modules/%s/package.json", directory, package) >=
	    (int)sizeof(path))
		return false;
	json_t *document = json_load_file(path, 0, NULL);
	json_t *programs = json_object_get(document, "bin");
	json_t *program = json_object_get(programs, path_base(package));
	if (!program && json_object_size(programs))
		program = json_object_iter_value(json_object_iter(programs));
	const char *file = json_string_value(json_is_string(programs) ? programs : program);
	bool found = file &&
		     snprintf(ret_path, PATH_MAX, "%s/node_modules/%s/%s", directory, package,
			      file) < PATH_MAX &&
		     is_program(ret_path);
	json_decref(document);
	return found;
}

static bool find_in_directory(const char *directory, const char *package, char *ret_path)
{
	int length = snprintf(ret_path, PATH_MAX, "%s/node_modules/.bin/%s", directory,
			      path_base(package));

	return (length < PATH_MAX && is_program(ret_path)) ||
	       find_in_package(directory, package, ret_path);
}

/* In the project of the current directory, or of the one that was given, on PATH, in npx's own
 * store. */
static bool find_package(const char *project, const char *package, char *ret_path)
{
	char directory[PATH_MAX];
	const char *home = getenv("HOME");
	bool found = false;
	glob_t stores;

	if (!realpath(project, directory))
		directory[0] = '\0';
	for (char *slash = directory; slash && directory[0] == '/' && !found;) {
		found = find_in_directory(directory, package, ret_path);
		slash = strrchr(directory, '/');
		*slash = '\0';
	}
	if (found || executable_find(path_base(package), ret_path, PATH_MAX) == 0)
		return true;
	if (!home || snprintf(directory, sizeof(directory), "%s/.npm/_npx/*", home) >= PATH_MAX ||
	    glob(directory, 0, NULL, &stores) != 0)
		return false;
	for (size_t i = 0; i < stores.gl_pathc && !found; i++)
		found = find_in_directory(stores.gl_pathv[i], package, ret_path);
	globfree(&stores);
	return found;
}

int npm_package_find(const char *launcher, char *const words[], char *ret_path, size_t *ret_taken)
{
	char package[PACKAGE_BYTES];
	size_t at = launcher_words(launcher, words);
	const char *project = ".";

	if (!at)
		return -EINVAL;
	for (; words[at] && words[at][0] == '-'; at++) {
		if (strcmp(words[at], "-c") == 0 || strcmp(words[at], "--call") == 0)
			return -ENOENT; /* a shell's text, in an environment of its own */
		bool is_prefix = strcmp(words[at], "--prefix") == 0;
		if ((is_prefix || strcmp(words[at], "-p") == 0 ||
		     strcmp(words[at], "--package") == 0) &&
		    words[at + 1])
			at++;
		if (is_prefix)
			project = words[at];
	}
	if (!words[at] ||
	    snprintf(package, sizeof(package), "%s", words[at]) >= (int)sizeof(package) ||
	    strstr(package, ".."))
		return -ENOENT;
	char *version = strrchr(package, '@');
	if (version && version != package)
		*version = '\0';
	*ret_taken = at + 1;
	return find_package(project, package, ret_path) ? 0 : -ENOENT;
}
