/*
 * A config as the plain data that travels in the segment.
 */
#ifndef SEEN_CONFIG_PACK_H
#define SEEN_CONFIG_PACK_H

#include <stddef.h>

#include "config/config.h"

/* config_pack(): flattens a config into the plain data that travels in the segment.
 *
 * text: the text area, `capacity` bytes (SETTINGS_TEXT_BYTES_MAX is enough for all but absurd
 * lists); *ret_used bytes of it hold text, the rest is not touched.  paths_workspace becomes
 * config_workspace().  "~/" at the beginning of the globs of a profile, or of a rule, becomes
 * $HOME, and "$NAME/" that variable's directory; without it such globs are left out, and rules of
 * nothing else.  Of $TMPDIR, and of the directories of the XDG base directory specification, the
 * defaults stand for those that are not set.  A state's globs that match nothing in the workspace
 * are left out, too.  All outputs are set on success only, but text may be half written.
 *
 * Returns 0; -ENOSPC when the text area is too small, *ret_error then says which option is the
 * largest and where it was set.
 */
int config_pack(const struct config *config, struct settings *ret_settings, char *text,
		size_t capacity, size_t *ret_used, struct config_error *ret_error);

/* Globs of whole paths. */
struct config_globs {
	char *text; /* one after the other, each with a zero at its end; owned */
	size_t count;
};

/* config_list_globs(): the words of a list as globs, "~/", "$NAME/" and the like written out; those
 * that mean nothing here are left out, and @agents.  As config_agents_state(). */
int config_list_globs(const struct config *config, const char *words,
		      struct config_globs *ret_globs);

/* config_agents_state(): what agents keep of their own, by all profiles.  "~/", "$NAME/" and the
 * like are written out.
 *
 * ret_globs: the caller frees its text.  Returns 0; -ENOMEM. */
int config_agents_state(const struct config *config, struct config_globs *ret_globs);

#endif
