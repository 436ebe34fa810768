/*
 * [rule NAME] sections: who may make and change one, and what may stand in it.
 *
 * A workspace's .seen.ini is not trusted: its rules bear names of their own and hold in the
 * workspace alone.  It never changes a rule from another source: a trusted file that begins a
 * section which an untrusted one has, begins anew, and a flag may not extend the lists of such a
 * one.  Among trusted sources, the ready-made rules among them, a section of the same name changes
 * the rule: its lists are extended.
 */
#include "config/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/rule_sets.h" /* generated from data/rules: SET_ini, SET_ini_bytes */
#include "config/store.h"
#include "config/value.h"

static const char RULE_PREFIX[] = "rule ";

/* The sets, in the order of SETTINGS_RULE_SETS. */
static const struct set {
	const char *name, *data;
	const unsigned long *bytes;
} SETS[] = {
#define SET(name, action) { #name, name##_ini, &name##_ini_bytes },
	SETTINGS_RULE_SETS(SET, "")
#undef SET
};
enum { SET_COUNT = sizeof(SETS) / sizeof(SETS[0]) };

const char *config_rule_name(const char *section)
{
	size_t bytes = sizeof(RULE_PREFIX) - 1;
	return strncmp(section, RULE_PREFIX, bytes) == 0 ? section + bytes : NULL;
}

void config_rule_destroy(struct config_rule *rule)
{
	for (size_t i = 0; i < RULE_OPTION_COUNT; i++)
		config_value_destroy(&rule->values[i]);
	free((void *)(uintptr_t)rule->name);
	free((void *)(uintptr_t)rule->origin);
	*rule = (struct config_rule){ 0 };
}

int config_rule_copy(const struct config_rule *rule, struct config_rule *ret_copy)
{
	struct config_rule copy = { .name = strdup(rule->name),
				    .origin = strdup(rule->origin),
				    .trusted = rule->trusted,
				    .set = rule->set,
				    .is_mentioned = rule->is_mentioned };
	int error = copy.name && copy.origin ? 0 : -ENOMEM;

	for (size_t i = 0; i < RULE_OPTION_COUNT && error == 0; i++)
		error = config_value_copy(&rule->values[i], &copy.values[i]);
	if (error < 0)
		config_rule_destroy(&copy);
	else
		*ret_copy = copy;
	return error;
}

static size_t choice_at(const struct option *option, const char *word)
{
	size_t at = 0;

	while (at < option->choice_count && strcmp(option->choices[at], word) != 0)
		at++;
	return at;
}

/* A rule that says nothing yet. */
static int rule_make(const char *name, const struct config_source *source,
		     struct config_rule *ret_rule)
{
	struct config_rule rule = { .name = strdup(name),
				    .origin = strdup(source->origin),
				    .trusted = source->trusted };
	int error = rule.name && rule.origin ? 0 : -ENOMEM;

	for (size_t i = 0; i < RULE_OPTION_COUNT && error == 0; i++) {
		const struct option *option = option_of_rule_at(i);
		bool is_choice = option->kind == OPTION_CHOICE;
		const char *value = option->value;

		if (i == RULE_OPTION_WHERE && !source->trusted)
			value = option->choices[RULE_WHERE_WORKSPACE];
		error = config_value_replace(&rule.values[i],
					     is_choice ? choice_at(option, value) : 0, value,
					     "built-in");
	}
	if (error < 0)
		config_rule_destroy(&rule);
	else
		*ret_rule = rule;
	return error;
}

int config_rule_claim(struct config *config, const char *name, const struct config_source *source,
		      bool begins, size_t *ret_index, struct config_error *ret_error)
{
	struct config_rule rule;
	size_t index = 0;

	while (index < config->rule_count && strcmp(config->rules[index].name, name) != 0)
		index++;
	*ret_index = index;
	if (index < config->rule_count) {
		struct config_rule *found = &config->rules[index];

		if (found->trusted && !source->trusted)
			return config_fail(ret_error, -EINVAL,
					   "%s: a workspace's .seen.ini may only add rules: [rule "
					   "%s] is there already, by "
					   "%.300s; give this one another name",
					   source->origin, name, found->origin);
		found->is_mentioned = true;
		if (found->trusted == source->trusted || !begins)
			return 0;
		if (rule_make(name, source, &rule) < 0)
			return config_no_memory(ret_error);
		config_rule_destroy(found);
		*found = rule;
		memset(config->rule_marks[index], 0, sizeof(config->rule_marks[index]));
		return 0;
	}
	if (index == CONFIG_RULES_MAX)
		return config_fail(ret_error, -ENOSPC,
				   "%s: [rule %s] is one too many: at most %d rules are allowed",
				   source->origin, name, CONFIG_RULES_MAX);
	if (rule_make(name, source, &rule) < 0)
		return config_no_memory(ret_error);
	config->rules[config->rule_count++] = rule;
	return 0;
}

int config_rule_refuse_words(const struct config *config, const char *name,
			     const struct config_source *source, struct config_error *ret_error)
{
	const struct config_rule *rule = config_rule_find(config, name);

	if (!rule || rule->trusted)
		return 0;
	return config_fail(ret_error, -EINVAL,
			   "%s: [rule %s] is a workspace's, by %.300s: nothing can be added to its "
			   "lists; give your rule another name",
			   source->origin, name, rule->origin);
}

static bool names_workspace(const struct config *config, const char *origin)
{
	const char *root = config_workspace(config);
	size_t length = strlen(root);

	return length > 0 && strncmp(origin, root, length) == 0 &&
	       strncmp(origin + length, length == 1 ? ".seen.ini:" : "/.seen.ini:",
		       length == 1 ? strlen(".seen.ini:") : strlen("/.seen.ini:")) == 0;
}

bool config_is_of_workspace(const struct config *config, const struct config_value *value)
{
	return names_workspace(config, value->origin);
}

int config_rules_check(const struct config *config, struct config_error *ret_error)
{
	size_t count, in_force = 0;
	const char *const *words = option_words(option_of_rule_at(RULE_OPTION_OP), &count);
	char names[256];
	const struct config_value *mode = config_value(config, OPTION_session_mode);
	bool is_off = mode->number == SESSION_MODE_OFF && config_is_of_workspace(config, mode);

	for (size_t i = 0; i < config->rule_count; i++) {
		const struct config_rule *rule = &config->rules[i];

		in_force += config_rule_is_in_force(config, rule);
		if (in_force > SETTINGS_RULES_MAX)
			return config_fail(ret_error, -ENOSPC,
					   "%s: [rule %s] is one too many: at most %d rules may be "
					   "in force; set the action of others to off",
					   rule->origin, rule->name, SETTINGS_RULES_MAX);
		if (is_off && rule->trusted && config_rule_is_in_force(config, rule))
			return config_fail(
				ret_error, -EINVAL,
				"%s: a workspace's .seen.ini may not turn off a session that has "
				"rules: [rule %s] is set by %.300s; [session] mode = observe is "
				"allowed",
				mode->origin, rule->name, rule->origin);
		if (rule->values[RULE_OPTION_OP].text[0] != '\0')
			continue;
		config_list_names(words, count, names, sizeof(names));
		return config_fail(
			ret_error, -EINVAL,
			"%s: [rule %s] does not say what it speaks of; give it op = some of: %s",
			rule->origin, rule->name, names);
	}
	return 0;
}

int config_rules_read_sets(struct config *config, config_reader *read,
			   struct config_error *ret_error)
{
	for (size_t i = 0; i < SET_COUNT; i++) {
		size_t at = config->rule_count;
		int error = read(config, SETS[i].data, *SETS[i].bytes, ret_error);

		if (error < 0)
			return error;
		for (; at < config->rule_count; at++) {
			config->rules[at].set = SETS[i].name;
			config->rules[at].is_mentioned = false;
		}
	}
	return 0;
}

/* What [rules] use says that a set's rules do, the strictest of what is given; RULE_ACTION_OFF: it
 * does not name the set.
 * trusted: a workspace's .seen.ini does not count.  ret_origin: of what says so, borrowed. */
static enum rule_action use_of(const struct config *config, const char *set, bool trusted,
			       const char **ret_origin)
{
	const struct config_value *use = config_value(config, OPTION_rules_use);
	const struct option *option = option_of_rule_at(RULE_OPTION_ACTION);
	size_t set_bytes = strlen(set);
	enum rule_action action = RULE_ACTION_OFF;

	for (size_t i = 0; i < use->part_count; i++) {
		const char *word = use->parts[i].words;

		if (trusted && names_workspace(config, use->parts[i].origin))
			continue;
		for (; *word != '\0'; word += strcspn(word, " "), word += *word == ' ') {
			size_t said = RULE_ACTION_WARN;
			char name[16];

			if (strncmp(word, set, set_bytes) != 0 || !strchr(" :", word[set_bytes]))
				continue;
			if (word[set_bytes] == ':') {
				(void)snprintf(name, sizeof(name), "%.*s",
					       (int)strcspn(word + set_bytes + 1, " "),
					       word + set_bytes + 1);
				said = choice_at(option, name);
			}
			if (said > action) {
				action = (enum rule_action)said;
				*ret_origin = use->parts[i].origin;
			}
		}
	}
	return action;
}

int config_rules_complete(struct config *config, struct config_error *ret_error)
{
	const struct option *option = option_of_rule_at(RULE_OPTION_ACTION);

	for (size_t i = 0; i < config->rule_count; i++) {
		struct config_rule *rule = &config->rules[i];
		struct config_value *value = &rule->values[RULE_OPTION_ACTION];
		const char *origin = NULL;
		enum rule_action action = rule->set ? use_of(config, rule->set, false, &origin) : 0;

		/* What the rule's own section says counts more. */
		if (action != RULE_ACTION_OFF && strcmp(value->origin, "built-in") == 0 &&
		    config_value_replace(value, action, option->choices[action], origin) < 0)
			return config_no_memory(ret_error);
	}
	return 0;
}

bool config_rule_is_in_force(const struct config *config, const struct config_rule *rule)
{
	const char *origin;

	if (rule->values[RULE_OPTION_ACTION].number == RULE_ACTION_OFF)
		return false;
	return !rule->set || rule->is_mentioned ||
	       use_of(config, rule->set, false, &origin) != RULE_ACTION_OFF;
}

bool config_rule_binds(const struct config *config, const struct config_rule *rule)
{
	const struct config_value *action = &rule->values[RULE_OPTION_ACTION];
	const char *origin;

	if (!rule->trusted || !config_rule_is_in_force(config, rule) ||
	    action->number < RULE_ACTION_FAIL)
		return false;
	return !config_is_of_workspace(config, action) ||
	       (rule->set && use_of(config, rule->set, true, &origin) >= RULE_ACTION_FAIL);
}

size_t config_rule_count(const struct config *config)
{
	return config->rule_count;
}

const struct config_rule *config_rule_at(const struct config *config, size_t index)
{
	return &config->rules[index];
}

const struct config_rule *config_rule_find(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->rule_count; i++)
		if (strcmp(config->rules[i].name, name) == 0)
			return &config->rules[i];
	return NULL;
}
