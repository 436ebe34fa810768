/* The config: assignments, checked; texts of seen.ini; copies.  See config.h. */
#include "config/config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents_ini.h" /* generated from data/agents/agents.ini: agents_ini, agents_ini_bytes */
#include "config/check.h"
#include "config/ini.h"
#include "config/nearest.h"
#include "config/rules.h"
#include "config/store.h"
#include "config/value.h"

static const char PROFILE_PREFIX[] = "agent ";
enum { PROFILE_PREFIX_BYTES = sizeof(PROFILE_PREFIX) - 1 };

static int unknown_key(const char *section, const char *name, const char *const *names,
		       size_t count, const struct config_source *source,
		       struct config_error *ret_error)
{
	const char *nearest = nearest_name(name, names, count);
	char all[512];

	if (nearest)
		return config_fail(ret_error, -EINVAL,
				   "%s: unknown key '%.60s' in [%s]; did you mean '%s'?",
				   source->origin, name, section, nearest);
	config_list_names(names, count, all, sizeof(all));
	return config_fail(ret_error, -EINVAL, "%s: unknown key '%.60s' in [%s]; its keys are: %s",
			   source->origin, name, section, all);
}

static bool section_is_known(const char *section)
{
	size_t count = 0;
	const char *const *sections = option_sections(&count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(sections[i], section) == 0)
			return true;
	return false;
}

int config_check_name(const char *kind, const char *name, const struct config_source *source,
		      struct config_error *ret_error)
{
	size_t length = strlen(name);

	/* "-" and "." first would be an option or a hidden file's name */
	if (length > 0 && length <= CONFIG_PROFILE_NAME_MAX && isalnum((unsigned char)name[0])) {
		size_t plain = 0;

		while (plain < length &&
		       (isalnum((unsigned char)name[plain]) || strchr("._+@-", name[plain])))
			plain++;
		if (plain == length)
			return 0;
	}
	return config_fail(ret_error, -EINVAL,
			   "%s: [%s %.60s] is not [%s NAME], where NAME is a %sname "
			   "of letters, digits, "
			   "'.', '_', '+', '@', '-', at most %d bytes",
			   source->origin, kind, name, kind,
			   strcmp(kind, "agent") == 0 ? "program's " : "", CONFIG_PROFILE_NAME_MAX);
}

/* Whether a section exists (an [agent NAME] or [rule NAME] need not, yet) and may be used by this
 * source. */
static int check_section(const char *section, const struct config_source *source,
			 struct config_error *ret_error)
{
	size_t count = 0;
	const char *const *sections = option_sections(&count);

	if (strncmp(section, PROFILE_PREFIX, PROFILE_PREFIX_BYTES) == 0) {
		if (!source->trusted)
			return config_fail(ret_error, -EINVAL,
					   "%s: [%.60s] may not be given by a workspace's "
					   ".seen.ini; put it into "
					   "~/.config/seen/seen.ini",
					   source->origin, section);
		return config_check_name("agent", section + PROFILE_PREFIX_BYTES, source,
					 ret_error);
	}
	if (config_rule_name(section))
		return config_check_name("rule", config_rule_name(section), source, ret_error);
	if (section_is_known(section))
		return 0;
	if (strcmp(section, "rule") == 0 || strcmp(section, "agent") == 0)
		return config_fail(ret_error, -EINVAL, "%s: [%s] needs a name: [%s NAME]",
				   source->origin, section, section);

	const char *nearest = nearest_name(section, sections, count);
	if (nearest)
		return config_fail(ret_error, -EINVAL,
				   "%s: unknown section [%.60s]; did you mean [%s]?",
				   source->origin, section, nearest);
	char all[256];
	config_list_names(sections, count, all, sizeof(all));
	return config_fail(ret_error, -EINVAL,
			   "%s: unknown section [%.60s]; sections are: %s, agent NAME, rule NAME",
			   source->origin, section, all);
}

static void profile_destroy(struct config_profile *profile)
{
	for (size_t i = 0; i < PROFILE_OPTION_COUNT; i++)
		config_value_destroy(&profile->values[i]);
	config_string_free(profile->name);
	config_string_free(profile->origin);
	*profile = (struct config_profile){ 0 };
}

/* The index of the profile of that name, which is made, with generic values, if there is none. */
static int profile_claim(struct config *config, const char *name,
			 const struct config_source *source, size_t *ret_index,
			 struct config_error *ret_error)
{
	size_t index = 0;

	while (index < config->profile_count && strcmp(config->profiles[index].name, name) != 0)
		index++;
	if (index < config->profile_count) {
		*ret_index = index;
		return 0;
	}
	if (index == SETTINGS_PROFILES_MAX)
		return config_fail(
			ret_error, -ENOSPC,
			"%s: [agent %s] is one too many: at most %d profiles are allowed",
			source->origin, name, SETTINGS_PROFILES_MAX);

	struct config_profile profile = { .name = strdup(name), .origin = strdup(source->origin) };
	int error = profile.name && profile.origin ? 0 : -ENOMEM;
	for (size_t i = 0; i < PROFILE_OPTION_COUNT && error == 0; i++) {
		const struct option *option = option_profile_at(i);
		uint64_t number = 0;

		(void)check_parse_number(option->value, &number);
		error = config_value_replace(&profile.values[i], number, option->value, "built-in");
	}
	if (error < 0) {
		profile_destroy(&profile);
		return config_no_memory(ret_error);
	}
	config->profiles[config->profile_count++] = profile;
	*ret_index = index;
	return 0;
}

/* The place of a name among options; `count`: it is none, and ret_names are all. */
static size_t find_name(const struct option *(*option_of)(size_t), size_t count, const char *name,
			const char **ret_names)
{
	size_t place = 0;

	while (place < count && strcmp(ret_names[place] = option_of(place)->name, name) != 0)
		place++;
	return place;
}

/* Finds what [section] name means.  *ret_value, *ret_mark: to be changed. */
static int target_find(struct config *config, const char *section, const char *name,
		       const struct config_source *source, const struct option **ret_option,
		       struct config_value **ret_value, struct config_mark **ret_mark,
		       struct config_error *ret_error)
{
	const char *names[(size_t)OPTION_COUNT + PROFILE_OPTION_COUNT];
	const char *rule = config_rule_name(section);
	size_t count = 0;
	int error = check_section(section, source, ret_error);

	if (error < 0)
		return error;
	if (strncmp(section, PROFILE_PREFIX, PROFILE_PREFIX_BYTES) == 0) {
		size_t place = find_name(option_profile_at, PROFILE_OPTION_COUNT, name, names);
		size_t index = 0;

		if (place == PROFILE_OPTION_COUNT)
			return unknown_key(section, name, names, place, source, ret_error);
		error = profile_claim(config, section + PROFILE_PREFIX_BYTES, source, &index,
				      ret_error);
		if (error < 0)
			return error;
		*ret_option = option_profile_at(place);
		*ret_value = &config->profiles[index].values[place];
		*ret_mark = &config->profile_marks[index][place];
		return 0;
	}
	if (rule) {
		size_t place = find_name(option_of_rule_at, RULE_OPTION_COUNT, name, names);
		size_t index = 0;

		if (place == RULE_OPTION_COUNT)
			return unknown_key(section, name, names, place, source, ret_error);
		error = config_rule_claim(config, rule, source, false, &index, ret_error);
		if (error < 0)
			return error;
		*ret_option = option_of_rule_at(place);
		*ret_value = &config->rules[index].values[place];
		*ret_mark = &config->rule_marks[index][place];
		return 0;
	}

	size_t id = option_find(section, name);
	if (id < OPTION_COUNT) {
		*ret_option = option_at(id);
		*ret_value = &config->values[id];
		*ret_mark = &config->marks[id];
		return 0;
	}
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(option_at(i)->section, section) == 0)
			names[count++] = option_at(i)->name;
	return unknown_key(section, name, names, count, source, ret_error);
}

/* Digits, perhaps with a sign: in the range or not, it is a number. */
static bool is_number(const char *text)
{
	text += *text == '-' || *text == '+';
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* What stands for a value that is no number in the range: the highest for a larger one, else the
 * built-in one. */
static const char *nearest(const struct option *option, const char *value, char *text,
			   size_t capacity)
{
	size_t zeros = strspn(value + (*value == '+'), "0");
	const char *digits = value + (*value == '+') + zeros;

	(void)snprintf(text, capacity, "%" PRIu64, option->max);
	bool is_above = is_number(value) && *value != '-' &&
			(strlen(digits) > strlen(text) ||
			 (strlen(digits) == strlen(text) && strcmp(digits, text) > 0));
	return is_above ? text : option_default(option);
}

/* Another value stands for one that is out of range or no number, and the config says so. */
static int let_pass(struct config *config, struct assignment *a)
{
	uint64_t number = 0;

	free(config->warning);
	config->warning = NULL;
	if (is_number(a->value) && check_parse_number(a->value, &number) &&
	    number >= a->option->min && number <= a->option->max)
		return 0;
	const char *used = nearest(a->option, a->value, a->text, sizeof(a->text));
	int length = asprintf(&config->warning,
			      "%s: [%s] %s = '%.60s' is not a number from %" PRIu64 " to %" PRIu64
			      "; %s is used",
			      a->source->origin, a->section, a->option->name, a->value,
			      a->option->min, a->option->max, used);
	if (length < 0) {
		config->warning = NULL;
		return -ENOMEM;
	}
	a->value = used;
	return 0;
}

int config_assign(struct config *config, const char *section, const char *name, const char *value,
		  const struct config_source *source, struct config_error *ret_error)
{
	struct assignment a = {
		.section = section, .value = value, .source = source, .config = config
	};
	struct config_value *target = NULL;
	struct config_mark *mark = NULL;
	int error = target_find(config, section, name, source, &a.option, &target, &mark,
				ret_error);

	if (error < 0 || !a.option)
		return error;
	a.now = target;

	error = check_source(&a, mark, ret_error);
	if (error < 0)
		return error;
	if (option_is_lenient(a.option) && let_pass(config, &a) < 0)
		return config_no_memory(ret_error);
	error = check_and_assign(&a, target, ret_error);
	if (error == 0 && source->line > 0)
		*mark = (struct config_mark){ .file = config->file_serial, .line = source->line };
	return error;
}

/* ---- reading one file ---- */

/* What the handlers of one file know. */
struct reading {
	struct config *config;
	const char *file;
	bool built_in; /* the origin is the word alone */
	bool trusted;
	struct config_error *error;
};

static char *reading_origin(const struct reading *reading, unsigned line)
{
	char *origin = NULL;

	if (reading->built_in)
		return strdup(reading->file);
	return asprintf(&origin, "%s:%u", reading->file, line) < 0 ? NULL : origin;
}

static int read_section(void *context, const char *section, unsigned line)
{
	struct reading *reading = context;
	char *origin = reading_origin(reading, line);

	if (!origin)
		return config_no_memory(reading->error);
	struct config_source source = {
		.origin = origin, .line = line, .is_file = true, .trusted = reading->trusted
	};
	int error = check_section(section, &source, reading->error);
	/* a heading without keys makes a generic profile of that name */
	if (error == 0 && strncmp(section, PROFILE_PREFIX, PROFILE_PREFIX_BYTES) == 0) {
		size_t index = 0;

		error = profile_claim(reading->config, section + PROFILE_PREFIX_BYTES, &source,
				      &index, reading->error);
	} else if (error == 0 && config_rule_name(section)) {
		size_t index = 0;

		error = config_rule_claim(reading->config, config_rule_name(section), &source, true,
					  &index, reading->error);
	}
	free(origin);
	return error;
}

static int read_value(void *context, const char *section, const char *name, const char *value,
		      unsigned line)
{
	struct reading *reading = context;
	char *origin = reading_origin(reading, line);

	if (!origin)
		return config_no_memory(reading->error);
	struct config_source source = {
		.origin = origin, .line = line, .is_file = true, .trusted = reading->trusted
	};
	int error = 0;
	if (section[0] == '\0') {
		error = config_fail(
			reading->error, -EINVAL,
			"%s: '%.60s' stands before any section; the first line must be a [section]",
			origin, name);
	} else {
		error = config_assign(reading->config, section, name, value, &source,
				      reading->error);
	}
	free(origin);
	return error;
}

static int read_draft(struct config *draft, const char *data, size_t size_bytes, const char *file,
		      bool built_in, bool trusted, struct config_error *ret_error)
{
	struct reading reading = { .config = draft,
				   .file = file,
				   .built_in = built_in,
				   .trusted = trusted,
				   .error = ret_error };
	struct ini_handler handler = { .section = read_section,
				       .value = read_value,
				       .context = &reading };
	struct ini_error problem = { 0 };

	draft->file_serial++;
	int error = ini_read(data, size_bytes, &handler, &problem);
	if (error == -EBADMSG)
		return config_fail(ret_error, -EINVAL, "%s:%u: %s", file, problem.line,
				   problem.text);
	if (error == -E2BIG)
		return config_fail(ret_error, -EINVAL, "%s: %s", file, problem.text);
	if (error == -EIO)
		return config_no_memory(ret_error);
	return error;
}

int config_read_built_in(struct config *config, const char *data, size_t size_bytes,
			 struct config_error *ret_error)
{
	return read_draft(config, data, size_bytes, "built-in", true, true, ret_error);
}

int config_read_draft(struct config *draft, const char *data, size_t size_bytes, const char *file,
		      bool trusted, struct config_error *ret_error)
{
	return read_draft(draft, data, size_bytes, file, false, trusted, ret_error);
}

int config_read(struct config *config, const char *data, size_t size_bytes, const char *file,
		bool trusted, struct config_error *ret_error)
{
	struct config *draft = NULL;

	if (config_copy(config, &draft) < 0)
		return config_no_memory(ret_error);
	int error = config_read_draft(draft, data, size_bytes, file, trusted, ret_error);
	if (error < 0) {
		config_free(draft);
		return error;
	}
	config_replace(config, draft);
	return 0;
}

int config_assign_key(struct config *draft, const char *key, const char *value, const char *origin,
		      struct config_error *ret_error)
{
	struct config_source source = { .origin = origin, .trusted = true };
	/* the last dot: an agent's name may hold some, no key does */
	const char *dot = strrchr(key, '.');

	if (!dot || dot == key || dot[1] == '\0')
		return config_fail(ret_error, -EINVAL, "%s: '%.60s' is not section.name", origin,
				   key);
	char *section = strndup(key, (size_t)(dot - key));
	if (!section)
		return config_no_memory(ret_error);
	int error = config_assign(draft, section, dot + 1, value, &source, ret_error);
	free(section);
	return error;
}

int config_set(struct config *config, const char *key, const char *value, const char *origin,
	       struct config_error *ret_error)
{
	struct config *draft = NULL;

	if (config_copy(config, &draft) < 0)
		return config_no_memory(ret_error);
	int error = config_assign_key(draft, key, value, origin, ret_error);
	if (error < 0) {
		config_free(draft);
		return error;
	}
	config_replace(config, draft);
	return 0;
}

/* ---- the whole ---- */

static void config_destroy(struct config *config)
{
	for (size_t id = 0; id < OPTION_COUNT; id++)
		config_value_destroy(&config->values[id]);
	for (size_t i = 0; i < config->profile_count; i++)
		profile_destroy(&config->profiles[i]);
	for (size_t i = 0; i < config->rule_count; i++)
		config_rule_destroy(&config->rules[i]);
	for (size_t i = 0; i < config->file_count; i++)
		free(config->files[i]);
	free(config->workspace);
	free(config->home);
	free(config->directory);
	free(config->warning);
	free(config->files_warning);
}

struct config *config_free(struct config *config)
{
	if (config) {
		config_destroy(config);
		free(config);
	}
	return NULL;
}

void config_replace(struct config *config, struct config *draft)
{
	config_destroy(config);
	*config = *draft;
	free(draft);
}

/* strdup() that passes NULL on; *error becomes -ENOMEM when it fails. */
static char *copied(const char *text, int *error)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		*error = -ENOMEM;
	return copy;
}

int config_copy(const struct config *config, struct config **ret_copy)
{
	struct config *copy = calloc(1, sizeof(*copy));
	int error = 0;

	if (!copy)
		return -ENOMEM;
	for (size_t id = 0; id < OPTION_COUNT && error == 0; id++)
		error = config_value_copy(&config->values[id], &copy->values[id]);
	for (size_t i = 0; i < config->profile_count && error == 0; i++) {
		struct config_profile *profile = &copy->profiles[i];

		copy->profile_count++;
		profile->name = copied(config->profiles[i].name, &error);
		profile->origin = copied(config->profiles[i].origin, &error);
		for (size_t j = 0; j < PROFILE_OPTION_COUNT && error == 0; j++)
			error = config_value_copy(&config->profiles[i].values[j],
						  &profile->values[j]);
	}
	for (; copy->rule_count < config->rule_count && error == 0; copy->rule_count += error == 0)
		error = config_rule_copy(&config->rules[copy->rule_count],
					 &copy->rules[copy->rule_count]);
	for (; copy->file_count < config->file_count && error == 0; copy->file_count++)
		copy->files[copy->file_count] = copied(config->files[copy->file_count], &error);
	copy->workspace = copied(config->workspace, &error);
	copy->home = copied(config->home, &error);
	copy->directory = copied(config->directory, &error);
	copy->warning = copied(config->warning, &error);
	copy->files_warning = copied(config->files_warning, &error);
	copy->file_serial = config->file_serial;
	memcpy(copy->marks, config->marks, sizeof(copy->marks));
	memcpy(copy->profile_marks, config->profile_marks, sizeof(copy->profile_marks));
	memcpy(copy->rule_marks, config->rule_marks, sizeof(copy->rule_marks));
	if (error < 0) {
		config_free(copy);
		return error;
	}
	*ret_copy = copy;
	return 0;
}

int config_new(struct config **ret_config)
{
	struct config *config = calloc(1, sizeof(*config));
	struct config_source source = { .origin = "built-in", .trusted = true };
	struct config_error ignored = { 0 };
	int error = 0;

	if (!config)
		return -ENOMEM;
	for (size_t id = 0; id < OPTION_COUNT && error == 0; id++) {
		const struct option *option = option_at(id);

		error = config_value_replace(&config->values[id], 0, "", source.origin);
		if (error == 0)
			error = config_assign(config, option->section, option->name,
					      option_default(option), &source, &ignored);
	}
	if (error == 0)
		error = config_read_built_in(config, agents_ini, agents_ini_bytes, &ignored);
	if (error == 0)
		error = config_rules_read_sets(config, config_read_built_in, &ignored);
	if (error < 0) {
		config_free(config);
		return error;
	}
	config->is_built_in = true;
	*ret_config = config;
	return 0;
}
