/*
 * The settings of a configuration as a segment has them, with no tables: enough to say what a
 * program is (tracker/process/role.h), and how long a notice would be.
 */
#ifndef SEEN_CLI_SETTINGS_ONLY_H
#define SEEN_CLI_SETTINGS_ONLY_H

#include "config/config.h"
#include "tracker/segment/segment.h"

struct settings_only {
	struct segment segment;
	struct segment_header *header;
	struct settings *settings;
	char *text;
	size_t text_used; /* bytes of it */
};

/* settings_only_init(): settings_only_destroy() it in any case.
 *
 * Returns 0; -ENOMEM; or as config_pack(), with *ret_error. */
int settings_only_init(const struct config *config, struct settings_only *ret_only,
		       struct config_error *ret_error);

/* settings_only_destroy(): accepts one that is all zero. */
void settings_only_destroy(struct settings_only *only);

#endif
