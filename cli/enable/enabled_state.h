/* What the name of an enabled agent starts now. */
#ifndef SEEN_CLI_ENABLED_STATE_H
#define SEEN_CLI_ENABLED_STATE_H

#include <limits.h>
#include <stdbool.h>

struct enabled_state {
	char program[PATH_MAX]; /* that the launcher starts; "": there is none */
	bool is_wrapped;
	const char *why_not; /* static; NULL: it is */
};

/* enabled_state_find(): as far as this process's PATH and the files tell.  An alias of a shell is not
 * known here. */
void enabled_state_find(const char *name, struct enabled_state *ret_state);

#endif
