/* What all sessions saved: see gain.h. */
#include "cli/report/gain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/clock.h"
#include "cli/base/text.h"
#include "cli/session/journal_file.h"
#include "cli/session/owned.h"
#include "cli/session/program_sums.h"
#include "cli/session/scopes.h"
#include "cli/session/settings_only.h"
#include "cli/session/store_files.h"
#include "tracker/answer/decision.h"
#include "tracker/journal/journal_map.h"
#include "tracker/process/role.h"
#include "tracker/segment/tables.h"

enum { AGENTS_BYTES = 256, DAY_BYTES = 10 /* "2026-11-26" */ };

/* One session, while it is counted. */
struct counted {
	const struct store_session *session;
	const struct settings_only *settings;
	struct gain_sums sums;
	char agents[AGENTS_BYTES]; /* names, ", " between them; "": none is known */
	uint64_t lost; /* records of its journal that are damaged, or could not be written */
};

static void add_agent(struct counted *counted, const char *name)
{
	size_t length = strlen(counted->agents), bytes = strlen(name);

	for (const char *at = counted->agents; *at;) {
		size_t known = strcspn(at, ",");
		if (known == bytes && strncmp(at, name, bytes) == 0)
			return;
		at += known;
		at += strspn(at, ", ");
	}
	if (bytes && length + bytes + sizeof(", ") <= sizeof(counted->agents))
		(void)snprintf(counted->agents + length, sizeof(counted->agents) - length, "%s%s",
			       length ? ", " : "", name);
}

/* ---- by the segment ---- */

static int count_segment(const struct segment *segment, struct counted *counted)
{
	static const char OWN[] = "(in-process reads)"; /* of an agent that has a scope beside it */
	struct scope_row *scopes = NULL;
	int count = scopes_list(segment, &scopes);

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		if (!strstr(scopes[i].name, OWN) && strcmp(scopes[i].name, "session") != 0)
			add_agent(counted, scopes[i].name);
	free(scopes);
	counted->sums.notices = segment_counter(segment, COUNTER_notices);
	counted->sums.diffs = segment_counter(segment, COUNTER_diffs);
	counted->sums.commands = segment_counter(segment, COUNTER_requests_answered);
	counted->sums.given_again = segment_counter(segment, COUNTER_yields);
	counted->sums.bytes = segment_counter(segment, COUNTER_bytes_saved);
	return 0;
}

/* ---- by the journal ---- */

/* The agent that a program is, by its arguments: a script's name is not its interpreter's. */
static void add_started(const struct journal *journal, const struct journal_entry *entry,
			struct counted *counted)
{
	enum { WORDS_MAX = 16 };
	char path[SEGMENT_PATH_BYTES], arguments[JOURNAL_TEXT_BYTES_MAX + 1];
	char *words[WORDS_MAX + 1];
	struct invocation invocation;
	size_t length, bytes, count = 0;
	const char *name = journal_bytes(journal, entry->record.path, &length);
	const char *text = journal_bytes(journal, entry->record.other_path, &bytes);

	if (entry->process.role != ROLE_AGENT || !name || length >= sizeof(path))
		return;
	memcpy(path, name, length);
	path[length] = '\0';
	bytes = text && bytes < sizeof(arguments) ? bytes : 0;
	if (bytes)
		memcpy(arguments, text, bytes);
	arguments[bytes] = '\0';
	for (size_t at = 0; at < bytes && count < WORDS_MAX; at += strlen(arguments + at) + 1)
		words[count++] = arguments + at;
	words[count] = NULL;
	role_invocation(&counted->settings->segment, path, words, &invocation);
	add_agent(counted, invocation.name);
}

static void count_record(const struct journal *journal, const struct journal_entry *entry,
			 struct counted *counted)
{
	const struct journal_record *record = &entry->record;
	struct gain_sums *sums = &counted->sums;
	uint64_t saved = 0;

	switch (record->head.op) {
	case JOURNAL_START:
		if (record->head.units > 1)
			add_started(journal, entry, counted);
		break;
	case JOURNAL_NOTICE:
		sums->notices++;
		saved = record->amount;
		break;
	case JOURNAL_DIFFED:
		sums->diffs++;
		saved = record->amount;
		break;
	case JOURNAL_REQUEST:
		if (record->decision == DECISION_NOTICE) {
			sums->commands++;
			saved = record->amount;
		} else if (record->decision == DECISION_GIVEN_AGAIN) {
			sums->given_again++;
		}
		break;
	case JOURNAL_YIELDED:
		sums->given_again++;
		break;
	default:
		break;
	}
	if (saved <= INT64_MAX - sums->bytes) /* bytes of others */
		sums->bytes += saved;
}

/* Returns 0; or why it cannot be read. */
static int count_journal(const char *path, struct counted *counted)
{
	struct journal journal;
	struct journal_entry entry;
	uint64_t number = JOURNAL_UNITS_FIRST;
	int error = session_check_path(path);

	if (error == 0)
		error = journal_map_to_read(path, &journal);
	if (error < 0)
		return error;
	for (;;) {
		enum journal_found found = journal_next(&journal, &number, &entry);
		if (found == JOURNAL_FOUND_END)
			break;
		if (found == JOURNAL_FOUND_RECORD) {
			count_record(&journal, &entry, counted);
			continue;
		}
		counted->lost++;
		if (found == JOURNAL_FOUND_UNDONE)
			number = journal_behind_undone(&journal, number);
	}
	counted->lost += __atomic_load_n(&journal.header->lost, __ATOMIC_RELAXED);
	journal_unmap(&journal);
	return 0;
}

/* ---- rows ---- */

static void add_sums(struct gain_sums *total, const struct gain_sums *sums)
{
	total->sessions += sums->sessions;
	total->notices += sums->notices;
	total->diffs += sums->diffs;
	total->commands += sums->commands;
	total->given_again += sums->given_again;
	total->bytes += sums->bytes;
}

static struct gain_row *row_of(struct gain *gain, const char *name)
{
	for (size_t i = 0; i < gain->row_count; i++)
		if (strcmp(gain->rows[i].name, name) == 0)
			return &gain->rows[i];
	if (gain->row_count == gain->row_capacity) {
		size_t capacity = gain->row_capacity ? 2 * gain->row_capacity : 16;
		struct gain_row *grown = reallocarray(gain->rows, capacity, sizeof(*grown));
		if (!grown)
			return NULL;
		gain->rows = grown;
		gain->row_capacity = capacity;
	}
	struct gain_row *row = &gain->rows[gain->row_count];
	*row = (struct gain_row){ .name = strdup(name) };
	if (!row->name)
		return NULL;
	gain->row_count++;
	return row;
}

/* Calls a function with the session's journal.  Returns false where none can be read. */
static bool with_journal(const struct store *store, const struct store_session *listed,
			 void (*call)(const struct journal *journal, void *data), void *data)
{
	char path[SEGMENT_PATH_BYTES];
	struct journal journal;

	for (int place = 0; place < STORE_PLACES && listed->has_journal; place++) {
		if (!listed->in[place] || store_file_path(store, place, listed->name, STORE_JOURNAL,
							  path, sizeof(path)) != 0)
			continue;
		if (session_check_path(path) < 0 || journal_map_to_read(path, &journal) < 0)
			continue;
		call(&journal, data);
		journal_unmap(&journal);
		return true;
	}
	return false;
}

static void gather_programs(const struct journal *journal, void *data)
{
	program_sums_gather(journal, data);
}

static void lower(uint64_t *from, uint64_t what)
{
	*from = *from > what ? *from - what : 0;
}

/* A row for each program; what its journal does not tell stays in one without a name. */
static int add_programs(struct gain *gain, const struct store *store, const struct counted *counted)
{
	static struct program_sums programs;
	struct gain_sums rest = counted->sums;
	struct gain_row *row;

	programs.count = 0;
	(void)with_journal(store, counted->session, gather_programs, &programs);
	for (size_t i = 0; i < programs.count; i++) {
		const struct program_sum *program = &programs.rows[i];
		const struct gain_sums sums = { .sessions = 1,
						.notices = program->notices,
						.diffs = program->diffs,
						.commands = program->commands,
						.given_again = program->given_again,
						.bytes = program->bytes_saved };
		if (!(sums.notices + sums.diffs + sums.commands + sums.given_again))
			continue;
		row = row_of(gain, program->name);
		if (!row)
			return -ENOMEM;
		add_sums(&row->sums, &sums);
		lower(&rest.notices, sums.notices);
		lower(&rest.diffs, sums.diffs);
		lower(&rest.commands, sums.commands);
		lower(&rest.given_again, sums.given_again);
		lower(&rest.bytes, sums.bytes);
	}
	if (!(rest.notices + rest.diffs + rest.commands + rest.given_again))
		return 0;
	row = row_of(gain, "");
	if (!row)
		return -ENOMEM;
	add_sums(&row->sums, &rest);
	return 0;
}

static int add(struct gain *gain, const struct store *store, const struct counted *counted)
{
	const struct store_session *session = counted->session;
	char day[TEXT_TIME_BYTES];
	const char *name = "";

	if (gain->days_are_utc)
		(void)text_time(session->created_realtime_ns, day);
	else
		(void)clock_day(session->created_realtime_ns, day);
	day[DAY_BYTES] = '\0';
	if (gain->by == GAIN_BY_AGENT)
		name = counted->agents;
	else if (gain->by == GAIN_BY_PROJECT)
		name = session->workspace ? session->workspace : "";
	else if (gain->by == GAIN_BY_DAY)
		name = day;
	bool has_row = gain->by != GAIN_BY_ALL && gain->by != GAIN_BY_PROGRAM;
	struct gain_row *row = has_row ? row_of(gain, name) : NULL;
	if ((has_row && !row) ||
	    (gain->by == GAIN_BY_PROGRAM && add_programs(gain, store, counted) < 0))
		return -ENOMEM;
	if (row)
		add_sums(&row->sums, &counted->sums);
	add_sums(&gain->total, &counted->sums);
	if (!gain->first_realtime_ns || session->created_realtime_ns < gain->first_realtime_ns)
		gain->first_realtime_ns = session->created_realtime_ns;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct gain_row *left = a, *right = b;

	if (left->sums.bytes != right->sums.bytes)
		return left->sums.bytes > right->sums.bytes ? -1 : 1;
	return strcmp(left->name, right->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct gain_row *)a)->name, ((const struct gain_row *)b)->name);
}

/* ---- the whole ---- */

/* Counts by the segment, else by the journal.  ret_of_journal: it was that.  Returns 0; -ENOMEM;
 * -ENODATA: nothing is known; -EIO: it could not be read. */
static int count(const struct config *config, const struct store *store, struct counted *counted,
		 bool *ret_of_journal)
{
	const struct store_session *listed = counted->session;
	char path[SEGMENT_PATH_BYTES];
	struct session session;

	*ret_of_journal = false;
	int error = listed->has_segment ? session_open(config, listed->name, &session) : -ENOENT;
	if (error == 0) {
		error = count_segment(&session.segment, counted);
		session_close(&session);
		return error;
	}
	if (!journal_file_outlives(error))
		return -EIO;
	*ret_of_journal = true;
	for (int place = 0; place < STORE_PLACES && listed->has_journal; place++)
		if (listed->in[place] &&
		    store_file_path(store, place, listed->name, STORE_JOURNAL, path,
				    sizeof(path)) == 0 &&
		    access(path, F_OK) == 0 && count_journal(path, counted) == 0)
			return 0;
	return -ENODATA;
}

static int gather(const struct config *config, const struct store *store,
		  const struct settings_only *settings, struct gain *gain)
{
	for (size_t i = 0; i < store->count; i++) {
		const struct store_session *session = &store->sessions[i];
		struct counted counted = { .session = session,
					   .settings = settings,
					   .sums = { .sessions = 1 } };
		bool of_journal = false;
		if (session->created_realtime_ns &&
		    session->created_realtime_ns < gain->since_realtime_ns)
			continue;
		int error = session->created_realtime_ns
				    ? count(config, store, &counted, &of_journal)
				    : -ENODATA;
		if (error == -ENODATA || error == -EIO) {
			gain->unread[error == -EIO ? STORE_UNREADABLE : session->state]++;
			continue;
		}
		gain->of_journals += of_journal;
		gain->incomplete += counted.lost > 0;
		if (error == 0)
			error = add(gain, store, &counted);
		if (error < 0)
			return error;
	}
	return 0;
}

int gain_gather(const struct config *config, const struct store *store, struct gain *gain,
		struct config_error *ret_error)
{
	struct settings_only settings;
	int error = settings_only_init(config, &settings, ret_error);

	if (error == 0)
		error = gather(config, store, &settings, gain);
	settings_only_destroy(&settings);
	if (gain->row_count)
		qsort(gain->rows, gain->row_count, sizeof(*gain->rows),
		      gain->by == GAIN_BY_DAY ? by_name : by_bytes);
	return error;
}

uint64_t gain_unread(const struct gain *gain)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof(gain->unread) / sizeof(gain->unread[0]); i++)
		count += gain->unread[i];
	return count;
}

void gain_free(struct gain *gain)
{
	for (size_t i = 0; i < gain->row_count; i++)
		free(gain->rows[i].name);
	free(gain->rows);
	*gain = (struct gain){ .row_count = 0 };
}
