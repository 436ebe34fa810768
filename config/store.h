/*
 * The inside of struct config, for the files of this directory alone.
 */
#ifndef SEEN_CONFIG_STORE_H
#define SEEN_CONFIG_STORE_H

#include "config/config.h"

enum {
	CONFIG_FILES_MAX = 8,
	CONFIG_RULES_MAX = 128, /* in force or not */
};

/* Beside each value: which file set it last, so that a value given twice in one file is
 * detected. */
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
	char *directory;      /* the current directory; NULL: not known */
	char *warning;        /* NULL: none */
	char *files_warning;  /* of agents' ignore files; NULL: none */
	char *files[CONFIG_FILES_MAX];
	size_t file_count;
	bool is_built_in; /* it holds what config_new() gave it, and nothing else */
};

/* Where an assignment comes from. */
struct config_source {
	const char *origin; /* "built-in", "FILE:LINE", ... : owned by the caller */
	unsigned line;      /* of a file; 0: not from a file */
	bool is_file;       /* a relative directory has no meaning there */
	bool trusted;
};

/* config_read_draft(), config_assign_key(): as config_read() and config_set(), for a draft: after an error
 * it is to be freed. */
int config_read_draft(struct config *draft, const char *data, size_t size_bytes, const char *file,
		      bool trusted, struct config_error *ret_error);
int config_assign_key(struct config *draft, const char *key, const char *value, const char *origin,
		      struct config_error *ret_error);

#endif
