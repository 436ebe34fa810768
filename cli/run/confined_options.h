/*
 * Options of the run inside, where Landlock confines it.
 *
 * `[confine] by = rules`: rules for what Landlock cannot keep, protected files in writable directories, and what is
 * read-only there.  They are the sets `secrets` and `ci`, and agents' settings, all of which deny.
 *
 * Where sockets are refused, no program can ask to be supervised at its exec: all are from the beginning.
 */
#ifndef SEEN_CLI_CONFINED_OPTIONS_H
#define SEEN_CLI_CONFINED_OPTIONS_H

#include "cli/confine/confinement.h"
#include "config/config.h"

/* confined_options(): the words for `seen run`.
 *
 * Returns a list ended by NULL, for confined_options_free(), which accepts NULL; NULL: no memory. */
char **confined_options(const struct config *config, const struct confinement *confinement,
			enum confine_by by);
void confined_options_free(char **words);

#endif
