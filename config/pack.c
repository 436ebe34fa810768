/*
 * Flattening a config into the plain data that travels in the segment (config/settings.h).
 */
#include "config/pack.h"

#include "config/config.h"
#include "config/rules.h"
#include "config/value.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/store.h"

enum { GLOB_BYTES = 4096 }; /* longer ones are not inspected before they are packed */

/* The text area that is being filled.  It counts on when it is full, to say what was needed. */
struct area {
	char *text;
	size_t capacity;
	size_t used; /* bytes that are needed so far */
};

static void area_add(struct area *area, const char *bytes, size_t count)
{
	if (area->used <= area->capacity && count <= area->capacity - area->used)
		memcpy(area->text + area->used, bytes, count);
	area->used += count;
}

/* The offsets wrap when the area overflows; config_pack() then returns no settings. */
static struct settings_text area_close(const struct area *area, size_t start, uint32_t count)
{
	struct settings_text text = { .count = count };

	if (count > 0) {
		text.offset = (uint32_t)start;
		text.size_bytes = (uint32_t)(area->used - start);
	}
	return text;
}

static struct settings_text pack_text(struct area *area, const char *text)
{
	size_t start = area->used;

	if (text[0] == '\0')
		return (struct settings_text){ 0 };
	area_add(area, text, strlen(text) + 1);
	return area_close(area, start, 1);
}

/* A directory's path, as a glob that matches it alone. */
static void add_directory(struct area *area, const char *directory)
{
	size_t bytes = strlen(directory);

	while (bytes > 0 && directory[bytes - 1] == '/')
		bytes--;
	for (size_t i = 0; i < bytes; i++) {
		if (strchr("*?[\\", directory[i]))
			area_add(area, "\\", 1);
		area_add(area, directory + i, 1);
	}
}

/* What stands for variables that are not set: below the home directory, or a whole path. */
static const struct {
	const char *name, *directory;
} UNSET[] = {
	{ "XDG_CONFIG_HOME", ".config" },
	{ "XDG_CACHE_HOME", ".cache" },
	{ "XDG_DATA_HOME", ".local/share" },
	{ "XDG_STATE_HOME", ".local/state" },
	{ "TMPDIR", "/tmp" },
};

/* The directory that a variable names; `memory`: PATH_MAX bytes that it may lie in.  NULL: none. */
static const char *directory_of_variable(const char *name, const char *home, char *memory)
{
	const char *directory = getenv(name);

	if (directory && directory[0] == '/' && directory[1])
		return directory;
	for (size_t i = 0; i < sizeof(UNSET) / sizeof(UNSET[0]); i++) {
		if (strcmp(UNSET[i].name, name) != 0)
			continue;
		if (UNSET[i].directory[0] == '/')
			return UNSET[i].directory;
		return home && snprintf(memory, PATH_MAX, "%s/%s", home, UNSET[i].directory) <
					       PATH_MAX
			       ? memory
			       : NULL;
	}
	return NULL;
}

/* What "~/...", "$NAME" and "$NAME/..." begin at, and how many bytes of the word stand for it;
 * NULL: nothing, of a word that begins so: it is to be left out.  *ret_bytes 0: the word begins
 * with neither.  memory: PATH_MAX bytes that the directory may lie in. */
static const char *directory_of_word(const char *word, size_t word_bytes, const char *home,
				     char *memory, size_t *ret_bytes)
{
	char name[64];
	size_t bytes = strcspn(word, "/ ");

	*ret_bytes = 0;
	if (bytes == 1 ? word[0] != '~' || word_bytes == 1 : word[0] != '$')
		return NULL;
	*ret_bytes = bytes;
	if (bytes == 1)
		return home;
	if (bytes > sizeof(name))
		return NULL;
	(void)snprintf(name, sizeof(name), "%.*s", (int)bytes - 1, word + 1);
	return directory_of_variable(name, home, memory);
}

/* Stands for what agents keep of their own, in the globs of a rule. */
static const char WORD_AGENTS[] = "@agents";

static char lower(char byte)
{
	return (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
}

/* May a glob of whole paths match something at or below a directory?  Told by what stands before
 * its first wildcard, whatever the case. */
static bool may_match_below(const char *glob, size_t glob_bytes, const char *directory)
{
	size_t at = 0;

	if (glob_bytes == 0 || glob[0] != '/' || strcmp(directory, "/") == 0)
		return true;
	for (size_t i = 0; i < glob_bytes; i++, at++) {
		if (strchr("*?[", glob[i]))
			return true;
		if (glob[i] == '\\' && i + 1 < glob_bytes)
			i++;
		if (directory[at] == '\0')
			return glob[i] == '/';
		if (lower(glob[i]) != lower(directory[at]))
			return false;
	}
	/* it stands for a directory and all below it */
	return directory[at] == '\0' || directory[at] == '/';
}

/* Words and single spaces become strings.  home: what "~" in "~/" stands for; NULL: such words are
 * left out.  expand: whether "~/", and "$NAME/", mean anything.  below: globs of whole paths that
 * match nothing there are left out: each is held against every path; NULL: none.  Returns their
 * number. */
static uint32_t add_words(struct area *area, const char *words, bool expand, const char *home,
			  const char *below)
{
	uint32_t count = 0;

	while (*words != '\0') {
		char memory[GLOB_BYTES], directory_memory[PATH_MAX];
		struct area one = { .text = memory, .capacity = sizeof(memory) };
		size_t length = strcspn(words, " ");
		const char *word = words;
		size_t word_bytes = length, directory_bytes = 0;
		const char *directory = expand ? directory_of_word(word, length, home,
								   directory_memory,
								   &directory_bytes)
					       : NULL;

		words += length;
		words += *words == ' ';
		if ((directory_bytes && !directory) || (expand && length == strlen(WORD_AGENTS) &&
							strncmp(word, WORD_AGENTS, length) == 0))
			continue;
		if (directory_bytes) {
			add_directory(&one, directory);
			word += directory_bytes;
			word_bytes -= directory_bytes;
		}
		area_add(&one, word, word_bytes);
		if (below && one.used <= one.capacity && !may_match_below(memory, one.used, below))
			continue;
		if (directory_bytes)
			add_directory(area, directory);
		area_add(area, word, word_bytes);
		area_add(area, "", 1);
		count++;
	}
	return count;
}

static struct settings_text pack_words(struct area *area, const char *words, bool expand,
				       const char *home, const char *below)
{
	size_t start = area->used;
	uint32_t count = add_words(area, words, expand, home, below);

	return area_close(area, start, count);
}

static void pack_option(const struct config *config, size_t id, struct area *area,
			struct settings *settings)
{
	const struct option *option = option_at(id);
	const struct config_value *value = config_value(config, id);
	char *field = (char *)settings + option->settings_offset;
	struct settings_text text = { 0 };

	/* What `seen run` ends with, and what it confines, is its own: runs that differ in it alone
	 * share a session's settings. */
	if (id == OPTION_rules_fail_on || strcmp(option->section, "confine") == 0)
		return;
	if (option->kind == OPTION_NUMBER || option->kind == OPTION_CHOICE) {
		memcpy(field, &value->number, sizeof(value->number));
		return;
	}
	if (option->kind == OPTION_LIST)
		text = pack_words(area, value->text, false, NULL, NULL);
	else if (id == OPTION_paths_workspace && config->workspace)
		text = pack_text(area, config->workspace);
	else
		text = pack_text(area, value->text);
	memcpy(field, &text, sizeof(text));
}

/* What agents keep of their own.  Profiles of one agent repeat it: it is stored once. */
static uint32_t add_agents(struct area *area, const struct config *config)
{
	uint32_t count = 0;

	for (size_t i = 0; i < config->profile_count; i++) {
		const char *state = config->profiles[i].values[PROFILE_OPTION_STATE].text;
		bool is_new = true;

		for (size_t j = 0; j < i && is_new; j++)
			is_new = strcmp(config->profiles[j].values[PROFILE_OPTION_STATE].text,
					state) != 0;
		if (is_new)
			count += add_words(area, state, true, config->home, NULL);
	}
	return count;
}

/* words: NULL: what all agents keep of their own. */
static int make_globs(const struct config *config, const char *words,
		      struct config_globs *ret_globs)
{
	struct area area = { .text = NULL };
	char *text = NULL;

	for (bool measured = false;; measured = true) {
		area.used = 0;
		uint32_t count = words ? add_words(&area, words, true, config->home, NULL)
				       : add_agents(&area, config);
		if (measured) {
			*ret_globs = (struct config_globs){ text, count };
			return 0;
		}
		text = malloc(area.used + 1);
		if (!text)
			return -ENOMEM;
		area = (struct area){ .text = text, .capacity = area.used };
	}
}

int config_agents_state(const struct config *config, struct config_globs *ret_globs)
{
	return make_globs(config, NULL, ret_globs);
}

int config_list_globs(const struct config *config, const char *words,
		      struct config_globs *ret_globs)
{
	return make_globs(config, words, ret_globs);
}

/* Globs of a rule.  False: it has some, of which none means anything here. */
static bool pack_globs(struct area *area, const struct config *config,
		       const struct config_value *value, struct settings_text *ret_text)
{
	size_t start = area->used;
	uint32_t count = add_words(area, value->text, true, config->home, NULL);

	if (config_words_have(value->text, WORD_AGENTS))
		count += add_agents(area, config);
	*ret_text = area_close(area, start, count);
	return count > 0 || value->text[0] == '\0';
}

static uint64_t pack_ops(const char *text)
{
	size_t count;
	const char *const *words = option_words(option_of_rule_at(RULE_OPTION_OP), &count);
	uint64_t ops = 0;

	while (*text != '\0') {
		size_t length = strcspn(text, " ");

		for (size_t i = 0; i < count; i++)
			if (strlen(words[i]) == length && strncmp(words[i], text, length) == 0)
				ops |= i + 1 == count ? (uint64_t)RULE_ANY : UINT64_C(1) << i;
		text += length;
		text += *text == ' ';
	}
	return ops;
}

static void pack_rules(const struct config *config, struct area *area, struct settings *settings)
{
	for (size_t i = 0; i < config->rule_count; i++) {
		const struct config_rule *rule = &config->rules[i];
		const struct config_value *values = rule->values;
		struct settings_rule *packed = &settings->rules[settings->rule_count];

		if (!config_rule_is_in_force(config, rule))
			continue;
		*packed = (struct settings_rule){
			.name = pack_text(area, rule->name),
			.ops = pack_ops(values[RULE_OPTION_OP].text),
			.action = values[RULE_OPTION_ACTION].number,
			.where = values[RULE_OPTION_WHERE].number,
		};
		bool means = pack_globs(area, config, &values[RULE_OPTION_PATH], &packed->path);
		means = pack_globs(area, config, &values[RULE_OPTION_EXE], &packed->exe) && means;
		(void)pack_globs(area, config, &values[RULE_OPTION_EXCEPT], &packed->except);
		(void)pack_globs(area, config, &values[RULE_OPTION_EXCEPT_EXE],
				 &packed->except_exe);
		if (means)
			settings->rule_count++;
		else
			*packed = (struct settings_rule){ 0 };
	}
}

static int area_too_small(const struct config *config, const struct area *area,
			  struct config_error *ret_error)
{
	const struct config_value *largest = config_value(config, 0);
	const char *section = option_at(0)->section, *of = "", *name = option_at(0)->name;

	for (size_t id = 0; id < OPTION_COUNT; id++) {
		if (strlen(config_text(config, id)) > strlen(largest->text)) {
			largest = config_value(config, id);
			section = option_at(id)->section;
			name = option_at(id)->name;
		}
	}
	for (size_t i = 0; i < config->rule_count * RULE_OPTION_COUNT; i++) {
		const struct config_rule *rule = &config->rules[i / RULE_OPTION_COUNT];
		size_t id = i % RULE_OPTION_COUNT;

		if (config_rule_is_in_force(config, rule) &&
		    strlen(rule->values[id].text) > strlen(largest->text)) {
			largest = &rule->values[id];
			section = "rule ";
			of = rule->name;
			name = option_of_rule_at(id)->name;
		}
	}
	return config_fail(ret_error, -ENOSPC,
			   "the texts of all options need %zu bytes, a session holds %zu; the "
			   "largest is [%s%s] %s with %zu, "
			   "set by %.300s",
			   area->used, area->capacity, section, of, name, strlen(largest->text),
			   largest->origin);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the area writes to it */
int config_pack(const struct config *config, struct settings *ret_settings, char *text,
		size_t capacity, size_t *ret_used, struct config_error *ret_error)
{
	struct settings settings;
	struct area area = { .text = text, .capacity = capacity };
	const char *workspace = config->workspace ? config->workspace
						  : config_text(config, OPTION_paths_workspace);

	/* padding too: the struct is compared and hashed as bytes */
	memset(&settings, 0, sizeof(settings));
	for (size_t id = 0; id < OPTION_COUNT; id++)
		pack_option(config, id, &area, &settings);
	for (size_t i = 0; i < config->profile_count; i++) {
		const struct config_profile *profile = &config->profiles[i];
		const struct config_value *values = profile->values;

		settings.profiles[i] = (struct settings_profile){
			.name = pack_text(&area, profile->name),
			/* it matters in the workspace alone */
			.state = pack_words(&area, values[PROFILE_OPTION_STATE].text, true,
					    config->home, workspace[0] ? workspace : NULL),
			.tested = pack_text(&area, values[PROFILE_OPTION_TESTED].text),
			.spool = pack_words(&area, values[PROFILE_OPTION_SPOOL].text, true,
					    config->home, NULL),
			.max_output_bytes = values[PROFILE_OPTION_MAX_OUTPUT_BYTES].number,
			.edit_pattern = values[PROFILE_OPTION_EDIT_PATTERN].number,
			.measured = pack_text(&area, values[PROFILE_OPTION_MEASURED].text),
			.max_output_lines = values[PROFILE_OPTION_MAX_OUTPUT_LINES].number,
			.max_line_bytes = values[PROFILE_OPTION_MAX_LINE_BYTES].number,
		};
	}
	settings.profile_count = config->profile_count;
	for (size_t i = 0; i < config->profile_count; i++)
		if (strcmp(config->profiles[i].name, "generic") == 0)
			settings.generic_profile = i + 1;
	pack_rules(config, &area, &settings);
	if (area.used > capacity || area.used > UINT32_MAX)
		return area_too_small(config, &area, ret_error);
	*ret_settings = settings;
	*ret_used = area.used;
	return 0;
}
