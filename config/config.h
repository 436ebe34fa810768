/*
 * The configuration of a run: one value and its origin for each option, the agents' profiles, and
 * the rules.
 *
 *   option.h       the options as a table, from options.def
 *   ini.h          one file, strictly, over inih
 *   nearest.h      "did you mean"
 *   config.h       the config: assignments, texts of seen.ini, copies
 *   value.h        values and their origins, and what is asked of them
 *   rules.h        [rule NAME] sections and the ready-made sets
 *   ignore_files.h agents' ignore files, as rules
 *   load.h         the order of sources, and flags
 *   pack.h         the packed form, made
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
struct config_piece {
	const char *words;  /* separated by one space */
	const char *origin; /* as in config_value */
};

/* The value of one option.  Borrowed; valid until the config is changed or freed. */
struct config_value {
	uint64_t number;    /* NUMBER: the number; CHOICE: the choice's position; else 0 */
	const char *text;   /* as seen.ini would write it; a list: words and single spaces */
	const char *origin; /* "built-in", "FILE:LINE", "SEEN_SECTION_NAME" or "--flag"; a list that
			     * several sources extended has them all, separated by ", " */
	const struct config_piece *parts; /* LIST: what came from where; else NULL */
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
struct config_source; /* store.h */

/* Reads the text of one of the program's own files into a config: config_read_built_in(). */
typedef int config_reader(struct config *config, const char *data, size_t size_bytes,
			  struct config_error *ret_error);

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
	bool without_workspace_file;
	struct config_flag flags[CONFIG_FLAGS_MAX]; /* in the order of the command line */
	size_t flag_count;
	char *storage[CONFIG_STORAGE_MAX]; /* owned: keys and origins; see config_request_done() */
	size_t storage_count;
};

/* config_set(): sets one option, with the checks of a trusted source.
 *
 * key: "section.name", "agent NAME.name" or "rule NAME.name".  origin: what error lines and `seen
 * config` name.
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

/* config_assign(): sets [section] name, checked; the config may be half changed on failure. */
int config_assign(struct config *config, const char *section, const char *name, const char *value,
		  const struct config_source *source, struct config_error *ret_error);

/* config_check_name(): whether NAME of [kind NAME] is one. */
int config_check_name(const char *kind, const char *name, const struct config_source *source,
		      struct config_error *ret_error);

/* config_read_built_in(): one of the program's own files. */
int config_read_built_in(struct config *config, const char *data, size_t size_bytes,
			 struct config_error *ret_error);

/* config_copy(): a deep copy. */
int config_copy(const struct config *config, struct config **ret_copy);

/* config_replace(): the content of `draft` becomes that of `config`; the draft is freed. */
void config_replace(struct config *config, struct config *draft);

#endif
