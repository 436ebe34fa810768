/* Globs of the configuration as paths that are there. */
#ifndef SEEN_CLI_CONFINE_PATHS_H
#define SEEN_CLI_CONFINE_PATHS_H

#include "config/config.h"

/* Called with each path that is there: canonical, and as it was found.  Not 0: ends the walk with
 * that. */
typedef int confine_path_call(void *data, const char *path, const char *found);

/* confine_paths_each(): the paths that a list's words mean: /x, ~/x, $NAME/x, ./x in the workspace;
 * other words name no place.  What stands behind `**` counts as all of its directory.
 *
 * makes: of a word that ends in a slash the directory is made, where it is absent.
 * Returns 0; what `call` returned; -ENOMEM. */
int confine_paths_each(const struct config *config, const char *words, bool makes,
		       confine_path_call *call, void *data);

/* confine_path_is_below(): is a path another one, or below it? */
bool confine_path_is_below(const char *path, const char *directory);

#endif
