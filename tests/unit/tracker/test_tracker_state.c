/* tracker.h: the state of files that the session wrote and no agent read, and of names that are no paths. */
#include "decision_case.h"
#include "tracker/segment/workspace.h"

TestSuite(tracker_state, .init = start, .fini = stop);

static void note_written(struct file_slot *file, const void *data)
{
	file->written = *(const struct version *)data;
}

Test(tracker_state, written_and_never_read)
{
	const char *path = world_path(&world, "f");
	struct content content;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	cr_assert_eq(tracker_state(&world.segment, 0, path), STATE_UNTRACKED);
	must(file_update(&world.segment, path, NULL, note_written, &content.version) != 0);
	cr_assert_eq(tracker_state(&world.segment, 0, path), STATE_FRESH);
	cr_assert_eq(tracker_state(&world.segment, scope, path), STATE_UNTRACKED);
	world_fill(&world, "f", 4096, 2);
	cr_assert_eq(tracker_state(&world.segment, 0, path), STATE_CHANGED);
	must(unlink(path) == 0);
	cr_assert_eq(tracker_state(&world.segment, 0, path), STATE_DELETED);
	must(symlink("f", path) == 0); /* it leads to itself */
	cr_assert_eq(tracker_state(&world.segment, 0, path), STATE_CHANGED);
}

/* A name that is no absolute path has no key; the file that it leads to has its number. */
Test(tracker_state, invalidated_by_a_relative_name)
{
	ASSERT_NEW("f");
	ASSERT_NOTICE("f");
	must(chdir(world.workspace) == 0);
	cr_assert_eq(tracker_forget(&world.segment, scope, "g"), -ENOENT);
	cr_assert_eq(tracker_forget(&world.segment, scope, "f"), 0);
	must(chdir("/") == 0);
	ASSERT_NEW("f");
}
