/* Command lines: see options.h. */
#include "cli/base/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/clock.h"
#include "cli/base/exit_code.h"
#include "cli/base/help.h"
#include "cli/base/message.h"
#include "config/load.h"
#include "config/nearest.h"
#include "config/option.h"
#include "config/value.h"

enum { NAMES_MAX = 64 };

static int unknown_option(const struct options *options, const char *word)
{
	const char *names[NAMES_MAX];
	char flags[NAMES_MAX][40], name[64];
	size_t count = 0;

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	names[count++] = "--utc";
	for (int i = 0; i < options->spec_count && count < NAMES_MAX; i++)
		names[count++] = options->specs[i].name;
	for (size_t id = 0; id < OPTION_COUNT && count < NAMES_MAX; id++) {
		if (!option_at(id)->flag[0])
			continue;
		(void)snprintf(flags[count], sizeof(flags[count]), "--%s", option_at(id)->flag);
		names[count] = flags[count];
		count++;
	}
	const char *nearest = nearest_name(name, names, count);
	if (nearest)
		message("there is no option '%s'; did you mean '%s'?", name, nearest);
	else
		message("there is no option '%s'; `seen help %.*s` and `seen help options` list "
			"them",
			name, (int)strcspn(options->usage, " "), options->usage);
	return EXIT_CODE_USAGE;
}

/* Takes one of the command's own options.  1: taken; 0: none of them; -1: wrong. */
static int parse_own(const struct options *options, int argc, char **argv, int *index)
{
	const char *word = argv[*index];
	for (int i = 0; i < options->spec_count; i++) {
		const struct option_spec *spec = &options->specs[i];
		size_t length = strlen(spec->name);
		bool is_joined = spec->value && length == 2 && word[length] != '='; /* -n2 */
		if (strncmp(word, spec->name, length) != 0 ||
		    (word[length] != '\0' && word[length] != '=' && !is_joined))
			continue;
		if (!spec->value) {
			if (word[length] == '=') {
				message("%s takes no value", spec->name);
				return -1;
			}
			*spec->flag = true;
			*index += 1;
			return 1;
		}
		if (word[length]) {
			*spec->value = word + length + !is_joined;
			*index += 1;
			return 1;
		}
		if (*index + 1 >= argc) {
			message("%s needs a value: %s", spec->name, spec->argument);
			return -1;
		}
		*spec->value = argv[*index + 1];
		*index += 2;
		return 1;
	}
	return 0;
}

int options_parse(const struct options *options, int argc, char **argv, struct parsed *parsed,
		  int *ret_code)
{
	struct config_error error;
	int words = 0; /* words that were passed, waiting at argv[1..words] */
	int index = 1;

	while (index < argc) {
		char *word = argv[index];
		if (strcmp(word, "--") == 0) {
			index++;
			break;
		}
		if (word[0] != '-' || word[1] == '\0') {
			if (!options->words_between)
				break;
			argv[++words] = word; /* over an option that was read already */
			index++;
			continue;
		}
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			help_command(options);
			*ret_code = EXIT_CODE_OK;
			return -1;
		}
		if (strcmp(word, "--utc") == 0) {
			clock_use_utc();
			index++;
			continue;
		}
		int taken = parse_own(options, argc, argv, &index);
		if (taken == 0) {
			taken = config_request_flag(&parsed->request, argc, argv, &index, &error);
			if (taken < 0)
				message("%s", taken == -ENOMEM ? "out of memory" : error.text);
			else if (taken == 0) {
				*ret_code = unknown_option(options, word);
				return -1;
			}
		}
		if (taken < 0) {
			*ret_code = EXIT_CODE_USAGE;
			return -1;
		}
	}
	/* words that stood between options go right before the rest */
	for (int i = words; i > 0; i--)
		argv[index - 1 - (words - i)] = argv[i];
	parsed->first_word = index - words;
	return 0;
}

int options_parse_alone(const struct options *options, int argc, char **argv, struct parsed *parsed,
			int *ret_code)
{
	if (options_parse(options, argc, argv, parsed, ret_code) < 0)
		return -1;
	if (parsed->first_word == argc)
		return 0;
	message("'%s' is no option; `seen help %.*s` lists them", argv[parsed->first_word],
		(int)strcspn(options->usage, " "), options->usage);
	*ret_code = EXIT_CODE_USAGE;
	return -1;
}

int options_try(struct parsed *parsed, struct config_error *ret_error)
{
	*ret_error = (struct config_error){ "out of memory" };
	parsed->config = config_free(parsed->config); /* of an attempt before */
	int error = config_new(&parsed->config);
	if (error == 0)
		error = config_load(parsed->config, &parsed->request, ret_error);
	if (error == 0 && config_warning(parsed->config) && !parsed->is_silent)
		message("%s", config_warning(parsed->config));
	if (error == 0 && config_files_warning(parsed->config) && !parsed->is_silent)
		message("%s", config_files_warning(parsed->config));
	return error;
}

int options_load(struct parsed *parsed, int *ret_code)
{
	struct config_error error;

	*ret_code = EXIT_CODE_FAILED;
	if (options_try(parsed, &error) == 0)
		return 0;
	message("%s", error.text);
	return -1;
}

void options_done(struct parsed *parsed)
{
	parsed->config = config_free(parsed->config);
	config_request_done(&parsed->request);
}
