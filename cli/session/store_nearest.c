/* Which sessions on disk are a workspace's: see store_nearest.h. */
#include "cli/session/store_nearest.h"

#include <string.h>

#include "cli/base/argument.h"
#include "config/value.h"

const char *store_nearest_workspace(const struct config *config, const struct store *store)
{
	const char *here = config_workspace(config), *best = NULL;
	bool above = !config_text(config, OPTION_paths_workspace)[0];

	for (size_t i = 0; i < store->count; i++) {
		const char *root = store->sessions[i].workspace;
		if (root && (above ? argument_is_below(here, root) : strcmp(here, root) == 0) &&
		    (!best || strlen(root) > strlen(best)))
			best = root;
	}
	return best ? best : here;
}

enum store_state store_newest_closed(const struct config *config, char *ret_name,
				     unsigned *ret_count)
{
	enum store_state state = STORE_ENDED;
	struct store store;

	*ret_count = 0;
	if (store_open(config, &store) == 0) {
		const char *workspace = store_nearest_workspace(config, &store);
		for (size_t i = 0; i < store.count; i++) {
			const struct store_session *session = &store.sessions[i];
			if (!session->has_journal || !session->workspace ||
			    strcmp(session->workspace, workspace) != 0 ||
			    (session->state != STORE_OTHER_VERSION &&
			     session->state != STORE_JOURNAL_ONLY))
				continue;
			if ((*ret_count)++ > 0)
				continue;
			memcpy(ret_name, session->name, sizeof(session->name));
			state = session->state;
		}
	}
	store_close(&store);
	return state;
}
