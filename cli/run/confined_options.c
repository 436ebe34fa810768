/* Options of the run inside: see confined_options.h. */
#include "cli/run/confined_options.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/rules.h"
#include "config/value.h"

struct list {
	char **words;
	size_t count;
	bool failed;
};

static void append(struct list *list, char *word)
{
	char **words = word ? realloc(list->words, (list->count + 2) * sizeof(*words)) : NULL;

	if (words) {
		list->words = words;
		words[list->count++] = word;
		words[list->count] = NULL;
	} else {
		free(word);
		list->failed = true;
	}
}

/* Appends `-c KEY=VALUE`. */
__attribute__((format(printf, 2, 3))) static void append_value(struct list *list,
							       const char *format, ...)
{
	char *word = NULL;
	va_list arguments;

	va_start(arguments, format);
	int bytes = vasprintf(&word, format, arguments);
	va_end(arguments);
	append(list, strdup("-c"));
	append(list, bytes < 0 ? NULL : word);
}

/* The rules of a set deny, except where [confine] says otherwise. */
static void append_set(struct list *list, const struct config *config, const char *set,
		       const char *except)
{
	for (size_t i = 0; i < config_rule_count(config); i++) {
		const struct config_rule *rule = config_rule_at(config, i);
		if (!rule->set || strcmp(rule->set, set) != 0 ||
		    (rule->is_mentioned &&
		     rule->values[RULE_OPTION_ACTION].number == RULE_ACTION_OFF))
			continue;
		append_value(list, "rule %s.action=deny", rule->name);
		if (except[0])
			append_value(list, "rule %s.except=%s", rule->name, except);
	}
}

static void append_settings(struct list *list, const struct config *config, const char *except)
{
	static const char NAME[] = "rule confined-settings";

	append_value(list, "%s.op=write create delete rename link metadata", NAME);
	for (size_t i = 0; i < config_profile_count(config); i++) {
		const char *settings =
			config_profile_at(config, i)->values[PROFILE_OPTION_SETTINGS].text;
		if (settings[0])
			append_value(list, "%s.path=%s", NAME, settings);
	}
	if (except[0])
		append_value(list, "%s.except=%s", NAME, except);
	append_value(list, "%s.action=deny", NAME);
}

static void append_rules(struct list *list, const struct config *config)
{
	append_set(list, config, "secrets", config_text(config, OPTION_confine_read));
	if (config_number(config, OPTION_confine_set) == CONFINE_SET_SECRETS)
		return;
	append_set(list, config, "ci", config_text(config, OPTION_confine_write));
	append_settings(list, config, config_text(config, OPTION_confine_write));
}

char **confined_options(const struct config *config, const struct confinement *confinement,
			enum confine_by by)
{
	struct list list = { .words = calloc(1, sizeof(*list.words)) };

	list.failed = !list.words;
	if (by == CONFINE_BY_RULES)
		append_rules(&list, config);
	if (by != CONFINE_BY_BUBBLEWRAP && confinement_count(confinement, CONFINE_CLOSED) &&
	    config_number(config, OPTION_session_via) == SESSION_VIA_AUTO)
		append_value(&list, "session.via=both");
	if (!list.failed)
		return list.words;
	confined_options_free(list.words);
	return NULL;
}

void confined_options_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}
