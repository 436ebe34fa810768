/* contents.h: what is kept is whole or absent, whichever process is killed, whatever lies in the directory, and however little room there is. */
#include "contents_case.h"

#include "failing_calls.h"
#include "tracker/content/contents_inputs.h"
#include "tracker/sys/chunk.h"

TestSuite(contents, .init = start, .fini = stop);

/* ---- helpers ---- */

static unsigned open_descriptors(void)
{
	unsigned count = 0;
	DIR *directory = opendir("/proc/self/fd");
	must(directory);
	while (readdir(directory))
		count++;
	must(closedir(directory) == 0);
	return count;
}

static char *read_index(void)
{
	static char text[1 << 20];
	int fd = open(content_path(CONTENTS_INDEX), O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	ssize_t got = read(fd, text, sizeof(text) - 1);
	must(got >= 0 && close(fd) == 0);
	text[got] = '\0';
	return text;
}

/* ---- names ---- */

Test(contents, names_are_distinguished_from_others)
{
	static const char *const OTHERS[] = {
		"",
		".",
		"..",
		"index",
		"0",
		"00112233445566778899aabbccddeeff",
		"00112233445566778899aabbccddeeff-",
		"00112233445566778899aabbccddeeff-01",
		"00112233445566778899aabbccddeeff-1x",
		"00112233445566778899AABBCCDDEEFF-1",
		"00112233445566778899aabbccddeeff--1",
		"0112233445566778899aabbccddeeff-1",
		"00112233445566778899aabbccddeeff-99999999999999999999999",
		".1",
		".1.",
		"..1",
		".1.2.",
		".1.2x",
		".x.2",
		"1.2",
	};
	char name[CONTENTS_NAME_BYTES];
	struct version version = { 0x8899aabbccddeeff, 0x0011223344556677, 5 }, parsed;
	uint64_t pid = 0;

	contents_name(&version, name);
	cr_assert_str_eq(name, "00112233445566778899aabbccddeeff-5");
	cr_assert(contents_version(name, &parsed) && version_equal(&parsed, &version));
	version.size_bytes = UINT64_MAX / 16;
	contents_name(&version, name);
	cr_assert(contents_version(name, &parsed) && version_equal(&parsed, &version));
	version.size_bytes = 0;
	contents_name(&version, name);
	cr_assert(contents_version(name, &parsed) && version_equal(&parsed, &version));
	cr_assert(contents_is_temporary(".17.4", &pid));
	cr_assert_eq(pid, 17);
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
		cr_assert(!contents_version(OTHERS[i], &parsed), "%s", OTHERS[i]);
		cr_assert(!contents_is_temporary(OTHERS[i], &pid), "%s", OTHERS[i]);
	}
	cr_assert_str_eq(contents_reason_name(CONTENTS_DESTROYED), "destroyed");
	cr_assert_str_eq(contents_reason_name(CONTENTS_GIVEN), "given");
	cr_assert_str_eq(contents_reason_name(CONTENTS_RESTORED), "replaced");
	cr_assert_str_eq(contents_reason_name((enum contents_reason)77), "unknown");
}

/* ---- keeping ---- */

Test(contents, what_is_kept_is_what_was_there)
{
	static const size_t SIZES[] = { 0, 1, 8191, 8192, 16384, 16385, 100000, 200000 };
	unsigned before = open_descriptors();
	uint64_t sum = 0;

	for (unsigned i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
		struct version version = keep("f", SIZES[i], i);
		struct version file = version_of(world_path(&world, "f"));
		struct version kept = version_of(path_of(&version));
		struct stat stat;
		cr_assert(version_equal(&version, &file) && version_equal(&version, &kept));
		cr_assert(contents_has(&world.segment, &version));
		cr_assert_eq(lstat(path_of(&version), &stat), 0);
		cr_assert_eq(stat.st_mode & 07777, 0400);
		sum += SIZES[i];
	}
	cr_assert_eq(kept_bytes(), sum);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_contents_kept), 8);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 0);
	cr_assert_eq(census().temporaries, 0);
	cr_assert_eq(open_descriptors(), before);
}

Test(contents, a_mask_and_errno_are_left_alone)
{
	fill("f", 100, 1);
	(void)umask(0777);
	struct version version;
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	errno = 4242;
	cr_assert_eq(contents_save(&world.segment, fd, "/f", CONTENTS_GIVEN, &version), 0);
	cr_assert_eq(errno, 4242);
	cr_assert_eq(close(fd), 0);
	struct stat stat;
	cr_assert_eq(lstat(path_of(&version), &stat), 0);
	cr_assert_eq(stat.st_mode & 07777, 0400);
}

Test(contents, the_same_again_is_kept_once)
{
	struct version first = keep("a", 5000, 1);
	struct version second = keep("b", 5000, 1);
	cr_assert(version_equal(&first, &second));
	cr_assert_eq(census().contents, 1);
	cr_assert_eq(kept_bytes(), 5000);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_contents_kept), 1);
	char *index = read_index();
	cr_assert(strstr(index, "/w/a\n") && strstr(index, "/w/b\n"));
}

Test(contents, a_line_for_each)
{
	char expected[600], *index;
	struct version version;
	int number = 0;

	fill("f", 10, 1);
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	must(fchmod(fd, 0640) == 0);
	cr_assert_eq(contents_save(&world.segment, fd, "/a b\n\xff\\", CONTENTS_GIVEN, &version),
		     0);
	cr_assert_eq(contents_save(&world.segment, fd, "/b", CONTENTS_RESTORED, &version), 0);
	index = read_index();
	contents_name(&version, expected);
	(void)strcat(expected, " given 0640 /a b\\n\\xff\\\\\n");
	char *line = strchr(index, ' ');
	cr_assert(line && strncmp(line + 1, expected, strlen(expected)) == 0, "%s", index);
	uint64_t then = strtoull(index, NULL, 10);
	cr_assert(then > 1700000000000000000u);
	for (char *at = index; *at; at++)
		number += *at == '\n';
	cr_assert_eq(number, 2);
	/* the longest path there can be, none of whose bytes may be shown as they are */
	char *longest = malloc(4096);
	must(longest);
	memset(longest, 1, 4095);
	longest[0] = '/';
	longest[4095] = '\0';
	cr_assert_eq(contents_save(&world.segment, fd, longest, CONTENTS_GIVEN, &version), 0);
	index = read_index();
	cr_assert_eq(index[strlen(index) - 1], '\n');
	cr_assert_gt(strlen(index), 4 * 4094);
	free(longest);
	cr_assert_eq(close(fd), 0);
}

Test(contents, behind_a_torn_line_a_new_one_begins)
{
	(void)keep("a", 10, 1);
	int fd = open(content_path(CONTENTS_INDEX), O_WRONLY | O_APPEND | O_CLOEXEC);
	must(write(fd, "17223 00112233", 14) == 14 && close(fd) == 0);
	(void)keep("b", 10, 2);
	char *torn = strstr(read_index(), "17223 00112233\n");
	cr_assert(torn && strstr(torn, " destroyed "));
}

Test(contents, what_is_too_large_is_not_kept)
{
	struct version version = { 1, 2, 3 };
	fill("f", 200001, 1);
	cr_assert_eq(save("f", &version), -EFBIG);
	cr_assert_eq(version.size_bytes, 3);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 1);
	world.settings->content_max_bytes = 100;
	fill("f", 101, 1);
	cr_assert_eq(save("f", &version), -EFBIG);
	fill("f", 100, 1);
	cr_assert_eq(save("f", &version), 0);
	cr_assert_eq(census().contents, 1);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 2);
}

Test(contents, no_store_is_no_loss)
{
	struct version version;
	fill("f", 10, 1);
	world.settings->content_max_bytes = 0;
	cr_assert_eq(save("f", &version), -ENOENT);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 0);
	cr_assert_eq(census().contents, 0);
	world.settings->content_max_bytes = 1000;
	cr_assert_eq(rmdir(world.contents), 0);
	/* one that was removed is another matter */
	cr_assert_eq(save("f", &version), -ENOENT);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 1);
	cr_assert(!contents_has(&world.segment, &version));
	cr_assert_eq(contents_open(&world.segment, &version), -ENOENT);
}

Test(contents, only_regular_files)
{
	struct version version;
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(contents_save(&world.segment, ends[0], "/p", CONTENTS_GIVEN, &version),
		     -EINVAL);
	int fd = open(world.workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert_eq(contents_save(&world.segment, fd, "/p", CONTENTS_GIVEN, &version), -EINVAL);
	cr_assert_eq(contents_save(&world.segment, -1, "/p", CONTENTS_GIVEN, &version), -EBADF);
	cr_assert_eq(census().contents, 0);
}

/* ---- no room ---- */

static int save_with_limit(void *data)
{
	struct rlimit limit = { .rlim_cur = *(rlim_t *)data, .rlim_max = *(rlim_t *)data };
	struct version version;
	must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return -save("f", &version); /* a signal would end this process */
}

Test(contents, a_limit_on_files_costs_no_signal)
{
	rlim_t limit = 999;
	fill("f", 1000, 1);
	cr_assert_eq(in_child(save_with_limit, &limit), EFBIG);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 1);
	cr_assert_eq(census().contents + census().temporaries, 0);
	/* the index is longer than that by now: the content is kept without a line */
	for (unsigned i = 0; i < 12; i++)
		(void)keep("g", 10, i);
	size_t length = strlen(read_index());
	cr_assert_gt(length, 1000);
	limit = 1000;
	cr_assert_eq(in_child(save_with_limit, &limit), 0);
	cr_assert_eq(strlen(read_index()), length);
	cr_assert_eq(census().contents, 13);
}

Test(contents, a_full_disk_keeps_nothing)
{
	struct version version;

	if (geteuid() != 0 || mount("none", world.contents, "tmpfs", 0, "size=256k") < 0)
		cr_skip_test("needs the right to mount");
	struct version small = keep("small", 1000, 1);
	int filler = open(content_path("filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(filler >= 0 && fallocate(filler, 0, 0, 150000) == 0 && close(filler) == 0);
	uint64_t before = kept_bytes();
	fill("f", 150000, 2);
	int error = save("f", &version);
	struct census all = census();
	int again = 0;
	/* and with not even a page left */
	while (again == 0 && all.contents < 200) {
		fill("f", 4096, 3 + all.contents);
		again = save("f", &version);
		all = census();
	}
	uint64_t after = kept_bytes();
	bool whole = contents_has(&world.segment, &small);
	cr_assert_eq(umount(world.contents), 0);
	cr_assert_eq(error, -ENOSPC);
	cr_assert_eq(again, -ENOSPC);
	cr_assert_eq(all.damaged + all.temporaries, 0);
	cr_assert_eq(after - before, all.size_bytes - 1000);
	cr_assert(whole);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 2);
}

static int save_with_a_failed_close(void *data)
{
	struct version version;
	int fd = *(const int *)data;

	refuse_calls(SYS_close, EIO);
	return -contents_save(&world.segment, fd, "/f", CONTENTS_GIVEN, &version);
}

static int write_inputs_with_a_failed_close(void *data)
{
	(void)data;
	refuse_calls(SYS_close, EIO);
	return -contents_write_inputs(&world.segment, 1, "inputs", 6);
}

Test(contents, what_fails_at_its_close_is_not_kept)
{
	char bytes[8];

	fill("f", 1000, 1);
	int fd = open(world_path(&world, "f"), O_RDONLY | O_CLOEXEC);
	cr_assert_eq(in_child(save_with_a_failed_close, &fd), EIO);
	cr_assert_eq(census().contents + census().temporaries, 0);
	cr_assert_eq(segment_counter(&world.segment, COUNTER_lost_contents), 1);
	cr_assert_eq(in_child(write_inputs_with_a_failed_close, NULL), EIO);
	cr_assert_lt(contents_read_inputs(&world.segment, 1, bytes, sizeof(bytes)), 0);
	cr_assert_eq(census().temporaries, 0);
	cr_assert_eq(close(fd), 0);
}

/* ---- the oldest first out ---- */

Test(contents, the_oldest_go_first)
{
	struct version versions[20];

	world.settings->content_max_bytes = 10000;
	for (unsigned i = 0; i < 10; i++)
		versions[i] = keep("f", 900, i);
	cr_assert_eq(census().contents, 10);
	/* kept again: it is the youngest */
	versions[0] = keep("f", 900, 0);
	for (unsigned i = 10; i < 14; i++)
		versions[i] = keep("f", 900, i);
	/* 11 have room: 1, 2 and 3 had to go */
	for (unsigned i = 0; i < 14; i++)
		cr_assert_eq(contents_has(&world.segment, &versions[i]), i == 0 || i > 3, "%u", i);
	cr_assert_eq(kept_bytes(), census().size_bytes);
	cr_assert_leq(kept_bytes(), 10000);
}

Test(contents, a_large_one_puts_all_others_out)
{
	world.settings->content_max_bytes = 10000;
	for (unsigned i = 0; i < 20; i++)
		(void)keep("f", 400, i);
	struct version large = keep("f", 10000, 99);
	cr_assert(contents_has(&world.segment, &large));
	cr_assert_eq(census().contents, 1);
	cr_assert_eq(kept_bytes(), 10000);
}

Test(contents, making_room_gives_its_memory_back)
{
	char *chunk;

	world.settings->content_max_bytes = 1000;
	for (unsigned i = 0; i < 20; i++)
		(void)keep("f", 400, i);
	cr_assert_not_null(chunk = chunk_acquire());
	chunk_release(chunk);
	cr_assert_eq(census().contents, 2);
}

Test(contents, a_wrong_number_drops_nothing)
{
	world.settings->content_max_bytes = 10000;
	for (unsigned i = 0; i < 5; i++)
		(void)keep("f", 1000, i);
	world.segment.header->contents_bytes = UINT64_MAX - 10;
	(void)keep("f", 1000, 5);
	world.segment.header->contents_bytes = 20000;
	(void)keep("f", 1000, 6);
	cr_assert_eq(census().contents, 7);
	cr_assert_eq(kept_bytes(), 7000);
	/* one that is too small is found by a count */
	world.segment.header->contents_bytes = 0;
	contents_recount(&world.segment);
	cr_assert_eq(kept_bytes(), 7000);
}

Test(contents, many_go_at_once)
{
	for (unsigned i = 0; i < 500; i++)
		(void)keep("f", 100, i);
	world.settings->content_max_bytes = 1000;
	(void)keep("f", 100, 1000);
	cr_assert_leq(census().contents, 10);
	cr_assert_geq(census().contents, 8);
	cr_assert_eq(kept_bytes(), census().size_bytes);
}
