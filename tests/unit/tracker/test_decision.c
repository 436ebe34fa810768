/* decision.h: each reason, and each boundary. */
#include "decision_case.h"

TestSuite(decision, .init = start, .fini = stop);

Test(decision, first_read_then_notice)
{
	struct file_slot file;
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	cr_assert_eq(counter(COUNTER_deliveries), 1);
	cr_assert_eq(counter(COUNTER_notices), 1);
	cr_assert_eq(counter(COUNTER_repeats), 1);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.full_reads, 1);
	cr_assert_eq(file.notices, 1);
	cr_assert_eq(file.repeats, 1);
	cr_assert_gt(counter(COUNTER_bytes_saved), 3500);
	cr_assert_lt(counter(COUNTER_bytes_saved), 4096);
}

Test(decision, notice_names_the_path_as_given)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	ASSERT_NEW("f");
	cr_assert_eq(open_view(&world, &request, "./f", &view), DECISION_CONTENT,
		     "another path by text");
	viewer_finish(&world, &request, &view);
	request = world_request(&world, scope);
	int fd = open(world_path(&world, "f"), O_RDONLY);
	decision_open(&world.segment, &request, world_path(&world, "f"), "../w/\nf", fd, &view.stat,
		      &view.answer);
	cr_assert_eq(view.answer.decision, DECISION_NOTICE);
	cr_assert_not_null(strstr(view.answer.notice, "read: ../w/\\nf. "));
	cr_assert_eq(view.answer.notice[view.answer.notice_bytes - 1], '\n');
	(void)close(fd);
}

Test(decision, not_tracked)
{
	world_fill(&world, "f.patch", 4096, 1);
	ASSERT_CAT("f.patch", DECISION_CONTENT, REASON_NOT_TRACKED);
	ASSERT_CAT("f.patch", DECISION_CONTENT, REASON_NOT_TRACKED);
	ASSERT_CAT("../segment", DECISION_CONTENT,
		   REASON_NOT_DELIVERED); /* by text alone inside: callers resolve */
	cr_assert_eq(mkfifo(world_path(&world, "p"), 0600), 0);
	struct stat stat_;
	struct answer answer;
	struct request request = world_request(&world, scope);
	cr_assert_eq(stat(world_path(&world, "p"), &stat_), 0);
	decision_open(&world.segment, &request, world_path(&world, "p"), "p", -1, &stat_, &answer);
	cr_assert_eq(answer.reason, REASON_NOT_TRACKED);
}

Test(decision, other_bytes_of_equal_size)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", 4096, 2);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
	ASSERT_NOTICE("f");
}

/* A whole read of a file; its result. */
static struct delivered read_whole(const char *name)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view = { .is_pending = false };
	(void)open_view(&world, &request, name, &view);
	viewer_finish(&world, &request, &view);
	return view.delivered;
}

static void mark_edited(struct file_slot *file, const void *data)
{
	(void)data;
	file->flags |= FILE_EDITED_BY_TOOL;
	file->last_edit_realtime_ns = sys_realtime_ns();
}

Test(decision, tells_what_changed_and_was_not_seen_to)
{
	struct delivered first = read_whole("f");
	cr_assert(first.is_given && !first.is_changed && version_is_none(&first.before));

	world_fill(&world, "f", 4096, 2);
	struct delivered external = read_whole("f");
	cr_assert(external.is_given && external.is_changed);
	cr_assert_eq(external.before.size_bytes, 4096);

	world_fill(&world, "f", 4095, 3);
	(void)file_update(&world.segment, world_path(&world, "f"), NULL, mark_edited, NULL);
	struct delivered edited = read_whole("f");
	cr_assert(edited.is_given && !edited.is_changed);
}

Test(decision, other_size)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", 4097, 1);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
}

Test(decision, equal_stamp_injected_with_other_bytes)
{
	struct request request;
	struct viewed_file view;
	ASSERT_NEW("f");
	struct stat before;
	cr_assert_eq(stat(world_path(&world, "f"), &before), 0);
	world_fill(&world, "f", 4096, 2);
	request = world_request(&world, scope);
	int fd = open(world_path(&world, "f"), O_RDONLY);
	decision_open(&world.segment, &request, world_path(&world, "f"), "f", fd, &before,
		      &view.answer);
	cr_assert_eq(view.answer.decision, DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_CHANGED);
	(void)close(fd);
}

Test(decision, equal_stamp_by_a_store_through_a_shared_mapping)
{
	struct timespec times[2];
	struct stat before, after;
	ASSERT_NEW("f");
	int fd = open(world_path(&world, "f"), O_RDWR);
	char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	cr_assert_eq(fstat(fd, &before), 0);
	map[2000] ^= 1; /* dirties the page: the file system may take the time now ... */
	cr_assert_eq(msync(map, 4096, MS_SYNC), 0);
	times[0] = before.st_atim, times[1] = before.st_mtim;
	cr_assert_eq(futimens(fd, times), 0);
	cr_assert_eq(fstat(fd, &after), 0);
	cr_assert_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
	ASSERT_NOTICE("f");
	map[2000] ^= 2; /* ... and this one follows with the page still mapped and dirty */
	pass(20);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
	cr_assert_eq(munmap(map, 4096), 0);
	(void)close(fd);
}

Test(decision, touch_and_rewrite_with_equal_bytes)
{
	ASSERT_NEW("f");
	cr_assert_eq(utimensat(AT_FDCWD, world_path(&world, "f"),
			       (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0),
		     0);
	ASSERT_NOTICE("f");
	cr_assert_eq(unlink(world_path(&world, "f")), 0);
	world_fill(&world, "f", 4096, 1);
	pass(11);
	ASSERT_NOTICE("f");
}

Test(decision, rename_over_and_recreate)
{
	ASSERT_NEW("f");
	world_fill(&world, "g", 4096, 3);
	cr_assert_eq(rename(world_path(&world, "g"), world_path(&world, "f")), 0);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
	cr_assert_eq(unlink(world_path(&world, "f")), 0);
	world_fill(&world, "f", 4096, 4);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
}

Test(decision, back_to_older_bytes_is_a_change)
{
	ASSERT_NEW("f");
	world_fill(&world, "f", 4096, 2);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
	world_fill(&world, "f", 4096, 1);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
}

Test(decision, alias_by_hard_link_and_by_rename)
{
	ASSERT_NEW("f");
	cr_assert_eq(link(world_path(&world, "f"), world_path(&world, "h")), 0);
	ASSERT_NOTICE("h");
	pass(11);
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	ASSERT_NOTICE("r");
}

Test(decision, scopes_share_nothing)
{
	uint64_t first = scope;
	ASSERT_NEW("f");
	scope = world_scope(&world, "b");
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	scope = first;
	ASSERT_NOTICE("f");
}

Test(decision, without_scope_or_number)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	ASSERT_NEW("f");
	request.number = 0;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_NOT_DELIVERED);
	viewer_finish(&world, &request, &view);
	scope = 424242; /* of no agent */
	ASSERT_NEW("f");
	ASSERT_NEW("f");
}

static enum reason asked(struct request request)
{
	struct viewed_file view;
	cr_assert_neq(open_view(&world, &request, "f", &view), DECISION_NOTICE);
	cr_assert_eq(close(view.fd), 0);
	return view.answer.reason;
}

Test(decision, not_allowed_by_mode_role_sink)
{
	ASSERT_NEW("f");
	struct request request = world_request(&world, scope);
	request.is_viewer = false;
	cr_assert_eq(asked(request), REASON_NOT_ALLOWED);
	request.is_viewer = true;
	request.at_sink = false;
	cr_assert_eq(asked(request), REASON_NOT_ALLOWED);
	request.at_sink = true;
	world.settings->session_mode = SESSION_MODE_OBSERVE;
	cr_assert_eq(asked(request), REASON_NOT_ALLOWED);
	world.settings->session_mode = SESSION_MODE_OFF;
	cr_assert_eq(asked(request), REASON_NOT_ALLOWED);
	world.settings->session_mode = SESSION_MODE_SUBSTITUTE;
	ASSERT_NOTICE("f");
}

Test(decision, observe_counts_repeats)
{
	world.settings->session_mode = SESSION_MODE_OBSERVE;
	ASSERT_NEW("f");
	ASSERT_CAT("f", DECISION_CONTENT, REASON_NOT_ALLOWED);
	cr_assert_eq(counter(COUNTER_repeats), 1);
	cr_assert_eq(counter(COUNTER_notices), 0);
	cr_assert_eq(counter(COUNTER_bytes_saved), 0);
}

Test(decision, min_and_max_bytes_exactly_and_one_beyond)
{
	world.settings->notice_min_bytes = 4096;
	world.settings->notice_max_bytes = 5000;
	world_fill(&world, "small", 4095, 1);
	world_fill(&world, "large", 5000, 1);
	world_fill(&world, "huge", 5001, 1);
	ASSERT_NEW("f");
	ASSERT_NEW("small");
	ASSERT_NEW("large");
	ASSERT_NEW("huge");
	ASSERT_NOTICE("f");
	ASSERT_NOTICE("large");
	ASSERT_CAT("small", DECISION_CONTENT, REASON_NOT_ALLOWED);
	ASSERT_CAT("huge", DECISION_CONTENT, REASON_NOT_ALLOWED);
}

Test(decision, notice_must_be_shorter)
{
	struct viewed_file view;
	ASSERT_NEW("f");
	struct request request = world_request(&world, scope);
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_NOTICE);
	(void)close(view.fd);
	size_t length =
		view.answer
			.notice_bytes; /* of a file with three digits of lines and four of bytes */
	cr_assert_gt(length, 200);
	world.settings->notice_min_bytes = 1;
	/* sizes around the notice's own length, found by trial: it depends on the digits */
	bool short_seen = false, notice_seen = false;
	for (size_t size = length - 12; size < length + 12; size++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "%03zu", size);
		world_fill(&world, name, size, 1);
		ASSERT_NEW(name);
		request = world_request(&world, scope);
		enum decision decision = open_view(&world, &request, name, &view);
		(void)close(view.fd);
		if (decision == DECISION_NOTICE) {
			cr_assert_lt(view.answer.notice_bytes, size);
			notice_seen = true;
		} else {
			cr_assert_eq(view.answer.reason, REASON_TOO_SHORT);
			cr_assert(!notice_seen, "longer than one that got it");
			short_seen = true;
			/* what would have been the notice is not shorter */
			char text[NOTICE_BYTES_MAX];
			int would = notice_render(&world.segment, name, &view.answer.content, -1,
						  text, sizeof(text));
			cr_assert_geq((size_t)would, size);
		}
	}
	cr_assert(short_seen && notice_seen);
}

Test(decision, binary)
{
	static char bytes[4096];
	memset(bytes, 'a', sizeof(bytes));
	bytes[3000] = '\0';
	write_path(world_path(&world, "b"), bytes, sizeof(bytes));
	ASSERT_NEW("b");
	ASSERT_CAT("b", DECISION_CONTENT, REASON_BINARY);
}

Test(decision, unreadable)
{
	struct answer answer;
	struct stat stat_;
	ASSERT_NEW("f");
	cr_assert_eq(stat(world_path(&world, "f"), &stat_), 0);
	struct request request = world_request(&world, scope);
	int fd = open(world_path(&world, "f"), O_WRONLY);
	decision_open(&world.segment, &request, world_path(&world, "f"), "f", fd, &stat_, &answer);
	cr_assert_eq(answer.reason, REASON_UNREADABLE);
	cr_assert_eq(answer.decision, DECISION_CONTENT);
	(void)close(fd);
}

/* ---- the model asks again ---- */

Test(decision, asked_again_at_once_is_given_again)
{
	struct file_slot file;
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	ASSERT_GIVEN_AGAIN("f");
	cr_assert_eq(counter(COUNTER_yields), 1);
	cr_assert_eq(counter(COUNTER_repeats), 2);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.yields, 1);
	cr_assert_eq(file.repeats, 2);
	cr_assert_eq(file.full_reads, 2);
}

Test(decision, insisting_exactly_at_the_limit)
{
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	pass(9);
	ASSERT_GIVEN_AGAIN("f"); /* the tenth request after the notice */
}

Test(decision, insisting_one_beyond_the_limit)
{
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	pass(10);
	ASSERT_NOTICE("f"); /* the eleventh */
}

Test(decision, yields_for_ten_requests_and_no_more)
{
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	ASSERT_GIVEN_AGAIN("f");
	pass(4);
	ASSERT_GIVEN_AGAIN("f"); /* the fifth after: does not start the ten anew */
	pass(4);
	ASSERT_GIVEN_AGAIN("f"); /* the tenth */
	ASSERT_NOTICE("f");      /* the eleventh */
	ASSERT_GIVEN_AGAIN("f");
}

Test(decision, yield_never_gives_nothing_again)
{
	world.settings->notice_yield = NOTICE_YIELD_NEVER;
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	ASSERT_NOTICE("f");
	cr_assert_eq(counter(COUNTER_yields), 0);
}

Test(decision, insisting_is_by_file)
{
	world_fill(&world, "g", 4096, 5);
	ASSERT_NEW("f");
	ASSERT_NEW("g");
	ASSERT_NOTICE("f");
	ASSERT_NOTICE("g");
	ASSERT_GIVEN_AGAIN("g");
	ASSERT_GIVEN_AGAIN("f");
}

Test(decision, a_change_ends_insisting)
{
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	world_fill(&world, "f", 4096, 2);
	ASSERT_CAT("f", DECISION_CONTENT, REASON_CHANGED);
	ASSERT_NOTICE("f");
}

Test(decision, insisting_goes_with_the_file_to_another_name)
{
	ASSERT_NEW("f");
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	ASSERT_NOTICE("r");      /* by what was given as f */
	ASSERT_GIVEN_AGAIN("r"); /* and this is given as r */
	ASSERT_GIVEN_AGAIN("r");
	pass(8);
	ASSERT_GIVEN_AGAIN("r"); /* the tenth after the first one */
	ASSERT_NOTICE("r");
}

/* A viewer that asks, and leaves before the end. */
static void ask(const char *name, enum decision expected)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	cr_assert_eq(open_view(&world, &request, name, &view), expected);
	(void)close(view.fd);
}

/* The file's bytes go to the capture, by a program that is never answered. */
static void deliver_unasked(const char *name)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	request.is_viewer = false;
	cr_assert_eq(open_view(&world, &request, name, &view), DECISION_CONTENT);
	viewer_finish(&world, &request, &view);
	cr_assert(view.delivered.is_given);
}

Test(decision, insisting_goes_with_the_file_to_another_name_after_the_notice)
{
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	ASSERT_GIVEN_AGAIN("r");
	ASSERT_GIVEN_AGAIN("r");
}

Test(decision, insisting_when_the_delivery_under_another_name_left_the_window)
{
	world.settings->window_requests = 20;
	ASSERT_NEW("f");
	pass(18);
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	ASSERT_NOTICE("r");
	pass(1);
	ASSERT_NEW("r"); /* what was given as f is outside the window */
	ASSERT_GIVEN_AGAIN("r");
}

Test(decision, insisting_when_a_viewer_asked_by_another_name_and_left)
{
	ASSERT_NEW("f");
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	ASSERT_NOTICE("r");
	ask("r", DECISION_GIVEN_AGAIN);
	ASSERT_NEW("r"); /* the inode is known as r now, and r was not given */
	ASSERT_GIVEN_AGAIN("r");
}

Test(decision, insisting_when_another_name_answers)
{
	world.settings->window_requests = 20;
	cr_assert_eq(link(world_path(&world, "f"), world_path(&world, "h")), 0);
	ASSERT_NEW("f");
	pass(5);
	deliver_unasked("h");
	pass(9);
	ASSERT_NOTICE("f");
	pass(4);
	/* what was given as f is outside the window now, what was given as h is not */
	ASSERT_GIVEN_AGAIN("f");
	ASSERT_GIVEN_AGAIN("h");
}

Test(decision, yields_to_each_name_for_ten_requests)
{
	cr_assert_eq(link(world_path(&world, "f"), world_path(&world, "h")), 0);
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	ASSERT_GIVEN_AGAIN("h");
	pass(7);
	ASSERT_GIVEN_AGAIN("f"); /* the ninth after the notice, the first by this name */
	pass(9);
	ASSERT_GIVEN_AGAIN("f"); /* the tenth after that */
	ASSERT_NOTICE("f");
}

Test(decision, insisting_ends_with_the_epoch)
{
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
}

Test(decision, what_was_given_as_another_name_stays_on_record)
{
	ASSERT_NEW("f");
	world_fill(&world, "r", 4096, 2);
	ASSERT_NEW("r");
	world.settings->window_requests = 4;
	pass(3);
	deliver_unasked("f");
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	ASSERT_NOTICE("r"); /* by what was given as f */
	cr_assert_eq(tracker_state(&world.segment, scope, world_path(&world, "r")), STATE_CHANGED);
}

Test(decision, undo_by_another_name)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	ASSERT_NEW("f");
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	request = world_request(&world, scope);
	cr_assert_eq(open_view(&world, &request, "r", &view), DECISION_NOTICE);
	decision_undo(&world.segment, &request, &view.answer);
	(void)close(view.fd);
	ASSERT_NOTICE("r");
	ASSERT_GIVEN_AGAIN("r");
}

Test(decision, undo)
{
	struct viewed_file view;
	struct file_slot file;
	ASSERT_NEW("f");
	struct request request = world_request(&world, scope);
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_NOTICE);
	decision_undo(&world.segment, &request, &view.answer);
	(void)close(view.fd);
	cr_assert_eq(counter(COUNTER_notices), 0);
	cr_assert_eq(counter(COUNTER_repeats), 0);
	cr_assert_eq(counter(COUNTER_bytes_saved), 0);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.notices, 0);
	cr_assert_eq(file.repeats, 0);
	ASSERT_NOTICE("f"); /* and not asked again */
	view.answer.decision = DECISION_CONTENT;
	decision_undo(&world.segment, &request, &view.answer);
	cr_assert_eq(counter(COUNTER_notices), 1);
}

/* ---- windows, through decision_open ---- */

Test(decision, window_of_requests)
{
	world.settings->window_requests = 20;
	ASSERT_NEW("f");
	pass(19);
	ASSERT_NOTICE("f");
	pass(10);
	ASSERT_NEW("f"); /* the notice did not renew it */
	pass(20);
	ASSERT_NEW("f");
}

Test(decision, window_of_bytes)
{
	world.settings->window_bytes = 1000;
	world_fill(&world, "g", 1000, 1);
	world_fill(&world, "h", 1, 1);
	ASSERT_NEW("f");
	ASSERT_NEW("g");
	ASSERT_NOTICE("f");
	scope_find(&world.segment, scope)->bytes_given = 0;
	world_fill(&world, "i", 1000, 7);
	ASSERT_NEW("i");
	ASSERT_NEW("g"); /* 1000 given from a count that went back: not believed */
	ASSERT_NEW("h");
	ASSERT_NEW("i");
}
