/* What the session made of what was done: savings, conflicts, rules, runs and their coverage: see
 * report_rows.h. */
#include "cli/report/report_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/journal/event_class.h"
#include "cli/report/report_rows.h"
#include "tracker/answer/decision.h"
#include "tracker/content/contents.h"
#include "tracker/process/source.h"
#include "tracker/segment/tables.h"

_Static_assert((int)REPORT_KEPT_REASONS == (int)CONTENTS_REASON_COUNT, "one for each reason");

enum { COMMAND_BYTES = 1024 };

/* ---- what the session made of it ---- */

static void add_saved(struct report_saved *saved, const struct event *event)
{
	uint64_t amount = event->entry->record.amount;

	switch (event->op) {
	case JOURNAL_NOTICE:
		saved->notices++;
		report_add(&saved->notice_bytes, amount);
		break;
	case JOURNAL_DIFFED:
		saved->diffs++;
		report_add(&saved->diff_bytes, amount);
		break;
	case JOURNAL_YIELDED:
		saved->given_again++;
		break;
	case JOURNAL_GIVEN:
		saved->given++;
		report_add(&saved->given_bytes, amount);
		break;
	default:
		break;
	}
}

/* A reader's command is answered, unless it turns out that it could not be. */
static void add_request(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct report *report = gather->report;
	struct report_saved *saved = &report->saved;
	struct report_key *key;
	struct report_process *process = report_process_of(gather, event, &key);
	struct report_program *program = report_program_of(gather, event, key);

	if (event->op == JOURNAL_REQUEST && record->decision == DECISION_GIVEN_AGAIN)
		saved->given_again++;
	if (event->op == JOURNAL_REQUEST && record->decision == DECISION_NOTICE) {
		saved->commands++;
		report_add(&saved->command_bytes, record->amount);
		if (key) {
			key->is_answered = true;
			key->answered = report_count(record->amount);
		}
	}
	if (event->op != JOURNAL_EXEC_FAILED || !key || !key->is_answered)
		return;
	struct report_work *sums[] = { &report->work, &report->by_role[report_role_index(event)],
				       &process->work, program ? &program->work : NULL };
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		if (!sums[i])
			continue;
		sums[i]->notices--;
		sums[i]->bytes_saved -= key->answered;
	}
	saved->commands--;
	saved->command_bytes -= key->answered;
	key->is_answered = false;
}

static void add_conflict(struct report_gather *gather, const struct event *event,
			 enum report_conflict_kind kind)
{
	struct report *report = gather->report;
	const struct journal_entry *entry = event->entry;
	const char *path = event->resolved ? event->resolved : event->path ? event->path : "";
	struct report_conflict *more = report_grown(
		gather, report->conflicts, report->conflict_count, &gather->conflict_capacity,
		gather->limits->conflicts, sizeof(*more));
	if (!more) {
		report->conflicts_left_out++;
		return;
	}
	report->conflicts = more;
	more += report->conflict_count++;
	struct report_key *key;
	const struct report_program *program = report_process_of(gather, event, &key)
						       ? report_program_of(gather, event, key)
						       : NULL;
	*more = (struct report_conflict){
		.kind = kind,
		.number = event->number,
		.time_ns = event->time_realtime_ns,
		.path = strdup(path),
		.executable = program ? program->path : NULL,
		.verdict = (enum guard_verdict)entry->record.decision,
		.reason = (enum guard_reason)entry->record.reason,
		.degraded = entry->record.flags & JOURNAL_GUARDED_DEGRADED,
		.kept = kind == REPORT_GUARDED && (entry->record.flags & JOURNAL_GUARDED_KEPT),
		.change = entry->record.flags,
		.source = event->source,
	};
	if (entry->record.marks & JOURNAL_DETAILS)
		more->before = entry->details.before;
	gather->no_memory = gather->no_memory || !more->path;
}

static void add_writes(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct report_write_counts *writes = &gather->report->writes;

	switch (event->op) {
	case JOURNAL_GUARDED:
		/* A number that is none is a record of a later version. */
		if (record->reason >= REPORT_REASONS || record->decision >= REPORT_VERDICTS) {
			gather->report->unknown++;
			break;
		}
		writes->guarded[record->reason][record->decision]++;
		writes->degraded += (record->flags & JOURNAL_GUARDED_DEGRADED) != 0;
		if (record->decision != GUARD_PASS)
			add_conflict(gather, event, REPORT_GUARDED);
		break;
	case JOURNAL_CHANGED:
		if (!source_is_external(event->source))
			break;
		writes->changed += record->flags == 0;
		writes->added += record->flags == JOURNAL_CHANGED_ADDED;
		writes->deleted += record->flags == JOURNAL_CHANGED_DELETED;
		add_conflict(gather, event, REPORT_CHANGED);
		break;
	case JOURNAL_EDITED:
		writes->edited_by_agent += event->source == SOURCE_AGENT;
		writes->edited_by_tool += event->source == SOURCE_TOOL;
		break;
	case JOURNAL_KEPT:
		if (record->reason >= REPORT_KEPT_REASONS) {
			gather->report->unknown++;
			break;
		}
		writes->kept[record->reason]++;
		if (record->marks & JOURNAL_DETAILS)
			report_add(&writes->kept_bytes, event->entry->details.after.size_bytes);
		break;
	default:
		break;
	}
}

/* ---- rules ---- */

static void add_example(struct report_gather *gather, struct report_rule *rule, const char *path)
{
	size_t i = 0;

	while (i < REPORT_EXAMPLES && rule->examples[i] && strcmp(rule->examples[i], path) != 0)
		i++;
	if (i == REPORT_EXAMPLES || rule->examples[i])
		return;
	rule->examples[i] = strdup(path);
	gather->no_memory = gather->no_memory || !rule->examples[i];
}

static struct report_rule *rule_of(struct report_gather *gather, const char *name,
				   enum rule_action action)
{
	struct report *report = gather->report;

	for (size_t i = 0; i < report->rule_count; i++)
		if (report->rules[i].action == action && strcmp(report->rules[i].name, name) == 0)
			return &report->rules[i];
	struct report_rule *more = report_grown(gather, report->rules, report->rule_count,
						&gather->rule_capacity, gather->limits->rules,
						sizeof(*more));
	if (!more)
		return NULL;
	report->rules = more;
	more += report->rule_count;
	*more = (struct report_rule){ .name = strdup(name), .action = action };
	if (!more->name) {
		gather->no_memory = true;
		return NULL;
	}
	report->rule_count++;
	return more;
}

static void add_rule(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	const char *path = event->resolved ? event->resolved : event->path;
	struct report *report = gather->report;

	if (record->decision > RULE_ACTION_DENY) { /* of a later version */
		report->unknown++;
		return;
	}
	report->ruled[record->decision]++;
	struct report_rule *rule = rule_of(gather, event->other ? event->other : "?",
					   (enum rule_action)record->decision);
	if (!rule) {
		report->rules_left_out++;
		return;
	}
	rule->count++;
	rule->accesses |= record->flags & RULE_ANY;
	if (!rule->first_ns)
		rule->first_ns = event->time_realtime_ns;
	rule->last_ns = event->time_realtime_ns;
	if (path)
		add_example(gather, rule, path);
}

static int strictest_first(const void *a, const void *b)
{
	const struct report_rule *left = a, *right = b;

	if (left->action != right->action)
		return left->action > right->action ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* ---- runs, and what they did not see ---- */

/* Arguments with spaces between.  Owned by the caller; NULL: no memory. */
static char *command_of(const struct event *event)
{
	char text[COMMAND_BYTES];
	size_t used = 0, at = 0;

	text[0] = '\0';
	while (event->other && at < event->other_bytes && used + 1 < sizeof(text)) {
		const char *argument = event->other + at;
		int printed = snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "",
				       argument);
		used += (size_t)printed;
		at += strlen(argument) + 1;
	}
	return strdup(text[0] ? text : event->path ? event->path : "");
}

static void add_run(struct report_gather *gather, const struct event *event)
{
	struct report *report = gather->report;
	struct report_run *more = report_grown(gather, report->runs, report->run_count,
					       &gather->run_capacity, gather->limits->runs,
					       sizeof(*more));
	if (!more) {
		report->runs_left_out++;
		return;
	}
	report->runs = more;
	more += report->run_count++;
	*more = (struct report_run){ .start_ns = event->time_realtime_ns,
				     .command = command_of(event) };
	gather->no_memory = gather->no_memory || !more->command;
}

static void add_coverage(struct report_gather *gather, const struct event *event)
{
	const struct journal_coverage *reported = &event->entry->coverage;
	struct report *report = gather->report;
	struct report_coverage *coverage = &report->coverage;
	struct report_run *open = NULL;
	size_t count = 0;

	coverage->runs++;
	report_add(&coverage->observed, reported->observed);
	report_add(&coverage->unobserved, reported->unobserved);
	report_add(&coverage->partial, reported->partial);
	report_add(&coverage->unattached, reported->unattached);
	report_add(&coverage->opens, reported->opens);
	report_add(&coverage->without_journal, reported->without_journal);
	for (size_t i = 0; i < report->run_count; i++) {
		if (report->runs[i].end_ns)
			continue;
		open = &report->runs[i];
		count++;
	}
	/* Of several at once it is not known which one ends here. */
	if (count == 1 && !report->runs_left_out)
		open->end_ns = event->time_realtime_ns;
}

static void add_unobserved(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	const char *program = event->program ? event->program : "?";
	const char *reason = event->other ? event->other : "not known";
	bool partly = record->flags & JOURNAL_UNOBSERVED_PARTLY;
	struct report *report = gather->report;

	for (size_t i = 0; i < report->unobserved_count; i++) {
		struct report_unobserved *row = &report->unobserved[i];
		if (row->partly == partly && strcmp(row->program, program) == 0 &&
		    strcmp(row->reason, reason) == 0) {
			row->count += record->count;
			return;
		}
	}
	struct report_unobserved *more = report_grown(
		gather, report->unobserved, report->unobserved_count, &gather->unobserved_capacity,
		gather->limits->unobserved, sizeof(*more));
	if (!more) {
		report->unobserved_left_out++;
		return;
	}
	report->unobserved = more;
	more += report->unobserved_count;
	*more = (struct report_unobserved){ .program = strdup(program),
					    .reason = strdup(reason),
					    .partly = partly,
					    .count = record->count };
	if (more->program && more->reason) {
		report->unobserved_count++;
		return;
	}
	free(more->program);
	free(more->reason);
	gather->no_memory = true;
}

void report_session_add(struct report_gather *gather, const struct event *event)
{
	add_writes(gather, event);
	add_request(gather, event);
	if (!event->error)
		add_saved(&gather->report->saved, event);
	if (event_begins_run(event))
		add_run(gather, event);
	else if (event->op == JOURNAL_RULED)
		add_rule(gather, event);
	else if (event->op == JOURNAL_COVERAGE)
		add_coverage(gather, event);
	else if (event->op == JOURNAL_UNOBSERVED)
		add_unobserved(gather, event);
}

void report_session_finish(struct report *report)
{
	if (report->rule_count)
		qsort(report->rules, report->rule_count, sizeof(*report->rules), strictest_first);
}
