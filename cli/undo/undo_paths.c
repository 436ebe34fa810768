/* Paths from a command line: see undo_paths.h. */
#include "cli/undo/undo_paths.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "tracker/segment/segment.h"

int undo_paths(char **words, char ***ret_paths)
{
	char path[SEGMENT_PATH_BYTES];
	size_t count = 0;

	*ret_paths = NULL;
	while (words[count])
		count++;
	if (!count)
		return EXIT_CODE_OK;
	*ret_paths = calloc(count + 1, sizeof(char *));
	for (size_t i = 0; *ret_paths && i < count; i++) {
		int error = argument_path(words[i], path, sizeof(path));
		if (error < 0) {
			message("%s: %s", words[i], strerror(-error));
			return EXIT_CODE_USAGE;
		}
		(*ret_paths)[i] = strdup(path);
		if (!(*ret_paths)[i])
			break;
	}
	if (*ret_paths && (*ret_paths)[count - 1])
		return EXIT_CODE_OK;
	message("out of memory");
	return EXIT_CODE_OUTPUT;
}

void undo_paths_free(char **paths)
{
	for (char **path = paths; path && *path; path++)
		free(*path);
	free(paths);
}
