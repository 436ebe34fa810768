/* Settings without tables: see settings_only.h. */
#include "cli/session/settings_only.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/pack.h"

int settings_only_init(const struct config *config, struct settings_only *ret_only,
		       struct config_error *ret_error)
{
	struct settings_only *only = ret_only;

	*only = (struct settings_only){ .header = calloc(1, sizeof(*only->header)),
					.settings = calloc(1, sizeof(*only->settings)),
					.text = calloc(1, SETTINGS_TEXT_BYTES_MAX) };
	if (!only->header || !only->settings || !only->text)
		return -ENOMEM;
	int error = config_pack(config, only->settings, only->text, SETTINGS_TEXT_BYTES_MAX,
				&only->text_used, ret_error);
	if (error < 0)
		return error;
	/* As long as one that is drawn: the length of a notice depends on it. */
	(void)snprintf(only->header->nonce, sizeof(only->header->nonce), "seen-%016d", 0);
	only->segment = (struct segment){ .header = only->header,
					  .settings = only->settings,
					  .text = only->text,
					  .text_bytes = SETTINGS_TEXT_BYTES_MAX };
	return 0;
}

void settings_only_destroy(struct settings_only *only)
{
	free(only->header);
	free(only->settings);
	free(only->text);
	*only = (struct settings_only){ .header = NULL };
}
