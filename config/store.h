/*
 * What config.c, load.c and pack.c share and nobody else sees: the inside of struct config.
 */
#ifndef SEEN_CONFIG_STORE_H
#define SEEN_CONFIG_STORE_H

#include "config/config.h"

enum { CONFIG_FILES_MAX = 8 };

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
