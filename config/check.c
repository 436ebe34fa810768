/* What an assignment may be: see check.h. */
#include "config/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/ini.h"
#include "config/nearest.h"
#include "config/rules.h"
#include "config/store.h"
#include "config/value.h"

bool check_parse_number(const char *text, uint64_t *ret_number)
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

static int check_number(const struct assignment *a, uint64_t *ret_number,
			struct config_error *ret_error)
{
	const struct option *option = a->option;
	uint64_t least = option->min, most = option->max, now = a->now->number, number = 0;
	const char *unit_space = option->unit[0] ? " " : "";

	if (!check_parse_number(a->value, &number) || number < least || number > most)
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

/* Only one line of text is a value, and only a list has two in a file. */
static int check_line(const struct assignment *a, const struct config_mark *mark,
		      struct config_error *ret_error)
{
	bool is_list = a->option->kind == OPTION_LIST;
	const char *problem = ini_text_check(a->value, strlen(a->value), is_list);
	/* outside of files a directory's name may be any bytes that the system allows */
	if (problem &&
	    !(option_is_directory(a->option) && !a->source->is_file && strstr(problem, "UTF-8")))
		return config_fail(ret_error, -EINVAL,
				   "%s: [%s] %s holds %s; allowed is one line of UTF-8 text",
				   a->source->origin, a->section, a->option->name, problem);
	if (a->source->line > 0 && !is_list && mark->file == a->config->file_serial)
		return config_fail(
			ret_error, -EINVAL,
			"%s: [%s] %s is given twice in one file, first on line %u; only a "
			"list may be",
			a->source->origin, a->section, a->option->name, mark->line);
	return 0;
}

int check_source(const struct assignment *a, const struct config_mark *mark,
		 struct config_error *ret_error)
{
	bool is_list = a->option->kind == OPTION_LIST;
	bool is_empty = a->value[strspn(a->value, " \t")] == '\0';
	const char *rule = config_rule_name(a->section);

	if (check_line(a, mark, ret_error) < 0)
		return -EINVAL;
	if (!a->source->trusted && a->option->rule == OPTION_RULE_NEVER) {
		char variable[OPTION_ENVIRONMENT_BYTES];

		option_environment(a->option, variable);
		return config_fail(ret_error, -EINVAL,
				   "%s: a workspace's .seen.ini %s: [%s] %s; it is allowed in "
				   "~/.config/seen/seen.ini, "
				   "as %s and as a flag",
				   a->source->origin, option_rule_text(a->option->rule), a->section,
				   a->option->name, variable);
	}
	if (!a->source->trusted && is_list && is_empty)
		return config_fail(ret_error, -EINVAL,
				   "%s: a workspace's .seen.ini %s: [%s] %s cannot be cleared by "
				   "an empty value",
				   a->source->origin, option_rule_text(a->option->rule), a->section,
				   a->option->name);
	if (a->source->trusted && is_list && !is_empty && rule &&
	    config_rule_refuse_words(a->config, rule, a->source, ret_error) < 0)
		return -EINVAL;
	return 0;
}

int check_and_assign(const struct assignment *a, struct config_value *value,
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
