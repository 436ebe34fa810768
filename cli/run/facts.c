/* What a run writes about its surroundings: see facts.h. */
#include "cli/run/facts.h"

#include <stdio.h>
#include <string.h>

#include "cli/journal/fact.h"
#include "cli/session/git_directory.h"
#include "config/option.h"
#include "config/rules.h"
#include "config/settings.h"
#include "config/value.h"

static void write_commit(const struct session *session, struct journal *journal, enum fact fact)
{
	const struct segment *segment = &session->segment;
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);
	char commit[GIT_DIRECTORY_COMMIT_BYTES];

	if (root)
		fact_write(journal, fact, git_directory_commit(root, commit) ? commit : NULL);
}

/* The rule as its section has it, in one line. */
static void write_rule(const struct config_rule *rule, struct journal *journal)
{
	char text[JOURNAL_TEXT_BYTES_MAX + 1];
	FILE *file = fmemopen(text, sizeof(text), "w");

	if (!file)
		return;
	(void)fprintf(file, "%s %s", rule->name, rule->values[RULE_OPTION_ACTION].text);
	for (int i = 0; i < RULE_OPTION_COUNT; i++)
		if (i != RULE_OPTION_ACTION && rule->values[i].text && rule->values[i].text[0])
			(void)fprintf(file, " %s=%s",
				      option_of_rule_at((enum rule_option_id)i)->name,
				      rule->values[i].text);
	(void)fclose(file);
	text[sizeof(text) - 1] = '\0';
	fact_write(journal, FACT_RULE, text);
}

void facts_start(const struct config *config, const struct session *session,
		 struct journal *journal)
{
	if (!journal->header)
		return;
	write_commit(session, journal, FACT_COMMIT_BEFORE);
	if (!session->keeps_settings) {
		const char *exclude = config_value(config, OPTION_journal_exclude)->text;
		fact_write(journal, FACT_LEVEL, config_value(config, OPTION_journal_level)->text);
		if (exclude && exclude[0])
			fact_write(journal, FACT_EXCLUDE, exclude);
	}
	for (size_t i = 0; !session->keeps_settings && i < config_rule_count(config); i++) {
		const struct config_rule *rule = config_rule_at(config, i);
		if (config_rule_is_in_force(config, rule) &&
		    rule->values[RULE_OPTION_ACTION].number != RULE_ACTION_OFF)
			write_rule(rule, journal);
	}
}

void facts_finish(const struct session *session, struct journal *journal, int status)
{
	char text[16];

	if (!journal->header)
		return;
	write_commit(session, journal, FACT_COMMIT_AFTER);
	(void)snprintf(text, sizeof(text), "%d", status);
	fact_write(journal, FACT_STATUS, text);
}
