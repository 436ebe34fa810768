/* tracker.h: what a scope was given, asked by path. */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "support.h"
#include "tracker/content/baseline.h"
#include "tracker/segment/workspace.h"

static struct world world;
static uint64_t scope;

static void start(void)
{
	world_open(&world, NULL);
	scope = world_scope(&world, "a");
	world_fill(&world, "f", 1000, 1);
}

static void stop(void)
{
	world_close(&world);
}

TestSuite(tracker, .init = start, .fini = stop);

/* The scope is given the file whole, as it is on disk. */
static int deliver_to(uint64_t scope_id, uint64_t request, const char *path)
{
	struct content content;
	struct stat stat_;
	int fd = open(path, O_RDONLY);
	cr_assert_geq(fd, 0);
	cr_assert_eq(content_of_descriptor(fd, UINT64_MAX, &content), 0);
	cr_assert_eq(fstat(fd, &stat_), 0);
	cr_assert_eq(close(fd), 0);
	struct stamp stamp = stamp_of(&stat_);
	return tracker_record_delivery(&world.segment, scope_id, request, world_command(&world),
				       path, &stamp, &content.version);
}

static void deliver(const char *name)
{
	cr_assert_eq(deliver_to(scope, 1, world_path(&world, name)), 0);
}

static bool is_delivered(const char *name)
{
	return tracker_is_delivered(&world.segment, scope, 2, world_path(&world, name));
}

#define ASSERT_STATE(scope_id, name, expected, ...) \
	cr_assert_str_eq( \
		state_name(tracker_state(&world.segment, scope_id, world_path(&world, name))), \
		state_name(expected), ##__VA_ARGS__)

Test(tracker, false_before_the_first_read_true_after)
{
	cr_assert(!is_delivered("f"));
	deliver("f");
	cr_assert(is_delivered("f"));
	cr_assert(!is_delivered("g"));
}

Test(tracker, paths_are_normalized)
{
	deliver("f");
	cr_assert(is_delivered("./f"));
	cr_assert(is_delivered("../w//f"));
	cr_assert(!tracker_is_delivered(&world.segment, scope, 2, "f"));
	struct version version = { 1, 1, 1 };
	struct stamp stamp = { 0 };
	cr_assert_eq(tracker_record_delivery(&world.segment, scope, 1, 1, "f", &stamp, &version),
		     -EINVAL);
	cr_assert_eq(tracker_record_delivery(&world.segment, 99, 1, 1, "/f", &stamp, &version),
		     -ENOENT);
}

Test(tracker, counts)
{
	struct file_slot file;
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), -ENOENT);
	for (uint32_t i = 1; i <= 5; i++) {
		deliver("f");
		cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
		cr_assert_eq(file.full_reads, i);
	}
	cr_assert_neq(file.first_read_realtime_ns, 0);
	cr_assert_gt(file.last_read_realtime_ns, file.first_read_realtime_ns);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_deliveries), 5);
}

struct walk {
	unsigned files, stop_at;
	uint64_t reads;
};

static int walk_one(const char *path, const struct file_slot *file, void *data)
{
	struct walk *walk = data;
	must(path[0] == '/');
	walk->reads += file->full_reads;
	return ++walk->files == walk->stop_at ? 7 : 0;
}

Test(tracker, each_file)
{
	struct walk walk = { 0, 0, 0 };
	char name[16];
	cr_assert_eq(tracker_each_file(&world.segment, walk_one, &walk), 0);
	cr_assert_eq(walk.files, 0);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		world_fill(&world, name, 10, 1);
		deliver(name);
		deliver(name);
	}
	cr_assert_eq(tracker_each_file(&world.segment, walk_one, &walk), 0);
	cr_assert_eq(walk.files, 20);
	cr_assert_eq(walk.reads, 40);
	walk = (struct walk){ 0, 5, 0 };
	cr_assert_eq(tracker_each_file(&world.segment, walk_one, &walk), 7);
	cr_assert_eq(walk.files, 5);
}

Test(tracker, forget_one_path)
{
	world_fill(&world, "g", 1000, 2);
	deliver("f"), deliver("g");
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	cr_assert(!is_delivered("f"));
	cr_assert(is_delivered("g"));
	deliver("f");
	cr_assert(is_delivered("f"));
	cr_assert_eq(segment_counter(&world.segment, COUNTER_forgets), 1);
}

Test(tracker, forget_what_is_not_on_record)
{
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), -ENOENT);
	cr_assert_eq(tracker_forget(&world.segment, 0, "/nonexistent"), -ENOENT);
	cr_assert_eq(tracker_forget(&world.segment, 0, "relative"), -ENOENT);
	cr_assert_eq(tracker_forget_all(&world.segment, 999), -ENOENT);
}

Test(tracker, forget_by_another_name_of_the_file)
{
	deliver("f");
	cr_assert_eq(link(world_path(&world, "f"), world_path(&world, "h")), 0);
	cr_assert_eq(tracker_forget(&world.segment, 0, world_path(&world, "h")), 0);
	cr_assert_eq(world_cat(&world, scope, "h"), DECISION_CONTENT);
}

Test(tracker, forget_after_a_rename)
{
	deliver("f");
	cr_assert_eq(rename(world_path(&world, "f"), world_path(&world, "r")), 0);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "r")), 0);
	cr_assert_eq(world_cat(&world, scope, "r"), DECISION_CONTENT);
}

/* A process whose output goes elsewhere asks: the inode is known by that name now. */
static void open_elsewhere(const char *name)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	request.at_sink = false;
	cr_assert_eq(open_view(&world, &request, name, &view), DECISION_CONTENT);
	(void)close(view.fd);
}

static void rename_file(const char *from, const char *to)
{
	cr_assert_eq(rename(world_path(&world, from), world_path(&world, to)), 0);
}

/* What was given as f does not come back for r, whatever the inode is known as at the forget and later. */
static void forget_one_of_two_names(uint64_t forget_scope)
{
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	rename_file("f", "r");
	open_elsewhere("r");
	cr_assert_eq(tracker_forget(&world.segment, forget_scope, world_path(&world, "r")), 0);
	rename_file("r", "f");
	open_elsewhere("f");
	rename_file("f", "r");
	cr_assert_eq(world_cat(&world, scope, "r"), DECISION_CONTENT, "it was forgotten");
	cr_assert_eq(world_cat(&world, scope, "r"), DECISION_NOTICE, "and given again");
}

Test(tracker, forget_one_of_two_names_in_one_scope)
{
	forget_one_of_two_names(scope);
}

Test(tracker, forget_one_of_two_names_in_all_scopes)
{
	forget_one_of_two_names(0);
}

Test(tracker, forget_one_of_two_names_while_the_other_is_read)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	cr_assert_eq(link(world_path(&world, "f"), world_path(&world, "h")), 0);
	(void)open_view(&world, &request, "f", &view);
	open_elsewhere("h");
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "h")), 0);
	viewer_finish(&world, &request, &view);
	open_elsewhere("f");
	cr_assert_eq(world_cat(&world, scope, "h"), DECISION_CONTENT);
}

Test(tracker, forget_one_of_two_names_and_give_the_other_again)
{
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(link(world_path(&world, "f"), world_path(&world, "h")), 0);
	open_elsewhere("h");
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "h")), 0);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(world_cat(&world, scope, "h"), DECISION_NOTICE, "given after the forget");
}

Test(tracker, forget_leaves_another_file_of_equal_bytes)
{
	world_fill(&world, "g", 1000, 1);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(world_cat(&world, scope, "g"), DECISION_CONTENT);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	cr_assert_eq(world_cat(&world, scope, "g"), DECISION_NOTICE);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
}

Test(tracker, forget_ends_insisting)
{
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_NOTICE);
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_NOTICE);
}

Test(tracker, forget_although_the_files_record_was_lost)
{
	deliver("f");
	uint64_t key = path_key(&world.segment, world_path(&world, "f"));
	struct file_slot *slot = slot_of_file(&world.segment, key);
	slot->key = 12345; /* given away */
	cr_assert(is_delivered("f"));
	cr_assert_eq(tracker_forget(&world.segment, 0, world_path(&world, "f")), 0);
	cr_assert(!is_delivered("f"));
}

Test(tracker, new_epoch_of_a_scope)
{
	uint64_t other = world_scope(&world, "b");
	struct file_slot file;
	deliver("f");
	cr_assert_eq(deliver_to(other, 1, world_path(&world, "f")), 0);
	cr_assert_eq(tracker_forget_all(&world.segment, scope), 0);
	cr_assert(!is_delivered("f"));
	cr_assert(tracker_is_delivered(&world.segment, other, 2, world_path(&world, "f")));
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_eq(file.full_reads, 2, "the counts stay");
	deliver("f");
	cr_assert(is_delivered("f"));
}

Test(tracker, new_epoch_of_the_session)
{
	uint64_t other = world_scope(&world, "b");
	deliver("f");
	cr_assert_eq(deliver_to(other, 1, world_path(&world, "f")), 0);
	cr_assert_eq(tracker_forget_all(&world.segment, 0), 0);
	cr_assert(!is_delivered("f"));
	cr_assert(!tracker_is_delivered(&world.segment, other, 2, world_path(&world, "f")));
	deliver("f");
	cr_assert(is_delivered("f"));
}

Test(tracker, two_scopes_see_nothing_of_each_other)
{
	uint64_t other = world_scope(&world, "b");
	deliver("f");
	cr_assert(!tracker_is_delivered(&world.segment, other, 2, world_path(&world, "f")));
	ASSERT_STATE(other, "f", STATE_UNTRACKED);
	cr_assert_eq(deliver_to(other, 1, world_path(&world, "f")), 0);
	cr_assert_eq(tracker_forget(&world.segment, other, world_path(&world, "f")), 0);
	cr_assert(is_delivered("f"), "forgotten in the other one only");
	ASSERT_STATE(scope, "f", STATE_FRESH);
}

Test(tracker, window_exactly_and_one_beyond)
{
	const char *path = world_path(&world, "f");
	world.settings->window_requests = 50;
	cr_assert_eq(deliver_to(scope, 10, path), 0);
	cr_assert(tracker_is_delivered(&world.segment, scope, 60, path));
	cr_assert(!tracker_is_delivered(&world.segment, scope, 61, path));
	cr_assert(!tracker_is_delivered(&world.segment, scope, 9, path));
	scope_find(&world.segment, scope)->bytes_given += 400000;
	cr_assert(tracker_is_delivered(&world.segment, scope, 60, path));
	scope_find(&world.segment, scope)->bytes_given += 1;
	cr_assert(!tracker_is_delivered(&world.segment, scope, 60, path));
	ASSERT_STATE(scope, "f", STATE_FRESH); /* still the version that the scope knows */
}

Test(tracker, state)
{
	ASSERT_STATE(scope, "f", STATE_UNTRACKED);
	ASSERT_STATE(0, "f", STATE_UNTRACKED);
	deliver("f");
	ASSERT_STATE(scope, "f", STATE_FRESH);
	ASSERT_STATE(0, "f", STATE_FRESH);
	world_fill(&world, "f", 1000, 2);
	ASSERT_STATE(scope, "f", STATE_CHANGED);
	world_fill(&world, "f", 1000, 1);
	ASSERT_STATE(scope, "f", STATE_FRESH);
	cr_assert_eq(unlink(world_path(&world, "f")), 0);
	ASSERT_STATE(scope, "f", STATE_DELETED);
	cr_assert_eq(mkdir(world_path(&world, "f"), 0700), 0);
	ASSERT_STATE(scope, "f", STATE_CHANGED);
}

Test(tracker, never_tracked_is_no_conflict)
{
	ASSERT_STATE(scope, "missing", STATE_UNTRACKED);
	ASSERT_STATE(0, "missing", STATE_UNTRACKED);
	world_fill(&world, "g", 10, 1);
	ASSERT_STATE(scope, "g", STATE_UNTRACKED);
}

Test(tracker, directory_above_deleted)
{
	cr_assert_eq(mkdir(world_path(&world, "d"), 0700), 0);
	world_fill(&world, "d/x", 100, 1);
	deliver("d/x");
	cr_assert_eq(unlink(world_path(&world, "d/x")), 0);
	cr_assert_eq(rmdir(world_path(&world, "d")), 0);
	ASSERT_STATE(scope, "d/x", STATE_DELETED);
	world_fill(&world, "d", 1, 1); /* now a file: ENOTDIR */
	ASSERT_STATE(scope, "d/x", STATE_DELETED);
}

Test(tracker, touch_is_no_change)
{
	deliver("f");
	cr_assert_eq(utimensat(AT_FDCWD, world_path(&world, "f"), NULL, 0), 0);
	ASSERT_STATE(scope, "f", STATE_FRESH);
	cr_assert(is_delivered("f"));
}

Test(tracker, retracking_clears)
{
	deliver("f");
	world_fill(&world, "f", 1200, 9);
	ASSERT_STATE(scope, "f", STATE_CHANGED);
	deliver("f");
	ASSERT_STATE(scope, "f", STATE_FRESH);
}

Test(tracker, another_mode_or_equal_bytes_are_no_change_another_line_ending_is)
{
	write_path(world_path(&world, "l"), "a\nb\n", 4);
	deliver("l");
	cr_assert_eq(chmod(world_path(&world, "l"), 0600), 0);
	ASSERT_STATE(scope, "l", STATE_FRESH);
	write_path(world_path(&world, "l"), "a\nb\n", 4);
	ASSERT_STATE(scope, "l", STATE_FRESH);
	ASSERT_STATE(0, "l", STATE_FRESH);
	write_path(world_path(&world, "l"), "a\r\nb\r\n", 6);
	ASSERT_STATE(scope, "l", STATE_CHANGED);
	ASSERT_STATE(0, "l", STATE_CHANGED);
}

static struct version version_now(const char *name)
{
	struct content content;
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && content_of_descriptor(fd, UINT64_MAX, &content) == 0 && close(fd) == 0);
	return content.version;
}

static uint64_t key_of(const char *name)
{
	return path_key(&world.segment, world_path(&world, name));
}

Test(tracker, what_a_scope_made_is_what_it_knows)
{
	deliver("f");
	world_fill(&world, "f", 1000, 2);
	struct version made = version_now("f"), version;
	baseline_given(&world.segment, scope, key_of("f"), &made);
	ASSERT_STATE(scope, "f", STATE_FRESH);
	ASSERT_STATE(0, "f", STATE_FRESH);
	cr_assert(tracker_baseline(&world.segment, scope, world_path(&world, "f"), &version));
	cr_assert(version_equal(&version, &made));
	/* a forget takes back what was known before it, and only that */
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	ASSERT_STATE(scope, "f", STATE_UNTRACKED);
	cr_assert(!tracker_baseline(&world.segment, scope, world_path(&world, "f"), &version));
	cr_assert(version_is_none(&version));
	baseline_given(&world.segment, scope, key_of("f"), &made);
	ASSERT_STATE(scope, "f", STATE_FRESH);
}

Test(tracker, what_the_session_knows_stands_in)
{
	struct version version = version_now("f");
	uint64_t key = file_update(&world.segment, world_path(&world, "f"), NULL, NULL, NULL);
	ASSERT_STATE(scope, "f", STATE_UNTRACKED);
	baseline_given(&world.segment, BASELINE_SESSION, key, &version);
	ASSERT_STATE(scope, "f", STATE_FRESH);
	ASSERT_STATE(0, "f", STATE_FRESH);
	world_fill(&world, "f", 1000, 2);
	ASSERT_STATE(scope, "f", STATE_CHANGED);
	ASSERT_STATE(0, "f", STATE_CHANGED);
}

Test(tracker, without_a_scope_the_newest_counts)
{
	uint64_t other = world_scope(&world, "b");
	deliver("f");
	world_fill(&world, "f", 1000, 2);
	cr_assert_eq(deliver_to(other, 1, world_path(&world, "f")), 0);
	ASSERT_STATE(scope, "f", STATE_CHANGED);
	ASSERT_STATE(other, "f", STATE_FRESH);
	ASSERT_STATE(0, "f", STATE_FRESH);
	world_fill(&world, "f", 1000, 1);
	ASSERT_STATE(scope, "f", STATE_FRESH);
	ASSERT_STATE(0, "f", STATE_CHANGED);
	struct version version = version_now("f");
	baseline_given(&world.segment, scope, key_of("f"), &version);
	ASSERT_STATE(0, "f", STATE_FRESH);
}

static void wrote(struct file_slot *file, const void *data)
{
	file->written = *(const struct version *)data;
	file->flags &= ~(uint32_t)FILE_REMOVED;
	if (version_is_none(data))
		file->flags |= FILE_REMOVED;
}

Test(tracker, what_the_session_wrote_or_removed_is_no_change)
{
	struct version none = { 0 };
	deliver("f");
	world_fill(&world, "f", 1000, 2);
	struct version version = version_now("f");
	cr_assert_eq(file_change_known(&world.segment, key_of("f"), wrote, &version), 0);
	ASSERT_STATE(0, "f", STATE_FRESH);
	ASSERT_STATE(scope, "f", STATE_CHANGED, "that scope does not know it");
	cr_assert_eq(unlink(world_path(&world, "f")), 0);
	ASSERT_STATE(0, "f", STATE_DELETED);
	cr_assert_eq(file_change_known(&world.segment, key_of("f"), wrote, &none), 0);
	ASSERT_STATE(0, "f", STATE_UNTRACKED);
	ASSERT_STATE(scope, "f", STATE_UNTRACKED);
	/* made anew by another program */
	world_fill(&world, "f", 1000, 3);
	ASSERT_STATE(0, "f", STATE_CHANGED);
	ASSERT_STATE(scope, "f", STATE_CHANGED);
}

Test(tracker, delivery_is_a_read_by_the_agent)
{
	struct file_slot file;
	struct version version;
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert_neq(file.agent_read_realtime_ns, 0);
	cr_assert_eq(file.source, SOURCE_READ);
	cr_assert(file.flags & FILE_HAS_BASELINE);
	cr_assert(baseline_at(&world.segment, scope, file.key, &version), "it counts at once");
	cr_assert(version_equal(&version, &file.version));
	world_fill(&world, "g", 1000, 3);
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	request.at_sink = false;
	(void)open_view(&world, &request, "g", &view);
	viewer_finish(&world, &request, &view);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "g"), &file), 0);
	cr_assert_eq(file.full_reads, 1);
	cr_assert_eq(file.agent_read_realtime_ns, 0, "it went elsewhere");
	cr_assert(!baseline_at(&world.segment, scope, file.key, &version));
}

Test(tracker, invalidated_is_untracked)
{
	deliver("f");
	cr_assert_eq(tracker_forget(&world.segment, scope, world_path(&world, "f")), 0);
	ASSERT_STATE(scope, "f", STATE_UNTRACKED);
}

Test(tracker, equal_stamp_with_other_bytes_is_changed)
{
	struct stat before;
	deliver("f");
	cr_assert_eq(stat(world_path(&world, "f"), &before), 0);
	int fd = open(world_path(&world, "f"), O_RDWR);
	char *map = mmap(NULL, 1000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(map, MAP_FAILED);
	map[5] ^= 1;
	cr_assert_eq(futimens(fd, (struct timespec[2]){ before.st_atim, before.st_mtim }), 0);
	ASSERT_STATE(scope, "f", STATE_CHANGED);
	cr_assert_eq(munmap(map, 1000), 0);
	(void)close(fd);
	/* injected: the record says that this very stamp was read */
	struct file_slot file;
	struct stat now;
	cr_assert_eq(stat(world_path(&world, "f"), &now), 0);
	struct stamp stamp = stamp_of(&now);
	struct version version = { 1, 2, (uint64_t)now.st_size };
	cr_assert_eq(tracker_record_delivery(&world.segment, scope, 1, world_command(&world),
					     world_path(&world, "f"), &stamp, &version),
		     0);
	cr_assert_eq(tracker_file(&world.segment, world_path(&world, "f"), &file), 0);
	cr_assert(stamp_equal(&file.stamp, &stamp));
	ASSERT_STATE(scope, "f", STATE_CHANGED);
	ASSERT_STATE(0, "f", STATE_CHANGED);
	cr_assert_eq(world_cat(&world, scope, "f"), DECISION_CONTENT);
}

Test(tracker, empty_file)
{
	write_path(world_path(&world, "e"), "", 0);
	deliver("e");
	ASSERT_STATE(scope, "e", STATE_FRESH);
	write_path(world_path(&world, "e"), "x", 1);
	ASSERT_STATE(scope, "e", STATE_CHANGED);
}

Test(tracker, case_insensitive_when_configured)
{
	deliver("f");
	cr_assert(!is_delivered("F"));
	world.settings->paths_case_insensitive = PATHS_CASE_INSENSITIVE_YES;
	deliver("f");
	cr_assert(is_delivered("F"));
	cr_assert_eq(tracker_forget(&world.segment, 0, world_path(&world, "F")), 0);
	cr_assert(!is_delivered("f"));
}

Test(tracker, pending_read_during_a_forget_is_no_delivery)
{
	struct request request = world_request(&world, scope);
	struct viewed_file view;
	(void)open_view(&world, &request, "f", &view);
	cr_assert_eq(tracker_forget(&world.segment, 0, world_path(&world, "f")), 0);
	viewer_finish(&world, &request, &view);
	cr_assert(!world_is_delivered(&world, scope, "f"));
}

Test(tracker, names_of_states)
{
	cr_assert_str_eq(state_name(STATE_UNTRACKED), "untracked");
	cr_assert_str_eq(state_name(STATE_FRESH), "fresh");
	cr_assert_str_eq(state_name(STATE_CHANGED), "changed");
	cr_assert_str_eq(state_name(STATE_DELETED), "deleted");
}

Test(tracker, memory_of_ten_thousand_files)
{
	struct version version = { 1, 2, 3 };
	uint64_t before = world.segment.header->arena_used, found = 0;
	uint64_t command = world_command(&world);
	char name[64];
	for (uint64_t i = 0; i < 10000; i++) {
		struct stamp stamp = { .dev = 1, .ino = 1000 + i };
		(void)snprintf(name, sizeof(name), "src/module%03u/some_file_%05u.c",
			       (unsigned)(i / 50), (unsigned)i);
		cr_assert_eq(tracker_record_delivery(&world.segment, scope, 1, command,
						     world_path(&world, name), &stamp, &version),
			     0);
	}
	for (uint64_t i = 0; i < 10000; i++) {
		(void)snprintf(name, sizeof(name), "src/module%03u/some_file_%05u.c",
			       (unsigned)(i / 50), (unsigned)i);
		found += is_delivered(name);
	}
	uint64_t arena = world.segment.header->arena_used - before;
	uint64_t slots = 10000 * (sizeof(struct file_slot) + sizeof(struct inode_slot) +
				  sizeof(struct delivery_slot));
	printf("10,000 files: %lu found; slots %lu + arena %lu = %lu bytes (%lu each); the segment "
	       "has %lu bytes\n",
	       (unsigned long)found, (unsigned long)slots, (unsigned long)arena,
	       (unsigned long)(slots + arena), (unsigned long)((slots + arena) / 10000),
	       (unsigned long)world.segment.header->size_bytes);
	/* Where the names hash to differs with the directory that they are in. */
	cr_assert_leq(segment_counter(&world.segment, COUNTER_lost_files), 10);
	cr_assert_geq(found, 9900);
	cr_assert_leq((slots + arena) / 10000, 512);
}
