/* Gathering what a session amounted to: see report.h. */
#include "cli/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/executable.h"
#include "cli/base/tokens.h"
#include "cli/journal/event_filter.h"
#include "cli/report/report_fate.h"
#include "cli/report/report_rows.h"
#include "cli/report/report_session.h"
#include "cli/session/counts.h"
#include "cli/session/store_conversations.h"
#include "tracker/answer/decision.h"
#include "tracker/content/pack_name.h"
#include "tracker/process/source.h"
#include "tracker/segment/tables.h"

const struct report_limits REPORT_LIMITS = { .files = 65536,
					     .file_bytes = 16 << 20,
					     .processes = 65536,
					     .programs = 4096,
					     .conflicts = 4096,
					     .rules = 512,
					     .runs = 1024,
					     .unobserved = 512,
					     .commands = 16384 };

/* What an event does, before it is known by whom and with which file. */
struct change {
	struct report_work work;
	bool is_access; /* with a file that has a name */
	bool is_seen;   /* its content was asked for */
	bool is_change; /* the file is not what it was */
};

/* ---- one event ---- */

static struct change of_open(uint32_t flags)
{
	struct change change = { .is_access = true };

	/* One without a name: its path is a directory's. */
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		change.is_access = false;
		change.work.opens_write = 1;
		return change;
	}
	if (flags & (O_DIRECTORY | O_PATH)) {
		change.is_access = false;
		return change;
	}
	uint32_t mode = flags & O_ACCMODE;
	change.is_seen = mode == O_RDONLY || mode == O_RDWR;
	change.is_change = mode == O_WRONLY || mode == O_RDWR || (flags & O_TRUNC);
	change.work.opens_read = change.is_seen;
	change.work.opens_write = change.is_change;
	return change;
}

static struct change change_of(struct report_gather *gather, const struct event *event)
{
	const struct journal_record *record = &event->entry->record;
	struct change change = { .is_access = true };

	switch ((enum op_effect)op_info(event->op)->effect) {
	case EFFECT_OPENS:
		change = of_open(record->flags);
		/* A supervisor sees no reads and writes: how much passed is not known. */
		change.work.read_more = event->attempted && change.work.opens_read;
		change.work.written_more = event->attempted && change.work.opens_write;
		return change;
	case EFFECT_LISTS:
		change.is_access = false;
		change.work.listings = 1;
		break;
	case EFFECT_READS:
		change.work.bytes_read = report_stream_bytes(gather, event);
		change.work.read_more = record->marks & JOURNAL_AT_LEAST;
		break;
	case EFFECT_WRITES:
		change.work.bytes_written = report_stream_bytes(gather, event);
		change.work.written_more = record->marks & JOURNAL_AT_LEAST;
		change.is_change = true;
		break;
	case EFFECT_MAPS:
		change.work.maps = 1;
		break;
	case EFFECT_CREATES:
		change.is_access = S_ISREG(record->flags);
		change.work.changes = 1;
		break;
	case EFFECT_DELETES:
		change.is_access = !(record->flags & AT_REMOVEDIR);
		__attribute__((fallthrough));
	case EFFECT_RENAMES:
	case EFFECT_LINKS:
	case EFFECT_SYMLINKS:
	case EFFECT_RESIZES:
		change.is_change = true;
		__attribute__((fallthrough));
	case EFFECT_SETS:
		change.work.changes = 1;
		break;
	case EFFECT_ANSWERS:
	case EFFECT_DIFFS:
		change.work.notices = 1;
		change.work.bytes_saved = report_count(record->amount);
		break;
	case EFFECT_COMMANDS:
		change.is_access = false;
		if (record->decision == DECISION_NOTICE) {
			change.work.notices = 1;
			change.work.bytes_saved = report_count(record->amount);
		}
		break;
	case EFFECT_EDITS:
	case EFFECT_CHANGES:
		change.is_change = true;
		break;
	case EFFECT_YIELDS:
	case EFFECT_GIVES:
		break;
	case EFFECT_NONE:
	case EFFECT_MENTIONS:
	case EFFECT_STARTS:
	case EFFECT_FORKS:
	case EFFECT_ANNOUNCES:
	case EFFECT_WITHDRAWS:
	case EFFECT_ENDS:
	case EFFECT_ENTERS:
	case EFFECT_JUDGES:
	case EFFECT_RULES:
	case EFFECT_FORGETS:
		change.is_access = false;
		break;
	}
	return change;
}

/* An event's: what is counted by ones is far from the largest number. */
static void add_work(struct report_work *sum, const struct report_work *work)
{
	sum->opens_read += work->opens_read;
	sum->opens_write += work->opens_write;
	sum->listings += work->listings;
	sum->changes += work->changes;
	sum->maps += work->maps;
	sum->notices += work->notices;
	sum->failed += work->failed;
	report_add(&sum->bytes_read, work->bytes_read);
	report_add(&sum->bytes_written, work->bytes_written);
	report_add(&sum->bytes_saved, work->bytes_saved);
	sum->read_more = sum->read_more || work->read_more;
	sum->written_more = sum->written_more || work->written_more;
}

static void add_to_file(struct report_gather *gather, const struct event *event,
			const struct change *change, struct report_file *file, bool is_second)
{
	unsigned effect = op_info(event->op)->effect;

	if (!file)
		return;
	add_work(&file->work, &change->work);
	if (change->is_seen && role_is_of_agent(event->role) &&
	    report_file_seen(gather, file, event->scope_id))
		file->repeats++;
	if (change->is_change)
		report_file_changed(gather, file);
	report_file_action(gather, file, event, is_second);
	file->edits += effect == EFFECT_EDITS;
	file->changed += effect == EFFECT_CHANGES && source_is_external(event->source);
	file->given_again += effect == EFFECT_YIELDS;
	if (effect == EFFECT_GIVES) {
		file->given++;
		report_add(&file->bytes_given, event->entry->record.amount);
	}
}

/* Bubblewrap builds a sandbox's root below a name of its own, and goes there: no file of this
 * machine's. */
static bool is_in_new_root(const struct report_process *process, const char *path)
{
	static const char PROGRAM[] = "/bwrap";
	const char *executable = process && process->executable ? process->executable : "";
	size_t length = strlen(executable);

	return length >= sizeof(PROGRAM) - 1 &&
	       strcmp(executable + length - (sizeof(PROGRAM) - 1), PROGRAM) == 0 &&
	       event_path_in_new_root(path);
}

/* A hook of ours that an agent runs keeps what that one reports in the session's directories, and in that
 * of conversations: no work of the agent's.  What another program does there is. */
static bool is_own_record(const struct report_gather *gather, const struct report_process *process,
			  const char *path)
{
	const struct report_places *places = &gather->places;

	return places->session[0] && process && process->executable &&
	       (event_path_below(places->session, path, false) ||
		event_path_below(places->conversations, path, false) ||
		strstr(path, places->runtime)) &&
	       executable_is_own(process->executable);
}

/* path: of the journal. */
static void find_places(const char *path, struct report_places *ret_places)
{
	const char *file = strrchr(path, '/');
	const char *name = file ? memrchr(path, '/', (size_t)(file - path)) : NULL;

	if (!name || snprintf(ret_places->conversations, sizeof(ret_places->conversations),
			      "%.*s/" STORE_CONVERSATIONS, (int)(name - path),
			      path) >= (int)sizeof(ret_places->conversations))
		return;
	(void)snprintf(ret_places->session, sizeof(ret_places->session), "%.*s", (int)(file - path),
		       path);
	(void)snprintf(ret_places->runtime, sizeof(ret_places->runtime), "/seen%.*s/",
		       (int)(file - name), name);
}

static void add_event_work(struct report_gather *gather, const struct event *event)
{
	struct report *report = gather->report;
	struct report_key *key;
	struct report_process *process = report_process_of(gather, event, &key);
	struct report_program *program = report_program_of(gather, event, key);
	struct change change = { .work.failed = 1 };

	if (!event->error)
		change = change_of(gather, event);
	add_work(&report->work, &change.work);
	add_work(&report->by_role[report_role_index(event)], &change.work);
	if (process) {
		add_work(&process->work, &change.work);
		if (event->time_realtime_ns > process->last_ns)
			process->last_ns = event->time_realtime_ns;
	}
	if (program)
		add_work(&program->work, &change.work);
	if (!change.is_access)
		return;
	if (!event->resolved) {
		report->unresolved++;
		return;
	}
	if (is_in_new_root(process, event->resolved) ||
	    is_own_record(gather, process, event->resolved))
		return;
	struct report_file *file = report_file_of(gather, event->resolved, event);
	if ((file ? file->fold : report_fold_of(gather, event->resolved)) == REPORT_STATE)
		add_work(&report->agent_state, &change.work);
	else if (report->workspace &&
		 !event_path_below(report->workspace, event->resolved, false) &&
		 !report_is_nowhere(event->resolved))
		add_work(&report->elsewhere, &change.work);
	add_to_file(gather, event, &change, file, false);
	if (event->other_resolved)
		add_to_file(gather, event, &change,
			    report_file_of(gather, event->other_resolved, event), true);
}

/* ---- all events ---- */

static void add_process(struct report_gather *gather, const struct event *event)
{
	unsigned effect = op_info(event->op)->effect;
	struct report_process *process;
	struct report_key *key;

	if (effect == EFFECT_STARTS || effect == EFFECT_FORKS) {
		if (event->entry->record.head.units > 1)
			report_process_start(gather, event);
	} else if (effect == EFFECT_ENDS) {
		process = event->vforked ? NULL : report_process_of(gather, event, &key);
		if (!process)
			return;
		process->end_ns = event->time_realtime_ns;
		process->status = event->entry->record.amount;
		process->has_status = true;
	}
}

static void add(struct report_gather *gather, const struct event *event)
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
	add_process(gather, event);
	/* A judgement of an access is no access of its own. */
	unsigned effect = op_info(event->op)->effect;
	if (effect != EFFECT_JUDGES && effect != EFFECT_RULES)
		add_event_work(gather, event);
	report_session_add(gather, event);
	if (gather->missed)
		missed_add(gather->missed, event);
}

/* ---- the whole ---- */

/* The journal's own header. */
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
	report_session_finish(report);
	saved->tokens = tokens_of_bytes(saved->bytes);
	report_add(&report->coverage.lost, counts->lost);
	report->coverage.undone = counts->undone;
	report->coverage.damaged = counts->damaged;
}

/* Where a journal's undo records lie: beside it.  NULL: the path is too long. */
static const char *undo_of(const char *journal, char *ret_path)
{
	const char *slash = strrchr(journal, '/');
	int length = snprintf(ret_path, PATH_MAX, "%.*s%s", slash ? (int)(slash + 1 - journal) : 0,
			      journal, PACK_DIRECTORY);
	return length < PATH_MAX ? ret_path : NULL;
}

/* The events, each read once for all that is reported.  undo: NULL: without its steps. */
static int read_events(struct report_gather *gather, struct events *events, const char *path,
		       const char *undo)
{
	struct steps *steps = &gather->report->steps;
	struct event event;
	int error = undo ? steps_start(steps) : 0;

	for (enum events_found found;
	     error == 0 && (found = events_next(events, &event)) != EVENTS_END;) {
		if (found == EVENTS_UNDONE) {
			events_pass(events);
			continue;
		}
		add(gather, &event);
		if (undo)
			steps_add(steps, &event);
	}
	return error == 0 && undo ? steps_finish(steps, events, path, undo) : error;
}

static int read_journal(struct report_gather *gather, const char *path)
{
	char undo[PATH_MAX];
	struct events *events;

	find_places(path, &gather->places);
	int error = events_open(path, false, &events);

	if (error < 0)
		return error;
	error = read_names(gather->report, events);
	if (error == 0)
		error = report_rows_init(gather);
	if (error == 0)
		error = read_events(gather, events, path,
				    gather->report->workspace ? undo_of(path, undo) : NULL);
	if (error == 0)
		error = events_error(events);
	struct events_counts counts = events_counts(events);
	gather->report->end = events_position(events);
	add_up(gather->report, &counts);
	events_close(events);
	report_rows_finish(gather);
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

/* What its steps changed. */
static int add_story(struct report *report, const char *journal)
{
	char undo[PATH_MAX];

	if (!report->steps.table)
		return 0;
	int error = story_make(&report->steps, undo_of(journal, undo), report->workspace, NULL, 0,
			       &report->story);
	report->story_error = error == -ENOMEM ? 0 : error;
	/* Records of another user are not believed; the rest of the report is. */
	return error == -ENOMEM ? error : 0;
}

int report_gather(const char *journal, const struct segment *segment,
		  const struct report_limits *limits, const struct config_globs *state,
		  struct report *ret_report)
{
	struct report_gather gather = { .report = ret_report,
					.limits = limits ? limits : &REPORT_LIMITS,
					.state = state };

	*ret_report = (struct report){ .has_segment = segment };
	if (segment && !(gather.missed = missed_new(segment)))
		return -ENOMEM;
	int error = read_journal(&gather, journal);
	if (segment) {
		int found = missed_answer(gather.missed, &ret_report->missed);
		error = error < 0 ? error : found;
		report_session_fates(ret_report, segment);
		counts_compute(segment, NULL, 0, ret_report->counters);
	}
	if (error == 0)
		error = add_story(ret_report, journal);
	if (error == 0)
		verify(ret_report, journal);
	return error;
}

bool report_has_story(const struct report *report)
{
	for (size_t i = 0; i < report->story.count; i++)
		if (report->story.steps[i].count)
			return true;
	return report->story.without_step > 0;
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->file_count; i++)
		free(report->files[i].path);
	for (size_t i = 0; i < report->program_count; i++)
		free(report->programs[i].path);
	for (size_t i = 0; i < report->command_count; i++)
		free(report->commands[i].text);
	free(report->commands);
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
	story_free(&report->story);
	steps_free(&report->steps);
	missed_free(&report->missed);
	verified_destroy(&report->verified);
}
