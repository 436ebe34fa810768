/* part.h: when parts make a whole, and each part's own window; decision.h: cat of a file that was given in parts. */
#include <criterion/criterion.h>

#include "support.h"
#include "tracker/answer/line_range.h"

static struct world world;
static uint64_t scope;

enum { KEY = 77, LINES = 100, LIMIT = 24000 };
static const struct version VERSION = { 1, 2, 3 }, OTHER = { 4, 5, 6 };
static const uint64_t SECOND = 1000000000u;

static void start(void)
{
	world_open(&world, "session.deliveries=128", "notice.min_bytes=64", NULL);
	scope = world_scope(&world, "a");
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(part, .init = start, .fini = stop);

/* The next request of the scope, in a command of its own. */
static struct moment next(void)
{
	return moment_now(&world.segment, scope, scope_request(&world.segment, scope), 0,
			  world_command(&world));
}

static struct moment deliver_at(struct moment moment, uint64_t first, uint64_t last)
{
	struct span span = { first, last };
	cr_assert_eq(line_range_record(&world.segment, KEY, &VERSION, LINES, &span, 1, &moment), 0);
	return moment;
}

static struct moment deliver(uint64_t first, uint64_t last)
{
	return deliver_at(next(), first, last);
}

static bool is_whole_at(struct moment moment)
{
	struct version version = { 0 };
	bool whole = line_range_is_whole(&world.segment, KEY, &moment, BYTES(LIMIT), 0, &version);
	cr_assert(!whole || version_equal(&version, &VERSION));
	return whole;
}

static bool is_whole(void)
{
	return is_whole_at(moment_now(&world.segment, scope,
				      scope_find(&world.segment, scope)->requests + 1, 0, 0));
}

Test(part, one_that_is_all)
{
	cr_assert_not(is_whole());
	deliver(1, LINES);
	cr_assert(is_whole());
}

Test(part, in_any_order)
{
	deliver(61, 100);
	cr_assert_not(is_whole());
	deliver(1, 30);
	cr_assert_not(is_whole());
	deliver(31, 60);
	cr_assert(is_whole());
}

Test(part, one_line_is_missing)
{
	deliver(1, 49);
	deliver(51, 100);
	cr_assert_not(is_whole());
	deliver(50, 50);
	cr_assert(is_whole());
}

Test(part, first_or_last_line_is_missing)
{
	deliver(2, 100);
	cr_assert_not(is_whole());
	(void)line_range_forget(&world.segment, scope, KEY);
	deliver(1, 99);
	cr_assert_not(is_whole());
	deliver(100, 100);
	cr_assert(is_whole());
}

Test(part, overlapping)
{
	deliver(1, 60);
	deliver(40, 100);
	cr_assert(is_whole());
}

Test(part, several_of_one_request_are_one)
{
	/* more than there is room for, were they kept apart */
	struct moment moment = next();
	struct span spans[LINES_SPANS_MAX];
	for (unsigned i = 0; i < LINES_SPANS_MAX; i++)
		spans[i] = (struct span){ 100 - 10 * i, 100 - 10 * i + (i ? 9 : 0) };
	cr_assert_eq(line_range_record(&world.segment, KEY, &VERSION, LINES, spans, LINES_SPANS_MAX,
				       &moment),
		     0);
	for (uint64_t i = 0; i < LINE_RANGES_MAX - 2; i++)
		deliver(1 + 3 * i, 1 + 3 * i);
	deliver(1, 29);
	cr_assert(is_whole());
}

Test(part, as_many_as_there_is_room_for)
{
	for (uint64_t i = 0; i < LINE_RANGES_MAX - 1; i++)
		deliver(1 + 10 * i, 10 + 10 * i);
	deliver(71, 100);
	cr_assert(is_whole());
}

Test(part, one_more_takes_the_place_of_the_oldest)
{
	for (uint64_t i = 0; i < LINE_RANGES_MAX; i++)
		deliver(1 + 10 * i, 10 + 10 * i);
	deliver(81, 100);
	cr_assert_not(is_whole());
	deliver(1, 10); /* for 11 to 20 */
	cr_assert_not(is_whole());
	deliver(1, 80); /* holds all but one */
	cr_assert(is_whole());
}

Test(part, another_version)
{
	struct moment moment = deliver(1, 50);
	struct span span = { 51, 100 };
	struct version version;

	moment = next();
	cr_assert_eq(line_range_record(&world.segment, KEY, &OTHER, LINES, &span, 1, &moment), 0);
	cr_assert_not(is_whole());
	deliver(51, 100); /* the first half was dropped */
	cr_assert_not(is_whole());
	deliver(1, 50);
	cr_assert(is_whole());
	moment = next();
	cr_assert_eq(line_range_record(&world.segment, KEY, &VERSION, LINES + 1, &span, 1, &moment),
		     0);
	cr_assert_not(line_range_is_whole(&world.segment, KEY, &moment, BYTES(LIMIT), 0, &version),
		      "another number of lines");
}

Test(part, another_scope_or_file)
{
	struct version version;
	deliver(1, LINES);
	struct moment moment = next();
	cr_assert_not(
		line_range_is_whole(&world.segment, KEY + 1, &moment, BYTES(LIMIT), 0, &version));
	moment.scope_id = world_scope(&world, "b");
	moment.scope_epoch = scope_epoch(&world.segment, moment.scope_id);
	cr_assert_not(line_range_is_whole(&world.segment, KEY, &moment, BYTES(LIMIT), 0, &version));
}

Test(part, a_file_without_lines)
{
	struct span span = { 1, 1 };
	struct moment moment = next();
	cr_assert_eq(line_range_record(&world.segment, KEY, &VERSION, 0, &span, 1, &moment), 0);
	cr_assert_not(is_whole());
}

Test(part, window_in_requests)
{
	struct moment first = deliver(1, 50), second = deliver(51, 100), now = second;
	uint64_t window = world.settings->window_requests = 50;

	now.request = first.request + window;
	cr_assert(is_whole_at(now));
	now.request++;
	cr_assert_not(is_whole_at(now), "the second is still inside");
	now.time_ns = deliver(1, 50).time_ns;
	now.request = second.request + window;
	cr_assert(is_whole_at(now), "and counts again once the first is given anew");
}

Test(part, window_in_bytes)
{
	struct moment first = deliver(1, 50), second = next();
	uint64_t window = 1000;

	world.settings->window_bytes = window;
	second.bytes_given += 10;
	deliver_at(second, 51, 100);
	second.bytes_given = first.bytes_given + window;
	cr_assert(is_whole_at(second));
	second.bytes_given++;
	cr_assert_not(is_whole_at(second));
}

Test(part, window_in_time)
{
	struct moment first = deliver(1, 50), second = next();
	uint64_t window_ns = 60 * SECOND;

	world.settings->window_age_s = 60;
	second.time_ns += SECOND;
	deliver_at(second, 51, 100);
	second.time_ns = first.time_ns + window_ns;
	cr_assert(is_whole_at(second));
	second.time_ns++;
	cr_assert_not(is_whole_at(second));
}

Test(part, epochs)
{
	deliver(1, 50);
	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	deliver(51, 100);
	cr_assert_not(is_whole(), "the first half is of an older epoch");
	deliver(1, 50);
	cr_assert(is_whole());
	cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
	cr_assert_not(is_whole());
	deliver(51, 100);
	cr_assert_not(is_whole());
}

Test(part, commands_limit)
{
	struct moment cut = deliver(1, 50);
	deliver(51, 100);
	sends(&world.segment, cut.command_id, LIMIT);
	cr_assert(is_whole());
	sends(&world.segment, cut.command_id, 1);
	cr_assert_not(is_whole());
	deliver(1, 50);
	cr_assert(is_whole());
}

Test(part, later_than)
{
	struct moment first = deliver(1, 50), second = next();
	struct version version;
	second.time_ns = first.time_ns + 5;
	deliver_at(second, 51, 100);
	struct moment now = next();
	cr_assert(line_range_is_whole(&world.segment, KEY, &now, BYTES(LIMIT), first.time_ns - 1,
				      &version));
	cr_assert_not(line_range_is_whole(&world.segment, KEY, &now, BYTES(LIMIT), first.time_ns,
					  &version));
}

Test(part, forget)
{
	deliver(1, 50);
	cr_assert_eq(line_range_forget(&world.segment, scope, KEY + 1), 0);
	cr_assert_eq(line_range_forget(&world.segment, scope + 1, KEY), 0);
	deliver(51, 100);
	cr_assert(is_whole());
	cr_assert_eq(line_range_forget(&world.segment, 0, KEY), 1);
	cr_assert_eq(line_range_forget(&world.segment, 0, KEY), 0, "already");
	cr_assert_not(is_whole());
	deliver(51, 100);
	cr_assert_not(is_whole());
	deliver(1, 50);
	cr_assert(is_whole());
}

Test(part, a_full_table_makes_place)
{
	struct span span = { 1, LINES };
	struct moment moment = next();
	for (uint64_t key = 1; key < 200; key++)
		cr_assert_eq(
			line_range_record(&world.segment, key, &VERSION, LINES, &span, 1, &moment),
			0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_parts), 0);
	cr_assert_eq(line_range_record(&world.segment, 0, &VERSION, LINES, &span, 1, &moment),
		     -ENOSPC);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_parts), 1);
}

/* ---- through the decision ---- */

/* `sed -n FIRST,LASTp NAME`, as a command of its own.  between: called after it was read; may be NULL. */
static void print_lines(const char *name, uint64_t first, uint64_t last, void (*between)(void))
{
	struct request request = world_request(&world, scope);
	struct span span = { first, last };
	struct pending pending;
	struct content content;
	struct stat stat;
	const char *path = world_path(&world, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	request.is_viewer = false;
	must(fd >= 0 && fstat(fd, &stat) == 0);
	must(content_of_descriptor(fd, UINT64_MAX, &content) == 0);
	must(decision_pend(&world.segment, &request, path, &stat, NULL, &pending) == 0);
	struct stamp stamp = stamp_of(&stat);
	if (between)
		between();
	decision_give_lines(&world.segment, &request, &pending, &stamp, &content, &span, 1);
	must(close(fd) == 0);
}

/* 4,000 bytes in 100 lines */
static void fill(unsigned version)
{
	world_fill(&world, "f", 4000, version);
}

Test(part, cat_of_what_was_given_in_parts)
{
	enum reason reason;
	struct file_slot file;

	fill(1);
	print_lines("f", 1, 50, NULL);
	cr_assert_eq(world_cat_reason(&world, scope, "f", &reason), DECISION_CONTENT);
	cr_assert_eq(reason, REASON_NOT_DELIVERED);
	(void)tracker_forget_all(&world.segment, scope);
	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, NULL);
	cr_assert_eq(world_cat_reason(&world, scope, "f", &reason), DECISION_NOTICE);
	cr_assert_eq(reason, REASON_REPEATED);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_notices), 1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_repeats), 1);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.notices, 1);
	cr_assert_eq(world_cat_reason(&world, scope, "f", &reason), DECISION_GIVEN_AGAIN);
	cr_assert_eq(reason, REASON_ASKED_AGAIN);
}

Test(part, repeats_are_counted_without_notices)
{
	world.settings->session_mode = SESSION_MODE_OBSERVE;
	fill(1);
	print_lines("f", 1, 50, NULL);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_repeats), 0);
	fill(2);
	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, NULL);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_repeats), 1);
	fill(3);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_repeats), 1);
}

Test(part, cat_of_another_version)
{
	enum reason reason;

	fill(1);
	print_lines("f", 1, 50, NULL);
	fill(2);
	print_lines("f", 51, 100, NULL);
	cr_assert_eq(world_cat_reason(&world, scope, "f", &reason), DECISION_CONTENT);
	cr_assert_eq(reason, REASON_NOT_DELIVERED);
	(void)tracker_forget_all(&world.segment, scope);
	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, NULL);
	fill(1);
	cr_assert_eq(world_cat_reason(&world, scope, "f", &reason), DECISION_CONTENT);
	cr_assert_eq(reason, REASON_CHANGED);
}

Test(part, given_whole_then_changed_then_in_parts)
{
	enum reason reason;

	fill(1);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	fill(2);
	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, NULL);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_NOTICE);
	fill(1); /* that was given, too, but it is not what was read last */
	cr_assert_eq(world_cat_reason(&world, scope, "f", &reason), DECISION_CONTENT);
	cr_assert_eq(reason, REASON_CHANGED);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_NOTICE);
	world_fill(&world, "f", 4040, 1);
	print_lines("f", 1, 101, NULL);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_NOTICE, "of another size");
}

static void forget_file(void)
{
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
}

static void forget_all(void)
{
	(void)tracker_forget_all(&world.segment, scope);
}

Test(part, invalidated)
{
	fill(1);
	print_lines("f", 1, 50, NULL);
	forget_file();
	print_lines("f", 51, 100, NULL);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	forget_file();
	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, forget_file);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT, "while it was printed");
	forget_file();
	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, forget_all);
	print_lines("f", 1, 50, NULL);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT, "as before");
}

Test(part, other_names)
{
	fill(1);
	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, NULL);
	must(link(world_path(&world, "f"), world_path(&world, "g")) == 0);
	cr_assert_eq(world_cat(&world, scope, "g"), DECISION_NOTICE);
	(void)tracker_forget_all(&world.segment, scope);

	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, NULL);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "g")), 0);
	cr_assert_eq(world_cat(&world, scope, "g"), DECISION_CONTENT);
	(void)tracker_forget_all(&world.segment, scope);

	print_lines("f", 1, 50, NULL);
	print_lines("f", 51, 100, NULL);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	cr_assert_eq(world_cat(&world, scope, "g"), DECISION_CONTENT);
	(void)tracker_forget_all(&world.segment, scope);

	/* half under each name is half under each */
	print_lines("f", 1, 50, NULL);
	print_lines("g", 51, 100, NULL);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
}

/* A name that was forgotten while the file was known by yet another one. */
Test(part, three_names)
{
	fill(1);
	must(link(world_path(&world, "f"), world_path(&world, "g")) == 0);
	must(link(world_path(&world, "f"), world_path(&world, "h")) == 0);
	print_lines("f", 1, 100, NULL);
	print_lines("h", 1, 1, NULL);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "g")), 0);
	print_lines("f", 1, 1, NULL);
	cr_assert_eq(world_cat(&world, scope, "g"), DECISION_CONTENT);
}

Test(part, in_process_reads)
{
	struct viewed_file view;

	fill(1);
	print_lines("f", 1, 100, NULL);
	struct request request = world_request(&world, scope);
	request.is_in_process = true;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_CONTENT);
	must(close(view.fd) == 0);
	request.is_in_process = false;
	cr_assert_eq(open_view(&world, &request, "f", &view), DECISION_NOTICE);
	must(close(view.fd) == 0);
}

/* All lines of `f`, given as `change` makes it. */
static bool counts(void (*change)(struct request *, struct stamp *, struct content *))
{
	struct request request = world_request(&world, scope);
	struct span span = { 1, 100 };
	struct pending pending;
	struct content content;
	struct stat stat;
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);

	must(fd >= 0 && fstat(fd, &stat) == 0);
	must(content_of_descriptor(fd, UINT64_MAX, &content) == 0);
	must(decision_pend(&world.segment, &request, world_path(&world, "f"), &stat, NULL,
			   &pending) == 0);
	struct stamp stamp = stamp_of(&stat);
	change(&request, &stamp, &content);
	decision_give_lines(&world.segment, &request, &pending, &stamp, &content, &span, 1);
	must(close(fd) == 0);
	request = world_request(&world, scope);
	struct viewed_file view;
	bool notice = open_view(&world, &request, "f", &view) == DECISION_NOTICE;
	must(close(view.fd) == 0);
	(void)tracker_forget_all(&world.segment, scope);
	return notice;
}

static void plainly(struct request *request, struct stamp *stamp, struct content *content)
{
	(void)request, (void)stamp, (void)content;
}

static void elsewhere(struct request *request, struct stamp *stamp, struct content *content)
{
	(void)stamp, (void)content;
	request->at_sink = false;
}

static void touched(struct request *request, struct stamp *stamp, struct content *content)
{
	(void)request, (void)content;
	stamp->ctime_ns++;
}

static void grown(struct request *request, struct stamp *stamp, struct content *content)
{
	(void)request, (void)stamp;
	content->version.size_bytes++;
}

static void cut(struct request *request, struct stamp *stamp, struct content *content)
{
	(void)stamp, (void)content;
	sends(&world.segment, request->command_id, LIMIT + 1);
}

Test(part, not_received)
{
	fill(1);
	cr_assert(counts(plainly));
	cr_assert_not(counts(elsewhere));
	cr_assert_not(counts(touched));
	cr_assert_not(counts(grown));
	cr_assert_not(counts(cut));
	cr_assert(counts(plainly));
}

static bool has_lines(uint64_t first, uint64_t last)
{
	struct moment moment = moment_now(&world.segment, scope,
					  scope_find(&world.segment, scope)->requests + 1, 0, 0);
	struct span span = { first, last };
	struct version version;
	return line_range_has(&world.segment, KEY, &moment, BYTES(LIMIT), 0, &span, &version);
}

/* Lines that one request printed side by side are one part, in whichever order; those of others, or with a gap, are their own. */
Test(part, side_by_side)
{
	struct moment moment = next();

	deliver_at(moment, 50, 60);
	deliver_at(moment, 40, 49); /* before */
	deliver_at(moment, 42, 45); /* in it */
	deliver_at(moment, 61, 70); /* behind */
	cr_assert(has_lines(40, 70));
	cr_assert_not(has_lines(40, 71));
	deliver_at(moment, 80, 90); /* with a gap */
	cr_assert_not(has_lines(70, 80));
	cr_assert(has_lines(80, 90));
	moment.command_id = world_command(&world); /* the same request, in another command */
	deliver_at(moment, 91, 95);
	cr_assert(has_lines(80, 95));
}

Test(part, no_such_lines)
{
	deliver(1, LINES);
	cr_assert(has_lines(1, LINES));
	cr_assert_not(has_lines(0, 5));
	cr_assert_not(has_lines(6, 5));
	cr_assert_not(has_lines(1, LINES + 1));
}

Test(part, since_when)
{
	struct moment moment = next();

	cr_assert_eq(line_range_since(&world.segment, KEY, &moment), 0);
	cr_assert_not(line_range_is_other(&world.segment, KEY, &moment, &VERSION, 0));
	deliver_at(moment, 1, 10);
	cr_assert_eq(line_range_since(&world.segment, KEY, &moment), moment.time_ns);
	cr_assert_not(line_range_is_other(&world.segment, KEY, &moment, &VERSION, 0));
	cr_assert(line_range_is_other(&world.segment, KEY, &moment, &OTHER, 0));
	struct moment another = moment;
	another.scope_epoch++;
	cr_assert_not(line_range_is_other(&world.segment, KEY, &another, &OTHER, 0));
	another = moment;
	another.session_epoch++;
	cr_assert_not(line_range_is_other(&world.segment, KEY, &another, &OTHER, 0));
}
