/* tracker.h: the state of files that the session wrote and no agent read, and of names that are no paths. */
#include "decision_case.h"
#include "tracker/content/baseline.h"
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

/* ---- what is damaged, lost or has no place ---- */

static uint64_t key_of(const char *name)
{
	return path_key(&world.segment, world_path(&world, name));
}

static int count(const char *path, const struct file_slot *file, void *data)
{
	(void)path;
	(void)file;
	(*(unsigned *)data)++;
	return 0;
}

static unsigned files(void)
{
	unsigned number = 0;

	cr_assert_eq(tracker_each_file(&world.segment, count, &number), 0);
	return number;
}

static void lose_path(struct file_slot *file, const void *data)
{
	(void)data;
	file->path_bytes = 0;
}

Test(tracker_state, files_that_were_lost)
{
	world_fill(&world, "g", 4096, 1);
	world_fill(&world, "h", 4096, 1);
	ASSERT_NEW("f");
	ASSERT_NEW("g");
	ASSERT_NEW("h");
	cr_assert_eq(files(), 3);
	slot_of_file(&world.segment, key_of("f"))->head.check ^= 1;
	cr_assert_eq(files(), 2);
	must(file_change_known(&world.segment, key_of("g"), lose_path, NULL) == 0);
	cr_assert_eq(files(), 1);
}

Test(tracker_state, a_scope_that_is_damaged)
{
	ASSERT_NEW("f");
	cr_assert(world_is_delivered(&world, scope, "f"));
	cr_assert_not(tracker_is_delivered(&world.segment, scope, 2, "no/path"));
	scope_find(&world.segment, scope)->head.check ^= 1;
	cr_assert_not(world_is_delivered(&world, scope, "f"));
}

Test(tracker_state, deliveries_without_a_place)
{
	struct stat stat_;
	char path[1024];

	must(stat(world_path(&world, "f"), &stat_) == 0);
	const struct stamp stamp = stamp_of(&stat_);
	const struct version version = { 1, 2, 4096 };
	for (unsigned i = 0;; i++) { /* until the paths have no room */
		(void)snprintf(path, sizeof(path), "%s/%0900u", world.workspace, i);
		if (!file_update(&world.segment, path, NULL, NULL, NULL))
			break;
		memset(slot_of_file(&world.segment, path_key(&world.segment, path)), 0,
		       sizeof(struct file_slot));
	}
	cr_assert_eq(tracker_record_delivery(&world.segment, scope, 1, 1, path, &stamp, &version),
		     -ENOSPC);
}

/* What was given to a scope is its baseline, also where no baseline is on record; what was read before a newer baseline is none. */
Test(tracker_state, baselines)
{
	struct version version, given = { 1, 2, 3 };
	struct moment moment = moment_now(&world.segment, scope, 1, 0, world_command(&world));

	cr_assert_not(tracker_baseline(&world.segment, scope, world_path(&world, "f"), &version));
	must(delivery_record(&world.segment, key_of("f"), &given, &moment) == 0);
	cr_assert(tracker_baseline(&world.segment, scope, world_path(&world, "f"), &version));
	cr_assert(version_equal(&version, &given));
	/* of all scopes: the newest, whether it was read or given */
	(void)world_cat(&world, scope, "f");
	cr_assert(tracker_baseline(&world.segment, 0, world_path(&world, "f"), &version));
	cr_assert_eq(version.size_bytes, 4096);
	baseline_given(&world.segment, scope, key_of("f"), &given);
	cr_assert(tracker_baseline(&world.segment, 0, world_path(&world, "f"), &version));
	cr_assert(version_equal(&version, &given));
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	request.at_sink = false; /* it is read, and not given */
	(void)open_view(&world, &request, "f", &view);
	viewer_finish(&world, &request, &view);
	cr_assert(tracker_baseline(&world.segment, 0, world_path(&world, "f"), &version));
	cr_assert_eq(version.size_bytes, 4096);
}
