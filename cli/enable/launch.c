/* Launchers: see launch.h. */
#include "cli/enable/launch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/enable/enabled.h"
#include "cli/enable/starter.h"
#include "cli/session/session.h"
#include "config/option.h"
#include "config/value.h"
#include "tracker/path/path.h"

const char *launch_name(void)
{
	static const char DIRECTORY[] = "/seen/launchers";
	static char path[PATH_MAX];
	const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);

	if (!started || strlen(started) >= sizeof(path))
		return NULL;
	(void)snprintf(path, sizeof(path), "%s", started);
	char *name = strrchr(path, '/');
	if (!name)
		return NULL;
	for (char *end = name++; end >= path && *end == '/'; end--)
		*end = '\0'; /* PATH may name the directory with a slash behind it */
	size_t length = strlen(path), tail = sizeof(DIRECTORY) - 1;
	bool is_launcher = length >= tail && strcmp(path + length - tail, DIRECTORY) == 0;
	return is_launcher && enabled_name_is_valid(name) ? name : NULL;
}

/* Does a value follow this option of npx?  (npm help npx; `--name=value` has its own.) */
static bool has_value(const char *option)
{
	static const char *const NAMES[] = { "-p",       "--package", "-w",         "--workspace",
					     "--prefix", "--cache",   "--registry", "--userconfig" };

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strcmp(option, NAMES[i]) == 0)
			return true;
	return false;
}

/* What npx is to start, without its scope and version: is that an agent? */
static bool is_agent_package(int argc, char **argv)
{
	const char *agents = option_at(OPTION_processes_agents)->value;
	char name[ENABLED_NAME_BYTES];
	int first = 1;

	while (first < argc && argv[first][0] == '-')
		first += has_value(argv[first]) ? 2 : 1;
	if (first >= argc)
		return false;
	const char *word = argv[first][0] == '@' && strchr(argv[first], '/')
				   ? strchr(argv[first], '/') + 1
				   : argv[first];
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "@"), word);
	return enabled_name_is_valid(name) && config_words_have(agents, name);
}

static bool is_wrapped(const char *name, int argc, char **argv)
{
	char directory[PATH_MAX];
	struct enabled enabled;

	if (session_is_inside() || (strcmp(name, "npx") == 0 && !is_agent_package(argc, argv)) ||
	    !getcwd(directory, sizeof(directory)) || enabled_read(&enabled) < 0)
		return false;
	bool applies = enabled_applies(&enabled, name, directory);
	enabled_free(&enabled);
	return applies;
}

int launch_words(const char *name, int argc, char **argv, int *ret_count, char ***ret_words)
{
	static char path[PATH_MAX];
	int passed = starter_pass(name, path);

	if (passed == -ELOOP) {
		message("%s: what is called so on PATH starts its launcher again and again", name);
		return EXIT_CODE_NOT_FOUND;
	}
	if (passed == 0 && executable_find(name, path, sizeof(path)) == 0)
		passed = 1;
	if (passed <= 0) {
		message("%s: there is no other program of that name on PATH than its launcher; "
			"`seen "
			"disable %s` removes that",
			name, name);
		return EXIT_CODE_NOT_FOUND;
	}
	if (!is_wrapped(name, argc, argv)) {
		starter_mark(path);
		(void)execv(path, argv);
		message("%s: %s", path, strerror(errno));
		return EXIT_CODE_NOT_EXECUTABLE;
	}
	char **words = calloc((size_t)argc + 4, sizeof(*words));
	if (!words) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	words[0] = (char *)"run";
	words[1] = (char *)"--fail-open";
	words[2] = (char *)"--";
	words[3] = path;
	for (int i = 1; i < argc; i++)
		words[3 + i] = argv[i];
	*ret_words = words;
	*ret_count = argc + 3;
	return EXIT_CODE_OK;
}
