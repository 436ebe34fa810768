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
#include "config/ini.h"
#include "config/nearest.h"
#include "config/rules.h"
#include "config/store.h"
#include "config/value.h"

static const char PROFILE_PREFIX[] = "agent ";
enum { PROFILE_PREFIX_BYTES = sizeof(PROFILE_PREFIX) - 1 };

static bool number_parse(const char *text, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (text[0] == '\0')
		return false;
	for (const char *c = text; *c != '\0'; c++) {
		if (*c < '0' || *c > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*c - '0'), &number))
			return false;
	}
	*ret_number = number;
	return true;
}

/* One assignment on its way through the checks. */
struct assignment {
	const struct option *option;
	const struct config_value *now;
	const char *section; /* as written: "agent pi" */
	const char *value;
	const struct config_source *source;
	const struct config *config;
};

static int check_number(const struct assignment *a, uint64_t *ret_number,
			struct config_error *ret_error)
{
	const struct option *option = a->option;
	uint64_t least = option->min, most = option->max, now = a->now->number, number = 0;
	const char *unit_space = option->unit[0] ? " " : "";

	if (!number_parse(a->value, &number) || number < least || number > most)
		return config_fail(ret_error, -EINVAL,
				   "%s: [%s] %s = '%.60s' is not a number from %" PRIu64
				   " to %" PRIu64 "%s%s",
				   a->source->origin, a->section, option->name, a->value, least,
				   most, unit_space, option->unit);
	*ret_number = number;
	if (a->source->trusted)
		return 0;

	/* under LIMIT 0 is no limit, so the loosest */
	bool unlimited = option->rule == OPTION_RULE_LIMIT && now == 0;
	if (option->rule == OPTION_RULE_HIGHER)
		least = now;
	else if (!unlimited)
		most = now;
	if (option->rule == OPTION_RULE_LIMIT && (least == 0 && !unlimited))
		least = 1;
	if (number < least || number > most)
		return config_fail(ret_error, -EINVAL,
				   "%s: a workspace's .seen.ini %s: [%s] %s = %" PRIu64
				   " is not from %" PRIu64 " to %" PRIu64 "%s%s",
				   a->source->origin, option_rule_text(option->rule), a->section,
				   option->name, number, least, most, unit_space, option->unit);
	return 0;
}

static int check_choice(const struct assignment *a, uint64_t *ret_number,
			struct config_error *ret_error)
{
	const struct option *option = a->option;
	size_t first = a->source->trusted ? 0 : a->now->number, chosen = 0;
	char names[256];

	while (chosen < option->choice_count && strcmp(option->choices[chosen], a->value) != 0)
		chosen++;
	if (chosen >= first && chosen < option->choice_count) {
		*ret_number = chosen;
		return 0;
	}
	config_list_names(option->choices + first, option->choice_count - first, names,
			  sizeof(names));
	if (chosen < option->choice_count)
		return config_fail(
			ret_error, -EINVAL,
			"%s: a workspace's .seen.ini %s: [%s] %s = '%.60s' is none of: %s",
			a->source->origin, option_rule_text(option->rule), a->section, option->name,
			a->value, names);
	const char *nearest = nearest_name(a->value, option->choices + first,
					   option->choice_count - first);
	return config_fail(ret_error, -EINVAL, "%s: [%s] %s = '%.60s' is none of: %s%s%s%s",
			   a->source->origin, a->section, option->name, a->value, names,
			   nearest ? "; did you mean '" : "", nearest ? nearest : "",
			   nearest ? "'?" : "");
}

/* The words of a list that takes no others, with spaces for the commas between them.  *ret_words:
 * to free; NULL: it takes any, as they are. */
static int check_words(const struct assignment *a, char **ret_words, struct config_error *ret_error)
{
	size_t count;
	const char *const *allowed = option_words(a->option, &count);
	char *words = allowed ? strdup(a->value) : NULL, *scratch = NULL, *rest = NULL;
	char names[256];

	*ret_words = NULL;
	if (!allowed)
		return 0;
	for (char *comma = words; comma && (comma = strchr(comma, ','));)
		*comma = ' ';
	scratch = words ? strdup(words) : NULL;
	if (!scratch) {
		free(words);
		return config_no_memory(ret_error);
	}
	for (char *word = strtok_r(scratch, " \t", &rest); word;
	     word = strtok_r(NULL, " \t", &rest)) {
		size_t i = 0;

		while (i < count && strcmp(allowed[i], word) != 0)
			i++;
		if (i < count)
			continue;
		const char *nearest = nearest_name(word, allowed, count);
		config_list_names(allowed, count, names, sizeof(names));
		(void)config_fail(ret_error, -EINVAL, "%s: [%s] %s = '%.60s' is none of: %s%s%s%s",
				  a->source->origin, a->section, a->option->name, word, names,
				  nearest ? "; did you mean '" : "", nearest ? nearest : "",
				  nearest ? "'?" : "");
		free(scratch);
		free(words);
		return -EINVAL;
	}
	free(scratch);
	*ret_words = words;
	return 0;
}

/* Directories are kept absolute, so that they mean the same in every process.  *ret_directory: to
 * free. */
static int directory_absolute(const struct assignment *a, char **ret_directory,
			      struct config_error *ret_error)
{
	const char *value = a->value;
	char *directory = NULL;
	const char *base = NULL;

	if (strcmp(value, "~") == 0 || strncmp(value, "~/", 2) == 0) {
		base = a->config->home;
		if (!base)
			return config_fail(
				ret_error, -EINVAL,
				"%s: [%s] %s = '%.200s' cannot be found: HOME is not set",
				a->source->origin, a->section, a->option->name, value);
		value += value[1] == '/' ? 2 : 1;
	} else if (value[0] != '/' && value[0] != '\0') {
		base = a->source->is_file ? NULL : a->config->directory;
		if (!base)
			return config_fail(
				ret_error, -EINVAL,
				"%s: [%s] %s = '%.200s' must begin with / or ~/%s",
				a->source->origin, a->section, a->option->name, value,
				a->source->is_file ? "" : ", as the current directory is gone");
	}
	directory = base ? config_joined(base, "/", value) : strdup(value);
	if (!directory)
		return config_no_memory(ret_error);
	*ret_directory = directory;
	return 0;
}

static int check_template(const struct assignment *a, struct config_error *ret_error)
{
	if (strlen(a->value) > OPTION_TEMPLATE_BYTES_MAX)
		return config_fail(ret_error, -EINVAL,
				   "%s: [%s] %s is %zu bytes long; at most %d are allowed",
				   a->source->origin, a->section, a->option->name, strlen(a->value),
				   OPTION_TEMPLATE_BYTES_MAX);
	if (!strstr(a->value, "{nonce}"))
		return config_fail(ret_error, -EINVAL,
				   "%s: [%s] %s must hold {nonce}, by which a notice is "
				   "recognised; it is '%.200s'",
				   a->source->origin, a->section, a->option->name, a->value);
	return 0;
}

/* ---- assignment ---- */

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

		(void)number_parse(option->value, &number);
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

/* Finds what [section] name means.  *ret_value, *ret_mark: to be changed. */
static int target_find(struct config *config, const char *section, const char *name,
		       const struct config_source *source, const struct option **ret_option,
		       struct config_value **ret_value, struct config_mark **ret_mark,
		       struct config_error *ret_error)
{
	const char *names[(size_t)OPTION_COUNT + PROFILE_OPTION_COUNT];
	size_t count = 0;
	int error = check_section(section, source, ret_error);

	if (error < 0)
		return error;
	if (strncmp(section, PROFILE_PREFIX, PROFILE_PREFIX_BYTES) == 0) {
		size_t index = 0;

		for (size_t i = 0; i < PROFILE_OPTION_COUNT; i++) {
			names[count++] = option_profile_at(i)->name;
			if (strcmp(names[i], name) != 0)
				continue;
			error = profile_claim(config, section + PROFILE_PREFIX_BYTES, source,
					      &index, ret_error);
			if (error < 0)
				return error;
			*ret_option = option_profile_at(i);
			*ret_value = &config->profiles[index].values[i];
			*ret_mark = &config->profile_marks[index][i];
			return 0;
		}
		return unknown_key(section, name, names, count, source, ret_error);
	}

	if (config_rule_name(section)) {
		size_t index = 0;

		for (size_t i = 0; i < RULE_OPTION_COUNT; i++) {
			names[count++] = option_of_rule_at(i)->name;
			if (strcmp(names[i], name) != 0)
				continue;
			error = config_rule_claim(config, config_rule_name(section), source, false,
						  &index, ret_error);
			if (error < 0)
				return error;
			*ret_option = option_of_rule_at(i);
			*ret_value = &config->rules[index].values[i];
			*ret_mark = &config->rule_marks[index][i];
			return 0;
		}
		return unknown_key(section, name, names, count, source, ret_error);
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

static int assign_checked(const struct assignment *a, struct config_value *value,
			  struct config_error *ret_error)
{
	const struct option *option = a->option;
	char *directory = NULL, *words = NULL;
	uint64_t number = 0;
	int error = 0;

	switch (option->kind) {
	case OPTION_NUMBER: {
		char text[24];

		error = check_number(a, &number, ret_error);
		if (error < 0)
			return error;
		(void)snprintf(text, sizeof(text), "%" PRIu64, number); /* "007" is shown as 7 */
		error = config_value_replace(value, number, text, a->source->origin);
		break;
	}
	case OPTION_CHOICE:
		error = check_choice(a, &number, ret_error);
		if (error < 0)
			return error;
		error = config_value_replace(value, number, a->value, a->source->origin);
		break;
	case OPTION_TEXT:
		if (option == option_at(OPTION_notice_template))
			error = check_template(a, ret_error);
		else if (option_is_directory(option))
			error = directory_absolute(a, &directory, ret_error);
		if (error < 0)
			return error;
		error = config_value_replace(value, 0, directory ? directory : a->value,
					     a->source->origin);
		free(directory);
		break;
	case OPTION_LIST:
		error = check_words(a, &words, ret_error);
		if (error < 0)
			return error;
		/* A user's setting for a set of rules is the user's, also where a workspace says
		 * the same. */
		error = config_value_extend(
			value, words ? words : a->value, a->source->origin,
			option == option_at(OPTION_rules_use) && a->source->trusted ? "/.seen.ini:"
										    : NULL);
		free(words);
		break;
	}
	return error < 0 ? config_no_memory(ret_error) : 0;
}

/* Digits, perhaps with a sign: in the range or not, it is a number. */
static bool is_number(const char *text)
{
	text += *text == '-' || *text == '+';
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* What is no number, or nothing, stands for the built-in value, and the config says so.  Any other
 * value is judged as always. */
static int let_pass(struct config *config, struct assignment *a)
{
	free(config->warning);
	config->warning = NULL;
	if (is_number(a->value))
		return 0;
	int length = asprintf(&config->warning,
			      "%s: [%s] %s = '%.60s' is not a number from %" PRIu64 " to %" PRIu64
			      "; %s is used",
			      a->source->origin, a->section, a->option->name, a->value,
			      a->option->min, a->option->max, option_default(a->option));
	if (length < 0) {
		config->warning = NULL;
		return -ENOMEM;
	}
	a->value = option_default(a->option);
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

	const char *problem = ini_text_check(value, strlen(value), a.option->kind == OPTION_LIST);
	/* outside of files a directory's name may be any bytes that the system allows */
	if (problem &&
	    !(option_is_directory(a.option) && !source->is_file && strstr(problem, "UTF-8")))
		return config_fail(ret_error, -EINVAL,
				   "%s: [%s] %s holds %s; allowed is one line of UTF-8 text",
				   source->origin, section, name, problem);

	bool is_list = a.option->kind == OPTION_LIST;
	if (source->line > 0 && !is_list && mark->file == config->file_serial)
		return config_fail(
			ret_error, -EINVAL,
			"%s: [%s] %s is given twice in one file, first on line %u; only a "
			"list may be",
			source->origin, section, name, mark->line);
	if (!source->trusted && a.option->rule == OPTION_RULE_NEVER) {
		char variable[OPTION_ENVIRONMENT_BYTES];

		option_environment(a.option, variable);
		return config_fail(ret_error, -EINVAL,
				   "%s: a workspace's .seen.ini %s: [%s] %s; it is allowed in "
				   "~/.config/seen/seen.ini, "
				   "as %s and as a flag",
				   source->origin, option_rule_text(a.option->rule), section, name,
				   variable);
	}
	if (!source->trusted && is_list && value[strspn(value, " \t")] == '\0')
		return config_fail(ret_error, -EINVAL,
				   "%s: a workspace's .seen.ini %s: [%s] %s cannot be cleared by "
				   "an empty value",
				   source->origin, option_rule_text(a.option->rule), section, name);
	if (source->trusted && is_list && value[strspn(value, " \t")] != '\0' &&
	    config_rule_name(section) &&
	    config_rule_refuse_words(config, config_rule_name(section), source, ret_error) < 0)
		return -EINVAL;

	if (option_is_lenient(a.option) && let_pass(config, &a) < 0)
		return config_no_memory(ret_error);
	error = assign_checked(&a, target, ret_error);
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

int config_read(struct config *config, const char *data, size_t size_bytes, const char *file,
		bool trusted, struct config_error *ret_error)
{
	struct config *draft = NULL;

	if (config_copy(config, &draft) < 0)
		return config_no_memory(ret_error);
	int error = read_draft(draft, data, size_bytes, file, false, trusted, ret_error);
	if (error < 0) {
		config_free(draft);
		return error;
	}
	config_replace(config, draft);
	return 0;
}

int config_set(struct config *config, const char *key, const char *value, const char *origin,
	       struct config_error *ret_error)
{
	struct config_source source = { .origin = origin, .trusted = true };
	/* the last dot: an agent's name may hold some, no key does */
	const char *dot = strrchr(key, '.');
	struct config *draft = NULL;

	if (!dot || dot == key || dot[1] == '\0')
		return config_fail(ret_error, -EINVAL, "%s: '%.60s' is not section.name", origin,
				   key);
	char *section = strndup(key, (size_t)(dot - key));
	if (!section || config_copy(config, &draft) < 0) {
		free(section);
		return config_no_memory(ret_error);
	}
	int error = config_assign(draft, section, dot + 1, value, &source, ret_error);
	free(section);
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
	*ret_config = config;
	return 0;
}
