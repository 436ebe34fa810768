/*
 * Mentions: the user gave the agent a file (`@path` in a prompt, an attachment).  What it holds at
 * this moment is what the agent knows of it from then on.
 */
#ifndef SEEN_CLI_MENTION_H
#define SEEN_CLI_MENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/session/session.h"
#include "tracker/journal/journal.h"

/* mention_file(): records one file as given to the agent by its user, as it is now.
 *
 * scope_id: of the agent; 0: none.  is_for_all: of all to come, too.  path: absolute, or from the
 * current directory.  Returns NULL, or what is wrong with the file, for a person; static, or of
 * strerror(3). */
const char *mention_file(const struct segment *segment, struct journal *journal, uint64_t scope_id,
			 bool is_for_all, const char *path);

/* mention(): records files as given to the agent by its user, as they are now.
 *
 * journal: may be unmapped.  scope_id: of that agent; 0: of the only one that lives, if it is one,
 * and of all to come.  words: paths, ended by NULL.  Says on stderr which cannot be recorded, and
 * why.  Returns an exit code. */
int mention(const struct session *session, struct journal *journal, uint64_t scope_id,
	    char **words);

#endif
