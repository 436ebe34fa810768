/* decision.h: each reason, and each boundary. */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "support.h"
#include "tracker/sys/sys.h"

static struct world world;
static uint64_t scope;

static void start(void)
{
	world_open(&world, NULL);
	scope = world_scope(&world, "a");
	world_fill(&world, "f", 4096, 1);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(decision, .init = start, .fini = stop);

#define ASSERT_CAT(name, decision_, reason_) \
	do { \
		enum reason got; \
		cr_assert_eq(world_cat_reason(&world, scope, name, &got), decision_, \
			     "%s: reason %d", name, (int)got); \
		cr_assert_eq(got, reason_, "%s: reason %d", name, (int)got); \
	} while (0)
#define ASSERT_NEW(name) ASSERT_CAT(name, DECISION_CONTENT, REASON_NOT_DELIVERED)
#define ASSERT_NOTICE(name) ASSERT_CAT(name, DECISION_NOTICE, REASON_REPEATED)
#define ASSERT_GIVEN_AGAIN(name) ASSERT_CAT(name, DECISION_GIVEN_AGAIN, REASON_ASKED_AGAIN)

static uint64_t counter(enum counter which)
{
	return segment_counter(&world.segment, which);
}

/* Requests for nothing in particular. */
static void pass(unsigned requests)
{
	while (requests-- > 0)
		(void)scope_request(&world.segment, scope);
}

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

/* ---- from pending to delivered ---- */

Test(decision, stamp_changed_while_reading)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	cr_assert_eq(futimens(view.fd, (struct timespec[2]){ { 5, 0 }, { 5, 0 } }), 0);
	viewer_finish(&world, &request, &view);
	ASSERT_NEW("f");
}

Test(decision, fewer_bytes_than_the_file_holds)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	struct stamp stamp = stamp_of(&view.stat);
	char bytes[4096];
	cr_assert_eq(read(view.fd, bytes, sizeof(bytes)), 4096);
	struct version version = version_of_bytes(bytes, 4095);
	decision_deliver(&world.segment, &request, &view.pending, &stamp, &version,
			 &view.delivered);
	cr_assert(!view.delivered.is_given);
	(void)close(view.fd);
	ASSERT_NEW("f");
}

Test(decision, not_at_the_capture)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	struct file_slot file;
	request.at_sink = false;
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.full_reads, 1, "it was read whole");
	cr_assert(!world_is_delivered(&world, scope, "f"), "and not given");
	ASSERT_NEW("f");
}

Test(decision, left_before_the_end)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	(void)close(view.fd); /* killed, or exit(1): no decision_deliver() */
	ASSERT_NEW("f");
}

Test(decision, invalidated_while_reading)
{
	for (int turn = 0; turn < 9; turn++) {
		struct request request = world_request(&world, scope);
		int way = turn % 4;
		struct viewed_file view;
		(void)open_view(&world, &request, "f", &view);
		if (turn >=
		    4) /* at last one that nothing is on record of: another file is forgotten */
			decision_pend_late(&world.segment, &request, &view.stat, &view.answer,
					   &view.pending);
		if (turn == 8)
			cr_assert_eq(tracker_forget(&world.segment, scope, "/no/such"), -ENOENT);
		else if (way == 0)
			cr_assert_eq(tracker_forget(&world.segment, scope, view.path), 0);
		else if (way == 1)
			cr_assert_eq(tracker_forget(&world.segment, 0, view.path), 0);
		else if (way == 2)
			cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
		else
			cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
		viewer_finish(&world, &request, &view);
		cr_assert(!world_is_delivered(&world, scope, "f"), "turn %d", turn);
	}
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
}

/* A file that is put on record when it was read is given as one that was when it was opened. */
Test(decision, pends_late)
{
	struct request request = world_request(&world, scope);
	struct file_slot file;
	struct viewed_file view;

	(void)snprintf(view.path, sizeof(view.path), "%s", world_path(&world, "f"));
	view.fd = open(view.path, O_RDONLY | O_CLOEXEC);
	must(view.fd >= 0 && fstat(view.fd, &view.stat) == 0);
	decision_open(&world.segment, &request, view.path, "f", view.fd, &view.stat, &view.answer);
	decision_pend_late(&world.segment, &request, &view.stat, &view.answer, &view.pending);
	view.is_pending = true;
	cr_assert_eq(tracker_file(&world.segment, view.path, &file), -ENOENT);
	viewer_finish(&world, &request, &view);
	cr_assert(view.delivered.is_given);
	cr_assert_eq(tracker_file(&world.segment, view.path, &file), 0);
	cr_assert_eq(file.full_reads, 1);
	ASSERT_NOTICE("f");
}

/* Where it is put off, an answer hangs on what descriptor 1 is then, and content does not ask for it. */
Test(decision, asks_late_where_it_goes)
{
	struct request request;
	struct viewed_file view;

	ASSERT_NEW("f");
	request = world_request(&world, scope);
	request.asks_late = true;
	request.context.capture_id = 0;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	cr_assert_eq(view.answer.reason, REASON_NOT_ALLOWED);
	must(close(view.fd) == 0);
}

Test(decision, command_output_exactly_at_the_limit)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	sends(&world.segment, request.command_id, SETTINGS_MAX_OUTPUT_BYTES - 4096);
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	ASSERT_NOTICE("f");
}

Test(decision, command_output_one_beyond_the_limit)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	sends(&world.segment, request.command_id, SETTINGS_MAX_OUTPUT_BYTES - 4096 + 1);
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	ASSERT_NEW("f");
}

Test(decision, command_output_beyond_the_limit_afterwards)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	sends(&world.segment, request.command_id, SETTINGS_MAX_OUTPUT_BYTES);
	ASSERT_NEW("f");
}

Test(decision, limit_of_a_profile)
{
	struct context context = { .profile = 0 };
	cr_assert_eq(decision_limit(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
	context.profile = 1;
	cr_assert_eq(decision_limit(&world.segment, &context),
		     world.settings->profiles[0].max_output_bytes);
	context.profile = (uint32_t)world.settings->profile_count;
	cr_assert_eq(decision_limit(&world.segment, &context),
		     world.settings->profiles[context.profile - 1].max_output_bytes);
	context.profile++;
	cr_assert_eq(decision_limit(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
	world.settings->profile_count = UINT64_MAX; /* damaged */
	context.profile = SETTINGS_PROFILES_MAX + 1;
	cr_assert_eq(decision_limit(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
	context.profile = UINT32_MAX;
	cr_assert_eq(decision_limit(&world.segment, &context), SETTINGS_MAX_OUTPUT_BYTES);
}

Test(decision, second_conversation_costs_one_request)
{
	/* Two contexts in one process: the second one's notice says how, and one repetition brings the content. */
	ASSERT_NEW("f");
	pass(7);
	ASSERT_NOTICE("f");
	ASSERT_GIVEN_AGAIN("f");
}

Test(decision, full_tables_are_harmless)
{
	struct world small;
	uint64_t own;
	char name[16];
	unsigned notices = 0;
	world_open(&small, "session.files=128", "session.deliveries=128",
		   "session.arena_bytes=16384", "session.scopes=16", NULL);
	own = world_scope(&small, "s");
	for (int i = 0; i < 600; i++) { /* the arena is full on the way */
		(void)snprintf(name, sizeof(name), "%d", i);
		world_fill(&small, name, 600, (unsigned)i);
		cr_assert_eq(world_cat(&small, own, name), DECISION_CONTENT);
		notices += world_cat(&small, own, name) == DECISION_NOTICE;
	}
	cr_assert_gt(segment_counter(&small.segment, COUNTER_lost_files), 0);
	cr_assert_gt(notices, 100);
	world_close(&small);
}

/* ---- in-process reads of a whitelisted process ---- */

static struct request own_of(uint64_t serial, uint64_t agent_scope)
{
	const struct context context = { .flags = CONTEXT_ATTACHED,
					 .capture_id = 77,
					 .profile = world.profile };
	struct request request;

	cr_assert(request_prepare_in_process(&world.segment, &context, serial, agent_scope, "reads",
					     &request));
	return request;
}

/* One own read of the whole file, by the same request as before or by the next one. */
static enum decision in_process_read(struct request *request, bool next, enum reason *ret_reason)
{
	struct viewed_file view;

	if (next)
		request_init_in_process(&world.segment, request);
	enum decision decision = open_view(&world, request, "f", &view);
	*ret_reason = view.answer.reason;
	viewer_finish(&world, request, &view);
	return decision;
}

#define ASSERT_OWN(request, next, decision_, reason_) \
	do { \
		enum reason got; \
		cr_assert_eq(in_process_read(request, next, &got), decision_, "reason %d", \
			     (int)got); \
		cr_assert_eq(got, reason_, "reason %d", (int)got); \
	} while (0)

Test(decision, in_process_reads)
{
	struct request own = own_of(5, scope);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	ASSERT_OWN(&own, false, DECISION_CONTENT, REASON_NOT_DELIVERED); /* the same request */
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
	ASSERT_OWN(&own, false, DECISION_NOTICE, REASON_REPEATED);
	cr_assert_eq(counter(COUNTER_notices), 1);
	cr_assert_eq(counter(COUNTER_repeats), 1);
	ASSERT_OWN(&own, true, DECISION_GIVEN_AGAIN, REASON_ASKED_AGAIN);
	cr_assert_eq(counter(COUNTER_requests), 3);

	/* Neither the scope of its agent, nor another process, has what it read; nor the other way round. */
	ASSERT_NEW("f");
	struct request other = own_of(6, scope);
	ASSERT_OWN(&other, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_neq(own.context.scope_id, other.context.scope_id);
	cr_assert_eq(own.context.capture_id, 0);
	cr_assert(!request_prepare_in_process(&world.segment, &own.context, 0, 0, "x", &other));
}

/* Its read tool cuts, too: each limit, and one that an agent which was never measured does not exceed. */
Test(decision, in_process_reads_within_what_the_agent_passes_on)
{
	struct settings_profile *profile = &world.settings->profiles[world.profile - 1];
	struct shape shape;
	struct request own;
	int fd = open(world_path(&world, "f"), O_RDONLY);

	cr_assert_eq(lines_shape(fd, &(struct span){ 1, UINT64_MAX }, 1, &shape), 0);
	(void)close(fd);
	const struct {
		uint64_t bytes, lines, line_bytes;
		bool holds;
	} LIMITS[] = {
		{ 4096, 0, 0, true },
		{ 4095, 0, 0, false },
		{ 24000, shape_lines(&shape), 0, true },
		{ 24000, shape_lines(&shape) - 1, 0, false },
		{ 24000, 0, shape.longest, true },
		{ 24000, 0, shape.longest - 1, false },
	};
	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		profile->max_output_bytes = LIMITS[i].bytes;
		profile->max_output_lines = LIMITS[i].lines;
		profile->max_line_bytes = LIMITS[i].line_bytes;
		own = own_of(10 + i, 0);
		ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
		if (LIMITS[i].holds)
			ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
		else
			ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	}
}

Test(decision, in_process_reads_of_another_version)
{
	struct request own = own_of(5, 0);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
	world_fill(&world, "f", 4096, 2);
	ASSERT_OWN(&own, false, DECISION_CONTENT, REASON_CHANGED);
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
}

Test(decision, in_process_reads_are_invalidated_with_their_agents)
{
	struct request own = own_of(5, scope);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget(&world.segment, 0, world_path(&world, "f")), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	cr_assert_eq(tracker_forget_all(&world.segment, own.context.scope_id), 0);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	/* Another's forgetting is not this one's. */
	uint64_t another = world_scope(&world, "b");
	cr_assert_eq(tracker_forget(&world.segment, another, world_path(&world, "f")), 0);
	cr_assert_eq(tracker_forget_all(&world.segment, another), 0);
	ASSERT_OWN(&own, true, DECISION_NOTICE, REASON_REPEATED);
}

Test(decision, in_process_reads_beyond_the_window)
{
	struct request own = own_of(5, 0);

	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	for (unsigned i = 0; i < world.settings->window_requests; i++)
		request_init_in_process(&world.segment, &own);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
	request_count_in_process(&world.segment, &own, world.settings->window_bytes + 1);
	ASSERT_OWN(&own, true, DECISION_CONTENT, REASON_NOT_DELIVERED);
}
