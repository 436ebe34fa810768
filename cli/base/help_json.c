/* Help as JSON: see help_json.h. */
#include "cli/base/help_json.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/help.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "config/option.h"

/* Members without a value are null. */
static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static json_t *json_of(const char *name, const char *argument, const char *help)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "name", json_string(name));
	(void)json_object_set_new(object, "argument", text_or_null(argument));
	(void)json_object_set_new(object, "help", json_string(help));
	return object;
}

json_t *help_json_command(const char *name, const char *summary, const struct options *options)
{
	json_t *object = json_object(), *list = json_array();
	const struct option_spec *spec = options->specs;

	for (int i = 0; i < options->spec_count; i++, spec++) {
		/* Without a text it is another name of the one before. */
		const struct option_spec *main_spec = spec;
		while (!main_spec->help && main_spec > options->specs)
			main_spec--;
		(void)json_array_append_new(list, json_of(spec->name, main_spec->argument,
							  main_spec->help ? main_spec->help : ""));
	}
	(void)json_object_set_new(object, "name", json_string(name));
	(void)json_object_set_new(object, "summary", json_string(summary));
	(void)json_object_set_new(object, "usage", json_string(options->usage));
	(void)json_object_set_new(object, "text", json_string(options->summary));
	(void)json_object_set_new(object, "options", list);
	return object;
}

/* The options of configuration that have a flag. */
static json_t *common_options(void)
{
	json_t *list = json_array();

	(void)json_array_append_new(list, json_of("--help", NULL, "the command's options"));
	(void)json_array_append_new(list, json_of("--config", "FILE", "read this seen.ini too"));
	(void)json_array_append_new(list, json_of("-c", "SECTION.NAME=VALUE", "set any option"));
	(void)json_array_append_new(list, json_of("--utc", NULL, HELP_UTC));
	for (size_t id = 0; id < OPTION_COUNT; id++) {
		const struct option *option = option_at(id);
		char name[64];
		if (!option->flag[0])
			continue;
		(void)snprintf(name, sizeof(name), "--%s", option->flag);
		json_t *object = json_of(name, option->kind == OPTION_LIST ? "WORDS" : "VALUE",
					 option->doc);
		json_t *choices = json_array();
		for (size_t i = 0; i < option->choice_count; i++)
			(void)json_array_append_new(choices, json_string(option->choices[i]));
		(void)json_object_set_new(object, "choices", choices);
		(void)json_array_append_new(list, object);
	}
	return list;
}

int help_json_print(const char *version, json_t *commands)
{
	json_t *document = json_object();

	(void)json_object_set_new(document, "schema", json_string("seen/help/1"));
	(void)json_object_set_new(document, "version", json_string(version));
	(void)json_object_set_new(document, "commands", commands);
	(void)json_object_set_new(document, "options", common_options());
	if (text_json_print(document) == 0)
		return EXIT_CODE_OK;
	message("out of memory");
	return EXIT_CODE_OUTPUT;
}
