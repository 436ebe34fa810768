/* decision_delivery.h: what was given does not count where the file, the scope or the window moved meanwhile. */
#include "decision_case.h"
#include "tracker/answer/instruction.h"
#include "tracker/answer/line_range.h"
#include "tracker/segment/workspace.h"

TestSuite(decision_delivery, .init = start, .fini = stop);

static uint64_t key_of(const char *name)
{
	return path_key(&world.segment, world_path(&world, name));
}

/* ---- no room ---- */

Test(decision_delivery, no_room_for_a_file)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	char path[1024];

	(void)open_view(&world, &request, "f", &view);
	decision_pend_late(&world.segment, &request, &view.stat, &view.answer, &view.pending);
	cr_assert_eq(decision_complete(&world.segment, view.path, &view.pending), 0);
	for (unsigned i = 0;; i++) { /* until the paths have no room */
		(void)snprintf(path, sizeof(path), "%s/%0900u", world.workspace, i);
		if (!file_update(&world.segment, path, NULL, NULL, NULL))
			break;
		memset(slot_of_file(&world.segment, path_key(&world.segment, path)), 0,
		       sizeof(struct file_slot));
	}
	cr_assert_eq(decision_pend(&world.segment, &request, path, &view.stat, NULL, &view.pending),
		     -ENOSPC);
	decision_pend_late(&world.segment, &request, &view.stat, &view.answer, &view.pending);
	cr_assert_eq(decision_complete(&world.segment, path, &view.pending), -ENOSPC);
	(void)close(view.fd);
}

/* ---- changes that no other record reports ---- */

struct change {
	struct version written, external;
	uint64_t writer, edit_ns;
};

static void note_change(struct file_slot *file, const void *data)
{
	const struct change *change = data;

	file->written = change->written;
	file->external = change->external;
	file->writer = change->writer;
	file->last_edit_realtime_ns = change->edit_ns;
}

static bool reads_changed(const struct change *change)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view = { .delivered = { .is_given = false } };

	must(file_change_known(&world.segment, key_of("f"), note_change, change) == 0);
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	return view.delivered.is_changed;
}

Test(decision_delivery, changed_unseen)
{
	static const struct version NONE;
	struct content content;
	unsigned seed = 2;
	int fd;

	ASSERT_NEW("f");
	cr_assert(!reads_changed(&(struct change){ .writer = 0 }), "it is the same");
	world_fill(&world, "f", 4096, seed++);
	cr_assert(reads_changed(&(struct change){ .writer = 0 }));
	world_fill(&world, "f", 4096, seed++);
	cr_assert(!reads_changed(&(struct change){ .writer = 5 }), "who writes will report it");
	world_fill(&world, "f", 4096, seed++);
	cr_assert(!reads_changed(&(struct change){ .edit_ns = UINT64_MAX }));
	for (int is_written = 0; is_written < 2; is_written++) {
		world_fill(&world, "f", 4096, seed++);
		fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
		must(content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
		cr_assert(!reads_changed(
			&(struct change){ .written = is_written ? content.version : NONE,
					  .external = is_written ? NONE : content.version }));
	}
	world.segment.header->watched_until_ns = UINT64_MAX;
	world_fill(&world, "f", 4096, seed++);
	cr_assert(!reads_changed(&(struct change){ .writer = 0 }), "the watcher will report it");
}

/* ---- between the opening and the end ---- */

/* Opens the file as a viewer of a new request. */
static struct request opened(struct viewed_file *ret_view)
{
	struct request request = world_request(&world, scope);

	(void)open_view(&world, &request, "f", ret_view);
	return request;
}

Test(decision_delivery, the_record_is_gone)
{
	struct viewed_file view;
	struct request request = opened(&view);

	for (uint64_t i = 0; i < world.segment.capacity[TABLE_FILES]; i++)
		memset(segment_slot(&world.segment, TABLE_FILES, i), 0, sizeof(struct file_slot));
	viewer_finish(&world, &request, &view);
	cr_assert(!view.delivered.is_given);
	ASSERT_NEW("f");
}

Test(decision_delivery, the_conversation_is_another)
{
	struct viewed_file view;
	struct request request = opened(&view);

	request.context.scope_id = world_scope(&world, "b");
	viewer_finish(&world, &request, &view);
	cr_assert(!view.delivered.is_given);
	ASSERT_NEW("f");
}

/* Lines that were given count only where the file is still the one that was opened. */
Test(decision_delivery, lines)
{
	const struct span span = { 1, 10 };
	struct content content;
	struct viewed_file view;
	struct request request = opened(&view);
	struct stamp stamp = stamp_of(&view.stat), other = stamp;
	struct output_limits limits = *BYTES(24000);
	struct version version;

	must(content_of_descriptor(view.fd, UINT64_MAX, &content) == 0);
	struct moment moment = decision_moment(&world.segment, &request);
#define HAS() line_range_has(&world.segment, key_of("f"), &moment, &limits, 0, &span, &version)
	decision_give_lines(&world.segment, &request, &view.pending, &stamp, &content, &span, 0);
	cr_assert(!HAS());
	other.size_bytes++;
	decision_give_lines(&world.segment, &request, &view.pending, &other, &content, &span, 1);
	cr_assert(!HAS());
	content.version.size_bytes++;
	decision_give_lines(&world.segment, &request, &view.pending, &stamp, &content, &span, 1);
	cr_assert(!HAS());
	content.version.size_bytes--;
	request.at_sink = false;
	decision_give_lines(&world.segment, &request, &view.pending, &stamp, &content, &span, 1);
	cr_assert(!HAS());
	request.at_sink = true;
	decision_give_lines(&world.segment, &request, &view.pending, &stamp, &content, &span, 1);
	cr_assert(HAS());
	cr_assert_eq(tracker_forget(&world.segment, scope, view.path), 0);
	moment = decision_moment(&world.segment, &request);
	decision_give_lines(&world.segment, &request, &view.pending, &stamp, &content, &span, 1);
	cr_assert(!HAS());
#undef HAS
	(void)close(view.fd);
}

/* A diff counts only beside what it was made against. */
Test(decision_delivery, a_diff_against_what_was_given_since)
{
	struct viewed_file view;
	struct delivery_slot before;
	struct content content;

	ASSERT_NEW("f");
	cr_assert_eq(delivery_find(&world.segment, scope, key_of("f"), &before), 0);
	world_fill(&world, "f", 4096, 2);
	struct answer answer = {
		.decision = DECISION_DIFF,
		.file_key = key_of("f"),
		.path_key = key_of("f"),
		.delivered = before.version,
		.given = { before.request, before.bytes_given, before.time_ns },
	};
	for (int way = 0; way < 4; way++) {
		struct request request = opened(&view);
		struct stamp stamp = stamp_of(&view.stat);
		must(content_of_descriptor(view.fd, UINT64_MAX, &content) == 0);
		must(decision_pend(&world.segment, &request, view.path, &view.stat, &answer,
				   &view.pending) == 0);
		if (way == 0)
			view.pending.base.low++;
		else if (way == 1)
			view.pending.place.request++;
		else if (way == 2)
			view.pending.base_key++;
		decision_deliver(&world.segment, &request, &view.pending, &stamp, &content.version,
				 &view.delivered);
		cr_assert_eq(view.delivered.is_given, way == 3, "%d", way);
		(void)close(view.fd);
	}
	cr_assert_eq(counter(COUNTER_deliveries), 1, "a diff is no delivery of a file");
}

/* ---- what was given before ---- */

Test(decision_delivery, past)
{
	struct request request = world_request(&world, scope);

	cr_assert(!decision_is_past(&world.segment, &request, key_of("f")));
	ASSERT_NEW("f");
	cr_assert(!decision_is_past(&world.segment, &request, key_of("f")));
	(void)tracker_forget_all(&world.segment, scope);
	cr_assert(decision_is_past(&world.segment, &request, key_of("f")));
	ASSERT_NEW("f");
	cr_assert(!decision_is_past(&world.segment, &request, key_of("f")));
	(void)tracker_forget_all(&world.segment, 0);
	cr_assert(decision_is_past(&world.segment, &request, key_of("f")));
}

/* A repeat whose output does not go to the agent is given in full. */
Test(decision_delivery, a_repeat_elsewhere)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	request = world_request(&world, scope);
	request.at_sink = false;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_NOT_ALLOWED);
	(void)close(view.fd);
	request = world_request(&world, scope);
	request.is_viewer = false;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_NOT_ALLOWED);
	(void)close(view.fd);
	ASSERT_NOTICE("f");
}

/* A session whose nonce was lost writes no notice. */
Test(decision_delivery, a_segment_without_a_nonce)
{
	ASSERT_NEW("f");
	world.segment.header->nonce[0] = '\0';
	ASSERT_CAT("f", DECISION_CONTENT, REASON_TOO_SHORT);
}

/* A conversation that is not known to go on counts nothing, unless its hook reports this turn. */
Test(decision_delivery, a_mute_scope)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	must(scope_set_flags(&world.segment, scope, SCOPE_MUTE, SCOPE_MUTE) == 0);
	ASSERT_NEW("f");
	request = world_request(&world, scope);
	request.is_turn_reported = true;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_NOTICE);
	(void)close(view.fd);
}

/* An in-process read of no scope has no epoch, whatever its agent's is. */
Test(decision_delivery, in_process_without_a_scope)
{
	struct request request = { .is_in_process = true, .agent_scope_id = scope };

	cr_assert_eq(decision_moment(&world.segment, &request).scope_epoch, 0);
	request.context.scope_id = world_scope(&world, "own");
	cr_assert_neq(decision_moment(&world.segment, &request).scope_epoch, 0);
}

/* An instruction file that a viewer gave is on record as given; one whose path was lost is not. */
static void without_path(struct file_slot *file, const void *data)
{
	(void)data;
	file->path_bytes = 0;
}

Test(decision_delivery, an_instruction_file)
{
	struct request request;
	struct viewed_file view;
	struct content content;

	world_fill(&world, "AGENTS.md", 1000, 1);
	for (int is_damaged = 1; is_damaged >= 0; is_damaged--) {
		request = world_request(&world, scope);
		(void)open_view(&world, &request, "AGENTS.md", &view);
		must(content_of_descriptor(view.fd, UINT64_MAX, &content) == 0);
		if (is_damaged)
			must(file_change_known(&world.segment, key_of("AGENTS.md"), without_path,
					       NULL) == 0);
		viewer_finish(&world, &request, &view);
		cr_assert(view.delivered.is_given);
		struct moment moment = decision_moment(&world.segment, &request);
		cr_assert_eq(instruction_is_given(&world.segment, &moment, view.stat.st_dev,
						  view.stat.st_ino, &content.version, BYTES(24000)),
			     !is_damaged);
		for (uint64_t i = 0; i < world.segment.capacity[TABLE_FILES]; i++)
			memset(segment_slot(&world.segment, TABLE_FILES, i), 0,
			       sizeof(struct file_slot));
		(void)tracker_forget_all(&world.segment, scope);
	}
}
