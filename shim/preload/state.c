/* What this process is, for all of the library: see state.h. */
#include "shim/preload/state.h"

#include <string.h>

#include "tracker/path/path.h"

struct shim shim;

const char *variable(char *const environment[], const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; environment && environment[i]; i++)
		if (environment[i][0] == name[0] && strncmp(environment[i], name, length) == 0 &&
		    environment[i][length] == '=')
			return environment[i] + length + 1;
	return NULL;
}

bool program_path(char *ret_path, size_t capacity)
{
	char up[SEGMENT_PATH_BYTES];

	if (!shim.library[0] || strlen(shim.library) + sizeof("/../../../bin/seen") > sizeof(up))
		return false;
	memcpy(up, shim.library, strlen(shim.library) + 1);
	memcpy(up + strlen(up), "/../../../bin/seen", sizeof("/../../../bin/seen"));
	return path_normalize(NULL, up, ret_path, capacity) > 0;
}
