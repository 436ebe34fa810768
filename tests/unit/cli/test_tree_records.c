/* tree_change.h, tree_linked.h: single records that programs leave which are seldom at work at once. */
#include "cli/undo/tree_linked.h"
#include "records_case.h"

TestSuite(tree_records, .init = init, .fini = finish);

static void read_from(const struct tree_range *range)
{
	cr_assert_eq(tree_changes_read(&list, range, &changes), 0);
}

static const struct tree_change *change_of(const char *name)
{
	for (size_t i = 0; i < changes.count; i++)
		if (strcmp(changes.changes[i].path, path_of(name)) == 0)
			return &changes.changes[i];
	return NULL;
}

/* Of a file that is not on disk. */
static struct pack_state state_of_links(unsigned nlink)
{
	return (struct pack_state){ .dev = 1,
				    .ino = 5,
				    .mode = S_IFREG | 0644,
				    .nlink = nlink,
				    .size_bytes = 7,
				    .mtime_ns = 70,
				    .ctime_ns = 70 };
}

/* ---- between two records ---- */

/* What a step left is not what the next one found: an external program was at work.  Not where one of the session had
 * the file open, and may have written to it. */
Test(tree_records, what_changed_between_two_steps_is_external)
{
	for (int shared = 0; shared < 2; shared++) {
		struct pack_state now = write_new("f", "now"), first = earlier(&now, 30),
				  left = earlier(&now, 20), found = earlier(&now, 10);
		list.count = 0;
		add(PACK_CONTENT, "f", PACK_INLINE, &first);
		add(PACK_AFTER, "f", PACK_NOT_TAKEN, &left);
		add(PACK_CONTENT, "f", PACK_INLINE, &found)->flags = shared ? PACK_SHARED : 0;
		add(PACK_AFTER, "f", PACK_NOT_TAKEN, &now);
		read_from(&(struct tree_range){ .from_place = 0 });
		cr_assert_eq(changes.count, 1);
		cr_assert_eq(changes.changes[0].left, shared ? TREE_AS_LEFT : TREE_CHANGED_SINCE);
		tree_changes_free(&changes);
	}
}

/* ---- what is not seen ---- */

static uint64_t lives_until(const struct tree_record *record, void *data)
{
	(void)record;
	return *(uint64_t *)data;
}

/* A mapping may be stored to for as long as its program lives: how the file was at a point is not known then. */
Test(tree_records, what_was_mapped_before_a_point_may_have_changed_while_its_program_lives)
{
	struct pack_state now = write_new("f", "now"), other = write_new("g", "other");

	add(PACK_AFTER, "f", PACK_NOT_TAKEN, &now)->flags = PACK_MAPPED;
	add(PACK_AFTER, "g", PACK_NOT_TAKEN, &other); /* not mapped */
	for (uint64_t seconds = 3; seconds <= 10; seconds += 7) {
		uint64_t until_ns = seconds * 1000000000;
		read_from(&(struct tree_range){ .from_place = 2 * PACK_UNIT_BYTES,
						.from_time_ns = UINT64_C(5000000000),
						.lives_until = lives_until,
						.data = &until_ns });
		cr_assert_eq(changes.count, seconds == 10, "%zu", changes.count);
		if (changes.count) {
			cr_assert_str_eq(changes.changes[0].path, path_of("f"));
			cr_assert_eq(changes.changes[0].before.lost, TREE_OPEN);
		}
		tree_changes_free(&changes);
	}
}

/* And it is not said that its bytes are the same, where the record of its mode alone is of the range. */
Test(tree_records, what_was_mapped_is_not_called_the_same)
{
	struct pack_state now = write_new("f", "now");
	uint64_t until_ns = UINT64_C(20000000000);
	struct tree_range range = { .from_place = PACK_UNIT_BYTES,
				    .from_time_ns = UINT64_C(1500000000),
				    .lives_until = lives_until,
				    .data = &until_ns };

	struct tree_record *mapped = add(PACK_AFTER, "f", PACK_NOT_TAKEN, &now);
	mapped->flags = PACK_MAPPED;
	add(PACK_METADATA, "f", PACK_NOT_TAKEN, &now)->what = PACK_MODE;
	read_from(&range);
	cr_assert_eq(changes.count, 1);
	cr_assert_not(changes.changes[0].same_content);
	cr_assert_eq(changes.changes[0].metadata, 0);
	tree_changes_free(&changes);
	mapped->flags = 0;
	read_from(&range);
	cr_assert_eq(changes.count, 1);
	cr_assert(changes.changes[0].same_content);
	cr_assert_eq(changes.changes[0].metadata, 1U << PACK_MODE);
}

/* ---- removed, renamed ---- */

/* A removed file's hard link is written to by a descriptor that is still open: what was kept before that has its bytes. */
Test(tree_records, a_removed_file_that_is_still_written_to_comes_back_by_what_was_kept_before)
{
	struct pack_state was = state_of_links(1);

	struct tree_record *removed = add(PACK_REMOVED, "f", PACK_LINK, &was);
	struct tree_record *kept = add(PACK_CONTENT, "f", PACK_INLINE, &was);
	kept->flags = PACK_NO_NAME;
	read_from(&(struct tree_range){ .from_place = 0 });
	cr_assert_eq(changes.count, 1);
	cr_assert_eq(changes.changes[0].before.content, TREE_KEPT);
	cr_assert(changes.changes[0].before.record == kept);
	tree_changes_free(&changes);
	list.count = 1;
	read_from(&(struct tree_range){ .from_place = 0 });
	cr_assert(changes.changes[0].before.record == removed);
}

/* A file that was made later can have the number of the removed one: what was kept of it is its own. */
Test(tree_records, a_removed_file_is_not_the_later_one_of_its_number)
{
	struct pack_state now = write_new("g", "now"), was = now;

	was.creation_ns = now.creation_ns = 0; /* not known, as of another file system */
	struct tree_record *removed = add(PACK_REMOVED, "f", PACK_NOT_KEPT, &was);
	removed->reason = PACK_TOO_LARGE;
	add(PACK_CREATED, "g", PACK_NOT_TAKEN, NULL);
	add(PACK_AFTER, "g", PACK_NOT_TAKEN, &now);
	add(PACK_CONTENT, "g", PACK_INLINE, &now);
	add(PACK_AFTER, "g", PACK_NOT_TAKEN, &now);
	read_from(&(struct tree_range){ .from_place = 0 });
	cr_assert_eq(changes.count, 2);
	cr_assert_eq(change_of("f")->before.content, TREE_LOST);
	cr_assert_eq(change_of("f")->before.lost, TREE_TOO_LARGE);
	cr_assert_not(change_of("g")->before.exists);
}

/* Of programs that make and rename a name at once one has found a file there: it has no record of its own. */
Test(tree_records, what_has_the_old_name_behind_a_rename_was_made_since)
{
	struct pack_state moved = write_new("b", "moved"), made = write_new("a", "made");

	for (int same = 0; same < 2; same++) {
		list.count = 0;
		struct tree_record *renamed = add(PACK_RENAMED, "a", PACK_NOT_TAKEN, &moved);
		renamed->other = path_of("b");
		add(PACK_CONTENT, "a", PACK_INLINE, &made)->boundary = same ? 1 : 2;
		add(PACK_AFTER, "a", PACK_NOT_TAKEN, &made)->boundary = same ? 1 : 2;
		read_from(&(struct tree_range){ .from_place = 0 });
		const struct tree_change *change = change_of("a");
		cr_assert_not_null(change);
		cr_assert_str_eq(change->moved_to, path_of("b"));
		cr_assert_eq(change->before.ino, moved.ino);
		cr_assert_eq(change->after.ino, made.ino);
		cr_assert_eq(change->left, same ? TREE_AS_LEFT : TREE_CHANGED_SINCE);
		tree_changes_free(&changes);
	}
}

/* ---- hard links to what was removed ---- */

Test(tree_records, which_record_kept_the_bytes_of_a_link)
{
	static const enum pack_held HELD[] = { PACK_INLINE, PACK_REFLINK,  PACK_COPY,
					       PACK_LINK,   PACK_NOT_KEPT, PACK_EARLIER };
	struct pack_state was = state_of_links(2);

	for (size_t i = 0; i < sizeof(HELD) / sizeof(HELD[0]); i++) {
		list.count = 0;
		struct tree_record *removed = add(PACK_REMOVED, "f", PACK_LINK, &was);
		removed->linked_mtime_ns = was.mtime_ns;
		struct tree_record *content = add(PACK_CONTENT, "g", HELD[i], &was);
		cr_assert_eq(tree_linked_follow(&list), 0);
		cr_assert(removed->linked_content == (i < 3 ? content : NULL), "held %d", HELD[i]);
	}
}

Test(tree_records, the_time_of_a_link_is_followed)
{
	struct pack_state was = state_of_links(2);
	struct pack_state touched = was, chmodded = was;

	touched.mtime_ns = 90;
	struct tree_record *removed = add(PACK_REMOVED, "f", PACK_LINK, &was);
	removed->linked_mtime_ns = was.mtime_ns;
	add(PACK_METADATA, "g", PACK_NOT_TAKEN, &was)->what = PACK_TIMES;
	add(PACK_AFTER, "g", PACK_NOT_TAKEN, &touched);
	cr_assert_eq(tree_linked_follow(&list), 0);
	cr_assert_eq(removed->linked_mtime_ns, 90);

	/* Another call sets no time. */
	removed->linked_mtime_ns = was.mtime_ns;
	records[1].what = PACK_MODE;
	chmodded.mtime_ns = 95;
	records[2].before = chmodded;
	cr_assert_eq(tree_linked_follow(&list), 0);
	cr_assert_eq(removed->linked_mtime_ns, 70);
}
