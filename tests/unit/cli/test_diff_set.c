/* diff_set.h, diff_similar.h: which two names are one file, and what comes first in a patch. */
#include "cli/undo/diff_set.h"
#include "cli/undo/diff_similar.h"
#include "records_case.h"

static struct diff_set set;

static void start(void)
{
	init();
	set = (struct diff_set){ .count = 0 };
}

static void stop(void)
{
	diff_set_free(&set);
	finish();
}

TestSuite(diff_set, .init = start, .fini = stop);

static void make(void)
{
	const struct tree_range range = { .from_place = 0 };
	const struct diff_filter filter = { .workspace = root, .is_open = true };

	cr_assert_eq(tree_changes_read(&list, &range, &changes), 0);
	cr_assert_eq(diff_set_make(&changes, &list, &filter, &set), 0);
}

static const struct diff_file *file_of(const char *name)
{
	for (size_t i = 0; i < set.count; i++)
		if (strcmp(set.files[i].new_path, name) == 0)
			return &set.files[i];
	return NULL;
}

Test(diff_set, what_was_renamed_is_one_file)
{
	static const char *const NAMES[][2] = {
		{ "a", "z" }, { "y", "b" }, { "c", "x" }, { "w", "d" }
	};

	for (size_t i = 0; i < 4; i++) {
		struct pack_state state = write_new(NAMES[i][1], "text");
		add(PACK_RENAMED, NAMES[i][0], PACK_NOT_TAKEN, &state)->other = path_of(
			NAMES[i][1]);
	}
	make();
	cr_assert_eq(set.count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct diff_file *file = file_of(NAMES[i][1]);
		cr_assert_not_null(file);
		cr_assert_str_eq(file->old_path, NAMES[i][0]);
		cr_assert(file->old && file->new);
	}
}

/* Else a patch could not be applied. */
Test(diff_set, what_was_in_a_directory_that_is_a_file_now_goes_first)
{
	struct pack_state now = write_new("d", "a file"), beside = write_new("d-x", "x"),
			  inner = earlier(&now, 20), directory = inner;

	inner.ino++;
	directory.ino += 2;
	directory.mode = S_IFDIR | 0755;
	add(PACK_REMOVED, "d/f", PACK_INLINE, &inner);
	add(PACK_REMOVED, "d", PACK_NOT_TAKEN, &directory);
	add(PACK_CREATED, "d", PACK_NOT_TAKEN, NULL);
	add(PACK_AFTER, "d", PACK_NOT_TAKEN, &now);
	add(PACK_CREATED, "d-x", PACK_NOT_TAKEN, NULL);
	add(PACK_AFTER, "d-x", PACK_NOT_TAKEN, &beside);
	make();
	cr_assert_eq(set.count, 3);
	for (size_t i = 0; i < set.count; i++)
		cr_assert_eq(set.files[i].is_last_first, strcmp(set.files[i].new_path, "d/f") == 0,
			     "%s", set.files[i].new_path);
}

/* ---- by content ---- */

static struct tree_entry entry_of(const char *name, const char *bytes)
{
	struct pack_state state = write_new(name, bytes);

	return (struct tree_entry){ .exists = true,
				    .known = true,
				    .mode = state.mode,
				    .size_bytes = state.size_bytes,
				    .content = TREE_DISK,
				    .disk_path = path_of(name) };
}

/* One that is gone and one that was made. */
static size_t joined(const char *gone, const char *made)
{
	struct tree_entry entries[] = { entry_of("gone", gone), entry_of("made", made) };
	struct diff_file files[] = {
		{ .old_path = "gone", .new_path = "gone", .old = &entries[0] },
		{ .old_path = "made", .new_path = "made", .new = &entries[1] },
	};
	struct diff_set both = { .files = files, .count = 2 };

	cr_assert_eq(diff_similar(&list, &both), 0);
	if (both.count == 1) {
		cr_assert_str_eq(files[0].old_path, "gone");
		cr_assert_str_eq(files[0].new_path, "made");
	}
	return both.count;
}

Test(diff_set, what_has_the_same_bytes_was_renamed)
{
	cr_assert_eq(joined("text\n", "text\n"), 1);
	cr_assert_eq(joined("text\n", "also\n"), 2); /* as many bytes */
	cr_assert_eq(joined("a\nb\nc\nd\n", "a\nb\nc\nx\n"), 1);
	cr_assert_eq(joined("a\nb\nc\nd\n", "a\nx\ny\nz\n"), 2);
	cr_assert_eq(joined("", ""), 2);
}
