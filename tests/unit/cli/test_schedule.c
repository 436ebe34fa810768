/* schedule_make.h: which changes are taken back, and which are left. */
#include <sys/xattr.h>

#include "cli/undo/schedule_make.h"
#include "records_case.h"

static struct schedule plan;
static struct schedule_report report;

static void start(void)
{
	init();
	plan = (struct schedule){ .count = 0 };
	report = (struct schedule_report){ .line_count = 0 };
}

static void stop(void)
{
	schedule_free(&plan);
	schedule_report_free(&report);
	finish();
}

TestSuite(schedule, .init = start, .fini = stop);

static void make(void)
{
	const struct tree_range range = { .from_place = 0 };
	const struct schedule_options options = { .workspace = root, .number = 1 };

	cr_assert_eq(tree_changes_read(&list, &range, &changes), 0);
	cr_assert_eq(schedule_make(&list, &changes, &options, &plan, &report), 0);
}

/* Is a path left for a reason? */
static bool is_left(const char *name, enum schedule_reason reason)
{
	for (size_t i = 0; i < report.left_count; i++)
		if (strcmp(report.left[i].path, path_of(name)) == 0)
			return report.left[i].reason == reason;
	return false;
}

/* A file that was removed, and made anew by a person, as it was: with the content that was kept. */
static void remove_and_make_anew(const char *name)
{
	struct pack_state state = write_new(name, "text");

	state.ino++;
	state.mtime_ns -= 1000000000;
	add(PACK_REMOVED, name, PACK_INLINE, &state)->version = version_of_bytes("text", 4);
}

/* ---- tests ---- */

Test(schedule, what_is_there_again_is_no_change)
{
	remove_and_make_anew("f");
	make();
	cr_assert_eq(report.same, 1);
	cr_assert_eq(report.left_count + report.line_count + plan.count, 0);
}

Test(schedule, what_has_attributes_of_its_own_is_another_file)
{
	remove_and_make_anew("f");
	if (setxattr(path_of("f"), "user.seen", "x", 1, 0) < 0)
		cr_skip_test("no attributes here");
	make();
	cr_assert(is_left("f", SCHEDULE_EXTERNAL));
	cr_assert_eq(report.left_count, 1);
	cr_assert_eq(plan.count, 0);
}

/* Each file of such a system has one. */
Test(schedule, labels_of_security_modules_are_no_attributes)
{
	remove_and_make_anew("f");
	if (setxattr(path_of("f"), "security.seen", "x", 1, 0) < 0)
		cr_skip_test("no such attributes here");
	make();
	cr_assert_eq(report.same, 1);
	cr_assert_eq(report.left_count, 0);
}

Test(schedule, both_names_of_a_rename_are_left_where_one_is)
{
	struct pack_state other = write_new("a", "other"), renamed = write_new("c", "by a person");

	renamed.mtime_ns -= 1000000000; /* it was changed since */
	add(PACK_METADATA, "a", PACK_NOT_TAKEN, &other)->what = PACK_MODE;
	add(PACK_RENAMED, "b", PACK_NOT_TAKEN, &renamed)->other = path_of("c");
	make();
	cr_assert(is_left("c", SCHEDULE_EXTERNAL));
	cr_assert(is_left("b", SCHEDULE_EXTERNAL));
	cr_assert_eq(plan.count, 0);
}

Test(schedule, a_rename_stays_where_what_has_its_name_now_cannot_go)
{
	struct pack_state other = write_new("a", "other"), moved, made;

	must(mkdir(path_of("e"), 0755) == 0 && mkdir(path_of("d"), 0755) == 0);
	must(place_inspect(AT_FDCWD, path_of("e"), &moved) == 0 &&
	     place_inspect(AT_FDCWD, path_of("d"), &made) == 0);
	(void)write_new("d/of a person", "x");
	add(PACK_METADATA, "a", PACK_NOT_TAKEN, &other)->what = PACK_MODE;
	add(PACK_RENAMED, "d", PACK_NOT_TAKEN, &moved)->other = path_of("e");
	add(PACK_CREATED, "d", PACK_NOT_TAKEN, &(struct pack_state){ .mode = S_IFDIR });
	make();
	cr_assert(is_left("d", SCHEDULE_OCCUPIED));
	cr_assert(is_left("e", SCHEDULE_OCCUPIED));
	cr_assert_eq(plan.count, 0);
	/* without it the directory goes, and the other comes back */
	must(unlink(path_of("d/of a person")) == 0);
	schedule_free(&plan);
	schedule_report_free(&report);
	tree_changes_free(&changes);
	make();
	cr_assert_eq(report.left_count, 0);
	cr_assert_gt(plan.count, 1);
}

/* Whether it is there is not known: it is left, and so is the directory. */
Test(schedule, what_is_in_a_directory_that_cannot_be_searched)
{
	enum { USER = 65534 };
	const bool is_root = geteuid() == 0;
	const struct pack_state directory = { .mode = S_IFDIR }, file = { .mode = S_IFREG };

	must(!is_root || (chown(root, USER, USER) == 0 && seteuid(USER) == 0));
	must(mkdir(path_of("d"), 0700) == 0);
	(void)write_new("d/f", "text");
	add(PACK_CREATED, "d", PACK_NOT_TAKEN, &directory);
	add(PACK_CREATED, "d/f", PACK_NOT_TAKEN, &file);
	must(chmod(path_of("d"), 0) == 0);
	make();
	must(chmod(path_of("d"), 0700) == 0);
	cr_assert(is_left("d/f", SCHEDULE_LOST));
	cr_assert(is_left("d", SCHEDULE_WITHIN));
	cr_assert_eq(plan.count, 0);
	for (size_t i = 0; i < report.left_count; i++)
		cr_assert(report.left[i].reason == SCHEDULE_WITHIN ||
			  report.left[i].lost == TREE_UNREADABLE);
	/* where it can be, that is no reason */
	schedule_free(&plan);
	schedule_report_free(&report);
	tree_changes_free(&changes);
	make();
	cr_assert_not(is_left("d/f", SCHEDULE_LOST));
	must(!is_root || seteuid(0) == 0);
}
