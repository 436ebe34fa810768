/* The course of `seen undo` and `seen redo`: see undo_run.h. */
#include "cli/undo/undo_run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/session/owned.h"
#include "cli/session/session.h"
#include "cli/undo/apply.h"
#include "cli/undo/undo_report.h"
#include "cli/undo/undo_running.h"
#include "tracker/path/path.h"
#include "tracker/sys/sys.h"

static int failed(const struct undo_run *run, int error)
{
	if (error == -ENOMEM)
		message("out of memory");
	else
		message("%s: %s", run->session.undo,
			error == -EBADMSG ? "a record in it is damaged" : owned_explain(error));
	return error == -ENOMEM ? EXIT_CODE_OUTPUT : EXIT_CODE_BAD_SESSION;
}

/* ---- may it be done now? ---- */

static int check_running(struct undo_run *run)
{
	const struct step *step = NULL;
	int error = run->request->force ? 0 : undo_running(&run->session, &step);

	if (error < 0)
		return failed(run, error);
	if (!step)
		return EXIT_CODE_OK;
	message("step %u still runs: %s; --force does not wait for it", step->number, step->text);
	return EXIT_CODE_CONFLICT;
}

/* No other undo of the session may be at work. */
static int lock(const struct undo_run *run)
{
	if (run->directory < 0 || flock(run->directory, LOCK_EX | LOCK_NB) == 0)
		return EXIT_CODE_OK;
	message("another undo of this session is at work");
	return EXIT_CODE_CONFLICT;
}

/* ---- which records ---- */

/* Nothing is chosen: why. */
static int no_step(const struct undo_run *run, bool is_stepless)
{
	if (is_stepless && !run->session.steps.count)
		message("session %s has no steps, since it has no journal that can be read; `seen "
			"undo --all` and "
			"`--since TIME` do without",
			run->session.name);
	else if (is_stepless)
		message("nothing was undone: what was changed last is of no step that the journal "
			"has; `seen undo --since TIME` takes it back");
	else if (run->unrecorded)
		message("nothing was undone: no step of session %s has a change on record that is "
			"not undone",
			run->session.name);
	else
		message("nothing to undo: no step of session %s changed %s", run->session.name,
			run->request->paths ? "that" : "anything that is not undone");
	(void)undo_report_above(run);
	undo_report_unrecorded(run);
	return run->unrecorded ? EXIT_CODE_PARTLY : EXIT_CODE_NOTHING;
}

static int choose_last(struct undo_run *run)
{
	struct undo_last last = undo_range_last(&run->ranges, run->request->paths);

	if (last.left)
		message("step %u was left by an undo before; `seen undo --step %u` tries again",
			last.left, last.left);
	run->step = last.step;
	return last.step ? EXIT_CODE_OK : no_step(run, last.is_stepless);
}

static int choose_step(struct undo_run *run)
{
	struct step_point point;
	const char *word = run->request->step;
	int code = EXIT_CODE_OK;

	if (!word) {
		code = choose_last(run);
	} else if (!run->session.steps.count) {
		code = no_step(run, true);
	} else if (step_point_find(&run->session.steps, word, &point) < 0 || point.number == 0) {
		message("%s: no step of this session; `seen story` lists them", word);
		code = EXIT_CODE_NOTHING;
	} else {
		run->step = point.number;
	}
	if (code == EXIT_CODE_OK)
		undo_range_step(&run->ranges, run->step, &run->range);
	return code;
}

static int choose(struct undo_run *run)
{
	struct step_point point;
	const struct undo_request *request = run->request;

	if (request->kind == OPERATION_REDO) {
		if (undo_range_redo(&run->ranges, &run->range))
			return EXIT_CODE_OK;
		message("nothing to redo: session %s has no undo that was not redone",
			run->session.name);
		return EXIT_CODE_NOTHING;
	}
	if (request->all) {
		undo_range_all(&run->ranges, &run->range);
		return EXIT_CODE_OK;
	}
	if (!request->since)
		return choose_step(run);
	int error = step_point_find(&run->session.steps, request->since, &point);
	if (error < 0)
		return step_point_explain(request->since, error);
	undo_range_since(&run->ranges, &point, &run->range);
	return EXIT_CODE_OK;
}

/* ---- the plan ---- */

enum { UNDO_LABEL_BYTES = 48 };

static int make_plan(struct undo_run *run)
{
	const struct undo_request *request = run->request;
	char label[UNDO_LABEL_BYTES] = "before", log_message[UNDO_LABEL_BYTES] = "seen undo";
	if (run->step) {
		(void)snprintf(label, sizeof(label), "before step %u", run->step);
		(void)snprintf(log_message, sizeof(log_message), "seen undo: step %u", run->step);
	}
	const struct schedule_options options = {
		.workspace = run->session.workspace,
		.paths = request->paths,
		.force = request->force,
		/* what was redone is as it was left */
		.times = request->times || request->kind == OPERATION_REDO,
		.number = run->ranges.next,
		.merge = request->merge ? &run->range : NULL,
		.merge_label = label,
		.locks = &run->locks,
		.log_message = request->kind == OPERATION_REDO ? "seen redo" : log_message,
	};
	run->range.for_undo = true;
	int error = tree_changes_read(&run->records, &run->range, &run->changes);

	if (error == 0)
		error = schedule_make(&run->records, &run->changes, &options, &run->schedule,
				      &run->report);
	if (error < 0)
		return failed(run, error);
	struct operation_head *head = &run->schedule.head;
	head->kind = request->kind;
	head->time_ns = sys_realtime_ns();
	head->behind_place = run->records.next_place;
	head->from_place = run->range.from_place;
	head->from_time_ns = run->range.from_time_ns;
	head->step = run->range.select ? run->step : 0;
	head->reverses = request->kind == OPERATION_REDO ? run->ranges.operation : 0;
	head->flags = (options.times ? OPERATION_TIMES : 0) |
		      (request->force ? OPERATION_FORCE : 0) |
		      (request->paths ? OPERATION_PATHS : 0) | (run->step ? OPERATION_STEP : 0) |
		      (head->step && run->report.left_count ? OPERATION_INCOMPLETE : 0) |
		      (undo_report_can_redo(run) ? 0 : OPERATION_NO_REDO);
	return EXIT_CODE_OK;
}

static void drop_plan(struct undo_run *run)
{
	schedule_free(&run->schedule);
	schedule_report_free(&run->report);
	tree_changes_free(&run->changes);
}

static void close_run(struct undo_run *run)
{
	git_locks_release(&run->locks);
	drop_plan(run);
	undo_ranges_free(&run->ranges);
	tree_records_close(&run->records);
	if (run->directory >= 0)
		(void)close(run->directory);
}

static bool is_about_last(const struct undo_request *request)
{
	return request->kind == OPERATION_UNDO && !request->all && !request->since &&
	       !request->step;
}

/* A last step that left all as it was (git checkout there and back) is passed, for the one before it.  An undo is not:
 * `seen redo` is about the last one. */
static int choose_and_plan(struct undo_run *run)
{
	for (;;) {
		int code = choose(run);
		if (code == EXIT_CODE_OK)
			code = make_plan(run);
		if (code != EXIT_CODE_OK || !is_about_last(run->request) || run->schedule.count ||
		    run->report.left_count)
			return code;
		undo_range_pass(&run->ranges, run->step);
		drop_plan(run);
	}
}

static void summarize(const struct undo_run *run, const struct apply_result *result)
{
	char count[TEXT_NUMBER_BYTES];
	const struct step *step = steps_numbered(&run->session.steps, run->step);
	char command[4 * STEP_TEXT_BYTES + 1];
	bool redoes = run->request->kind == OPERATION_REDO;

	if (step && path_escape(step->text, command, sizeof(command)) >= 0)
		(void)printf("step %u: %s\n", step->number, command);
	size_t lines = undo_report_lines(run, result);
	if (result && !lines)
		(void)printf("nothing was %s\n", redoes ? "redone" : "undone");
	else
		(void)printf("%s%s path%s%s\n",
			     result ? "" : "nothing was changed: this would change ",
			     text_number(lines, count), text_plural(lines),
			     !result  ? ""
			     : redoes ? " redone; `seen undo` takes it back"
			     : undo_report_can_redo(run)
				     ? " undone; `seen redo` takes it back"
				     : " undone; nothing to redo: git's objects and logs stay");
}

static int report(const struct undo_run *run, const struct apply_result *result)
{
	int code = undo_report_code(run, result);

	if (result)
		undo_report_failed(&run->schedule, result, run->session.workspace);
	if (run->request->json) {
		int shown = undo_report_json(run, result);
		return message_exit_code(shown == EXIT_CODE_OK ? code : shown);
	}
	summarize(run, result);
	return message_exit_code(code);
}

/* ---- doing it ---- */

/* No git program may change what the plan changes of git's state. */
static int lock_git(struct undo_run *run)
{
	int error = git_locks_acquire(&run->schedule, &run->locks);

	if (error == -EAGAIN) {
		message("nothing was changed: %s is there: another program is at work, or was "
			"killed (remove the file then)",
			run->locks.blocked);
		return EXIT_CODE_CONFLICT;
	}
	return error < 0 ? failed(run, error) : EXIT_CODE_OK;
}

static int describe(const struct undo_run *run, struct undo_planned *ret_planned)
{
	struct undo_planned planned = { .step = run->step, .changes = run->schedule.count };
	int error = undo_report_digest(run, &planned.digest);

	if (error == 0)
		*ret_planned = planned;
	return error;
}

/* What a person agreed to is the plan that was shown. */
static int check_expected(const struct undo_run *run)
{
	const struct undo_request *request = run->request;
	const struct undo_planned *expected = &request->expected;
	struct undo_planned planned = { .step = 0 };

	if (!request->planned && !expected->digest)
		return EXIT_CODE_OK;
	int error = describe(run, &planned);
	if (error < 0)
		return failed(run, error);
	if (request->planned)
		*request->planned = planned;
	if (expected->step && planned.step != expected->step)
		message("nothing was undone: the last step is another one now, step %u", run->step);
	else if (expected->digest && planned.digest != expected->digest)
		message("nothing was undone: the plan is another one now than the one that "
			"was shown");
	else
		return EXIT_CODE_OK;
	return EXIT_CODE_CONFLICT;
}

/* What a git program did meanwhile, the plan must not take for what it found. */
static int lock_and_plan(struct undo_run *run)
{
	int code = run->schedule.count && !run->request->dry_run ? lock_git(run) : EXIT_CODE_OK;

	if (code != EXIT_CODE_OK || !run->locks.is_late)
		return code;
	drop_plan(run);
	code = make_plan(run);
	return code == EXIT_CODE_OK ? check_expected(run) : code;
}

static int stopped(const struct undo_run *run, int error)
{
	message("%s stopped: %s; `seen undo --continue` does the rest",
		run->request->kind == OPERATION_REDO ? "redo" : "undo", strerror(-error));
	return EXIT_CODE_PARTLY;
}

static int do_plan(struct undo_run *run)
{
	struct apply_result result;
	int error = schedule_write(&run->schedule, run->directory);

	if (error < 0) {
		message("nothing was changed: the plan, and what is there now, cannot be kept in "
			"%s: %s",
			run->session.undo, strerror(-error));
		return EXIT_CODE_PARTLY;
	}
	error = apply_plan(&run->schedule, &run->records, run->directory, run->session.workspace,
			   false, &result);
	undo_session_mark(&run->session);
	int completed = undo_report_complete(run);
	int code = error < 0       ? stopped(run, error)
		   : completed < 0 ? failed(run, completed)
				   : report(run, &result);
	apply_result_free(&result);
	return code;
}

/* One may have been killed before its plan was there, or when all was done. */
static int nothing_to_continue(struct undo_run *run)
{
	char count[TEXT_NUMBER_BYTES];
	size_t removed = git_locks_remove_left(&run->locks);

	message("nothing to continue: no undo of session %s was interrupted", run->session.name);
	if (removed)
		message("removed %s lock file%s of an undo that was killed",
			text_number(removed, count), text_plural(removed));
	return EXIT_CODE_NOTHING;
}

/* `--continue`. */
static int resume(struct undo_run *run)
{
	struct apply_result result;
	char count[TEXT_NUMBER_BYTES];
	uint32_t number = undo_range_unfinished(&run->ranges);
	int error = number ? schedule_read(run->directory, number, &run->records, &run->schedule)
			   : 0;

	if (!number)
		return nothing_to_continue(run);
	if (error < 0)
		return failed(run, error);
	run->step = undo_range_step_of(&run->ranges, &run->schedule.head);
	int locked = lock_git(run);
	if (locked != EXIT_CODE_OK)
		return locked;
	error = apply_plan(&run->schedule, &run->records, run->directory, run->session.workspace,
			   true, &result);
	undo_session_mark(&run->session);
	int code = error < 0 ? stopped(run, error) : EXIT_CODE_OK;
	if (code == EXIT_CODE_OK) {
		(void)git_locks_remove_left(&run->locks);
		undo_report_lacking(run);
		undo_report_failed(&run->schedule, &result, run->session.workspace);
		if (run->request->json)
			code = undo_report_json(run, &result);
		else
			(void)printf("finished: %s steps of the plan done\n",
				     text_number(result.done, count));
		code = code == EXIT_CODE_OK ? undo_report_code(run, &result) : code;
	}
	apply_result_free(&result);
	return code;
}

/* All of the last step is left: that is on record, so that the next `--last` goes on before it. */
static void note_left(struct undo_run *run)
{
	struct operation_head *head = &run->schedule.head;

	head->state = OPERATION_PARTLY;
	head->step = run->step;
	head->flags |= OPERATION_NO_REDO;
	if (schedule_write(&run->schedule, run->directory) == 0)
		message("step %u is left as it is; --force undoes it, too; `seen undo --last` goes "
			"on with the step before it",
			run->step);
}

/* A damaged record may be the one that tells what a thing was, or where: without it the rest would make a
 * state that never was.  What lies before the range does not matter. */
static int check_damaged(const struct undo_run *run)
{
	const struct tree_records *records = &run->records;
	const struct tree_range *range = &run->range;
	bool is_meant = range->from_operation ? records->damaged_operation >= range->from_operation
					      : records->damaged_operation ||
							records->damaged_place >= range->from_place;

	if (!records->damaged || run->request->force || !is_meant)
		return EXIT_CODE_OK;
	message("nothing was changed: %llu undo records of this session are damaged: what they "
		"held is not known; --force does what the others tell",
		(unsigned long long)records->damaged);
	return EXIT_CODE_PARTLY;
}

static int act(struct undo_run *run)
{
	const struct undo_request *request = run->request;
	int code = EXIT_CODE_OK;

	if (request->resumes)
		return resume(run);
	if (undo_range_unfinished(&run->ranges) && !request->dry_run) {
		message("an undo of this session was interrupted: `seen undo --continue` finishes "
			"it");
		return EXIT_CODE_CONFLICT;
	}
	(void)git_locks_remove_left(&run->locks);
	code = choose_and_plan(run);
	if (code == EXIT_CODE_OK)
		code = check_expected(run);
	if (code == EXIT_CODE_OK)
		code = check_damaged(run);
	if (code == EXIT_CODE_OK)
		code = lock_and_plan(run);
	if (code != EXIT_CODE_OK)
		return code;
	undo_report_left(run);
	if (request->dry_run) {
		code = report(run, NULL);
		/* as the undo itself would end */
		return code == EXIT_CODE_OK && !run->schedule.count ? EXIT_CODE_NOTHING : code;
	}
	if (run->schedule.count)
		return do_plan(run);
	if (run->report.left_count && is_about_last(request) && !request->paths)
		note_left(run);
	code = undo_report_code(run, NULL);
	if (request->kind == OPERATION_REDO && !run->report.left_count && code == EXIT_CODE_OK) {
		int error = operation_set_redone(run->directory, run->ranges.operation,
						 run->ranges.operation);
		if (error < 0)
			return failed(run, error);
	}
	if (!run->report.left_count && code == EXIT_CODE_OK)
		message("nothing to %s: all that is on record is as it was",
			request->kind == OPERATION_REDO ? "redo" : "undo");
	if (request->json && undo_report_json(run, NULL) != EXIT_CODE_OK)
		return EXIT_CODE_OUTPUT;
	return code == EXIT_CODE_OK ? EXIT_CODE_NOTHING : code;
}

static int read_and_act(struct undo_run *run)
{
	int code = run->request->dry_run ? EXIT_CODE_OK : lock(run);

	if (code == EXIT_CODE_OK && !run->request->dry_run)
		code = check_running(run);
	if (code != EXIT_CODE_OK)
		return code;
	if (run->directory >= 0)
		git_locks_find_left(run->directory, !run->request->dry_run, &run->locks);
	undo_session_mark(&run->session);
	uint64_t lost = undo_session_lost(&run->session.session);
	int error = tree_records_read(run->session.undo, &run->records);
	if (error == 0)
		error = undo_ranges_read(&run->session.steps, &run->records, run->directory,
					 &run->ranges);
	run->unrecorded = undo_session_unrecorded(lost, &run->records);
	return error < 0 ? failed(run, error) : act(run);
}

/* ---- for the picker ---- */

int undo_run_undone(const struct undo_session *session, const struct tree_records *records,
		    bool *is_undone)
{
	struct undo_ranges ranges = { .steps = NULL };
	int directory = -1, error = session_open_directory(AT_FDCWD, session->undo, &directory);

	if (error < 0)
		return error == -ENOENT ? 0 : error;
	error = undo_ranges_read(&session->steps, records, directory, &ranges);
	if (error == 0)
		undo_range_undone(&ranges, is_undone);
	undo_ranges_free(&ranges);
	(void)close(directory);
	return error;
}

static int show_plan(struct undo_run *run, FILE *file, struct undo_planned *ret_planned)
{
	int error = tree_records_read(run->session.undo, &run->records);

	if (error == 0)
		error = undo_ranges_read(&run->session.steps, &run->records, run->directory,
					 &run->ranges);
	if (error < 0)
		return error;
	if (choose(run) != EXIT_CODE_OK || make_plan(run) != EXIT_CODE_OK)
		return -ENOMEM;
	undo_report_plan(run, file);
	if (!run->report.line_count)
		(void)fprintf(file, "nothing would change\n");
	return describe(run, ret_planned);
}

int undo_run_show(const struct undo_session *session, const struct undo_request *request,
		  FILE *file, struct undo_planned *ret_planned)
{
	struct undo_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	run->request = request;
	run->session = *session;
	git_locks_init(session->undo, &run->locks);
	int error = session_open_directory(AT_FDCWD, session->undo, &run->directory);
	if (error == 0) {
		git_locks_find_left(run->directory, false, &run->locks);
		error = show_plan(run, file, ret_planned);
		close_run(run);
	}
	free(run);
	return error;
}

int undo_run(const struct config *config, const char *name, const struct undo_request *request)
{
	struct undo_run *run = calloc(1, sizeof(*run));

	if (!run) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	(void)signal(SIGXFSZ, SIG_IGN); /* past `ulimit -f` a write fails */
	run->request = request;
	run->directory = -1;
	int code = undo_session_find_records(config, name, &run->session);
	if (code == EXIT_CODE_OK) {
		git_locks_init(run->session.undo, &run->locks);
		int error = session_open_directory(AT_FDCWD, run->session.undo, &run->directory);
		if (error == -ENOENT) {
			undo_session_report_none(&run->session);
			undo_report_above(run);
			code = EXIT_CODE_NOTHING;
		} else {
			code = error < 0 ? failed(run, error) : read_and_act(run);
		}
		close_run(run);
		undo_session_close(&run->session);
	}
	free(run);
	return code;
}
