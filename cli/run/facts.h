/* What a run writes to its journal about its surroundings (cli/journal/fact.h). */
#ifndef SEEN_CLI_FACTS_H
#define SEEN_CLI_FACTS_H

#include "cli/session/session.h"
#include "config/config.h"
#include "tracker/journal/journal.h"

/* facts_start(): before the command starts: the workspace's commit, what goes on record, the rules in force.
 *
 * Where the session keeps the rules of an earlier run (`keeps_settings`), what this run's
 * configuration says is not in force, and no rule is written. */
void facts_start(const struct config *config, const struct session *session,
		 struct journal *journal);

/* facts_finish(): when it has ended: the workspace's commit, the command's status. */
void facts_finish(const struct session *session, struct journal *journal, int status);

#endif
