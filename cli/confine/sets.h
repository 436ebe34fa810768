/* What each set of [confine] means for a command, as a list of places. */
#ifndef SEEN_CLI_CONFINE_SETS_H
#define SEEN_CLI_CONFINE_SETS_H

#include "cli/confine/confinement.h"
#include "config/config.h"

/* What is to be confined. */
struct confine_command {
	char *const *words;   /* ended by NULL */
	char *const *program; /* of the program that the command comes to; NULL: the same */
	const char *agent;    /* the name of its profile; "": it is no agent */
};

/* confine_sets_apply(): what the configuration says for a command.
 *
 * ret_confinement: all zero before; confinement_destroy() it in any case.
 * Makes directories that [confine] write, or the agent's profile, names and that are absent.
 * Returns 0; -EPERM: ret_confinement->problem says why not; -ENOMEM. */
int confine_sets_apply(const struct config *config, const struct confine_command *command,
		       struct confinement *ret_confinement);

#endif
