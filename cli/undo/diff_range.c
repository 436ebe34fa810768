/* What of a session is compared: see diff_range.h. */
#include "cli/undo/diff_range.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/undo/diff_excluded.h"
#include "cli/undo/step_changes.h"
#include "cli/undo/step_point.h"
#include "cli/undo/tree_change.h"
#include "tracker/path/decimal.h"

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
	int error = step_point_find(&session->steps, word, &point);

	if (error < 0)
		return step_point_explain(word, error);
	range->from_time_ns = point.time_ns;
	return EXIT_CODE_OK;
}

static bool is_behind(const struct tree_record *record, const void *data)
{
	const struct tree_range *range = data;

	return record->time_ns >= range->from_time_ns;
}

static int read_since(const struct undo_session *session, const struct diff_request *request,
		      const struct diff_visitor *visitor, struct tree_records *records,
		      const struct tree_range *range)
{
	const struct diff_filter filter = { .workspace = session->workspace,
					    .paths = request->paths,
					    .is_open = true,
					    .omits_git = true };
	struct tree_changes changes = { .count = 0 };
	struct diff_set set = { .files = NULL };
	int error = tree_changes_read(records, range, &changes);

	if (error == 0)
		error = diff_set_make(&changes, records, &filter, &set);
	if (error == 0)
		error = diff_excluded_add(records, 0, records->count, &filter, is_behind, range,
					  &set);
	if (error == 0)
		error = visitor->visit(records, &set, visitor->data);
	diff_set_free(&set);
	tree_changes_free(&changes);
	return error;
}

struct chosen {
	const struct diff_visitor *visitor;
	bool was_visited;
};

static int visit_step(const struct tree_records *records, const struct step *step,
		      struct diff_set *set, void *data)
{
	struct chosen *chosen = data;

	(void)step;
	chosen->was_visited = true;
	return chosen->visitor->visit(records, set, chosen->visitor->data);
}

static int read_step(const struct undo_session *session, const struct diff_request *request,
		     const struct diff_visitor *visitor, const struct tree_records *records,
		     uint32_t number)
{
	struct chosen chosen = { .visitor = visitor };
	struct diff_set nothing = { .files = NULL };
	const struct step_changes_visit visit = { .records = records,
						  .steps = &session->steps,
						  .workspace = session->workspace,
						  .paths = request->paths,
						  .only = number,
						  .omits_git = true,
						  .visit = visit_step,
						  .data = &chosen };
	int error = step_changes_visit(&visit);

	if (error == 0 && !chosen.was_visited)
		error = visitor->visit(records, &nothing, visitor->data);
	return error;
}

static int read(const struct undo_session *session, const struct diff_request *request,
		const struct diff_visitor *visitor, struct tree_records *records)
{
	struct tree_range range = { .list_moved = true };
	uint32_t number = 0;
	int code = EXIT_CODE_OK;

	if (records->damaged)
		message("%llu of the undo records are damaged, and left out",
			(unsigned long long)records->damaged);
	if (request->since)
		code = parse_since(session, request->since, &range);
	if (request->step)
		code = parse_step(session, request->step, &number);
	if (code != EXIT_CODE_OK)
		return code;
	int error = number ? read_step(session, request, visitor, records, number)
			   : read_since(session, request, visitor, records, &range);
	if (error < 0)
		message("%s", strerror(-error));
	return error < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
}

int diff_range_visit(const struct undo_session *session, const struct diff_request *request,
		     const struct diff_visitor *visitor)
{
	struct tree_records records;
	int error = tree_records_read(session->undo, &records), code;

	if (error < 0) {
		message("%s: %s", session->undo, strerror(-error));
		code = EXIT_CODE_BAD_SESSION;
	} else {
		code = read(session, request, visitor, &records);
	}
	tree_records_close(&records);
	return code;
}
