/* Values, what is asked of them, and the lines of errors: see value.h. */
#include "config/value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/store.h"

int config_fail(struct config_error *ret_error, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(ret_error->text, sizeof(ret_error->text), format, arguments);
	va_end(arguments);
	return error;
}

int config_no_memory(struct config_error *ret_error)
{
	return config_fail(ret_error, -ENOMEM, "no memory for the configuration");
}

void config_list_names(const char *const *names, size_t count, char *buffer, size_t buffer_bytes)
{
	size_t used = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < count && used < buffer_bytes; i++)
		used += (size_t)snprintf(buffer + used, buffer_bytes - used, "%s%s", i ? ", " : "",
					 names[i]);
}

/* ---- values ---- */

void config_string_free(const char *string)
{
	free((void *)(uintptr_t)string);
}

void config_value_destroy(struct config_value *value)
{
	for (size_t i = 0; i < value->part_count; i++) {
		config_string_free(value->parts[i].words);
		config_string_free(value->parts[i].origin);
	}
	free((void *)(uintptr_t)value->parts);
	config_string_free(value->text);
	config_string_free(value->origin);
	*value = (struct config_value){ 0 };
}

int config_value_copy(const struct config_value *value, struct config_value *ret_copy)
{
	struct config_value copy = { .number = value->number };
	struct config_piece *parts = calloc(value->part_count + 1, sizeof(*parts));

	copy.parts = parts;
	copy.text = strdup(value->text);
	copy.origin = strdup(value->origin);
	if (!parts || !copy.text || !copy.origin)
		goto fail;
	for (; copy.part_count < value->part_count; copy.part_count++) {
		struct config_piece *part = &parts[copy.part_count];

		part->words = strdup(value->parts[copy.part_count].words);
		part->origin = strdup(value->parts[copy.part_count].origin);
		if (!part->words || !part->origin) {
			copy.part_count++;
			goto fail;
		}
	}
	*ret_copy = copy;
	return 0;
fail:
	config_value_destroy(&copy);
	return -ENOMEM;
}

int config_value_replace(struct config_value *value, uint64_t number, const char *text,
			 const char *origin)
{
	struct config_value next = { .number = number,
				     .text = strdup(text),
				     .origin = strdup(origin) };

	if (!next.text || !next.origin) {
		config_value_destroy(&next);
		return -ENOMEM;
	}
	config_value_destroy(value);
	*value = next;
	return 0;
}

bool config_words_have(const char *words, const char *word)
{
	size_t word_bytes = strlen(word);

	for (const char *next = words; (next = strstr(next, word)); next++)
		if ((next == words || next[-1] == ' ') &&
		    (next[word_bytes] == ' ' || next[word_bytes] == '\0'))
			return true;
	return false;
}

char *config_joined(const char *left, const char *between, const char *right)
{
	if (left[0] == '\0' || right[0] == '\0')
		between = "";
	size_t left_bytes = strlen(left), between_bytes = strlen(between);
	size_t right_bytes = strlen(right);
	char *text = malloc(left_bytes + between_bytes + right_bytes + 1);

	if (!text)
		return NULL;
	memcpy(text, left, left_bytes);
	memcpy(text + left_bytes, between, between_bytes);
	memcpy(text + left_bytes + between_bytes, right, right_bytes + 1);
	return text;
}

static bool has_word(const struct config_value *value, const char *word, const char *uncounted)
{
	for (size_t i = 0; uncounted && i < value->part_count; i++)
		if (!strstr(value->parts[i].origin, uncounted) &&
		    config_words_have(value->parts[i].words, word))
			return true;
	return !uncounted && config_words_have(value->text, word);
}

int config_value_extend(struct config_value *value, const char *words, const char *origin,
			const char *uncounted)
{
	static const char WHITE[] = " \t\n\v\f\r";
	char *scratch = strdup(words);
	/* the added words, behind one another; a clearing has none */
	char *added = calloc(1, strlen(words) + 2);
	char *text = NULL, *origins = NULL, *part_origin = NULL;
	struct config_piece *parts = NULL;
	char *rest = NULL;
	size_t added_bytes = 0;

	if (!scratch || !added)
		goto fail;
	char *word = strtok_r(scratch, WHITE, &rest);
	bool clears = !word;
	for (; word; word = strtok_r(NULL, WHITE, &rest)) {
		size_t bytes = strlen(word);

		if (has_word(value, word, uncounted) || config_words_have(added, word))
			continue;
		if (added_bytes > 0)
			added[added_bytes++] = ' ';
		memcpy(added + added_bytes, word, bytes + 1);
		added_bytes += bytes;
	}
	if (clears) {
		free(scratch);
		free(added);
		return config_value_replace(value, 0, "", origin);
	}
	free(scratch);
	scratch = NULL;
	if (added_bytes == 0) { /* nothing new: the words keep the origin that they have */
		free(added);
		return 0;
	}

	text = config_joined(value->text, " ", added);
	/* an empty list's origin is that of its clearing or its empty default, not of the words */
	origins = value->part_count == 0 ? strdup(origin)
					 : config_joined(value->origin, ", ", origin);
	part_origin = strdup(origin);
	parts = calloc(value->part_count + 1, sizeof(*parts));
	if (!text || !origins || !part_origin || !parts)
		goto fail;
	if (value->part_count > 0)
		memcpy(parts, value->parts, value->part_count * sizeof(*parts));
	parts[value->part_count] = (struct config_piece){ .words = added, .origin = part_origin };
	free((void *)(uintptr_t)value->parts);
	config_string_free(value->text);
	config_string_free(value->origin);
	value->parts = parts;
	value->part_count++;
	value->text = text;
	value->origin = origins;
	return 0;
fail:
	free(scratch);
	free(added);
	free(text);
	free(origins);
	free(part_origin);
	free(parts);
	return -ENOMEM;
}

/* ---- checks ---- */

/* Plain decimal digits: no sign, no suffix, no white space. */

/* ---- what is asked of a config ---- */

const struct config_value *config_value(const struct config *config, size_t id)
{
	return &config->values[id];
}

const char *config_warning(const struct config *config)
{
	return config->warning;
}

const char *config_files_warning(const struct config *config)
{
	return config->files_warning;
}

bool config_has_word(const struct config *config, size_t id, const char *word)
{
	return config_words_have(config_text(config, id), word);
}

uint64_t config_number(const struct config *config, size_t id)
{
	return config->values[id].number;
}

const char *config_text(const struct config *config, size_t id)
{
	return config->values[id].text;
}

size_t config_profile_count(const struct config *config)
{
	return config->profile_count;
}

const struct config_profile *config_profile_at(const struct config *config, size_t index)
{
	return &config->profiles[index];
}

const struct config_profile *config_profile_find(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->profile_count; i++)
		if (strcmp(config->profiles[i].name, name) == 0)
			return &config->profiles[i];
	return NULL;
}

const char *config_workspace(const struct config *config)
{
	return config->workspace ? config->workspace : "";
}

const char *config_home(const struct config *config)
{
	return config->home;
}

size_t config_file_count(const struct config *config)
{
	return config->file_count;
}

const char *config_file_at(const struct config *config, size_t index)
{
	return config->files[index];
}
