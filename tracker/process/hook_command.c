/* Commands of hooks: see hook_command.h. */
#include "tracker/process/hook_command.h"

#include <string.h>

const char *hook_command_mark(const char *text, size_t *ret_length)
{
	static const char *const MARKS[] = { HOOK_COMMAND_FORGETS, HOOK_COMMAND_ANSWERS };
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(MARKS) / sizeof(MARKS[0]); i++) {
		const char *found = strstr(text, MARKS[i]);
		if (!found || (first && found > first))
			continue;
		first = found;
		*ret_length = strlen(MARKS[i]);
	}
	return first;
}

bool hook_command_is(const char *command)
{
	size_t length = 0;
	return hook_command_mark(command, &length) && strstr(command, HOOK_COMMAND_PROGRAM);
}

bool hook_command_among(char *const words[])
{
	for (size_t i = 0; words[i]; i++)
		if (hook_command_is(words[i]))
			return true;
	return false;
}
