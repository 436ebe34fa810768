/*
 * Mentions: the user gave the agent a file (`@path` in a prompt, an attachment).  What it holds at
 * this moment is what the agent knows of it from then on.
 */
#ifndef SEEN_CLI_MENTION_H
#define SEEN_CLI_MENTION_H

#include <stdint.h>

#include "cli/session/session.h"
#include "tracker/journal/journal.h"

/* mention(): records files as given to the agent by its user, as they are now.
 *
 * journal: may be unmapped.  scope_id: of that agent; 0: of the only one that lives, if it is one,
 * and of all to come.  words: paths, ended by NULL.  Says on stderr which cannot be recorded, and
 * why.  Returns an exit code. */
int mention(const struct session *session, struct journal *journal, uint64_t scope_id,
	    char **words);

#endif
