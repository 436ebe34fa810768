/* What was answered, by program: see program_sums.h. */
#include "cli/session/program_sums.h"

#include <stdlib.h>
#include <string.h>

#include "tracker/answer/decision.h"
#include "tracker/journal/journal_map.h"
#include "tracker/path/path.h"

/* The name of the program that a record's process ran when it began.  False where that is not
 * known. */
static bool name_of(const struct journal *journal, const struct journal_record *record,
		    char ret_name[PROGRAM_NAME_BYTES])
{
	uint64_t number = record->process;
	struct journal_entry entry;
	size_t length;

	if (!number || journal_next(journal, &number, &entry) != JOURNAL_FOUND_RECORD ||
	    entry.number != record->process || entry.record.head.op != JOURNAL_START)
		return false;
	const char *path = journal_bytes(journal, entry.record.path, &length);
	if (!path || !length)
		return false;
	const char *slash = memrchr(path, '/', length);
	const char *base = slash ? slash + 1 : path;
	size_t bytes = (size_t)(path + length - base);
	if (bytes >= PROGRAM_NAME_BYTES)
		bytes = PROGRAM_NAME_BYTES - 1;
	memcpy(ret_name, base, bytes);
	ret_name[bytes] = '\0';
	return bytes > 0;
}

static struct program_sum *row_of(struct program_sums *sums, const char *name)
{
	for (size_t i = 0; i < sums->count; i++)
		if (strcmp(sums->rows[i].name, name) == 0)
			return &sums->rows[i];
	if (sums->count == PROGRAM_SUMS_MAX)
		return NULL;
	struct program_sum *row = &sums->rows[sums->count++];
	*row = (struct program_sum){ .remembered = 0 };
	memcpy(row->name, name, PROGRAM_NAME_BYTES);
	return row;
}

static bool is_counted(const struct journal_record *record)
{
	switch (record->head.op) {
	case JOURNAL_NOTICE:
	case JOURNAL_DIFFED:
	case JOURNAL_YIELDED:
	case JOURNAL_REQUEST:
		return true;
	default:
		return false;
	}
}

static void add(struct program_sum *row, const struct journal_record *record)
{
	bool is_request = record->head.op == JOURNAL_REQUEST;
	uint64_t saved = 0;

	if (record->head.op == JOURNAL_YIELDED ||
	    (is_request && record->decision == DECISION_GIVEN_AGAIN)) {
		row->given_again++;
	} else if (is_request && record->decision != DECISION_NOTICE) {
		row->remembered++;
	} else {
		row->notices += record->head.op == JOURNAL_NOTICE;
		row->diffs += record->head.op == JOURNAL_DIFFED;
		row->commands += is_request;
		saved = record->amount;
	}
	if (saved <= INT64_MAX - row->bytes_saved) /* bytes of others */
		row->bytes_saved += saved;
}

static int by_bytes(const void *a, const void *b)
{
	const struct program_sum *left = a, *right = b;

	if (left->bytes_saved != right->bytes_saved)
		return left->bytes_saved > right->bytes_saved ? -1 : 1;
	return strcmp(left->name, right->name);
}

void program_sums_gather(const struct journal *journal, struct program_sums *ret_sums)
{
	uint64_t number = JOURNAL_UNITS_FIRST;
	struct journal_entry entry;

	ret_sums->count = 0;
	while (journal->header) {
		enum journal_found found = journal_next(journal, &number, &entry);
		char name[PROGRAM_NAME_BYTES] = "";
		if (found == JOURNAL_FOUND_END)
			break;
		if (found == JOURNAL_FOUND_UNDONE)
			number = journal_behind_undone(journal, number);
		if (found != JOURNAL_FOUND_RECORD || !is_counted(&entry.record) ||
		    !name_of(journal, &entry.record, name))
			continue;
		struct program_sum *row = row_of(ret_sums, name);
		if (row)
			add(row, &entry.record);
	}
	qsort(ret_sums->rows, ret_sums->count, sizeof(ret_sums->rows[0]), by_bytes);
}
