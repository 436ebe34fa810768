/* Gathering what a session amounted to: see report.h. */
#include "cli/lib/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/lib/event_filter.h"
#include "cli/lib/report_internal.h"
#include "cli/lib/tokens.h"
#include "tracker/contents.h"
#include "tracker/decision.h"
#include "tracker/tables.h"

_Static_assert((int)REPORT_KEPT_REASONS == (int)CONTENTS_REASON_COUNT, "one for each reason");

const struct report_limits REPORT_LIMITS = { .files = 65536,
					     .file_bytes = 16 << 20,
					     .processes = 65536,
					     .programs = 4096,
					     .conflicts = 4096,
					     .rules = 512,
					     .runs = 1024,
					     .unobserved = 512 };

enum { COMMAND_BYTES = 1024 };

/* What an event does, before it is known by whom and with which file. */
struct deed {
	struct report_work work;
	bool is_access; /* with a file that has a name */
	bool is_seen;   /* its content was asked for */
	bool is_change; /* the file is not what it was */
};

/* ---- one event ---- */

static struct deed of_open(uint32_t flags)
{
	struct deed deed = { .is_access = true };

	/* One without a name: its path is a folder's. */
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		deed.is_access = false;
		deed.work.opens_write = 1;
		return deed;
	}
	if (flags & (O_DIRECTORY | O_PATH)) {
		deed.is_access = false;
		return deed;
	}
	uint32_t mode = flags & O_ACCMODE;
	deed.is_seen = mode == O_RDONLY || mode == O_RDWR;
	deed.is_change = mode == O_WRONLY || mode == O_RDWR || (flags & O_TRUNC);
	deed.work.opens_read = deed.is_seen;
	deed.work.opens_write = deed.is_change;
	return deed;
}

static struct deed deed_of(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct deed deed = { .is_access = true };

	switch (event->op) {
	case JOURNAL_OPEN:
		return of_open(record->flags);
	case JOURNAL_LIST:
		deed.is_access = false;
		deed.work.listings = 1;
		break;
	case JOURNAL_READ:
	case JOURNAL_READ_TOTAL:
		deed.work.bytes_read = report_stream_bytes(gather, event);
		deed.work.read_more = record->marks & JOURNAL_AT_LEAST;
		break;
	case JOURNAL_WRITE:
	case JOURNAL_WRITE_TOTAL:
		deed.work.bytes_written = report_stream_bytes(gather, event);
		deed.work.written_more = record->marks & JOURNAL_AT_LEAST;
		deed.is_change = true;
		break;
	case JOURNAL_MAP:
		deed.work.maps = 1;
		break;
	case JOURNAL_CREATE:
		deed.is_access = S_ISREG(record->flags);
		deed.work.changes = 1;
		break;
	case JOURNAL_DELETE:
		deed.is_access = !(record->flags & AT_REMOVEDIR);
		/* fall through */
	case JOURNAL_RENAME:
	case JOURNAL_LINK:
	case JOURNAL_SYMLINK:
	case JOURNAL_TRUNCATE:
		deed.is_change = true;
		/* fall through */
	case JOURNAL_METADATA:
		deed.work.changes = 1;
		break;
	case JOURNAL_NOTICE:
	case JOURNAL_DIFFED:
		deed.work.notices = 1;
		deed.work.bytes_saved = report_count(record->amount);
		break;
	case JOURNAL_REQUEST:
		deed.is_access = false;
		if (record->decision == DECISION_NOTICE) {
			deed.work.notices = 1;
			deed.work.bytes_saved = report_count(record->amount);
		}
		break;
	case JOURNAL_EDITED:
	case JOURNAL_CHANGED:
		deed.is_change = true;
		break;
	case JOURNAL_YIELDED:
	case JOURNAL_GIVEN:
		break;
	default:
		deed.is_access = false;
		break;
	}
	return deed;
}

static void add_work(struct report_work *sum, const struct report_work *work)
{
	report_add(&sum->opens_read, work->opens_read);
	report_add(&sum->opens_write, work->opens_write);
	report_add(&sum->bytes_read, work->bytes_read);
	report_add(&sum->bytes_written, work->bytes_written);
	report_add(&sum->listings, work->listings);
	report_add(&sum->changes, work->changes);
	report_add(&sum->maps, work->maps);
	report_add(&sum->notices, work->notices);
	report_add(&sum->bytes_saved, work->bytes_saved);
	report_add(&sum->failed, work->failed);
	sum->read_more = sum->read_more || work->read_more;
	sum->written_more = sum->written_more || work->written_more;
}

static size_t role_index(const struct event *event)
{
	return event->role >= 0 ? (size_t)event->role : REPORT_ROLE_UNKNOWN;
}

static bool looks(int role)
{
	return role == ROLE_AGENT || role == ROLE_SHELL || role == ROLE_VIEWER ||
	       role == ROLE_READER;
}

static void add_to_file(struct report_gather *gather, const struct event *event,
			const struct deed *deed, const char *path)
{
	struct report_file *file = report_file_of(gather, path, event);

	if (!file)
		return;
	add_work(&file->work, &deed->work);
	if (deed->is_seen && looks(event->role) && report_file_seen(gather, file, event->scope_id))
		file->repeats++;
	if (deed->is_change)
		report_file_changed(gather, file);
	file->edits += event->op == JOURNAL_EDITED;
	file->changed += event->op == JOURNAL_CHANGED;
	file->yielded += event->op == JOURNAL_YIELDED;
	if (event->op == JOURNAL_GIVEN) {
		file->given++;
		report_add(&file->bytes_given, event->entry->record.amount);
	}
}

static void take_work(struct report_gather *gather, const struct event *event)
{
	struct report *report = gather->report;
	struct report_key *key;
	struct report_process *process = report_process_of(gather, event, &key);
	struct report_program *program = report_program_of(gather, event, key);
	struct deed deed = { .work.failed = 1 };

	if (!event->error)
		deed = deed_of(gather, event);
	add_work(&report->work, &deed.work);
	add_work(&report->by_role[role_index(event)], &deed.work);
	if (process) {
		add_work(&process->work, &deed.work);
		if (event->time_realtime_ns > process->last_ns)
			process->last_ns = event->time_realtime_ns;
	}
	if (program)
		add_work(&program->work, &deed.work);
	if (!deed.is_access)
		return;
	if (!event->resolved) {
		report->unresolved++;
		return;
	}
	if (report->workspace && !event_path_below(report->workspace, event->resolved, false) &&
	    !report_is_nowhere(event->resolved))
		add_work(&report->outside_workspace, &deed.work);
	add_to_file(gather, event, &deed, event->resolved);
	if (event->other_resolved)
		add_to_file(gather, event, &deed, event->other_resolved);
}

/* ---- what the session made of it ---- */

static void take_saved(struct report_saved *saved, const struct event *event)
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
		saved->yielded++;
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
static void take_request(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct report *report = gather->report;
	struct report_saved *saved = &report->saved;
	struct report_key *key;
	struct report_process *process = report_process_of(gather, event, &key);
	struct report_program *program = report_program_of(gather, event, key);

	if (event->op == JOURNAL_REQUEST && record->decision == DECISION_YIELDED)
		saved->yielded++;
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
	struct report_work *sums[] = { &report->work, &report->by_role[role_index(event)],
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

static void take_conflict(struct report_gather *gather, const struct event *event,
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

static void take_writes(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct report_writes *writes = &gather->report->writes;

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
			take_conflict(gather, event, REPORT_GUARDED);
		break;
	case JOURNAL_CHANGED:
		writes->changed += record->flags == 0;
		writes->added += record->flags == JOURNAL_CHANGED_ADDED;
		writes->deleted += record->flags == JOURNAL_CHANGED_DELETED;
		take_conflict(gather, event, REPORT_CHANGED);
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

static void take_rule(struct report_gather *gather, const struct event *event)
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

static void take_run(struct report_gather *gather, const struct event *event)
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

static void take_coverage(struct report_gather *gather, const struct event *event)
{
	const struct journal_coverage *told = &event->entry->coverage;
	struct report *report = gather->report;
	struct report_coverage *coverage = &report->coverage;
	struct report_run *open = NULL;
	size_t count = 0;

	coverage->runs++;
	report_add(&coverage->observed, told->observed);
	report_add(&coverage->unobserved, told->unobserved);
	report_add(&coverage->partial, told->partial);
	report_add(&coverage->unattached, told->unattached);
	report_add(&coverage->opens, told->opens);
	report_add(&coverage->without_journal, told->without_journal);
	for (size_t i = 0; i < report->run_count; i++) {
		if (report->runs[i].end_ns)
			continue;
		open = &report->runs[i];
		count++;
	}
	/* Of several at once nobody says which one ends here. */
	if (count == 1 && !report->runs_left_out)
		open->end_ns = event->time_realtime_ns;
}

static void take_unobserved(struct report_gather *gather, const struct event *event)
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

/* ---- all events ---- */

static void take_process(struct report_gather *gather, const struct event *event)
{
	struct report_process *process;
	struct report_key *key;

	switch (event->op) {
	case JOURNAL_START:
	case JOURNAL_FORK:
		if (event->entry->record.head.units > 1)
			report_process_begin(gather, event);
		break;
	case JOURNAL_EXIT:
		process = event->vforked ? NULL : report_process_of(gather, event, &key);
		if (!process)
			break;
		process->end_ns = event->time_realtime_ns;
		process->status = event->entry->record.amount;
		process->has_status = true;
		break;
	default:
		break;
	}
}

/* The first program of a run is announced by `seen run`, which is no process of the session. */
static bool is_run(const struct event *event)
{
	return event->op == JOURNAL_EXEC && event->entry->record.process == 0 && !event->attempted;
}

static void take(struct report_gather *gather, const struct event *event)
{
	struct report *report = gather->report;
	uint64_t time_ns = event->time_realtime_ns;

	report->events++;
	if (event->op >= EVENT_OP_COUNT) { /* of a later version */
		report->unknown++;
		return;
	}
	report->by_op[event->op]++;
	if (!event->entry)
		return;
	report->failed_by_op[event->op] += event->error != 0;
	report->denied += event_is_denied(event);
	report->attempted += event->attempted;
	if (time_ns && (!report->start_ns || time_ns < report->start_ns))
		report->start_ns = time_ns;
	if (time_ns > report->end_ns)
		report->end_ns = time_ns;
	take_process(gather, event);
	/* What was said of an access is none of its own. */
	if (event->op != JOURNAL_GUARDED && event->op != JOURNAL_RULED)
		take_work(gather, event);
	take_writes(gather, event);
	take_request(gather, event);
	if (!event->error)
		take_saved(&report->saved, event);
	if (is_run(event))
		take_run(gather, event);
	else if (event->op == JOURNAL_RULED)
		take_rule(gather, event);
	else if (event->op == JOURNAL_COVERAGE)
		take_coverage(gather, event);
	else if (event->op == JOURNAL_UNOBSERVED)
		take_unobserved(gather, event);
	if (gather->unheeded)
		unheeded_take(gather->unheeded, event);
}

/* ---- the whole ---- */

/* What the journal says of itself. */
static int read_names(struct report *report, const struct events *events)
{
	const struct journal_header *header = events_header(events);
	const char *workspace = events_workspace(events);

	report->names[0] = strndup(header->name, sizeof(header->name));
	report->names[1] = workspace ? strdup(workspace) : NULL;
	report->session = report->names[0];
	report->workspace = report->names[1];
	return report->session && (!workspace || report->workspace) ? 0 : -ENOMEM;
}

static void add_up(struct report *report, const struct events_counts *counts)
{
	struct report_saved *saved = &report->saved;

	report_add(&saved->bytes, saved->notice_bytes);
	report_add(&saved->bytes, saved->diff_bytes);
	report_add(&saved->bytes, saved->command_bytes);
	if (report->rule_count)
		qsort(report->rules, report->rule_count, sizeof(*report->rules), strictest_first);
	saved->tokens = tokens_of_bytes(saved->bytes);
	report_add(&report->coverage.lost, counts->lost);
	report->coverage.undone = counts->undone;
	report->coverage.damaged = counts->damaged;
}

static int read_journal(struct report_gather *gather, const char *path)
{
	struct events *events;
	struct event event;
	int error = events_open(path, false, &events);

	if (error < 0)
		return error;
	error = read_names(gather->report, events);
	if (error == 0)
		error = report_rows_begin(gather);
	for (enum events_found found;
	     error == 0 && (found = events_next(events, &event)) != EVENTS_END;)
		if (found == EVENTS_UNDONE)
			events_pass(events);
		else
			take(gather, &event);
	struct events_counts counts = events_counts(events);
	gather->report->end = events_position(events);
	add_up(gather->report, &counts);
	events_close(events);
	report_rows_end(gather);
	return error == 0 && gather->no_memory ? -ENOMEM : error;
}

/* Is it what was sealed? */
static void verify(struct report *report, const char *journal)
{
	struct verified *verified = &report->verified;
	const char *path;

	if (snprintf(verified->journal_path, sizeof(verified->journal_path), "%s", journal) >=
		    (int)sizeof(verified->journal_path) ||
	    seal_path(journal, verified->seal_path, sizeof(verified->seal_path)) < 0)
		report->verify_error = -ENAMETOOLONG;
	else
		report->verify_error = verified_compare(verified, NULL, &path);
}

int report_gather(const char *journal, const struct segment *segment,
		  const struct report_limits *limits, struct report *ret_report)
{
	struct report_gather gather = { .report = ret_report,
					.limits = limits ? limits : &REPORT_LIMITS };

	*ret_report = (struct report){ .has_segment = segment };
	if (segment && !(gather.unheeded = unheeded_new(segment)))
		return -ENOMEM;
	int error = read_journal(&gather, journal);
	if (segment) {
		int found = unheeded_answer(gather.unheeded, &ret_report->unheeded);
		error = error < 0 ? error : found;
		for (int i = 0; i < COUNTER_COUNT; i++)
			ret_report->counters[i] = segment_counter(segment, (enum counter)i);
	}
	if (error == 0)
		verify(ret_report, journal);
	return error;
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->file_count; i++)
		free(report->files[i].path);
	for (size_t i = 0; i < report->program_count; i++)
		free(report->programs[i].path);
	for (size_t i = 0; i < report->conflict_count; i++)
		free(report->conflicts[i].path);
	for (size_t i = 0; i < report->rule_count; i++) {
		free(report->rules[i].name);
		for (int j = 0; j < REPORT_EXAMPLES; j++)
			free(report->rules[i].examples[j]);
	}
	free(report->rules);
	for (size_t i = 0; i < report->run_count; i++)
		free(report->runs[i].command);
	for (size_t i = 0; i < report->unobserved_count; i++) {
		free(report->unobserved[i].program);
		free(report->unobserved[i].reason);
	}
	free(report->files);
	free(report->programs);
	free(report->processes);
	free(report->conflicts);
	free(report->runs);
	free(report->unobserved);
	free(report->names[0]);
	free(report->names[1]);
	unheeded_free(&report->unheeded);
	verified_destroy(&report->verified);
}
