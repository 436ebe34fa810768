/* Doing a plan, item by item: see apply.h. */
#include "cli/undo/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/undo/apply_fresh.h"
#include "cli/undo/apply_make.h"
#include "cli/undo/apply_meta.h"
#include "cli/undo/apply_remove.h"
#include "cli/undo/schedule_stage.h"

static int do_kind(struct doing *doing)
{
	switch ((enum schedule_kind)doing->item->kind) {
	case SCHEDULE_REMOVE:
		return apply_remove(doing);
	case SCHEDULE_RMDIR:
		return apply_rmdir(doing);
	case SCHEDULE_STAGE:
		return apply_stage(doing);
	case SCHEDULE_PLACE:
		return apply_place(doing);
	case SCHEDULE_MKDIR:
		return apply_mkdir(doing);
	case SCHEDULE_PUT:
	case SCHEDULE_SWAP:
	case SCHEDULE_LINK:
	case SCHEDULE_RELINK:
		return apply_make(doing);
	case SCHEDULE_WRITE:
		return apply_write(doing);
	case SCHEDULE_ATTRIBUTE:
		return apply_attribute(doing);
	case SCHEDULE_META:
		return apply_meta(doing);
	}
	return -EINVAL;
}

static int do_item(struct applying *applying, size_t index)
{
	struct doing doing;
	int answer = doing_start(applying, index, &doing);

	if (answer == 0)
		answer = do_kind(&doing);
	if (answer == -EACCES && apply_open_directory(&doing) == 0) {
		answer = doing_start(applying, index, &doing);
		if (answer == 0)
			answer = do_kind(&doing);
	}
	return answer;
}

/* The plan on disk tells how far it is. */
static void note_state(struct applying *applying, int plan_fd, size_t index,
		       enum schedule_state state)
{
	uint8_t byte = (uint8_t)state;
	off_t offset = (off_t)(sizeof(struct operation_head) +
			       index * sizeof(struct schedule_item) +
			       offsetof(struct schedule_item, state));

	applying->plan->items[index].state = byte;
	/* On a full disk the undo goes on: the byte is there for one that is interrupted. */
	ssize_t wrote = pwrite(plan_fd, &byte, 1, offset);
	(void)wrote;
}

static void do_items(struct applying *applying, int plan_fd, struct apply_result *result)
{
	bool closed = false;

	for (size_t i = 0; i < applying->plan->count && result->error == 0; i++) {
		struct schedule_item *item = &applying->plan->items[i];
		if (item->state != SCHEDULE_TODO)
			continue;
		if (item->kind == SCHEDULE_META && !closed) {
			apply_close_directories(applying);
			closed = true;
		}
		int answer = do_item(applying, i);
		result->errors[i] = answer == DOING_CHANGED ? -EBUSY : answer;
		if (applying_ends(answer)) {
			result->error = answer;
		} else {
			bool skipped = answer == DOING_CHANGED || answer == -ENOTEMPTY;
			note_state(applying, plan_fd, i,
				   answer == DOING_DONE ? SCHEDULE_DONE
				   : skipped            ? SCHEDULE_SKIPPED
							: SCHEDULE_FAILED);
		}
	}
	apply_close_directories(applying);
}

/* What waits for a place that it did not get goes back. */
static void unstage(struct applying *applying, int plan_fd, struct apply_result *result)
{
	struct doing doing;

	for (size_t i = applying->plan->count; i-- > 0;) {
		struct schedule_item *item = &applying->plan->items[i];
		if (item->kind != SCHEDULE_STAGE || item->state != SCHEDULE_DONE)
			continue;
		struct pack_state staged;
		if (place_state(&applying->places, schedule_text(applying->plan, item->other),
				&staged) < 0)
			continue;
		int error = doing_start(applying, i, &doing);
		if (error == 0)
			error = apply_unstage(&doing);
		result->errors[i] = error;
		if (error < 0) /* it stays in the staging directory */
			note_state(applying, plan_fd, i, SCHEDULE_FAILED);
	}
}

static bool has_staging(const struct schedule *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].kind == SCHEDULE_STAGE)
			return true;
	return false;
}

static int make_staging(struct applying *applying, const char *path)
{
	const char *name;
	int directory, error = place_of(&applying->places, path, &directory, &name);

	if (error < 0)
		return error;
	return mkdirat(directory, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static void remove_staging(struct applying *applying, const char *path)
{
	const char *name;
	int directory;

	places_forget(&applying->places);
	if (place_of(&applying->places, path, &directory, &name) == 0)
		(void)unlinkat(directory, name, AT_REMOVEDIR);
}

static void count(const struct schedule *plan, struct apply_result *result)
{
	for (size_t i = 0; i < plan->count; i++) {
		result->done += plan->items[i].state == SCHEDULE_DONE;
		result->skipped += plan->items[i].state == SCHEDULE_SKIPPED;
		result->failed += plan->items[i].state == SCHEDULE_FAILED;
	}
}

static int apply(struct applying *applying, int plan_fd, const char *workspace,
		 struct apply_result *result)
{
	char staging[SCHEDULE_STAGED_BYTES];
	bool staged = has_staging(applying->plan);

	schedule_stage_directory(workspace, applying->plan->head.number, staging);
	result->error = staged ? make_staging(applying, staging) : 0;
	if (applying->again)
		apply_reclose_directories(applying);
	apply_fresh_open(applying->log.directory, applying->plan, workspace, &applying->fresh);
	if (result->error == 0)
		do_items(applying, plan_fd, result);
	apply_fresh_close(applying->log.directory, &applying->fresh);
	if (result->error == 0 && staged) {
		unstage(applying, plan_fd, result);
		remove_staging(applying, staging);
	}
	count(applying->plan, result);
	return result->error;
}

int apply_plan(struct schedule *plan, const struct tree_records *records, int directory,
	       const char *workspace, bool again, struct apply_result *ret_result)
{
	char name[OPERATION_NAME_BYTES];
	struct applying *applying = calloc(1, sizeof(*applying));

	*ret_result = (struct apply_result){ .errors = calloc(plan->count + 1, sizeof(int)) };
	if (!applying || !ret_result->errors) {
		free(applying);
		return ret_result->error = -ENOMEM;
	}
	applying->plan = plan;
	applying->records = records;
	applying->again = again;
	applying->fresh.directory = -1;
	applying->log = (struct operation_log){ .directory = -1, .part = -1 };
	operation_name(plan->head.number, name);
	int error = places_open(&applying->places);
	if (error == 0)
		error = operation_log_open(directory, plan->head.number, &applying->log);
	int plan_fd = error ? -1
			    : openat(applying->log.directory, OPERATION_PLAN,
				     O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (error == 0 && plan_fd < 0)
		error = -errno;
	ret_result->error = error ? error : apply(applying, plan_fd, workspace, ret_result);
	if (plan_fd >= 0)
		(void)close(plan_fd);
	operation_log_close(&applying->log);
	places_close(&applying->places);
	free(applying);
	/* What `seen redo` brings back is on disk when the undo counts as done. */
	if (ret_result->error == 0)
		ret_result->error = operation_log_sync(directory, plan->head.number);
	/* Killed in between, it is continued, and both are set. */
	if (ret_result->error == 0 && plan->head.reverses)
		ret_result->error = operation_set_redone(directory, plan->head.reverses,
							 plan->head.number);
	bool is_partly = ret_result->skipped || ret_result->failed ||
			 (plan->head.flags & OPERATION_INCOMPLETE);
	if (ret_result->error == 0)
		ret_result->error = operation_set_state(directory, plan->head.number,
							is_partly ? OPERATION_PARTLY
								  : OPERATION_DONE);
	return ret_result->error;
}

void apply_result_free(struct apply_result *result)
{
	free(result->errors);
	*result = (struct apply_result){ .done = 0 };
}
