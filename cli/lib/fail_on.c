/* What makes `seen run` end with a status of its own: see fail_on.h. */
#include "cli/lib/fail_on.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/lib/exit_code.h"
#include "cli/lib/text.h"

/* The line as it is put together. */
struct telling {
	char *line;
	size_t used;
	int code;
};

__attribute__((format(printf, 2, 3))) static void tell(struct telling *telling, const char *format,
						       ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(telling->line + telling->used, FAIL_ON_LINE_BYTES - telling->used,
			       format, arguments);
	va_end(arguments);
	if (length > 0)
		telling->used += (size_t)length;
	if (telling->used >= FAIL_ON_LINE_BYTES)
		telling->used = FAIL_ON_LINE_BYTES - 1;
}

unsigned fail_on_asked(const struct config *config)
{
	unsigned asked = 0;

	if (config_has_word(config, OPTION_rules_fail_on, "rule"))
		asked |= FAIL_ON_RULE;
	if (config_has_word(config, OPTION_rules_fail_on, "stale"))
		asked |= FAIL_ON_STALE;
	if (config_has_word(config, OPTION_rules_fail_on, "unobserved"))
		asked |= FAIL_ON_UNOBSERVED;
	return asked;
}

/* Begins the line with the first finding's code, and every further one with a semicolon. */
static void find(struct telling *telling, int code, int status)
{
	if (telling->code) {
		tell(telling, "; ");
		return;
	}
	telling->code = code;
	tell(telling, "status %d, the command's own was %d: ", code, status);
}

static void judge_stale(struct telling *telling, const uint64_t *counters, const char *session,
			int status)
{
	uint64_t warned = counters[COUNTER_stale_warned], denied = counters[COUNTER_stale_denied];
	char number[TEXT_NUMBER_BYTES];

	if (!warned && !denied)
		return;
	find(telling, EXIT_CODE_STALE, status);
	tell(telling, "%s write%s over a change that the agent had not seen",
	     text_number(warned + denied, number), warned + denied == 1 ? "" : "s");
	if (denied)
		tell(telling, ", %s refused", text_number(denied, number));
	tell(telling, " (`seen log --session %s --op guarded`)", session);
}

static void judge_coverage(struct telling *telling, const struct coverage *coverage,
			   uint64_t lost_before, const char *session, int status)
{
	const struct {
		uint64_t count;
		const char *what;
	} holes[] = {
		{ coverage->unobserved, "not observed" },
		{ coverage->partial, "observed in part" },
		{ coverage->calls_unjudged, "calls let pass without a look" },
		{ coverage->without_journal, "could not write to the journal" },
		{ coverage->lost_records - lost_before, "records lost" },
	};
	enum { NAMED = 2 };
	char number[TEXT_NUMBER_BYTES];
	bool is_first = true;

	for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++) {
		if (!holes[i].count)
			continue;
		if (is_first)
			find(telling, EXIT_CODE_INCOMPLETE, status);
		tell(telling, "%s%s %s", is_first ? "" : ", ", text_number(holes[i].count, number),
		     holes[i].what);
		is_first = false;
	}
	for (int i = 0; i < coverage->program_count && i < NAMED; i++)
		tell(telling, "%s%s: %s", i ? ", " : ": ", coverage->programs[i].name,
		     coverage->programs[i].reason);
	if (coverage->program_count > NAMED)
		tell(telling, " ...");
	if (!is_first)
		tell(telling, " (`seen status --session %s`)", session);
}

int fail_on_judge(unsigned asked, const struct summary *sum, uint64_t lost_before,
		  const char *session, int status, char *ret_line)
{
	struct telling telling = { .line = ret_line };

	ret_line[0] = '\0';
	if (asked & FAIL_ON_STALE)
		judge_stale(&telling, sum->counters, session, status);
	if (asked & FAIL_ON_UNOBSERVED)
		judge_coverage(&telling, &sum->coverage, lost_before, session, status);
	return telling.code ? telling.code : status;
}

int fail_on_blind(unsigned asked, const char *why, int status, char *ret_line)
{
	struct telling telling = { .line = ret_line };

	ret_line[0] = '\0';
	if (!asked)
		return status;
	find(&telling, EXIT_CODE_INCOMPLETE, status);
	tell(&telling, "nothing was observed: %s", why);
	return telling.code;
}
