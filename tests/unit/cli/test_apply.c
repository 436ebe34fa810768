/* apply.h: a plan that is done, and one that goes on where it was interrupted. */
#include <criterion/criterion.h>

#include <dirent.h>

#include "cli/undo/apply.h"
#include "cli/undo/apply_meta.h"
#include "cli/undo/pack_reader.h"
#include "cli/undo/place.h"
#include "support.h"

static char root[64], undo[80], file[80], other[80];
static int directory;
static struct schedule plan;
static struct tree_records records;
static struct apply_result result;

static void init(void)
{
	(void)snprintf(root, sizeof(root), "/tmp/seen-test-XXXXXX");
	must(mkdtemp(root) != NULL);
	(void)snprintf(undo, sizeof(undo), "%s/undo", root);
	(void)snprintf(file, sizeof(file), "%s/file", root);
	(void)snprintf(other, sizeof(other), "%s/other", root);
	must(mkdir(undo, 0700) == 0);
	directory = open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(directory >= 0);
	plan = (struct schedule){ .head = { .magic = OPERATION_MAGIC,
					    .state = OPERATION_STARTED,
					    .number = 1,
					    .kind = OPERATION_UNDO } };
}

static void finish(void)
{
	apply_result_free(&result);
	schedule_free(&plan);
	(void)close(directory);
	(void)nftw(root, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(apply, .init = init, .fini = finish);

static void write_file(const char *path, const char *bytes, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
	must(fchmod(fd, mode) == 0 && close(fd) == 0);
}

static const char *content_of(const char *path)
{
	static char bytes[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes) - 1);

	must(size >= 0);
	bytes[size] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return bytes;
}

/* An item that gives a path a content, in the place of what is there now. */
static struct schedule_item *add(enum schedule_kind kind, const char *path, const char *bytes)
{
	const struct merge_text text = { strdup(bytes), strlen(bytes) };
	size_t number = schedule_add_merged(&plan, &text);
	struct schedule_item *item = schedule_add(&plan, kind, path, NULL, NULL);

	must(number && item);
	item->flags = SCHEDULE_MERGED;
	item->content_place = number;
	item->wanted = (struct pack_state){ .mode = S_IFREG | 0640,
					    .uid = geteuid(),
					    .gid = getegid(),
					    .size_bytes = strlen(bytes) };
	if (kind != SCHEDULE_PUT)
		must(place_inspect(AT_FDCWD, path, &item->found) == 0);
	return item;
}

static size_t count_descriptors(void)
{
	DIR *stream = opendir("/proc/self/fd");
	size_t count = 0;

	must(stream);
	while (readdir(stream))
		count++;
	(void)closedir(stream);
	return count;
}

/* No descriptor is left open, and nothing beside what has its name. */
static void apply(bool again)
{
	size_t before = count_descriptors();

	cr_assert_eq(apply_plan(&plan, &records, directory, root, again, &result), 0);
	cr_assert_eq(count_descriptors(), before);
	DIR *stream = opendir(root);
	must(stream);
	for (struct dirent *entry; (entry = readdir(stream));)
		cr_assert_neq(strncmp(entry->d_name, ".seen", 5), 0, "%s", entry->d_name);
	(void)closedir(stream);
}

static void write_plan(void)
{
	must(schedule_resolve(&plan, &records) == 0 && schedule_write(&plan, directory) == 0);
}

/* The first record of a kind that the undo made of a path. */
static struct pack_record record_of(enum pack_kind kind, const char *path)
{
	char packs[96];
	struct pack_reader reader;
	struct pack_entry entry;
	struct pack_record found = { .kind = 0 };

	(void)snprintf(packs, sizeof(packs), "%s/op-00000001", undo);
	must(pack_reader_open(packs, &reader) == 0);
	while (!found.kind && pack_reader_next(&reader, &entry) > 0)
		if (entry.record.kind == kind && strcmp(entry.path, path) == 0)
			found = entry.record;
	pack_reader_close(&reader);
	cr_assert_eq(found.kind, kind, "no such record of %s", path);
	return found;
}

/* Of what it replaced the new content is kept, to be compared with later changes: of what it made it is not. */
Test(apply, makes_and_replaces)
{
	write_file(file, "now", 0600);
	add(SCHEDULE_SWAP, file, "before");
	add(SCHEDULE_PUT, other, "made");
	write_plan();
	apply(false);
	cr_assert_eq(result.done, 2);
	cr_assert_str_eq(content_of(file), "before");
	cr_assert_str_eq(content_of(other), "made");
	cr_assert_eq(record_of(PACK_REMOVED, file).held, PACK_INLINE);
	cr_assert_eq(record_of(PACK_AFTER, file).held, PACK_INLINE);
	cr_assert_eq(record_of(PACK_AFTER, other).held, PACK_NOT_TAKEN);
}

/* It was made writable, and the undo killed: it had another mode. */
Test(apply, goes_on_in_a_file_that_was_made_writable)
{
	write_file(file, "now", 0444);
	must(link(file, other) == 0);
	add(SCHEDULE_WRITE, file, "before");
	write_plan();
	must(chmod(file, 0644) == 0);
	apply(true);
	cr_assert_eq(result.done, 1);
	cr_assert_str_eq(content_of(other), "before");
	cr_assert_eq(record_of(PACK_CONTENT, file).before.mode, S_IFREG | 0444);
}

/* What is there already was made before it was interrupted; another content of that size was not. */
Test(apply, knows_what_it_made)
{
	add(SCHEDULE_PUT, file, "before");
	add(SCHEDULE_PUT, other, "before");
	write_plan();
	write_file(file, "before", 0640);
	write_file(other, "BEFORE", 0640);
	apply(true);
	cr_assert_eq(result.done, 1);
	cr_assert_eq(result.skipped, 1);
	cr_assert_eq(result.errors[1], -EBUSY);
	cr_assert_str_eq(content_of(other), "BEFORE");
}

static const char *temporary(size_t index)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/.seen-undo.1.%zu", root, index);
	return path;
}

/* It was killed while it made these, and another program changed the files since: what it made goes, the others' stay. */
Test(apply, removes_what_it_began)
{
	write_file(file, "now", 0600);
	write_file(other, "now", 0600);
	add(SCHEDULE_SWAP, file, "before");
	add(SCHEDULE_SWAP, other, "target")->wanted.mode = S_IFLNK | 0777;
	write_plan();
	write_file(temporary(0), "bef", 0600);
	must(symlink("target", temporary(1)) == 0);
	write_file(file, "external", 0600);
	write_file(other, "external", 0600);
	apply(true);
	cr_assert_eq(result.skipped, 2);
	cr_assert_str_eq(content_of(file), "external");
	cr_assert_str_eq(content_of(other), "external");
}

/* Another program changed the file and set its time back. */
Test(apply, finds_a_change_by_the_time_of_the_inode)
{
	struct schedule_item item = { .kind = SCHEDULE_SWAP };
	struct doing doing = { .item = &item, .exists = true };

	write_file(file, "now", 0600);
	must(place_inspect(AT_FDCWD, file, &item.found) == 0);
	doing.now = item.found;
	cr_assert(doing_is_found(&doing));
	doing.now.ctime_ns++;
	cr_assert_not(doing_is_found(&doing));
	item.found.ctime_ns = 0; /* a rename of the plan sets it */
	cr_assert(doing_is_found(&doing));
	item.found.ctime_ns = doing.now.ctime_ns - 1;
	doing.now.nlink = item.found.nlink = 2; /* as a name that is made or removed */
	cr_assert(doing_is_found(&doing));
}

/* A file of this user is made writable, and is what it was; another file in its place is left. */
Test(apply, makes_the_file_that_it_found_writable)
{
	struct doing doing = { .name = "file", .exists = true };
	struct stat stat;
	size_t before = count_descriptors();

	write_file(file, "now", 0444);
	doing.directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(doing.directory >= 0 && place_inspect(AT_FDCWD, file, &doing.now) == 0);
	cr_assert_eq(apply_meta_writable(&doing, true), 0);
	must(lstat(file, &stat) == 0);
	cr_assert_eq(stat.st_mode & 07777, 0644);
	cr_assert_eq(apply_meta_writable(&doing, false), 0);
	must(lstat(file, &stat) == 0);
	cr_assert_eq(stat.st_mode & 07777, 0444);
	doing.now.ino++;
	cr_assert_eq(apply_meta_writable(&doing, true), -EACCES);
	must(lstat(file, &stat) == 0);
	cr_assert_eq(stat.st_mode & 07777, 0444);
	(void)close(doing.directory);
	cr_assert_eq(count_descriptors(), before);
}
