/* Lists for the model: see hook_list.h. */
#include "cli/hooks/hook_list.h"

#include "tracker/path/path.h"
#include "tracker/segment/workspace.h"

bool hook_list_add(struct hook_list *list, const struct segment *segment, const char *path,
		   const char *words)
{
	char name[SEGMENT_PATH_BYTES * 4];

	if (path_escape(path_relative(segment, path), name, sizeof(name)) < 0)
		return false;
	if (list->count++ >= HOOK_LIST_MAX)
		return false;
	(void)fprintf(list->out, "%s%s%s%s%s", list->count == 1 ? list->head : ", ", name,
		      words[0] ? " (" : "", words, words[0] ? ")" : "");
	return true;
}

void hook_list_finish(const struct hook_list *list)
{
	if (list->count > HOOK_LIST_MAX)
		(void)fprintf(list->out, " and %zu more", list->count - HOOK_LIST_MAX);
	if (list->count)
		(void)fputs("\n", list->out);
}
