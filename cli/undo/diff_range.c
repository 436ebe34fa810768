/* What of a session is compared: see diff_range.h. */
#include "cli/undo/diff_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "tracker/path/decimal.h"

/* The step of a change, as steps_of_change(). */
struct wanted {
	const struct steps *steps;
	uint32_t number;
};

static bool is_of_step(const struct tree_change *change, void *data)
{
	const struct wanted *wanted = data;

	if (!change->records)
		return true; /* a directory took it along */
	const struct step *step = steps_of_change(wanted->steps, change->process,
						  change->last_time_ns);
	return step && step->number == wanted->number;
}

/* Its records lie in that range.  Returns false where it has none. */
static bool range_of_step(const struct tree_records *records, const struct steps *steps,
			  uint32_t number, struct tree_range *ret_range)
{
	size_t first = records->count, end = 0;

	for (size_t i = 0; i < records->count; i++) {
		const struct tree_record *record = &records->records[i];
		const struct step *step = record->operation || !record->process
						  ? NULL
						  : steps_of_change(steps, record->process,
								    record->time_ns);
		if (!step || step->number != number)
			continue;
		first = i < first ? i : first;
		end = i + 1;
	}
	if (first == records->count)
		return false;
	*ret_range = (struct tree_range){ .list_moved = true,
					  .from_place = records->records[first].place };
	/* What an undo did since is none of the step. */
	bool undone = end < records->count && records->records[end].operation;
	while (end < records->count && records->records[end].operation)
		end++;
	if (undone || end < records->count)
		ret_range->to_place = end < records->count ? records->records[end].place
							   : records->next_place;
	return true;
}

int diff_range_of_step(const struct tree_records *records, const struct steps *steps,
		       const char *workspace, uint32_t number, char *const *paths,
		       struct tree_changes *ret_changes, struct diff_set *ret_set)
{
	struct wanted wanted = { steps, number };
	struct tree_range range;
	struct diff_filter filter = {
		.workspace = workspace, .paths = paths, .wants = is_of_step, .data = &wanted
	};

	*ret_changes = (struct tree_changes){ .count = 0 };
	*ret_set = (struct diff_set){ .files = NULL };
	if (!range_of_step(records, steps, number, &range))
		return 0;
	filter.is_open = !range.to_place;
	int error = tree_changes_read(records, &range, ret_changes);
	return error < 0 ? error : diff_set_make(ret_changes, records, &filter, ret_set);
}

static int parse_step(const struct undo_session *session, const char *word, uint32_t *ret_number)
{
	uint64_t number = 0;
	const char *end = decimal_parse(word, &number);

	if (!end || *end) {
		message("--step takes the number of a step: `seen story` lists them");
		return EXIT_CODE_USAGE;
	}
	if (number > UINT32_MAX || !steps_numbered(&session->steps, (uint32_t)number)) {
		message("there is no step %s: `seen story` lists them", word);
		return EXIT_CODE_NOTHING;
	}
	*ret_number = (uint32_t)number;
	return EXIT_CODE_OK;
}

static int parse_since(const struct undo_session *session, const char *word,
		       struct tree_range *range)
{
	struct step_point point;
	int error = steps_point(&session->steps, word, &point);

	if (error == -ENOENT) {
		message("there is no step %s: `seen story` lists them", word);
		return EXIT_CODE_NOTHING;
	}
	if (error < 0) {
		message("--since takes the number of a step, a time, or how long ago: 12, "
			"\"2026-01-31 12:00\", 10m");
		return EXIT_CODE_USAGE;
	}
	range->from_time_ns = point.time_ns;
	return EXIT_CODE_OK;
}

static int read_since(const struct undo_session *session, const struct diff_request *request,
		      const struct tree_range *range, struct diff_result *result)
{
	const struct diff_filter filter = { .workspace = session->workspace,
					    .paths = request->paths,
					    .is_open = true };
	int error = tree_changes_read(&result->records, range, &result->changes);

	return error < 0 ? error
			 : diff_set_make(&result->changes, &result->records, &filter, &result->set);
}

int diff_range_read(const struct undo_session *session, const struct diff_request *request,
		    struct diff_result *ret_result)
{
	struct tree_range range = { .list_moved = true };
	uint32_t number = 0;
	int code = EXIT_CODE_OK;

	memset(ret_result, 0, sizeof(*ret_result));
	int error = tree_records_read(session->undo, &ret_result->records);
	if (error < 0) {
		message("%s: %s", session->undo, strerror(-error));
		return EXIT_CODE_BAD_SESSION;
	}
	if (ret_result->records.damaged)
		message("%llu of the undo records are damaged, and left out",
			(unsigned long long)ret_result->records.damaged);
	if (request->since)
		code = parse_since(session, request->since, &range);
	if (request->step)
		code = parse_step(session, request->step, &number);
	if (code != EXIT_CODE_OK)
		return code;
	error = number ? diff_range_of_step(&ret_result->records, &session->steps,
					    session->workspace, number, request->paths,
					    &ret_result->changes, &ret_result->set)
		       : read_since(session, request, &range, ret_result);
	if (error < 0)
		message("%s", strerror(-error));
	return error < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
}

void diff_result_free(struct diff_result *result)
{
	diff_set_free(&result->set);
	tree_changes_free(&result->changes);
	tree_records_close(&result->records);
}
