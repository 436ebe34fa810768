/*
 * [rule NAME] sections and the ready-made sets.
 */
#ifndef SEEN_CONFIG_RULES_H
#define SEEN_CONFIG_RULES_H

#include "config/config.h"

/* config_rule_count(), config_rule_at(): the rules, in the order in which they were first
 * mentioned; those with action `off` too. */
size_t config_rule_count(const struct config *config);
const struct config_rule *config_rule_at(const struct config *config, size_t index);

/* config_rule_binds(): is a rule in force that denies or fails, by what a source of the user's
 * says?  What a workspace's .seen.ini adds does not bind, and takes nothing from what does. */
bool config_rule_binds(const struct config *config, const struct config_rule *rule);

/* config_is_of_workspace(): was a value set by the workspace's own .seen.ini, which an agent may
 * have written, at last? */
bool config_is_of_workspace(const struct config *config, const struct config_value *value);

/* config_rule_is_in_force(): a rule of a set is where [rules] use names the set or the user
 * mentions it; any other one is. */
bool config_rule_is_in_force(const struct config *config, const struct config_rule *rule);

/* config_rule_find(): the rule of that name, or NULL. */
const struct config_rule *config_rule_find(const struct config *config, const char *name);

/* config_rule_name(): NAME of a section [rule NAME], NULL for every other section. */
const char *config_rule_name(const char *section);

/* config_rule_claim(): the index of the rule of that name, which is made if there is none.
 *
 * begins: a section of that name begins, in a file: what an untrusted file said under it does not
 * count for a trusted one.
 * Errors: -EINVAL a workspace's .seen.ini names a rule that it did not make; -ENOSPC there are too
 * many; -ENOMEM. */
int config_rule_claim(struct config *config, const char *name, const struct config_source *source,
		      bool begins, size_t *ret_index, struct config_error *ret_error);

/* config_rule_refuse_words(): words may not be added to the rule of that name, which is there, by a
 * source that is trusted where the rule is not: the author of that one guessed the name, and its
 * `except` would hold for what the user says.  Returns 0 or -EINVAL. */
int config_rule_refuse_words(const struct config *config, const char *name,
			     const struct config_source *source, struct config_error *ret_error);

/* config_rules_read_sets(): the ready-made rules, by `read`.  config_rules_complete(): what those
 * do whose set [rules] use names; when all sources were read.  Return 0 or a negative errno. */
int config_rules_read_sets(struct config *config, config_reader *read,
			   struct config_error *ret_error);
int config_rules_complete(struct config *config, struct config_error *ret_error);

/* config_rules_check(): when all sources were read: whether every rule says what it speaks of, no
 * more are in force than a session holds, and the workspace's file did not turn off the session in
 * which they are to hold. */
int config_rules_check(const struct config *config, struct config_error *ret_error);

/* config_rule_copy(), config_rule_destroy(): as for values. */
int config_rule_copy(const struct config_rule *rule, struct config_rule *ret_copy);
void config_rule_destroy(struct config_rule *rule);

#endif
