/*
 * Values and their origins: what is asked of a config, and how its values are made, copied and
 * freed.
 */
#ifndef SEEN_CONFIG_VALUE_H
#define SEEN_CONFIG_VALUE_H

#include "config/config.h"

/* config_value(): an option's value and origin.  id: an option_id.  Never NULL. */
const struct config_value *config_value(const struct config *config, size_t id);

/* config_warning(): a line about a value that could not be read and for which the built-in one is
 * in effect (option_is_lenient());
 * NULL: there is none.  Borrowed; for the program to say. */
const char *config_warning(const struct config *config);

/* config_files_warning(): likewise, what of the workspace's ignore files (ignore_files.h) is not in force. */
const char *config_files_warning(const struct config *config);

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

/* config_workspace(): the root of what is tracked, canonical (realpath).
 *
 * paths.workspace if set, else the nearest ancestor of the current directory that holds .git (a
 * directory, or a file as in worktrees and submodules), else the current directory.  "" before
 * config_load().
 */
const char *config_workspace(const struct config *config);

/* config_home(): $HOME, NULL: there is none. */
const char *config_home(const struct config *config);

/* config_file_count(), config_file_at(): the files that config_load() read, in order; borrowed. */
size_t config_file_count(const struct config *config);
const char *config_file_at(const struct config *config, size_t index);

/* config_value_replace(): a new value of a number, choice or text.  config_value_copy(): a deep
 * copy.  config_value_destroy(): frees what it holds.  Return 0 or -ENOMEM, and change nothing
 * then. */
int config_value_replace(struct config_value *value, uint64_t number, const char *text,
			 const char *origin);
int config_value_copy(const struct config_value *value, struct config_value *ret_copy);
void config_value_destroy(struct config_value *value);

/* config_value_extend(): adds the words that a list does not have yet; no word at all clears it.
 * uncounted: what has a word by a source with this in its origin does not have it; NULL: each
 * counts.  Returns 0 or -ENOMEM. */
int config_value_extend(struct config_value *value, const char *words, const char *origin,
			const char *uncounted);

/* config_string_free(): the strings of a struct config are const for its readers, and owned by it.
 * config_joined(): a new string, with `between` where neither side is empty; NULL: no memory. */
void config_string_free(const char *string);
char *config_joined(const char *left, const char *between, const char *right);

/* config_words_have(): is a word among words with single spaces between? */
bool config_words_have(const char *words, const char *word);

/* config_fail(): writes an error's line and returns `error`. */
__attribute__((format(printf, 3, 4))) int config_fail(struct config_error *ret_error, int error,
						      const char *format, ...);

/* config_no_memory(): the same for -ENOMEM. */
int config_no_memory(struct config_error *ret_error);

/* config_list_names(): "a, b, c" into a buffer, cut if it must be. */
void config_list_names(const char *const *names, size_t count, char *buffer, size_t buffer_bytes);

#endif
