/* The course of the picker: see pick_run.h. */
#include "cli/undo/pick_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/screen/screen.h"
#include "cli/screen/screen_draw.h"
#include "cli/undo/diff_print.h"
#include "cli/undo/pick.h"
#include "cli/undo/pick_draw.h"
#include "cli/undo/pick_text.h"
#include "cli/undo/step_changes.h"
#include "cli/undo/story.h"

enum { WAIT_MS = 60000 };

struct picking {
	const struct undo_session *session;
	const struct undo_request *request;
	struct story story;
	const struct story_step **steps; /* that changed something, the youngest first */
	bool *is_undone;                 /* by number */
	struct pick pick;
	struct pick_text text;
	struct undo_planned planned; /* that was shown last */
};

static uint32_t number_of(const struct picking *picking)
{
	return picking->steps[picking->pick.chosen]->step->number;
}

/* ---- texts ---- */

struct writing {
	struct picking *picking;
	FILE *file;
};

static int write_set(const struct tree_records *records, const struct step *step,
		     struct diff_set *set, void *data)
{
	const struct writing *writing = data;

	(void)step;
	return diff_print_patch(writing->file, records, set, &PATCH_PLAIN);
}

static int write_diff(FILE *file, void *data)
{
	struct picking *picking = data;
	struct writing writing = { picking, file };

	const struct step_changes_visit visit = { .records = &picking->story.records,
						  .steps = &picking->session->steps,
						  .workspace = picking->session->workspace,
						  .only = number_of(picking),
						  .visit = write_set,
						  .data = &writing };

	return step_changes_visit(&visit);
}

static int write_plan(FILE *file, void *data)
{
	struct picking *picking = data;
	struct undo_request request = *picking->request;
	char number[PICK_NUMBER_BYTES];

	picking->planned = (struct undo_planned){ .step = 0 };
	(void)snprintf(number, sizeof(number), "%u", number_of(picking));
	*(picking->pick.is_since ? &request.since : &request.step) = number;
	int error = undo_run_show(picking->session, &request, file, &picking->planned);
	picking->pick.is_empty = picking->planned.changes == 0;
	return error;
}

/* The text of what is shown now. */
static int make_text(struct picking *picking)
{
	enum pick_screen shown = picking->pick.shown;

	pick_text_free(&picking->text);
	picking->pick.line_count = 0;
	if (shown == PICK_STEPS)
		return 0;
	int error = pick_text_make(shown == PICK_DIFF ? write_diff : write_plan, picking,
				   &picking->text);
	picking->pick.line_count = picking->text.count;
	pick_draw_anew(); /* a content that cannot be read was reported */
	return error;
}

/* ---- the course ---- */

/* Returns 1: a choice was made; 0; or a negative errno. */
static int choose(struct picking *picking)
{
	const struct pick_picture picture = {
		.session = picking->session->name,
		.steps = picking->steps,
		.is_undone = picking->is_undone,
		.all = picking->story.count,
		.text = &picking->text,
	};

	for (int error = 0; error == 0;) {
		pick_draw(&picking->pick, &picture);
		int32_t key = screen_wait(WAIT_MS);
		if (key == SCREEN_WAIT_END)
			break;
		enum pick_action action = key < 0 ? PICK_GO_ON
						  : pick_key(&picking->pick, (uint32_t)key);
		if (action == PICK_QUIT)
			break;
		if (action == PICK_DO)
			return 1;
		error = action == PICK_SHOW ? make_text(picking) : 0;
		if (error < 0)
			return error;
	}
	return 0;
}

static int find_steps(struct picking *picking)
{
	const struct undo_session *session = picking->session;
	bool has_segment = session->session.segment.header != NULL;
	int error = story_make(&session->steps, session->undo, session->workspace,
			       has_segment ? &session->session : NULL, 0, &picking->story);

	picking->steps = calloc(session->steps.count + 1, sizeof(const struct story_step *));
	picking->is_undone = calloc(session->steps.count + 1, sizeof(*picking->is_undone));
	if (error == 0 && (!picking->steps || !picking->is_undone))
		error = -ENOMEM;
	if (error == 0)
		error = undo_run_undone(session, &picking->story.records, picking->is_undone);
	for (size_t i = picking->story.count; error == 0 && i-- > 0;) {
		const struct story_step *step = &picking->story.steps[i];
		if (step->count || step->lost_count)
			picking->steps[picking->pick.count++] = step;
	}
	return error;
}

static int show(struct picking *picking, struct undo_request *request,
		struct pick_choice *ret_choice)
{
	int error = find_steps(picking);

	if (error == 0 && picking->pick.count && screen_open() == 0) {
		ret_choice->is_shown = true;
		screen_draw_init();
		error = choose(picking);
		screen_close();
		screen_exit();
	}
	if (error > 0) {
		ret_choice->is_made = true;
		(void)snprintf(ret_choice->number, sizeof(ret_choice->number), "%u",
			       number_of(picking));
		(void)snprintf(ret_choice->session, sizeof(ret_choice->session), "%s",
			       picking->session->name);
		*(picking->pick.is_since ? &request->since : &request->step) = ret_choice->number;
		request->expected = picking->planned;
	}
	if (error >= 0)
		return EXIT_CODE_OK;
	message("%s: %s", picking->session->undo, strerror(-error));
	return error == -ENOMEM ? EXIT_CODE_OUTPUT : EXIT_CODE_BAD_SESSION;
}

int pick_run(const struct config *config, const char *name, struct undo_request *request,
	     struct pick_choice *ret_choice)
{
	struct undo_session session;
	struct picking picking = { .session = &session, .request = request };

	*ret_choice = (struct pick_choice){ .is_shown = false };
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return EXIT_CODE_OK;
	int code = undo_session_find(config, name, &session);
	if (code != EXIT_CODE_OK)
		return code;
	const struct step *caller = steps_of_caller(&session.steps);
	if (!caller || !caller->by_agent) {
		undo_session_mark(&session);
		code = show(&picking, request, ret_choice);
	}
	pick_text_free(&picking.text);
	free(picking.steps);
	free(picking.is_undone);
	story_free(&picking.story);
	undo_session_close(&session);
	return code;
}
