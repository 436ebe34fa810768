/* Other hooks: see rivals.h. */
#include "cli/hooks/rivals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/jsonc.h"
#include "tracker/process/hook_command.h"

/* Reads a text file; NULL: there is none, or it cannot be read.  The caller frees it. */
static char *read_text(const char *path, size_t *ret_length, bool *ret_unknown)
{
	char *bytes = NULL;
	size_t room = 0;
	FILE *file = fopen(path, "re");

	*ret_unknown = !file && errno != ENOENT && errno != ENOTDIR;
	if (!file)
		return NULL;
	/* There is no NUL in it, or it is no text. */
	ssize_t length = getdelim(&bytes, &room, '\0', file);
	(void)fclose(file);
	if (length > 0) {
		*ret_length = (size_t)length;
		return bytes;
	}
	*ret_unknown = true;
	free(bytes);
	return NULL;
}

json_t *rivals_settings(const char *path, bool *ret_unknown)
{
	size_t length = 0;
	char *bytes = read_text(path, &length, ret_unknown);
	json_t *settings = bytes ? jsonc_load(bytes, length) : NULL;

	if (bytes && !json_is_object(settings)) {
		*ret_unknown = true;
		json_decref(settings);
		settings = NULL;
	}
	free(bytes);
	return settings;
}

bool rivals_mentioned(const char *path, const char *word)
{
	bool unknown;
	size_t length = 0;
	char *bytes = read_text(path, &length, &unknown);
	bool found = bytes && strstr(bytes, word);

	free(bytes);
	return found || unknown;
}

/* Does one of a matcher's names, with | between, mean the tool? */
static bool names_tool(const char *matcher, enum rivals_matcher kind, const char *tool)
{
	for (size_t length; *matcher; matcher += length + (matcher[length] == '|')) {
		length = strcspn(matcher, "|");
		if (kind == RIVALS_NAMES
			    ? strlen(tool) == length && strncmp(matcher, tool, length) == 0
			    : memmem(tool, strlen(tool), matcher, length) != NULL)
			return true;
	}
	return false;
}

/* Does a matcher leave a tool out for certain? */
static bool leaves_out(const char *matcher, enum rivals_matcher kind, const char *tool)
{
	return matcher && matcher[0] && tool &&
	       strspn(matcher,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|") ==
		       strlen(matcher) &&
	       matcher[strlen(matcher) - 1] != '|' && matcher[0] != '|' && !strstr(matcher, "||") &&
	       !names_tool(matcher, kind, tool);
}

static bool is_rival(const json_t *hook)
{
	const char *command = json_string_value(json_object_get(hook, "command"));

	return !command || !hook_command_is(command);
}

bool rivals_among(const json_t *settings, const char *event, enum rivals_matcher kind,
		  const char *tool)
{
	const json_t *groups = json_object_get(json_object_get(settings, "hooks"), event);

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);
		const json_t *hooks = json_object_get(group, "hooks");
		if (leaves_out(json_string_value(json_object_get(group, "matcher")), kind, tool))
			continue;
		for (size_t j = 0; j < json_array_size(hooks); j++)
			if (is_rival(json_array_get(hooks, j)))
				return true;
	}
	return groups && !json_is_array(groups);
}

bool rivals_are_named(uint32_t pid, const char *const *words)
{
	char path[40], *word = NULL;
	size_t room = 0;
	bool found = false;

	(void)snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return true;
	while (!found && getdelim(&word, &room, '\0', file) > 0)
		for (const char *const *at = words; *at; at++)
			found = found || strncmp(word, *at, strlen(*at)) == 0;
	free(word);
	(void)fclose(file);
	return found;
}
