/* What a name starts: see enabled_state.h. */
#include "cli/enable/enabled_state.h"

#include <stdio.h>

#include "cli/base/executable.h"
#include "cli/enable/enabled.h"
#include "cli/enable/shell_rc.h"

void enabled_state_find(const char *name, struct enabled_state *ret_state)
{
	char directory[PATH_MAX], launcher[PATH_MAX + ENABLED_NAME_BYTES] = "";
	struct enabled_state state = { .is_wrapped = false };
	bool passed;

	if (executable_find_past(name, state.program, sizeof(state.program), &passed) < 0)
		state.program[0] = '\0';
	if (enabled_path("launchers", directory, sizeof(directory)) == 0)
		(void)snprintf(launcher, sizeof(launcher), "%s/%s", directory, name);
	if (!state.program[0])
		state.why_not = "there is no program of that name on PATH";
	else if (!executable_is_own(launcher))
		state.why_not = "its launcher is not this seen; `seen enable` makes it anew";
	else if (!passed && !shell_by_functions())
		state.why_not =
			"the launcher does not come first on PATH: begin a new shell; if that "
			"does not help, `seen enable --functions`";
	else
		state.is_wrapped = true;
	*ret_state = state;
}
