/* The steps of `seen top`: see top_steps.h. */
#include "cli/top/top_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/exit_code.h"
#include "cli/undo/undo_run.h"
#include "tracker/sys/sys.h"

enum { REST = 19 /* so many times what the reading took */ };

#define MS_NS UINT64_C(1000000)

static void drop(struct top_steps *steps)
{
	if (!steps->was_read)
		return;
	free(steps->rows);
	free(steps->is_undone);
	story_free(&steps->story);
	undo_session_close(&steps->found);
}

/* ret_steps: config and session are set. */
static int read_steps(struct top_steps *ret_steps)
{
	struct undo_session *found = &ret_steps->found;

	if (undo_session_find(ret_steps->config, ret_steps->session, found) != EXIT_CODE_OK)
		return -ENOENT;
	bool has_segment = found->session.segment.header != NULL;
	int error = story_make(&found->steps, found->undo, found->workspace,
			       has_segment ? &found->session : NULL, 0, &ret_steps->story);
	ret_steps->count = found->steps.count;
	ret_steps->rows = calloc(ret_steps->count + 1, sizeof(const struct story_step *));
	ret_steps->is_undone = calloc(ret_steps->count + 1, sizeof(*ret_steps->is_undone));
	if (error == 0 && (!ret_steps->rows || !ret_steps->is_undone))
		error = -ENOMEM;
	if (error == 0)
		error = undo_run_undone(found, &ret_steps->story.records, ret_steps->is_undone);
	ret_steps->was_read = true;
	if (error != 0)
		drop(ret_steps);
	return error;
}

int top_steps_update(struct top_steps *steps, uint64_t events, uint64_t interval_ms)
{
	struct top_steps more = { .config = steps->config, .session = steps->session };
	uint64_t begin_ns = sys_boottime_ns(), rest_ns = interval_ms * MS_NS;

	if (begin_ns < steps->next_ns || (steps->next_ns && steps->events == events))
		return 0;
	int error = read_steps(&more);
	uint64_t end_ns = sys_boottime_ns();
	if (rest_ns < (end_ns - begin_ns) * REST)
		rest_ns = (end_ns - begin_ns) * REST;
	if (error == 0) {
		drop(steps);
		*steps = more;
		top_steps_filter(steps, "");
	}
	steps->events = events;
	steps->next_ns = end_ns + rest_ns;
	return error != 0 ? error : 1;
}

void top_steps_expire(struct top_steps *steps)
{
	steps->next_ns = 0;
}

static bool holds(const struct story_step *step, const char *filter)
{
	if (!filter[0] || strcasestr(step->step->text, filter))
		return true;
	for (size_t i = 0; i < step->count; i++)
		if (strcasestr(step->files[i].path, filter))
			return true;
	return false;
}

void top_steps_filter(struct top_steps *steps, const char *filter)
{
	steps->row_count = 0;
	for (size_t i = steps->was_read ? steps->story.count : 0; i-- > 0;)
		if (holds(&steps->story.steps[i], filter))
			steps->rows[steps->row_count++] = &steps->story.steps[i];
}

void top_steps_free(struct top_steps *steps)
{
	drop(steps);
	*steps = (struct top_steps){ .count = 0 };
}
