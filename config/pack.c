/*
 * Flattening a config into the plain data that travels in the segment (config/settings.h).
 */
#include "config/config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config/store.h"

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

/* Words and single spaces become strings.  home: what "~" in "~/" stands for; NULL: such words are
 * left out.  expand: whether "~/" means anything. */
static struct settings_text pack_words(struct area *area, const char *words, bool expand,
				       const char *home)
{
	size_t start = area->used;
	uint32_t count = 0;

	while (*words != '\0') {
		size_t length = strcspn(words, " ");
		const char *word = words;
		size_t word_bytes = length;
		bool of_home = expand && length >= 2 && strncmp(word, "~/", 2) == 0;

		words += length;
		words += *words == ' ';
		if (of_home && !home)
			continue;
		if (of_home) {
			size_t home_bytes = strlen(home);

			while (home_bytes > 0 && home[home_bytes - 1] == '/')
				home_bytes--;
			area_add(area, home, home_bytes);
			word++;
			word_bytes--;
		}
		area_add(area, word, word_bytes);
		area_add(area, "", 1);
		count++;
	}
	return area_close(area, start, count);
}

static void pack_option(const struct config *config, size_t id, struct area *area,
			struct settings *settings)
{
	const struct option *option = option_at(id);
	const struct config_value *value = config_value(config, id);
	char *field = (char *)settings + option->settings_offset;
	struct settings_text text = { 0 };

	/* What `seen run` ends with is its own: runs that differ in it alone share a session's settings. */
	if (id == OPTION_rules_fail_on)
		return;
	if (option->kind == OPTION_NUMBER || option->kind == OPTION_CHOICE) {
		memcpy(field, &value->number, sizeof(value->number));
		return;
	}
	if (option->kind == OPTION_LIST)
		text = pack_words(area, value->text, false, NULL);
	else if (id == OPTION_paths_workspace && config->workspace)
		text = pack_text(area, config->workspace);
	else
		text = pack_text(area, value->text);
	memcpy(field, &text, sizeof(text));
}

static int area_too_small(const struct config *config, const struct area *area,
			  struct config_error *ret_error)
{
	size_t largest = 0, bytes = 0;

	for (size_t id = 0; id < OPTION_COUNT; id++) {
		size_t length = strlen(config_text(config, id));

		if (length > bytes) {
			largest = id;
			bytes = length;
		}
	}
	const struct option *option = option_at(largest);
	return config_fail(ret_error, -ENOSPC,
			   "the texts of all options need %zu bytes, a session holds %zu; the "
			   "largest is [%s] %s with %zu, "
			   "set by %.300s",
			   area->used, area->capacity, option->section, option->name, bytes,
			   config_value(config, largest)->origin);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the area writes to it */
int config_pack(const struct config *config, struct settings *ret_settings, char *text,
		size_t capacity, size_t *ret_used, struct config_error *ret_error)
{
	struct settings settings;
	struct area area = { .text = text, .capacity = capacity };

	/* padding too: the struct is compared and hashed as bytes */
	memset(&settings, 0, sizeof(settings));
	for (size_t id = 0; id < OPTION_COUNT; id++)
		pack_option(config, id, &area, &settings);
	for (size_t i = 0; i < config->profile_count; i++) {
		const struct config_profile *profile = &config->profiles[i];
		const struct config_value *values = profile->values;

		settings.profiles[i] = (struct settings_profile){
			.name = pack_text(&area, profile->name),
			.state = pack_words(&area, values[PROFILE_OPTION_STATE].text, true,
					    config->home),
			.tested = pack_text(&area, values[PROFILE_OPTION_TESTED].text),
			.max_output_bytes = values[PROFILE_OPTION_MAX_OUTPUT_BYTES].number,
			.edit_pattern = values[PROFILE_OPTION_EDIT_PATTERN].number,
		};
	}
	settings.profile_count = config->profile_count;
	if (area.used > capacity || area.used > UINT32_MAX)
		return area_too_small(config, &area, ret_error);
	*ret_settings = settings;
	*ret_used = area.used;
	return 0;
}
