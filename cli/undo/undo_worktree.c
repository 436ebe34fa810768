/* What of git lies outside the workspace: see undo_worktree.h. */
#include "cli/undo/undo_worktree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/session/git_directory.h"
#include "cli/undo/tree_entry.h"

/* worktrees/NAME/gitdir of a git directory names the worktree's `.git`. */
static bool is_pointer(const char *path)
{
	const char *name = strrchr(path, '/'), *above = strstr(path, "/worktrees/");

	return name && above && strcmp(name, "/gitdir") == 0 &&
	       strchr(above + strlen("/worktrees/"), '/') == name;
}

static const struct tree_change *change_of(const struct undo_run *run, const char *path)
{
	for (size_t i = 0; i < run->changes.count; i++)
		if (strcmp(run->changes.changes[i].path, path) == 0)
			return &run->changes.changes[i];
	return NULL;
}

static bool read_directory(const struct undo_run *run, const struct tree_entry *entry,
			   char *ret_directory)
{
	static const char END[] = "/.git\n";
	char *text = NULL;
	size_t size = 0;
	bool is_read = tree_entry_read(&run->records, entry, PATH_MAX - 1, &text, &size) == 0 &&
		       size >= sizeof(END) && text[0] == '/' &&
		       strcmp(text + size - (sizeof(END) - 1), END) == 0;

	if (is_read) {
		text[size - (sizeof(END) - 1)] = '\0';
		strcpy(ret_directory, text);
	}
	free(text);
	return is_read && !argument_is_below(ret_directory, run->session.workspace);
}

bool undo_worktree_next(const struct undo_run *run, size_t *at, char *ret_directory,
			bool *ret_is_gone)
{
	while (*at < run->report.line_count) {
		const struct schedule_line *line = &run->report.lines[(*at)++];
		bool comes = line->verb == SCHEDULE_VERB_RESTORE;
		if ((!comes && line->verb != SCHEDULE_VERB_REMOVE) || !is_pointer(line->path))
			continue;
		const struct tree_change *change = change_of(run, line->path);
		if (!change || change->before.exists == change->after.exists ||
		    !read_directory(run, comes ? &change->before : &change->after, ret_directory))
			continue;
		*ret_is_gone = comes && access(ret_directory, F_OK) < 0;
		return true;
	}
	return false;
}

bool undo_worktree_above(const struct undo_run *run, char *ret_directory)
{
	struct git_directory_above above;
	const struct steps *steps = &run->session.steps;
	uint64_t since_ns = steps->count         ? steps->steps[0].begin_ns
			    : run->records.count ? run->records.records[0].time_ns
						 : INT64_MAX;

	if (run->request->kind != OPERATION_UNDO ||
	    !git_directory_above(run->session.workspace, &above) ||
	    !git_directory_written(&above, (int64_t)since_ns))
		return false;
	strcpy(ret_directory, above.own);
	return true;
}
