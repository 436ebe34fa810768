/*
 * The order of sources: files, the workspace's own file, the environment, flags.
 */
#ifndef SEEN_CONFIG_LOAD_H
#define SEEN_CONFIG_LOAD_H

#include "config/config.h"

/* config_request_flag(): takes one configuration flag from a command line into a request.
 *
 * Knows each option's flag ("--mode X", "--mode=X"), "-c KEY=VALUE", "-cKEY=VALUE" and
 * "--config FILE" ("--config=FILE").  argv, argc: the command line, which must outlive the request.
 * *index: the argument to inspect; on success it is moved behind what was taken.  Values are not
 * judged here but by config_load().
 *
 * Returns 1 when a flag was taken, 0 when argv[*index] is no configuration flag (nothing moved),
 * -EINVAL when its value is missing or malformed, -E2BIG when there are more than CONFIG_FLAGS_MAX,
 * -ENOMEM.
 */
int config_request_flag(struct config_request *request, int argc, char **argv, int *index,
			struct config_error *ret_error);

/* config_request_done(): frees what config_request_flag() allocated; the request is empty then. */
void config_request_done(struct config_request *request);

/* config_load(): reads every source, in order, and finds the workspace.
 *
 * request: what to read beside the fixed places; NULL: nothing.  The config is changed only on
 * success; but without memory for the built-in values, which were there before, it is to be freed.  A file that does not exist is passed over, except request->file.
 *
 * Errors: -EINVAL a value, name, line or variable is wrong; -ENOENT request->file, or the directory
 * that paths.workspace names, does not exist; -ENOMEM; another errno when a file or directory
 * exists and cannot be read.  *ret_error is set for each.
 */
int config_load(struct config *config, const struct config_request *request,
		struct config_error *ret_error);

/* config_may_refuse(): do the user's own sources, all but the workspace's file, name a rule or a
 * confinement, by the beginnings of their sections?  For what config_load() refuses: what it was to
 * hold is not known.  A source that cannot be read may. */
bool config_may_refuse(const struct config_request *request);

#endif
