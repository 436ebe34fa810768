/*
 * `seen config`: what is configured, and by what.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "config/config.h"
#include "config/document.h"
#include "config/rules.h"
#include "config/value.h"

enum {
	VALUE_COLUMNS = 28, /* origins are aligned behind values up to this width */
	LIST_COLUMNS = 64,  /* a list's words are broken into lines of this width */
};

/* ---- for people ---- */

/* A text without what would drive a terminal: control characters become \xHH. */
static void print_plain(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < 0x20 || byte == 0x7f)
			(void)printf("\\x%02x", byte);
		else
			(void)putchar(byte);
	}
}

static void print_line(const char *name, int width, const char *value, size_t bytes,
		       const char *origin)
{
	(void)printf("%-*s =%s", width, name, bytes > 0 ? " " : "");
	print_plain(value, bytes);
	(void)printf("%*s# ",
		     bytes < VALUE_COLUMNS ? (int)(VALUE_COLUMNS - bytes) + (bytes == 0) + 2 : 2,
		     "");
	print_plain(origin, strlen(origin));
	(void)putchar('\n');
}

/* Some words of a list, broken into lines; each could stand in a seen.ini. */
static void print_words(const char *name, int width, const char *words, const char *origin)
{
	while (*words != '\0') {
		size_t line = strcspn(words, " ");

		while (words[line] != '\0') {
			size_t more = line + 1 + strcspn(words + line + 1, " ");

			if (more > LIST_COLUMNS)
				break;
			line = more;
		}
		print_line(name, width, words, line, origin);
		words += line;
		words += *words == ' ';
	}
}

static void print_value(const char *name, int width, const struct config_value *value)
{
	if (value->part_count == 0)
		print_line(name, width, value->text, strlen(value->text), value->origin);
	for (size_t i = 0; i < value->part_count; i++)
		print_words(name, width, value->parts[i].words, value->parts[i].origin);
}

static int section_width(const char *section)
{
	size_t width = 0;

	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);
		size_t length = strlen(option->name);

		if (strcmp(option->section, section) == 0 && length > width)
			width = length;
	}
	return (int)width;
}

static void print_people(const struct config *config)
{
	const char *section = "";
	int width = 0;

	(void)printf("# workspace: ");
	print_plain(config_workspace(config), strlen(config_workspace(config)));
	for (size_t i = 0; i < config_file_count(config); i++) {
		(void)printf("\n# read: ");
		print_plain(config_file_at(config, i), strlen(config_file_at(config, i)));
	}
	(void)putchar('\n');
	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);

		if (strcmp(section, option->section) != 0) {
			section = option->section;
			width = section_width(section);
			(void)printf("\n[%s]\n", section);
		}
		print_value(option->name, width, config_value(config, id));
	}
	for (size_t i = 0; i < config_profile_count(config); i++) {
		const struct config_profile *profile = config_profile_at(config, i);

		(void)printf("\n[agent %s]\n", profile->name);
		for (size_t id = 0; id < PROFILE_OPTION_COUNT; id++)
			print_value(option_profile_at(id)->name, (int)strlen("max_output_bytes"),
				    &profile->values[id]);
	}
	for (size_t i = 0; i < config_rule_count(config); i++) {
		const struct config_rule *rule = config_rule_at(config, i);

		if (!config_rule_is_in_force(config, rule))
			continue;
		(void)printf("\n[rule %s]\n", rule->name);
		for (size_t id = 0; id < RULE_OPTION_COUNT; id++)
			print_value(option_of_rule_at(id)->name, (int)strlen("except_exe"),
				    &rule->values[id]);
	}
}

/* ---- for programs ---- */

static json_t *json_words(const char *words)
{
	json_t *array = json_array();

	while (*words != '\0') {
		size_t length = strcspn(words, " ");

		(void)json_array_append_new(array, json_stringn(words, length));
		words += length;
		words += *words == ' ';
	}
	return array;
}

static json_t *json_text_of_kind(const struct option *option, const char *text)
{
	if (option->kind == OPTION_LIST)
		return json_words(text);
	if (option->kind == OPTION_NUMBER)
		return json_integer((json_int_t)strtoull(text, NULL, 10));
	return text_json(text);
}

/* "value", "origin", and for a list what came from where. */
static void json_add_value(json_t *object, const struct option *option,
			   const struct config_value *value)
{
	(void)json_object_set_new(object, "value", json_text_of_kind(option, value->text));
	(void)json_object_set_new(object, "origin", text_json(value->origin));
	if (option->kind != OPTION_LIST)
		return;
	json_t *parts = json_array();
	for (size_t i = 0; i < value->part_count; i++) {
		json_t *part = json_object();

		(void)json_object_set_new(part, "words", json_words(value->parts[i].words));
		(void)json_object_set_new(part, "origin", text_json(value->parts[i].origin));
		(void)json_array_append_new(parts, part);
	}
	(void)json_object_set_new(object, "parts", parts);
}

static json_t *json_option(const struct config *config, size_t id)
{
	const struct option *option = option_at(id);
	char variable[OPTION_ENVIRONMENT_BYTES];
	json_t *object = json_object();

	option_environment(option, variable);
	(void)json_object_set_new(object, "section", json_string(option->section));
	(void)json_object_set_new(object, "name", json_string(option->name));
	(void)json_object_set_new(object, "kind", json_string(option_kind_text(option->kind)));
	json_add_value(object, option, config_value(config, id));
	(void)json_object_set_new(object, "default",
				  json_text_of_kind(option, option_default(option)));
	if (option->kind == OPTION_NUMBER) {
		(void)json_object_set_new(object, "unit", json_string(option->unit));
		(void)json_object_set_new(object, "min", json_integer((json_int_t)option->min));
		(void)json_object_set_new(object, "max", json_integer((json_int_t)option->max));
	}
	if (option->kind == OPTION_CHOICE) {
		json_t *choices = json_array();

		for (size_t i = 0; i < option->choice_count; i++)
			(void)json_array_append_new(choices, json_string(option->choices[i]));
		(void)json_object_set_new(object, "choices", choices);
	}
	(void)json_object_set_new(object, "variable", json_string(variable));
	(void)json_object_set_new(
		object, "flag", option->flag[0] ? json_sprintf("--%s", option->flag) : json_null());
	(void)json_object_set_new(object, "workspace_file",
				  json_string(option_rule_text(option->rule)));
	(void)json_object_set_new(object, "doc", json_string(option->doc));
	return object;
}

/* An [agent NAME] or [rule NAME] section.  option_of: its keys, `count` of them. */
static json_t *json_named(const char *name, const char *origin, const struct config_value *values,
			  size_t count, const struct option *(*option_of)(size_t id))
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "name", json_string(name));
	(void)json_object_set_new(object, "origin", text_json(origin));
	for (size_t id = 0; id < count; id++) {
		json_t *value = json_object();

		json_add_value(value, option_of(id), &values[id]);
		(void)json_object_set_new(object, option_of(id)->name, value);
	}
	return object;
}

static json_t *json_profiles(const struct config *config)
{
	json_t *array = json_array();

	for (size_t i = 0; i < config_profile_count(config); i++) {
		const struct config_profile *profile = config_profile_at(config, i);

		(void)json_array_append_new(array, json_named(profile->name, profile->origin,
							      profile->values, PROFILE_OPTION_COUNT,
							      option_profile_at));
	}
	return array;
}

static json_t *json_rules(const struct config *config)
{
	json_t *array = json_array();

	for (size_t i = 0; i < config_rule_count(config); i++) {
		const struct config_rule *rule = config_rule_at(config, i);

		if (!config_rule_is_in_force(config, rule))
			continue;
		json_t *object = json_named(rule->name, rule->origin, rule->values,
					    RULE_OPTION_COUNT, option_of_rule_at);
		(void)json_object_set_new(object, "set",
					  rule->set ? json_string(rule->set) : json_null());
		(void)json_array_append_new(array, object);
	}
	return array;
}

/* Returns 0 or -ENOMEM. */
static int print_json(const struct config *config)
{
	json_t *document = json_object();
	json_t *files = json_array(), *options = json_array();

	for (size_t i = 0; i < config_file_count(config); i++)
		(void)json_array_append_new(files, text_json(config_file_at(config, i)));
	for (size_t id = 0; id < OPTION_COUNT; id++)
		(void)json_array_append_new(options, json_option(config, id));
	(void)json_object_set_new(document, "schema", json_string("seen/config/1"));
	(void)json_object_set_new(document, "workspace", text_json(config_workspace(config)));
	(void)json_object_set_new(document, "files", files);
	(void)json_object_set_new(document, "options", options);
	(void)json_object_set_new(document, "profiles", json_profiles(config));
	(void)json_object_set_new(document, "rules", json_rules(config));
	return text_json_print(document);
}

/* ---- the command ---- */

static bool json, docs;

static const struct option_spec SPECS[] = {
	{ "--json", NULL, "as a JSON document", &json, NULL },
	{ "--docs", NULL, "a complete seen.ini that explains every option", &docs, NULL },
};

static const struct options OPTIONS = {
	.usage = "config [OPTION...]",
	.summary = "Prints each effective value, and which file and line, variable or flag set it.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

static int print_docs(void)
{
	char *text = NULL;
	size_t bytes = 0;

	if (config_document(&text, &bytes) < 0)
		return -ENOMEM;
	(void)fwrite(text, 1, bytes, stdout);
	free(text);
	return 0;
}

/* error: for want of memory, or 0. */
static int exit_code_of(int error)
{
	if (error == 0)
		return EXIT_CODE_OK;
	message("out of memory");
	return EXIT_CODE_FAILED;
}

static int print_config(struct parsed *parsed)
{
	int code;
	if (docs)
		return exit_code_of(print_docs());
	if (options_load(parsed, &code) < 0)
		return code;
	if (json)
		return exit_code_of(print_json(parsed->config));
	print_people(parsed->config);
	return EXIT_CODE_OK;
}

int cmd_config(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0) {
		code = EXIT_CODE_USAGE;
		if (parsed.first_word < argc)
			message("config takes no argument '%s'", argv[parsed.first_word]);
		else if (json && docs)
			message("--json and --docs exclude each other");
		else
			code = print_config(&parsed);
	}
	options_done(&parsed);
	return code;
}
