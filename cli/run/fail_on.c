/* What makes `seen run` end with a status of its own: see fail_on.h. */
#include "cli/run/fail_on.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/text.h"
#include "cli/session/counts.h"
#include "config/rules.h"
#include "config/value.h"

/* The line as it is put together. */
struct sentence {
	char *line;
	size_t used;
	int code;
};

__attribute__((format(printf, 2, 3))) static void append_text(struct sentence *sentence,
							      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(sentence->line + sentence->used, FAIL_ON_LINE_BYTES - sentence->used,
			       format, arguments);
	va_end(arguments);
	if (length > 0)
		sentence->used += (size_t)length;
	if (sentence->used >= FAIL_ON_LINE_BYTES)
		sentence->used = FAIL_ON_LINE_BYTES - 1;
}

unsigned fail_on_asked(const struct config *config)
{
	unsigned asked = 0;

	for (size_t i = 0; i < config_rule_count(config); i++) {
		const struct config_rule *rule = config_rule_at(config, i);
		if (rule->values[RULE_OPTION_ACTION].number == RULE_ACTION_FAIL &&
		    config_rule_is_in_force(config, rule))
			asked |= FAIL_ON_ACTION;
	}
	if (config_has_word(config, OPTION_rules_fail_on, "rule"))
		asked |= FAIL_ON_RULE;
	if (config_has_word(config, OPTION_rules_fail_on, "stale"))
		asked |= FAIL_ON_STALE;
	if (config_has_word(config, OPTION_rules_fail_on, "unobserved"))
		asked |= FAIL_ON_UNOBSERVED;
	return asked;
}

/* Begins the line with the first finding's code, and every further one with a semicolon. */
static void find(struct sentence *sentence, int code, int status)
{
	if (sentence->code) {
		append_text(sentence, "; ");
		return;
	}
	sentence->code = code;
	append_text(sentence, "status %d, the command's own was %d: ", code, status);
}

/* Names the rules that were hit, as far as the journal tells: those whose action is fail, or all
 * that do more than log. */
static void name_rules(struct sentence *sentence, bool all, const struct fail_on_run *run)
{
	enum { NAMED = 8 };
	struct {
		const char *name;
		size_t length;
		unsigned count;
	} rules[NAMED];
	int count = 0;
	bool more = false;
	uint64_t number = run->since;
	struct journal_entry entry;
	enum journal_found found;

	if (!run->journal->header)
		return;
	while ((found = journal_next(run->journal, &number, &entry)) != JOURNAL_FOUND_END) {
		if (found == JOURNAL_FOUND_UNDONE)
			number = journal_behind_undone(run->journal, number);
		if (found != JOURNAL_FOUND_RECORD || entry.record.head.op != JOURNAL_RULED ||
		    (all ? entry.record.decision == RULE_ACTION_LOG
			 : entry.record.decision != RULE_ACTION_FAIL))
			continue;
		size_t length;
		const char *name = journal_bytes(run->journal, entry.record.other_path, &length);
		int at = 0;
		while (name && at < count &&
		       (rules[at].length != length || memcmp(rules[at].name, name, length) != 0))
			at++;
		if (!name || at == NAMED) {
			more = true;
			continue;
		}
		if (at == count) {
			rules[count].name = name;
			rules[count].length = length;
			rules[count++].count = 0;
		}
		rules[at].count++;
	}
	for (int i = 0; i < count; i++)
		append_text(sentence, "%s%.*s (%u)", i ? ", " : ": ", (int)rules[i].length,
			    rules[i].name, rules[i].count);
	if (count && more)
		append_text(sentence, " ...");
}

static void judge_rules(struct sentence *sentence, unsigned asked, const struct fail_on_run *run)
{
	const uint64_t *counters = run->sum->counters;
	uint64_t denied = counters[COUNTER_rules_denied];
	uint64_t hits = counters[COUNTER_rules_failed];
	char number[TEXT_NUMBER_BYTES];

	if (asked & FAIL_ON_RULE)
		hits += counters[COUNTER_rules_warned] + denied;
	if (!hits)
		return;
	find(sentence, EXIT_CODE_RULE, run->status);
	append_text(sentence, "%s access%s against rules", text_number(hits, number),
		    hits == 1 ? "" : "es");
	if ((asked & FAIL_ON_RULE) && denied)
		append_text(sentence, ", %s refused", text_number(denied, number));
	name_rules(sentence, asked & FAIL_ON_RULE, run);
	append_text(sentence, "; see `seen log --session %s --op ruled`", run->session);
}

static void judge_stale(struct sentence *sentence, const struct fail_on_run *run)
{
	const uint64_t *counters = run->sum->counters;
	uint64_t stale = counts_sum(counters, COUNT_STALE), denied = counters[COUNTER_stale_denied];
	char number[TEXT_NUMBER_BYTES];

	if (!stale)
		return;
	find(sentence, EXIT_CODE_STALE, run->status);
	append_text(sentence, "%s write%s over a change that the agent had not seen",
		    text_number(stale, number), text_plural(stale));
	if (denied)
		append_text(sentence, ", %s refused", text_number(denied, number));
	append_text(sentence, "; see `seen log --session %s --op guarded`", run->session);
}

/* only_unseen: what may have broken a rule unobserved. */
static void judge_coverage(struct sentence *sentence, const struct fail_on_run *run,
			   bool only_unseen)
{
	const struct coverage *coverage = &run->sum->coverage;
	uint64_t lost = coverage->lost_records > run->lost_before
				? coverage->lost_records - run->lost_before
				: 0;
	const struct {
		uint64_t count;
		const char *what;
		bool unseen;
	} holes[] = {
		{ coverage->unobserved, "not observed", true },
		{ coverage->partial, "observed in part", false },
		{ coverage->calls_unjudged, "calls not checked", true },
		{ coverage->without_journal, "could not write to the journal", false },
		{ lost, "records lost", false },
	};
	enum { NAMED = 2 };
	char number[TEXT_NUMBER_BYTES];
	bool is_first = true;

	for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++) {
		if (!holes[i].count || (only_unseen && !holes[i].unseen))
			continue;
		if (is_first)
			find(sentence, EXIT_CODE_INCOMPLETE, run->status);
		append_text(sentence, "%s%s %s", is_first ? "" : ", ",
			    text_number(holes[i].count, number), holes[i].what);
		is_first = false;
	}
	for (int i = 0; i < coverage->program_count && i < NAMED; i++)
		append_text(sentence, "%s%s: %s", i ? ", " : ": ", coverage->programs[i].name,
			    coverage->programs[i].reason);
	if (coverage->program_count > NAMED)
		append_text(sentence, " ...");
	if (!is_first)
		append_text(sentence, "; see `seen status --session %s`", run->session);
}

int fail_on_judge(unsigned asked, const struct fail_on_run *run, char *ret_line)
{
	struct sentence sentence = { .line = ret_line };

	ret_line[0] = '\0';
	judge_rules(&sentence, asked, run);
	if (asked & FAIL_ON_STALE)
		judge_stale(&sentence, run);
	if (asked & (FAIL_ON_UNOBSERVED | FAIL_ON_RULE))
		judge_coverage(&sentence, run, !(asked & FAIL_ON_UNOBSERVED));
	if ((asked & (FAIL_ON_ACTION | FAIL_ON_RULE)) && run->keeps_rules) {
		find(&sentence, EXIT_CODE_INCOMPLETE, run->status);
		append_text(&sentence, "session %s was in use, with rules of its own",
			    run->session);
	}
	return sentence.code ? sentence.code : run->status;
}

bool fail_on_rules_missed(const struct config *config, const struct coverage *coverage,
			  char *ret_line)
{
	enum { NAMED = 2 };
	struct sentence sentence = { .line = ret_line };
	const char *first = NULL;
	unsigned rules = 0;
	int named = 0;

	ret_line[0] = '\0';
	for (size_t i = 0; i < config_rule_count(config); i++) {
		const struct config_rule *rule = config_rule_at(config, i);
		uint64_t action = rule->values[RULE_OPTION_ACTION].number;
		if ((action != RULE_ACTION_DENY && action != RULE_ACTION_FAIL) ||
		    !config_rule_is_in_force(config, rule))
			continue;
		first = first ? first : rule->name;
		rules++;
	}
	if (!rules || !coverage->unobserved)
		return false;
	bool one = coverage->unobserved == 1;
	append_text(&sentence, "%llu program%s not observed (",
		    (unsigned long long)coverage->unobserved, one ? " was" : "s were");
	for (int i = 0; i < coverage->program_count && named < NAMED; i++)
		if (!coverage->programs[i].partly)
			append_text(&sentence, "%s%s: %s", named++ ? ", " : "",
				    coverage->programs[i].name, coverage->programs[i].reason);
	append_text(&sentence, "%s), so %s did not hold for %s: [rule %s]%s",
		    coverage->unobserved > NAMED ? ", ..." : "", rules > 1 ? "rules" : "a rule",
		    one ? "it" : "them", first, rules > 1 ? " ..." : "");
	return true;
}

int fail_on_blind(unsigned asked, const char *why, int status, char *ret_line)
{
	struct sentence sentence = { .line = ret_line };

	ret_line[0] = '\0';
	if (!asked)
		return status;
	find(&sentence, EXIT_CODE_INCOMPLETE, status);
	append_text(&sentence, "nothing was observed: %s", why);
	return sentence.code;
}
