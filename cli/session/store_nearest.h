/* Which sessions on disk are a workspace's. */
#ifndef SEEN_CLI_STORE_NEAREST_H
#define SEEN_CLI_STORE_NEAREST_H

#include <stdbool.h>

#include "cli/session/store.h"

/* store_nearest_workspace(): the config's workspace, or, where that is not named, the nearest at or
 * above it that a session had.  Text of the store's, or of the config's. */
const char *store_nearest_workspace(const struct config *config, const struct store *store);

/* store_newest_closed(): the newest session of that workspace which no session_open() opens any
 * more, but whose journal is there: its segment went with a boot, or another version of seen made
 * it.
 *
 * ret_name: SEGMENT_NAME_BYTES long.  Returns its state; STORE_ENDED: there is none. */
enum store_state store_newest_closed(const struct config *config, char *ret_name,
				     unsigned *ret_count);

#endif
