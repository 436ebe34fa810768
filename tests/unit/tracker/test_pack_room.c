/* pack_room.h: what a session may keep, and where. */
#include <criterion/criterion.h>

#include "failing_calls.h"
#include "support.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_room.h"

static struct world world;

static void start(void)
{
	world_open(&world, "undo.reserve=0", NULL);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(pack_room, .init = start, .fini = stop);

Test(pack_room, without_a_directory_there_is_no_part)
{
	struct segment private;
	char name[PACK_FILE_NAME_BYTES];

	cr_assert_eq(segment_create_private(world.settings, "", 0, &private), 0);
	/* what another session's directory left in memory is not taken for one */
	int fd = pack_open_part(&world.segment, 0), none = pack_open_part(&private, 0);
	must(fd >= 0 && close(fd) == 0);
	cr_assert_eq(none, -ENOENT);
	cr_assert_eq(pack_open_files(&private, 0, name), -ENOENT);
	segment_unmap(&private);
}

static int copies_from_afar(void *data)
{
	int far = open("/proc/self/stat", O_RDONLY | O_CLOEXEC),
	    near = open(world.undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t left = PACK_FAR_STEP_BYTES_MAX;

	(void)data;
	must(far >= 0 && near >= 0);
	world.settings->undo_max_file_bytes = UINT64_MAX;
	for (; left >= PACK_FAR_FILE_BYTES_MAX; left -= PACK_FAR_FILE_BYTES_MAX)
		must(pack_may_copy(&world.segment, PACK_FAR_FILE_BYTES_MAX, far, near) == 0);
	must(pack_may_copy(&world.segment, left + 1, far, near) == -EXDEV);
	must(pack_may_copy(&world.segment, left, far, near) == 0);
	must(pack_may_copy(&world.segment, 1, far, near) == -EXDEV);
	must(pack_may_copy(&world.segment, PACK_FAR_FILE_BYTES_MAX + 1, near, near) == 0);
	world.segment.header->undo_boundary++; /* another step */
	must(pack_may_copy(&world.segment, PACK_FAR_FILE_BYTES_MAX + 1, far, near) == -EXDEV);
	must(pack_may_copy(&world.segment, 1, far, near) == 0);
	refuse_calls(SYS_statx, ENOSYS); /* nothing tells how far it is */
	must(pack_may_copy(&world.segment, PACK_FAR_FILE_BYTES_MAX + 1, far, near) == 0);
	return 0;
}

/* A step copies so much from other file systems. */
Test(pack_room, from_other_file_systems_little_is_copied)
{
	cr_assert_eq(in_child(copies_from_afar, NULL), 0);
}
