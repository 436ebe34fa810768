/* Other hooks: see rivals_claude.h. */
#include "cli/hooks/rivals_claude.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/agents/hooks.h"
#include "cli/hooks/rivals.h"

/* Has one file of settings another hook, or plugins, which may have some? */
static bool file_has_rival(const char *path, const char *tool)
{
	bool found;
	json_t *settings = rivals_settings(path, &found);

	found = found || rivals_among(settings, "PostToolUse", RIVALS_NAMES, tool) ||
		json_object_size(json_object_get(settings, "enabledPlugins"));
	json_decref(settings);
	return found;
}

/* Skills, commands and agents may bring hooks with them.  directory: of settings. */
static bool pages_have_rival(const char *directory)
{
	static const char *const NAMES[] = { "skills/*/SKILL.md", "commands/*.md",
					     "commands/*/*.md", "agents/*.md" };
	char pattern[PATH_MAX];
	bool found = false;

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]) && !found; i++) {
		glob_t pages = { .gl_pathc = 0 };
		if (snprintf(pattern, sizeof(pattern), "%s/%s", directory, NAMES[i]) >=
		    (int)sizeof(pattern))
			return true;
		int error = glob(pattern, GLOB_NOSORT, NULL, &pages);
		found = error != 0 && error != GLOB_NOMATCH;
		for (size_t j = 0; error == 0 && j < pages.gl_pathc && !found; j++)
			found = rivals_mentioned(pages.gl_pathv[j], "PostToolUse");
		globfree(&pages);
	}
	return found;
}

/* directory: of settings. */
static bool directory_has_rival(const char *directory, const char *tool)
{
	static const char *const NAMES[] = { "settings.json", "settings.local.json",
					     "remote-settings.json" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (snprintf(path, sizeof(path), "%s/%s", directory, NAMES[i]) >=
			    (int)sizeof(path) ||
		    file_has_rival(path, tool))
			return true;
	return pages_have_rival(directory);
}

static bool project_has_rival(const char *directory, const char *tool)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/.claude", directory) >= (int)sizeof(path) ||
	       directory_has_rival(path, tool);
}

static const char *const OPTIONS[] = { "--settings", "--plugin-dir", "--plugin-url",
				       "--agents",   "--agent",      "--managed-settings",
				       NULL };

bool rivals_claude_are(const char *tool, const char *directory, uint32_t agent_pid)
{
	const char *project = getenv("CLAUDE_PROJECT_DIR");
	char path[PATH_MAX];

	/* Managed settings may be in a directory of files. */
	if (!directory || rivals_are_named(agent_pid, OPTIONS) ||
	    access("/etc/claude-code/managed-settings.d", F_OK) == 0)
		return true;
	if (file_has_rival("/etc/claude-code/managed-settings.json", tool) ||
	    hooks_expand("$CLAUDE_CONFIG_DIR/|~/.claude/", path, sizeof(path)) < 0 ||
	    directory_has_rival(path, tool))
		return true;
	return project_has_rival(directory, tool) || (project && project_has_rival(project, tool));
}
