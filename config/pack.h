/*
 * A config as the plain data that travels in the segment.
 */
#ifndef SEEN_CONFIG_PACK_H
#define SEEN_CONFIG_PACK_H

#include "config/config.h"

/* config_pack(): flattens a config into the plain data that travels in the segment.
 *
 * text: the text area, `capacity` bytes (SETTINGS_TEXT_BYTES_MAX is enough for all but absurd
 * lists); *ret_used bytes of it hold text, the rest is not touched.  paths_workspace becomes
 * config_workspace().  "~/" at the beginning of the globs of a profile's state, or of a rule,
 * becomes $HOME; without a HOME such globs are left out, and rules of nothing else.  So are a
 * state's that match nothing in the workspace. All outputs are set on success only, but text may be
 * half written.
 *
 * Returns 0; -ENOSPC when the text area is too small, *ret_error then says which option is the
 * largest and where it was set.
 */
int config_pack(const struct config *config, struct settings *ret_settings, char *text,
		size_t capacity, size_t *ret_used, struct config_error *ret_error);

#endif
