/*
 * What config.c, load.c and pack.c share and nobody else sees: the inside of struct config.
 */
#ifndef SEEN_CONFIG_STORE_H
#define SEEN_CONFIG_STORE_H

#include "config/config.h"

enum {
	CONFIG_FILES_MAX = 8,
	CONFIG_RULES_MAX = 128, /* in force or not */
};

/* Beside each value: which file set it last, so that giving it twice in one file can be told. */
struct config_mark {
	unsigned file; /* config->file_serial at the time; 0 for no file */
	unsigned line;
};

struct config {
	struct config_value values[OPTION_COUNT];
	struct config_mark marks[OPTION_COUNT];
	struct config_profile profiles[SETTINGS_PROFILES_MAX];
	struct config_mark profile_marks[SETTINGS_PROFILES_MAX][PROFILE_OPTION_COUNT];
	size_t profile_count;
	struct config_rule rules[CONFIG_RULES_MAX];
	struct config_mark rule_marks[CONFIG_RULES_MAX][RULE_OPTION_COUNT];
	size_t rule_count;
	unsigned file_serial; /* counts the files that were read */
	char *workspace;      /* NULL before config_load() */
	char *home;           /* NULL: none */
	char *directory;      /* the current folder; NULL: not known */
	char *warning;        /* NULL: none */
	char *files[CONFIG_FILES_MAX];
	size_t file_count;
};

/* Where an assignment comes from. */
struct config_source {
	const char *origin; /* "built-in", "FILE:LINE", ... : owned by the caller */
	unsigned line;      /* of a file; 0: not from a file */
	bool is_file;       /* a relative folder has no meaning there */
	bool trusted;
};

/* config_assign(): sets [section] name, checked; the config may be half changed on failure. */
int config_assign(struct config *config, const char *section, const char *name, const char *value,
		  const struct config_source *source, struct config_error *ret_error);

/* config_value_replace(): a new value of a number, choice or text.  config_value_copy(): a deep copy.  config_value_destroy(): frees
 * what it holds.  Return 0 or -ENOMEM, and change nothing then. */
int config_value_replace(struct config_value *value, uint64_t number, const char *text,
			 const char *origin);
int config_value_copy(const struct config_value *value, struct config_value *ret_copy);
void config_value_destroy(struct config_value *value);

/* config_check_name(): whether NAME of [kind NAME] is one. */
int config_check_name(const char *kind, const char *name, const struct config_source *source,
		      struct config_error *ret_error);

/* config_rule_name(): NAME of a section [rule NAME], NULL for every other section. */
const char *config_rule_name(const char *section);

/* config_rule_claim(): the index of the rule of that name, which is made if there is none.
 *
 * begins: a section of that name begins, in a file: what an untrusted file said under it does not count for a trusted one.
 * Errors: -EINVAL a workspace's .seen.ini names a rule that it did not make; -ENOSPC there are too many; -ENOMEM. */
int config_rule_claim(struct config *config, const char *name, const struct config_source *source,
		      bool begins, size_t *ret_index, struct config_error *ret_error);

/* config_rule_refuse_words(): words may not be added to the rule of that name, which is there, by a source that is trusted where the rule is
 * not: whoever wrote that one guessed the name, and its `except` would hold for what the user says.  Returns 0 or -EINVAL. */
int config_rule_refuse_words(const struct config *config, const char *name,
			     const struct config_source *source, struct config_error *ret_error);

/* config_rules_read_sets(): the ready-made rules.  config_rules_settle(): what those do whose set [rules] use names; when all sources
 * were read.  Return 0 or a negative errno. */
int config_rules_read_sets(struct config *config, struct config_error *ret_error);
int config_rules_settle(struct config *config, struct config_error *ret_error);

/* config_read_built_in(): one of the program's own files. */
int config_read_built_in(struct config *config, const char *data, size_t size_bytes,
			 struct config_error *ret_error);

/* config_rules_check(): when all sources were read: whether every rule says what it speaks of, no more are in force than a session holds, and
 * the workspace's file did not turn off the session in which they are to hold. */
int config_rules_check(const struct config *config, struct config_error *ret_error);

/* config_rule_copy(), config_rule_destroy(): as for values. */
int config_rule_copy(const struct config_rule *rule, struct config_rule *ret_copy);
void config_rule_destroy(struct config_rule *rule);

/* config_words_have(): is a word among words with single spaces between? */
bool config_words_have(const char *words, const char *word);

/* config_copy(): a deep copy. */
int config_copy(const struct config *config, struct config **ret_copy);

/* config_replace(): the content of `draft` becomes that of `config`; the draft is freed. */
void config_replace(struct config *config, struct config *draft);

/* config_fail(): writes an error's line and returns `error`. */
__attribute__((format(printf, 3, 4))) int config_fail(struct config_error *ret_error, int error,
						      const char *format, ...);

/* config_no_memory(): the same for -ENOMEM. */
int config_no_memory(struct config_error *ret_error);

/* config_list_names(): "a, b, c" into a buffer, cut if it must be. */
void config_list_names(const char *const *names, size_t count, char *buffer, size_t buffer_bytes);

#endif
