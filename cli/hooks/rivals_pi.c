/* Other extensions: see rivals_pi.h. */
#include "cli/hooks/rivals_pi.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/agents/hooks.h"
#include "cli/hooks/rivals.h"
#include "tracker/process/hook_command.h"

/* What the text of an extension has that may change a tool's output, or what the model is sent of
 * it; or code from elsewhere, which may do so. */
static const char *const WORDS[] = { "tool_result", "message_end", "before_provider_request",
				     "\"context\"", "'context'",   "`context`",
				     "import(",     "require(",    "from \".",
				     "from '.",     NULL };

static const char *const OPTIONS[] = { "-e", "--extension", NULL };

/* Does an extension's text have one of these words?  Ours may. */
static bool text_has_rival(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0, length;
	bool found = false;

	if (!file)
		return true;
	/* All of it: a text has no NUL. */
	bool is_read = getdelim(&text, &room, '\0', file) > 0 && fgetc(file) == EOF;
	(void)fclose(file);
	if (is_read && !hook_command_mark(text, &length))
		for (const char *const *word = WORDS; *word && !found; word++)
			found = strstr(text, *word);
	free(text);
	return found || !is_read;
}

static bool is_script(const char *name)
{
	size_t length = strlen(name);

	return length > 3 &&
	       (strcmp(name + length - 3, ".ts") == 0 || strcmp(name + length - 3, ".js") == 0);
}

/* directory: of settings. */
static bool extensions_have_rival(const char *directory)
{
	char path[PATH_MAX];
	bool found = false;

	if (snprintf(path, sizeof(path), "%s/extensions", directory) >= (int)sizeof(path))
		return true;
	DIR *extensions = opendir(path);
	if (!extensions)
		return errno != ENOENT && errno != ENOTDIR;
	for (struct dirent *entry; !found && (entry = readdir(extensions));) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			continue;
		if (entry->d_type != DT_REG && !is_script(name))
			found = true; /* a directory with an extension */
		else if (is_script(name))
			found = snprintf(path, sizeof(path), "%s/extensions/%s", directory, name) >=
					(int)sizeof(path) ||
				text_has_rival(path);
	}
	(void)closedir(extensions);
	return found;
}

/* Does a file of settings name extensions elsewhere? */
static bool settings_have_rival(const char *directory)
{
	char path[PATH_MAX];
	bool unknown;

	if (snprintf(path, sizeof(path), "%s/settings.json", directory) >= (int)sizeof(path))
		return true;
	json_t *settings = rivals_settings(path, &unknown);
	bool found = json_array_size(json_object_get(settings, "extensions")) ||
		     json_array_size(json_object_get(settings, "packages"));
	json_decref(settings);
	return found || (!settings && unknown);
}

static bool directory_has_rival(const char *directory)
{
	return settings_have_rival(directory) || extensions_have_rival(directory);
}

bool rivals_pi_are(const char *directory, uint32_t agent_pid)
{
	char path[PATH_MAX];

	if (!directory || rivals_are_named(agent_pid, OPTIONS) ||
	    hooks_expand("$PI_CODING_AGENT_DIR|~/.pi/agent", path, sizeof(path)) < 0 ||
	    directory_has_rival(path))
		return true;
	return snprintf(path, sizeof(path), "%s/.pi", directory) >= (int)sizeof(path) ||
	       directory_has_rival(path);
}
