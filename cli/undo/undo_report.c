/* What `seen undo` and `seen redo` print: see undo_report.h. */
#include "cli/undo/undo_report.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/memory_stream.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/undo/undo_worktree.h"
#include "tracker/path/path.h"

enum { LEFT_SHOWN_MAX = 50 };

/* The part of a path that is below the workspace. */
static const char *name_of(const char *workspace, const char *path)
{
	size_t length = strlen(workspace);

	return argument_is_below(path, workspace) && path[length] == '/' ? path + length + 1 : path;
}

static const char *reason_of(const struct schedule_left *left)
{
	switch (left->reason) {
	case SCHEDULE_EXTERNAL:
		return "an external program changed it since";
	case SCHEDULE_UNSEEN:
		return "how the session left it was not seen";
	case SCHEDULE_OWNER:
		return "its owner is not the one on record, which may have been noted in a user "
		       "namespace";
	case SCHEDULE_CONFLICT:
		return "a later step changed it, too";
	case SCHEDULE_DAMAGED:
		return "what was kept of it cannot be read, or is damaged";
	case SCHEDULE_OCCUPIED:
		return "another file has its place";
	case SCHEDULE_NO_OBJECT:
	case SCHEDULE_NO_OBJECTS:
		return "a git object that it names is gone";
	case SCHEDULE_NO_SHARED:
		return "the shared part that this split index names is gone";
	case SCHEDULE_UNIT:
		return "the repository's state comes back as a whole, and another part of it is "
		       "left";
	case SCHEDULE_WITHIN:
		return "something in it is left";
	case SCHEDULE_LOST:
		break;
	}
	return left->lost == TREE_NOT_LOST ? "what it was is not known"
					   : tree_lost_text(left->lost);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each directory once, that a record at each boundary names. */
static void report_excluded(const struct undo_run *run)
{
	const char **paths = calloc(run->records.count + 1, sizeof(const char *));
	size_t count = 0, shown = 0;

	for (size_t i = 0; paths && i < run->records.count; i++) {
		const struct tree_record *record = &run->records.records[i];
		if (record->kind == PACK_EXCLUDED && record->place >= run->range.from_place)
			paths[count++] = record->path;
	}
	if (count)
		qsort(paths, count, sizeof(*paths), by_text);
	for (size_t i = 0; i < count && shown < LEFT_SHOWN_MAX; i++) {
		if (i && strcmp(paths[i], paths[i - 1]) == 0)
			continue;
		message("%s: nothing is kept below it, since it can be made again",
			name_of(run->session.workspace, paths[i]));
		shown++;
	}
	free(paths);
}

void undo_report_unrecorded(const struct undo_run *run)
{
	char text[UNDO_SESSION_TEXT_BYTES];

	if (run->schedule.head.kind != OPERATION_REDO && run->unrecorded)
		message("%s", undo_session_unrecorded_text(run->unrecorded, text));
}

/* along: those that are left because of others, which come first.  Returns how many were shown, `shown` before. */
static size_t report_paths(const struct undo_run *run, bool along, size_t shown)
{
	const struct schedule_report *report = &run->report;

	for (size_t i = 0; i < report->left_count && shown < LEFT_SHOWN_MAX; i++) {
		enum schedule_reason reason = report->left[i].reason;
		if ((reason == SCHEDULE_UNIT || reason == SCHEDULE_WITHIN) != along)
			continue;
		message("%s is left as it is: %s",
			name_of(run->session.workspace, report->left[i].path),
			reason_of(&report->left[i]));
		shown++;
	}
	return shown;
}

static const char *worktree_text(bool is_gone)
{
	return is_gone ? "a worktree outside the workspace: its files do not come back"
		       : "a worktree outside the workspace: its files stay as they are";
}

static const char ABOVE[] =
	"outside the workspace: what may have changed in it since the session began stays";

void undo_report_above(const struct undo_run *run)
{
	char directory[PATH_MAX];

	if (undo_worktree_above(run, directory))
		message("%s: %s", directory, ABOVE);
}

static void report_worktrees(const struct undo_run *run)
{
	char directory[PATH_MAX];
	bool is_gone;

	for (size_t at = 0; undo_worktree_next(run, &at, directory, &is_gone);)
		message("%s: %s", directory, worktree_text(is_gone));
}

void undo_report_left(const struct undo_run *run)
{
	const struct schedule_report *report = &run->report;

	(void)report_paths(run, true, report_paths(run, false, 0));
	if (report->left_count > LEFT_SHOWN_MAX)
		message("and %zu more; --json lists all", report->left_count - LEFT_SHOWN_MAX);
	report_worktrees(run);
	undo_report_above(run);
	report_excluded(run);
	if (run->records.damaged)
		message("%llu undo records of this session are damaged: what they held is not "
			"known",
			(unsigned long long)run->records.damaged);
	undo_report_lacking(run);
}

void undo_report_lacking(const struct undo_run *run)
{
	if (run->records.dropped_parts)
		message("the oldest undo records went for want of room ([undo] max_bytes)");
	undo_report_unrecorded(run);
}

static const char *verb_of(enum schedule_verb verb, bool done)
{
	static const char *const VERBS[][2] = {
		[SCHEDULE_VERB_RESTORE] = { "restore", "restored" },
		[SCHEDULE_VERB_REMOVE] = { "remove", "removed" },
		[SCHEDULE_VERB_RENAME] = { "rename", "renamed" },
		[SCHEDULE_VERB_META] = { "reset the mode or time of", "reset the mode or time of" },
		[SCHEDULE_VERB_MERGE] = { "merge", "merged" },
		[SCHEDULE_VERB_APPEND] = { "append to", "appended to" },
	};

	return VERBS[verb][done];
}

static void print_path(const struct undo_run *run, const char *path, FILE *file)
{
	char text[4 * PACK_PATH_BYTES_MAX + 1];

	if (path_escape(name_of(run->session.workspace, path), text, sizeof(text)) >= 0)
		(void)fputs(text, file);
}

static void print_line(const struct undo_run *run, const struct schedule_line *line, bool done,
		       FILE *file)
{
	(void)fprintf(file, "%s%s ", done ? "" : "would ", verb_of(line->verb, done));
	if (line->verb == SCHEDULE_VERB_RENAME) {
		print_path(run, line->from, file);
		(void)fprintf(file, " to ");
	}
	print_path(run, line->path, file);
	(void)fprintf(file, "%s", line->directory ? "/" : "");
	if (line->conflicts)
		(void)fprintf(file, ", %zu conflict%s marked", line->conflicts,
			      text_plural(line->conflicts));
	(void)fputc('\n', file);
}

size_t undo_report_lines(const struct undo_run *run, const struct apply_result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < run->report.line_count; i++) {
		if (run->report.lines[i].is_left)
			continue;
		print_line(run, &run->report.lines[i], result != NULL, stdout);
		count++;
	}
	return count;
}

bool undo_report_can_redo(const struct undo_run *run)
{
	bool redoes = run->request->kind == OPERATION_REDO;

	for (size_t i = 0; i < run->report.line_count; i++) {
		const struct schedule_line *line = &run->report.lines[i];
		if (!line->is_left && (!line->is_object || redoes) &&
		    line->verb != SCHEDULE_VERB_APPEND)
			return true;
	}
	return false;
}

void undo_report_plan(const struct undo_run *run, FILE *file)
{
	char directory[PATH_MAX];
	bool is_gone;

	for (size_t i = 0; i < run->report.left_count; i++) {
		print_path(run, run->report.left[i].path, file);
		(void)fprintf(file, " is left as it is: %s\n", reason_of(&run->report.left[i]));
	}
	for (size_t at = 0; undo_worktree_next(run, &at, directory, &is_gone);) {
		print_path(run, directory, file);
		(void)fprintf(file, ": %s\n", worktree_text(is_gone));
	}
	if (undo_worktree_above(run, directory)) {
		print_path(run, directory, file);
		(void)fprintf(file, ": %s\n", ABOVE);
	}
	for (size_t i = 0; i < run->report.line_count; i++)
		print_line(run, &run->report.lines[i], false, file);
}

int undo_report_digest(const struct undo_run *run, uint64_t *ret_digest)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = memory_stream_open(&text, &size);

	if (!file)
		return -ENOMEM;
	undo_report_plan(run, file);
	int error = ferror(file) ? -ENOMEM : 0;
	if (fclose(file) != 0)
		error = -ENOMEM;
	uint64_t digest = error == 0 ? XXH3_64bits(text, size) : 0;
	free(text);
	if (error == 0)
		*ret_digest = digest ? digest : 1;
	return error;
}

/* ---- what did not work ---- */

static bool is_not_done(const struct schedule_item *item)
{
	return item->state == SCHEDULE_SKIPPED || item->state == SCHEDULE_FAILED;
}

static bool is_metadata(const struct schedule_item *item)
{
	return item->kind == SCHEDULE_META || item->kind == SCHEDULE_ATTRIBUTE;
}

/* Is the path of a line among those that were not done?  paths: sorted. */
static bool is_among(const char *path, const char *const *paths, size_t count)
{
	return path && count && bsearch(&path, paths, count, sizeof(*paths), by_text);
}

int undo_report_complete(struct undo_run *run)
{
	const struct schedule *plan = &run->schedule;
	const char **things = calloc(2 * plan->count + 1, sizeof(const char *));
	const char **metadata = things ? things + plan->count : NULL;
	size_t thing_count = 0, metadata_count = 0;

	if (!things)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++) {
		const char *path = schedule_text(plan, plan->items[i].path);
		if (is_not_done(&plan->items[i]) && is_metadata(&plan->items[i]))
			metadata[metadata_count++] = path;
		else if (is_not_done(&plan->items[i]))
			things[thing_count++] = path;
	}
	qsort(things, thing_count, sizeof(*things), by_text);
	qsort(metadata, metadata_count, sizeof(*metadata), by_text);
	for (size_t i = 0; i < run->report.line_count; i++) {
		struct schedule_line *line = &run->report.lines[i];
		line->is_left = is_among(line->path, things, thing_count) ||
				is_among(line->from, things, thing_count) ||
				(line->verb == SCHEDULE_VERB_META &&
				 is_among(line->path, metadata, metadata_count));
	}
	free(things);
	return 0;
}

static const char *why(int error)
{
	return error == -EBUSY       ? "it changed meanwhile"
	       : error == -ENOTEMPTY ? "there are files in it that this does not take back"
	       : error == -ENODATA   ? "its content is not kept any more"
	       : error == -EBADMSG   ? "its kept content is damaged"
	       : error == -ELOOP     ? "a symbolic link is on the way"
	       : error == -ESTALE    ? "it changed more than once meanwhile; a file .seen-undo.* "
				       "beside it has the first change"
				     : strerror(-error);
}

void undo_report_failed(const struct schedule *schedule, const struct apply_result *result,
			const char *workspace)
{
	for (size_t i = 0, shown = 0; i < schedule->count && shown < LEFT_SHOWN_MAX; i++) {
		const struct schedule_item *item = &schedule->items[i];
		if (!is_not_done(item))
			continue;
		const char *path = name_of(workspace, schedule_text(schedule, item->path));
		bool lacks_directory = result->errors[i] == -ENOENT &&
				       (item->kind == SCHEDULE_PUT || item->kind == SCHEDULE_MKDIR);
		/* its place was taken before it could go back */
		if (item->kind == SCHEDULE_STAGE && item->state == SCHEDULE_FAILED)
			message("%s is now %s: %s", path,
				name_of(workspace, schedule_text(schedule, item->other)),
				why(result->errors[i]));
		else if (is_metadata(item))
			message("%s: its permissions, owner, time or attributes are left as they "
				"are: %s",
				path, why(result->errors[i]));
		else if (lacks_directory)
			message("%s does not come back: the directory that it was in is not there; "
				"make it, and undo again",
				path);
		else
			message("%s is left as it is: %s", path, why(result->errors[i]));
		shown++;
	}
}

/* Is something meant that is not on record, or not any more?  One step may be whole. */
static bool lacks_records(const struct undo_run *run)
{
	const struct tree_records *records = &run->records;
	const struct operation_head *head =
		&run->schedule.head; /* what is continued may be a redo */
	size_t first = 0;

	if (head->kind == OPERATION_REDO || run->step)
		return false;
	while (first < records->count && records->records[first].operation)
		first++;
	bool is_from_first = first == records->count ||
			     head->from_place <= records->records[first].place;
	return run->unrecorded || (records->dropped_parts && is_from_first);
}

int undo_report_code(const struct undo_run *run, const struct apply_result *result)
{
	bool conflict = result && result->skipped;
	bool partly = lacks_records(run) || (result && result->failed);

	for (size_t i = 0; i < run->report.left_count; i++)
		switch (run->report.left[i].reason) {
		case SCHEDULE_LOST:
		case SCHEDULE_DAMAGED:
		case SCHEDULE_NO_OBJECT:
		case SCHEDULE_NO_OBJECTS:
		case SCHEDULE_NO_SHARED:
			partly = true;
			break;
		case SCHEDULE_UNIT: /* the other part tells */
		case SCHEDULE_WITHIN:
			break;
		case SCHEDULE_EXTERNAL:
		case SCHEDULE_UNSEEN:
		case SCHEDULE_OWNER:
		case SCHEDULE_CONFLICT:
		case SCHEDULE_OCCUPIED:
			conflict = true;
			break;
		}
	for (size_t i = 0; i < run->report.line_count; i++)
		conflict = conflict || run->report.lines[i].conflicts;
	return conflict ? EXIT_CODE_CONFLICT : partly ? EXIT_CODE_PARTLY : EXIT_CODE_OK;
}

/* ---- JSON ---- */

static json_t *path_json(const struct undo_run *run, const char *path)
{
	return text_json(name_of(run->session.workspace, path));
}

static json_t *lines_json(const struct undo_run *run)
{
	static const char *const ACTIONS[] = {
		[SCHEDULE_VERB_RESTORE] = "restore", [SCHEDULE_VERB_REMOVE] = "remove",
		[SCHEDULE_VERB_RENAME] = "rename",   [SCHEDULE_VERB_META] = "metadata",
		[SCHEDULE_VERB_MERGE] = "merge",     [SCHEDULE_VERB_APPEND] = "append",
	};
	json_t *array = json_array();

	for (size_t i = 0; i < run->report.line_count; i++) {
		const struct schedule_line *line = &run->report.lines[i];
		if (line->is_left)
			continue;
		json_t *object = json_object();
		(void)json_object_set_new(object, "action", json_string(ACTIONS[line->verb]));
		(void)json_object_set_new(object, "path", path_json(run, line->path));
		if (line->from)
			(void)json_object_set_new(object, "from", path_json(run, line->from));
		(void)json_object_set_new(object, "directory", json_boolean(line->directory));
		if (line->verb == SCHEDULE_VERB_MERGE)
			(void)json_object_set_new(object, "conflicts",
						  json_integer((json_int_t)line->conflicts));
		(void)json_array_append_new(array, object);
	}
	return array;
}

static void add_left(json_t *array, const struct undo_run *run, const char *path, const char *kind,
		     const char *reason)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "path", path_json(run, path));
	(void)json_object_set_new(object, "kind", json_string(kind));
	(void)json_object_set_new(object, "reason", json_string(reason));
	(void)json_array_append_new(array, object);
}

static json_t *left_json(const struct undo_run *run, const struct apply_result *result)
{
	static const char *const KINDS[] = {
		[SCHEDULE_EXTERNAL] = "external", [SCHEDULE_CONFLICT] = "conflict",
		[SCHEDULE_LOST] = "lost",         [SCHEDULE_DAMAGED] = "damaged",
		[SCHEDULE_OCCUPIED] = "occupied", [SCHEDULE_NO_OBJECT] = "object",
		[SCHEDULE_NO_OBJECTS] = "object", [SCHEDULE_UNIT] = "git",
		[SCHEDULE_OWNER] = "owner",       [SCHEDULE_NO_SHARED] = "object",
		[SCHEDULE_UNSEEN] = "unseen",     [SCHEDULE_WITHIN] = "within",
	};
	json_t *array = json_array();
	char directory[PATH_MAX];

	if (undo_worktree_above(run, directory))
		add_left(array, run, directory, "outside", ABOVE);
	for (size_t i = 0; i < run->report.left_count; i++)
		add_left(array, run, run->report.left[i].path, KINDS[run->report.left[i].reason],
			 reason_of(&run->report.left[i]));
	for (size_t i = 0; result && i < run->schedule.count; i++) {
		const struct schedule_item *item = &run->schedule.items[i];
		if (is_not_done(item))
			add_left(array, run, schedule_text(&run->schedule, item->path),
				 item->state == SCHEDULE_SKIPPED ? "external" : "failed",
				 why(result->errors[i]));
	}
	return array;
}

int undo_report_json(const struct undo_run *run, const struct apply_result *result)
{
	const struct undo_session *session = &run->session;
	json_t *document = json_object();

	(void)json_object_set_new(document, "schema", json_string("seen/undo/1"));
	(void)json_object_set_new(document, "session", text_json(session->name));
	(void)json_object_set_new(document, "workspace", text_json(session->workspace));
	(void)json_object_set_new(
		document, "operation",
		json_string(run->request->kind == OPERATION_REDO ? "redo" : "undo"));
	(void)json_object_set_new(document, "step",
				  run->step ? json_integer(run->step) : json_null());
	(void)json_object_set_new(document, "done", json_boolean(result != NULL));
	(void)json_object_set_new(document, "changes", lines_json(run));
	(void)json_object_set_new(document, "left", left_json(run, result));
	(void)json_object_set_new(document, "unchanged",
				  json_integer((json_int_t)run->report.same));
	(void)json_object_set_new(document, "unrecorded",
				  json_integer((json_int_t)run->unrecorded));
	int error = text_json_print(document);
	if (error < 0)
		message("%s", strerror(-error));
	return error < 0 ? EXIT_CODE_OUTPUT : EXIT_CODE_OK;
}
