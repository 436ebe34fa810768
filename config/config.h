/*
 * The configuration of a run: one value and its origin for each option, the agents' profiles, and the rules.
 *
 *   option.h       the options as a table, from options.def
 *   ini.h          one file, strictly, over inih
 *   nearest.h      "did you mean"
 *   config.h       values, origins, the order of sources, packing     (config.c, rules.c, load.c, pack.c)
 *   settings.h     the packed form, which the shim reads
 *   fingerprint.h  which list of options a build has
 *
 * Sources, each over the one before: built-in (options.def, data/agents.ini); /etc/seen/seen.ini;
 * $XDG_CONFIG_HOME/seen/seen.ini, else ~/.config/seen/seen.ini; the file named by --config;
 * .seen.ini at the workspace's root, which is not trusted and can only tighten; SEEN_SECTION_NAME;
 * flags.  A list given again extends what is there, an empty value clears it.
 *
 * Nothing here prints.  Functions return 0 or a negative errno; where they take a config_error, it
 * holds one line for the user on every failure but -ENOMEM (then it says so in general terms).
 * The program ends with status 125 after any of them.  Not async-signal-safe; one thread at a time
 * for each struct config, except for functions that take it as const.
 */
#ifndef SEEN_CONFIG_CONFIG_H
#define SEEN_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/option.h"
#include "config/settings.h"

enum {
	CONFIG_ERROR_BYTES = 1024,
	CONFIG_FLAGS_MAX = 256, /* assignments on one command line */
	CONFIG_STORAGE_MAX = 2 * CONFIG_FLAGS_MAX,
	CONFIG_PROFILE_NAME_MAX = 40, /* bytes of a name in [agent NAME], [rule NAME] */
};

/* One line, no newline: "ORIGIN: what is wrong; what is allowed". */
struct config_error {
	char text[CONFIG_ERROR_BYTES];
};

/* Words that one source added to a list. */
struct config_part {
	const char *words;  /* separated by one space */
	const char *origin; /* as in config_value */
};

/* The value of one option.  Borrowed; valid until the config is changed or freed. */
struct config_value {
	uint64_t number;    /* NUMBER: the number; CHOICE: the choice's position; else 0 */
	const char *text;   /* as seen.ini would write it; a list: words and single spaces */
	const char *origin; /* "built-in", "FILE:LINE", "SEEN_SECTION_NAME" or "--flag"; a list that
			     * several sources extended has them all, separated by ", " */
	const struct config_part *parts; /* LIST: what came from where; else NULL */
	size_t part_count;
};

/* One [agent NAME] section. */
struct config_profile {
	const char *name;
	const char *origin; /* where it was first mentioned */
	struct config_value values[PROFILE_OPTION_COUNT];
};

/* One [rule NAME] section. */
struct config_rule {
	const char *name;
	const char *origin; /* where it was first mentioned */
	bool trusted;       /* false: by a workspace's .seen.ini */
	const char *
		set; /* the ready-made set that it is of ([rules] use); NULL: it is the user's own */
	bool is_mentioned; /* by a source of the user's */
	struct config_value values[RULE_OPTION_COUNT];
};

struct config;

/* config_new(): a config that holds the built-in values.
 *
 * Returns 0 and the config, which the caller frees with config_free(); or -ENOMEM.
 */
int config_new(struct config **ret_config);

/* config_free(): frees a config; NULL is let pass.  Returns NULL. */
struct config *config_free(struct config *config);

/* One flag's assignment.  The strings are borrowed and must outlive the request. */
struct config_flag {
	const char *key; /* "section.name", "agent NAME.name", "rule NAME.name" */
	const char *value;
	const char *origin; /* "--mode", "-c" */
};

/* What a command line and its surroundings ask of config_load(). */
struct config_request {
	const char *file;               /* --config FILE, or NULL */
	const char *system_file;        /* NULL: /etc/seen/seen.ini */
	const char *const *environment; /* NULL: environ */
	const char *directory;          /* absolute, where the command runs; NULL: getcwd() */
	struct config_flag flags[CONFIG_FLAGS_MAX]; /* in the order of the command line */
	size_t flag_count;
	char *storage[CONFIG_STORAGE_MAX]; /* owned: keys and origins; see config_request_done() */
	size_t storage_count;
};

/* config_request_flag(): takes one configuration flag from a command line into a request.
 *
 * Knows each option's flag ("--mode X", "--mode=X"), "-c KEY=VALUE", "-cKEY=VALUE" and
 * "--config FILE" ("--config=FILE").  argv, argc: the command line, which must outlive the request.
 * *index: the argument to look at; on success it is moved behind what was taken.  Values are not
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
 * success.  A file that does not exist is passed over, except request->file.
 *
 * Errors: -EINVAL a value, name, line or variable is wrong; -ENOENT request->file, or the folder
 * that paths.workspace names, does not exist; -ENOMEM; another errno when a file or folder exists
 * and cannot be read.  *ret_error is set for each.
 */
int config_load(struct config *config, const struct config_request *request,
		struct config_error *ret_error);

/* config_set(): sets one option, with the checks of a trusted source.
 *
 * key: "section.name", "agent NAME.name" or "rule NAME.name".  origin: what error lines and `seen config` name.
 * Changes nothing on failure.  The workspace's root stays what config_load() found: a workspace
 * that a flag names belongs into the request.  Returns 0, -EINVAL, -ENOSPC (too many profiles),
 * -ENOMEM.
 */
int config_set(struct config *config, const char *key, const char *value, const char *origin,
	       struct config_error *ret_error);

/* config_read(): applies the text of one seen.ini; config_load() uses it for each file.
 *
 * file: its name, for origins and errors.  trusted: false for a workspace's .seen.ini, which may
 * only tighten.  Changes nothing on failure.  Returns 0, -EINVAL, -ENOSPC, -ENOMEM.
 */
int config_read(struct config *config, const char *data, size_t size_bytes, const char *file,
		bool trusted, struct config_error *ret_error);

/* config_value(): an option's value and origin.  id: an option_id.  Never NULL. */
const struct config_value *config_value(const struct config *config, size_t id);

/* config_warning(): a line about a value that could not be read and for which the built-in one is in effect (option_is_lenient());
 * NULL: there is none.  Borrowed; for the program to say. */
const char *config_warning(const struct config *config);

/* config_number(), config_text(): an option's number (or choice), an option's text; borrowed. */
uint64_t config_number(const struct config *config, size_t id);
const char *config_text(const struct config *config, size_t id);

/* config_has_word(): is it a word of that list? */
bool config_has_word(const struct config *config, size_t id, const char *word);

/* config_profile_count(), config_profile_at(): the profiles, built-in ones first. */
size_t config_profile_count(const struct config *config);
const struct config_profile *config_profile_at(const struct config *config, size_t index);

/* config_profile_find(): the profile of that name, or NULL. */
const struct config_profile *config_profile_find(const struct config *config, const char *name);

/* config_rule_count(), config_rule_at(): the rules, in the order in which they were first mentioned; those with action `off` too. */
size_t config_rule_count(const struct config *config);
const struct config_rule *config_rule_at(const struct config *config, size_t index);

/* config_rule_is_in_force(): a rule of a set is where [rules] use names the set or the user mentions it; any other one is. */
bool config_rule_is_in_force(const struct config *config, const struct config_rule *rule);

/* config_rule_find(): the rule of that name, or NULL. */
const struct config_rule *config_rule_find(const struct config *config, const char *name);

/* config_workspace(): the root of what is tracked, canonical (realpath).
 *
 * paths.workspace if set, else the nearest ancestor of the current folder that holds .git (a
 * folder, or a file as in worktrees and submodules), else the current folder.  "" before
 * config_load().
 */
const char *config_workspace(const struct config *config);

/* config_file_count(), config_file_at(): the files that config_load() read, in order; borrowed. */
size_t config_file_count(const struct config *config);
const char *config_file_at(const struct config *config, size_t index);

/* config_pack(): flattens a config into the plain data that travels in the segment.
 *
 * text: the text area, `capacity` bytes (SETTINGS_TEXT_BYTES_MAX is enough for all but absurd
 * lists); *ret_used bytes of it hold text, the rest is not touched.  paths_workspace becomes
 * config_workspace().  "~/" at the beginning of the globs of a profile's state, or of a rule, becomes $HOME; without a
 * HOME such globs are left out, and rules of nothing else.  So are a state's that match nothing in the workspace. All outputs are set on success only, but text may be half written.
 *
 * Returns 0; -ENOSPC when the text area is too small, *ret_error then says which option is the
 * largest and where it was set.
 */
int config_pack(const struct config *config, struct settings *ret_settings, char *text,
		size_t capacity, size_t *ret_used, struct config_error *ret_error);

#endif
