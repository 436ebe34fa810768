/* journal.h: windows of the mapping, and a full disk. */
#include "journal_case.h"

TestSuite(journal, .init = setup, .fini = teardown);

TestSuite(journal_windows, .init = setup_windows, .fini = teardown_windows);

/* ---- windows ---- */

/* The file has room up to there, and the next record comes there. */
static void go_to(uint64_t number)
{
	header()->next = number;
	journal_make_room(&journal, JOURNAL_ROOM_UNITS);
	cr_assert_geq(header()->allocated, number + JOURNAL_ROOM_UNITS);
}

/* Where the first window of `other` ends. */
static uint64_t first_window_limit(void)
{
	return other.windows[0].to;
}

Test(journal_windows, one_follows_the_other, .timeout = 60)
{
	uint64_t written = 0;
	uint32_t number, last = 0;
	while ((number = append(&other, written + 1, true))) {
		cr_assert(last == 0 || number == last + 1, "after %u came %u", last, number);
		last = number;
		written++;
	}
	cr_assert_gt(written, (uint64_t)WINDOWS * JOURNAL_WINDOW_UNITS);
	cr_assert_eq(other.windows_used, WINDOWS + 1);
	cr_assert_eq(header()->next, header()->units_max);
	cr_assert_eq(header()->lost, 1, "the last one, that there was no room for");
	struct walk all = walk(&journal);
	cr_assert_eq(all.events, written);
	cr_assert_eq(all.last_amount, written);
	cr_assert_eq(all.found[JOURNAL_FOUND_DAMAGED] + all.found[JOURNAL_FOUND_UNDONE], 0);
	/* What it needs is there, and nothing twice: the whole view; the first window, with what lies before it; the others. */
	cr_assert_eq(count_mappings(), 1 + WINDOWS + 1);
}

Test(journal_windows, a_record_at_the_end_goes_on_behind_it)
{
	static unsigned char details[(JOURNAL_RECORD_UNITS_MAX - 1) * JOURNAL_UNIT_BYTES];
	static const size_t UNITS[] = { 2, 3, 5, 64, 65, JOURNAL_RECORD_UNITS_MAX };
	struct journal_entry entry;

	memset(details, 9, sizeof(details));
	for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
		for (uint64_t before = 1; before < UNITS[i]; before += before < 3 ? 1 : 61) {
			struct journal_record record = event(before);
			uint64_t number = first_window_limit() - before;
			go_to(number);
			memset(unit(number), 0, 2 * sizeof(details));
			cr_assert_eq(journal_write(&other, &record, details,
						   (UNITS[i] - 1) * JOURNAL_UNIT_BYTES, true),
				     number);
			cr_assert_eq(found_at(&journal, (uint32_t)number, &entry),
				     JOURNAL_FOUND_RECORD, "%zu units, %lu before the end",
				     UNITS[i], before);
			cr_assert_eq(entry.record.amount, before);
			cr_assert_eq(entry.record.head.units, UNITS[i]);
			cr_assert_eq(unit(number)[UNITS[i] * JOURNAL_UNIT_BYTES - 1], 9);
			cr_assert_eq(unit(number)[UNITS[i] * JOURNAL_UNIT_BYTES], 0);
			/* The next one lies behind it. */
			cr_assert_eq(append(&other, 1, true), number + UNITS[i]);
			cr_assert_eq(found_at(&journal, (uint32_t)(number + UNITS[i]), &entry),
				     JOURNAL_FOUND_RECORD);
		}
	}
	cr_assert_eq(header()->lost, 0);
	cr_assert_eq(other.windows_used, 2, "the second one is mapped once");
	char text[JOURNAL_TEXT_BYTES_MAX];
	size_t length;
	memset(text, 'x', sizeof(text));
	go_to(first_window_limit() - 1);
	memset(unit(first_window_limit() - 1), 0, sizeof(text) + sizeof(details));
	uint32_t number = journal_text(&other, text, sizeof(text), true);
	cr_assert_eq(number, first_window_limit() - 1);
	const char *kept = journal_bytes(&other, number, &length);
	cr_assert(kept && length == sizeof(text) && memcmp(kept, text, length) == 0);
	kept = journal_bytes(&journal, number, &length);
	cr_assert(kept && length == sizeof(text) && memcmp(kept, text, length) == 0);
}

/* Records change the time of modification.  Without O_NOATIME the next view would have the kernel write the file's inode for the
 * time of access (relatime, mount(8)). */
Test(journal_windows, a_view_leaves_the_time_of_access)
{
	const struct timespec times[2] = { { .tv_sec = 1000000 }, { .tv_sec = 2000000 } };
	struct stat stat_after;

	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	cr_assert_eq(journal_map_windows(path, &third), 0);
	cr_assert_eq(stat(path, &stat_after), 0);
	cr_assert_eq(stat_after.st_atim.tv_sec, 1000000);
}

Test(journal_windows, views_far_apart_write_to_the_same_place)
{
	struct journal_entry entry;
	uint32_t numbers[6];
	cr_assert_neq(append(&other, 1, false), 0);
	go_to(3 * (uint64_t)JOURNAL_WINDOW_UNITS + 5);
	cr_assert_eq(journal_map_windows(path, &third), 0);
	cr_assert_geq(third.windows[0].from, 3 * JOURNAL_WINDOW_UNITS - JOURNAL_WINDOW_BEFORE - 64);
	for (size_t i = 0; i < 6; i++) {
		numbers[i] = append(i % 2 ? &third : &other, i, true);
		cr_assert(numbers[i] && (i == 0 || numbers[i] == numbers[i - 1] + 1));
	}
	cr_assert_eq(other.windows_used, 2, "it did not map what lies between");
	cr_assert_eq(third.windows_used, 1);
	for (size_t i = 0; i < 6; i++) {
		const struct journal *views[] = { &journal, &other, &third };
		for (size_t k = 0; k < 3; k++) {
			cr_assert_eq(found_at(views[k], numbers[i], &entry), JOURNAL_FOUND_RECORD);
			cr_assert_eq(entry.record.amount, i);
		}
	}
	/* Back to where it was: the first window is still good. */
	header()->next = JOURNAL_UNITS_FIRST + 10;
	cr_assert_eq(append(&other, 7, false), JOURNAL_UNITS_FIRST + 10);
	cr_assert_eq(append(&third, 8, true), JOURNAL_UNITS_FIRST + 11);
	cr_assert_eq(found_at(&journal, JOURNAL_UNITS_FIRST + 11, &entry), JOURNAL_FOUND_RECORD);
	cr_assert_eq(entry.record.amount, 8);
}

Test(journal_windows, one_that_comes_late_sees_only_what_it_writes_to)
{
	struct journal_entry entry;
	size_t length;
	go_to(2 * (uint64_t)JOURNAL_WINDOW_UNITS + 100);
	uint64_t here = header()->next;
	cr_assert_eq(journal_map_windows(path, &third), 0);
	cr_assert_leq(third.windows[0].from, here - JOURNAL_WINDOW_BEFORE);
	cr_assert_gt(third.windows[0].from + 64, here - JOURNAL_WINDOW_BEFORE);
	cr_assert_eq(append(&third, 5, false), here, "without a call");
	cr_assert_eq(found_at(&third, (uint32_t)here, &entry), JOURNAL_FOUND_RECORD);
	/* What lies before is not there, and not touched. */
	cr_assert_null(journal_bytes(&third, header()->workspace, &length));
	cr_assert_eq(found_at(&third, JOURNAL_UNITS_FIRST, &entry), JOURNAL_FOUND_END);
	cr_assert(!journal_abandon(&third, JOURNAL_UNITS_FIRST));
	cr_assert_eq(journal_behind_undone(&third, 1000), 1001);
	cr_assert_not_null(journal_bytes(&journal, header()->workspace, &length));
}

Test(journal_windows, where_it_may_not_grow_the_end_of_a_window_is_the_end)
{
	go_to(first_window_limit() - 2);
	uint64_t next = header()->next;
	cr_assert_eq(append(&other, 1, false), next);
	cr_assert_eq(append(&other, 2, false), next + 1);
	cr_assert_eq(header()->lost, 0);
	cr_assert_eq(append(&other, 3, false), 0, "the file has room, the view has not");
	cr_assert_eq(journal_text(&other, "new", 3, false), 0);
	cr_assert_eq(header()->lost, 2);
	cr_assert_eq(header()->next, next + 2, "nothing was taken");
	cr_assert_eq(other.windows_used, 1);
	cr_assert_eq(append(&journal, 4, false), next + 2, "others go on");
	cr_assert_eq(append(&other, 5, true), next + 3);
	cr_assert_eq(append(&other, 6, false), next + 4, "from there on without a call");
	cr_assert_eq(header()->lost, 2);
}

Test(journal_windows, a_text_of_another_window_is_written_again)
{
	size_t length;
	uint32_t first = journal_text(&other, "text", 4, true);
	cr_assert_eq(journal_text(&other, "text", 4, true), first);
	go_to(2 * (uint64_t)JOURNAL_WINDOW_UNITS);
	cr_assert_eq(journal_map_windows(path, &third), 0);
	uint32_t again = journal_text(&third, "text", 4, true);
	cr_assert_eq(again, 2 * JOURNAL_WINDOW_UNITS);
	cr_assert_eq(journal_text(&third, "text", 4, true), again, "known here now");
	/* Both views now have a window there. */
	cr_assert_eq(append(&other, 1, true), again + 1);
	cr_assert_eq(journal_text(&other, "text", 4, true), again);
	const char *text = journal_bytes(&journal, again, &length);
	cr_assert(text && length == 4 && memcmp(text, "text", 4) == 0);
}

Test(journal_windows, without_windows_left_it_is_counted)
{
	go_to(first_window_limit());
	other.windows_used = JOURNAL_WINDOWS_MAX; /* none of them mapped but the first */
	cr_assert_eq(append(&other, 1, true), 0);
	cr_assert_eq(append(&other, 1, true), 0);
	cr_assert_eq(other.windows_used, JOURNAL_WINDOWS_MAX);
	cr_assert_eq(header()->lost, 2);
	cr_assert_eq(header()->next, first_window_limit());
	header()->next = JOURNAL_UNITS_FIRST + 10;
	cr_assert_neq(append(&other, 1, true), 0, "where it has one");
	journal_unmap(&other);
	cr_assert_eq(count_mappings(), 1);
}

Test(journal_windows, another_file_gives_no_window)
{
	char old_path[160];
	(void)snprintf(old_path, sizeof(old_path), "%s.old", path);
	go_to(first_window_limit());
	cr_assert_eq(rename(path, old_path), 0);
	cr_assert_eq(journal_create(path, "test", NONCE, WORKSPACE, (uint64_t)64 * MIB), 0);
	cr_assert_eq(append(&other, 1, true), 0);
	cr_assert_eq(header()->lost, 1);
	cr_assert_null(other.path, "it does not try again");
	cr_assert_eq(other.windows_used, 1);
	journal_unmap(&other);
	journal_unmap(&journal);
	cr_assert_eq(unlink(old_path), 0);
	cr_assert_eq(journal_map(path, &journal), 0);
	cr_assert_eq(header()->next, header()->workspace + 1 + (sizeof(WORKSPACE) + 7) / 64,
		     "nothing was written there");
}

Test(journal_windows, a_damaged_count_of_units_maps_nothing)
{
	static const uint64_t NEXTS[] = { 0,
					  1,
					  JOURNAL_UNITS_FIRST - 1,
					  UINT32_MAX,
					  (uint64_t)UINT32_MAX + 1,
					  UINT64_MAX,
					  UINT64_MAX - 1,
					  (uint64_t)1 << 63 };
	for (size_t i = 0; i < sizeof(NEXTS) / sizeof(NEXTS[0]); i++) {
		for (int grow = 0; grow < 2; grow++) {
			header()->next = NEXTS[i];
			cr_assert_eq(append(&other, 1, grow), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(append_details(&other, 1), 0, "%lx", NEXTS[i]);
			header()->next = NEXTS[i];
			cr_assert_eq(journal_text(&other, "new", 3, grow), 0, "%lx", NEXTS[i]);
			journal_make_room(&other, JOURNAL_ROOM_UNITS);
		}
		header()->next = NEXTS[i];
		int error = journal_map_windows(path, &third);
		cr_assert(error == -EBADMSG || (error == 0 && NEXTS[i] == UINT32_MAX), "%lx: %d",
			  NEXTS[i], error);
		journal_unmap(&third);
	}
	cr_assert_eq(other.windows_used, 1);
	cr_assert_eq(header()->magic, JOURNAL_MAGIC);
}

static char maps_before[1 << 17], maps_after[1 << 17];

Test(journal_windows, leave_neither_descriptors_nor_mappings, .timeout = 60)
{
	size_t files = count_files("/proc/self/fd");
	journal_unmap(&other);
	must(sys_read_file("/proc/self/maps", maps_before, sizeof(maps_before)) > 0);
	int error = journal_map_windows(path, &other);
	uint64_t written = 0;
	while (append(&other, 1, true))
		written++;
	uint32_t used = other.windows_used;
	journal_unmap(&other);
	must(sys_read_file("/proc/self/maps", maps_after, sizeof(maps_after)) > 0);
	cr_assert_eq(error, 0);
	cr_assert_eq(used, WINDOWS + 1);
	cr_assert_gt(written, WINDOWS * JOURNAL_WINDOW_UNITS);
	cr_assert_str_eq(maps_before, maps_after);
	cr_assert_eq(count_files("/proc/self/fd"), files);
	journal_unmap(&other); /* accepts one that is not mapped */
	header()->version++;
	cr_assert_eq(journal_map_windows(path, &other), -EPROTO);
	header()->version--;
	header()->next = 0;
	cr_assert_eq(journal_map_windows(path, &other), -EBADMSG);
	must(sys_read_file("/proc/self/maps", maps_after, sizeof(maps_after)) > 0);
	cr_assert_str_eq(maps_before, maps_after);
}

/* Limits itself when it has a window, as much as `data` says, and writes on. */
static int write_in_a_later_limit(void *data)
{
	struct rlimit limit = { *(rlim_t *)data, *(rlim_t *)data };
	uint64_t written = 0;
	must(setrlimit(RLIMIT_AS, &limit) == 0);
	while (append(&other, written + 1, true))
		written++;
	must(header()->lost == 1);
	must(walk(&journal).events == written);
	return (int)other.windows_used;
}

static int map_windows_in_a_limit(void *data)
{
	struct rlimit limit = { *(rlim_t *)data, *(rlim_t *)data };
	must(setrlimit(RLIMIT_AS, &limit) == 0);
	return -journal_map_windows(path, &third);
}

Test(journal_windows, a_process_with_little_room_keeps_it, .timeout = 60)
{
#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("AddressSanitizer needs terabytes");
#endif
	/* A window is refused where it is more than a sixteenth of what there is. */
	rlim_t little = (rlim_t)16 * WINDOW_BYTES - 1, enough = (rlim_t)64 * WINDOW_BYTES;
	cr_assert_eq(in_child(map_windows_in_a_limit, &little), ENOMEM);
	cr_assert_eq(in_child(map_windows_in_a_limit, &enough), 0);
	cr_assert_eq(in_child(write_in_a_later_limit, &little), 1, "the window that it has");
	cr_assert_eq(header()->next, first_window_limit());
	header()->lost = 0;
	cr_assert_neq(append(&other, 1, true), 0, "others go on");
}

/* ---- a full disk ---- */

enum { FULL_WRITERS = 4, FULL_REFUSALS = 20000, SPARE_BYTES = 300 << 10, BALLAST_MIB = 2 };

struct full {
	uint64_t written[FULL_WRITERS], refused[FULL_WRITERS];
};

static bool write_to(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		(void)close(fd);
	return done;
}

/* Mounts of one's own, which no other process sees. */
static bool enter_namespace(void)
{
	char map[32];
	unsigned user = geteuid(), group = getegid();

	if (unshare(CLONE_NEWNS) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			return false;
		(void)snprintf(map, sizeof(map), "0 %u 1", user);
		if (!write_to("/proc/self/uid_map", map))
			return false;
		(void)snprintf(map, sizeof(map), "0 %u 1", group);
		if (!write_to("/proc/self/setgroups", "deny") ||
		    !write_to("/proc/self/gid_map", map))
			return false;
	}
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Several processes write until each was refused often. */
static void write_until_full(struct full *full)
{
	pid_t pids[FULL_WRITERS];
	for (size_t i = 0; i < FULL_WRITERS; i++) {
		pids[i] = fork();
		must(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		struct journal mine;
		must(journal_map(path, &mine) == 0);
		for (uint64_t amount = 1; full->refused[i] < FULL_REFUSALS; amount++)
			if (append(&mine, amount, true))
				full->written[i]++;
			else
				full->refused[i]++;
		_exit(0);
	}
	for (size_t i = 0; i < FULL_WRITERS; i++) {
		int status;
		must(waitpid(pids[i], &status, 0) == pids[i]);
		if (status != 0)
			(void)fprintf(stderr, "a writer ended with status 0x%x\n", status);
		must(status == 0);
	}
}

static uint64_t sum(const uint64_t *values)
{
	uint64_t all = 0;
	for (size_t i = 0; i < FULL_WRITERS; i++)
		all += values[i];
	return all;
}

/* How often the file was opened since the last look. */
static size_t count_opens(int watch)
{
	char events[1 << 14] __attribute__((aligned(8)));
	size_t opens = 0;
	ssize_t got;
	while ((got = read(watch, events, sizeof(events))) > 0)
		for (char *at = events; at < events + got;) {
			struct inotify_event *found = (struct inotify_event *)(void *)at;
			must(!(found->mask & IN_Q_OVERFLOW));
			opens += (found->mask & IN_OPEN) != 0;
			at += sizeof(*found) + found->len;
		}
	return opens;
}

static int fill_disk(void *data)
{
	int chunks = *(int *)data;
	char place[100], options[64], ballast[128];
	struct full *full = mmap(NULL, sizeof(*full), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(full != MAP_FAILED);
	(void)snprintf(place, sizeof(place), "%s/small", world.root);
	(void)snprintf(path, sizeof(path), "%s/journal", place);
	(void)snprintf(ballast, sizeof(ballast), "%s/ballast", place);
	(void)snprintf(options, sizeof(options), "mode=700,size=%d",
		       (chunks + BALLAST_MIB) * MIB + SPARE_BYTES);
	must(mkdir(place, 0700) == 0);
	if (!enter_namespace() || mount("none", place, "tmpfs", 0, options) != 0)
		return SKIPPED;
	int fd = open(ballast, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0 && posix_fallocate(fd, 0, (off_t)BALLAST_MIB * MIB) == 0 && close(fd) == 0);

	struct journal full_journal;
	must(journal_create(path, "test", NONCE, WORKSPACE, (uint64_t)64 * MIB) == 0);
	must(journal_map(path, &full_journal) == 0);
	struct journal_header *head = full_journal.header;
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	must(watch >= 0 && inotify_add_watch(watch, path, IN_OPEN | IN_CLOSE) >= 0);
	for (int turn = 0; turn < 2; turn++) {
		uint64_t start_ns = sys_boottime_ns();
		write_until_full(full);
		uint64_t seconds = 1 + (sys_boottime_ns() - start_ns) / 1000000000u;
		size_t opens = count_opens(watch);
		uint64_t allocated = (uint64_t)(chunks + turn * BALLAST_MIB) * JOURNAL_CHUNK_UNITS;
		/* Each maps it, may grow every chunk, and tries once a second when it is full. */
		must(opens <= FULL_WRITERS * (1 + (uint64_t)chunks + BALLAST_MIB + seconds));
		must(head->full_errno == ENOSPC);
		must(head->allocated == allocated);
		must(head->lost == sum(full->refused));
		struct walk all = walk(&full_journal);
		must(all.found[JOURNAL_FOUND_DAMAGED] == 0);
		must(all.events == sum(full->written));
		must(all.units + all.found[JOURNAL_FOUND_UNDONE] + JOURNAL_UNITS_FIRST ==
		     allocated);
		must(all.found[JOURNAL_FOUND_UNDONE] <= FULL_WRITERS);
		if (turn == 1)
			break;
		/* Room again: no process checks before a second is over. */
		must(unlink(ballast) == 0);
		memset(full->refused, 0, sizeof(full->refused));
		head->lost = 0;
		must(head->full_realtime_ns != 0);
		head->full_realtime_ns = sys_realtime_ns();
		must(append(&full_journal, 1, true) == 0);
		head->lost = 0;
		if (chunks == 1)
			must(usleep(1100000) == 0);
		else
			head->full_realtime_ns -= 1100000000u;
	}
	return 0;
}

Test(journal, a_full_disk_ends_recording_and_nothing_else, .timeout = 120)
{
	for (int chunks = 1; chunks <= 8; chunks++) {
		int status = in_child(fill_disk, &chunks);
		if (status == SKIPPED)
			cr_skip_test("needs the right to mount");
		cr_assert_eq(status, 0, "%d chunks: ended with %d", chunks, status);
		(void)rmdir(path);
		char place[100];
		(void)snprintf(place, sizeof(place), "%s/small", world.root);
		cr_assert_eq(rmdir(place), 0);
	}
}
