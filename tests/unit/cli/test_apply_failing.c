/* apply.h: one call of a plan that is being done fails: nothing is half done, what is not done has its error, and the rest can be done then. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <sys/xattr.h>

#include "cli/undo/apply.h"
#include "cli/undo/place.h"
#include "support.h"

#include "failing_libc.h"

enum { NAMES = 24, USER = 65534, LARGE = 3 * PACK_INLINE_BYTES_MAX };

/* What the plan makes of what.  NULL: nothing; "/": a directory; "|": a FIFO; "->": a symbolic link. */
static const struct {
	const char *name, *before, *after;
} FILES[NAMES] = {
	{ "gone", "made", NULL },
	{ "old", "/", NULL },
	{ "from", "renamed", NULL },
	{ "to", NULL, "renamed" },
	{ "dir", NULL, "/" },
	{ "put", NULL, "put" },
	{ "dir/inner", NULL, "inner" },
	{ "swap", "now", "before" },
	{ "link", NULL, "->now" },
	{ "relink", "->now", "->before" },
	{ "hard", NULL, "one" },
	{ "written", "now", "earlier" },
	{ "mode", "mode", "mode" },
	{ "one", "one", "one" },
	{ "fifo", NULL, "|" },
	{ "hardened", "two", "one" },
	{ "attribute", "a", "a" },
	{ "kept", "now", "then" },
	{ "closed", "/", "/" },
	{ "closed/gone", "made", NULL },
	{ "closed/swap", "now", "before" },
	{ "closed/put", NULL, "put" },
	{ "large", "large", "small" },
	{ "linked", "large, too", "small" },
};

static char root[64], undo[80];
static struct schedule plan;
static struct tree_records records;
static struct apply_result result;
static int records_fd;
static bool is_external[NAMES]; /* another program put a file there meanwhile */
static bool as_root;            /* else as a user who may not write to each directory */

static const char *path_of(const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % 8];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void make_before(const char *name, const char *content)
{
	const char *path = path_of(name);

	if (!content)
		return;
	if (strcmp(content, "/") == 0)
		must(mkdir(path, 0755) == 0);
	else if (strncmp(content, "->", 2) == 0)
		must(symlink(content + 2, path) == 0);
	else
		write_path(path, content, strlen(content));
}

/* What is there, as in FILES. */
static const char *inspect(const char *name)
{
	static char content[64];
	struct stat stat;
	const char *path = path_of(name);
	ssize_t size = 0;

	memset(content, 0, sizeof(content));
	if (lstat(path, &stat) < 0)
		return NULL;
	if (S_ISDIR(stat.st_mode))
		return "/";
	if (S_ISFIFO(stat.st_mode))
		return "|";
	if (S_ISLNK(stat.st_mode)) {
		memcpy(content, "->", 2);
		size = readlink(path, content + 2, sizeof(content) - 3);
	} else if (S_ISREG(stat.st_mode)) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		size = fd < 0 ? -1 : read(fd, content, sizeof(content) - 1);
		(void)close(fd);
		if ((stat.st_size == LARGE) != (strncmp(content, "large", 5) == 0))
			return "torn";
	}
	must(size >= 0);
	return content;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct schedule_item *add(enum schedule_kind kind, const char *name, const char *second,
				 mode_t mode)
{
	struct schedule_item *item = schedule_add(&plan, kind, path_of(name),
						  second ? path_of(second) : NULL, NULL);

	must(item);
	item->wanted = (struct pack_state){ .mode = mode, .uid = geteuid(), .gid = getegid() };
	(void)place_inspect(AT_FDCWD, path_of(name), &item->found);
	return item;
}

static struct schedule_item *add_content(enum schedule_kind kind, const char *name,
					 const char *content, mode_t mode)
{
	const struct merge_text text = { strdup(content), strlen(content) };
	size_t place = schedule_add_merged(&plan, &text);
	struct schedule_item *item = add(kind, name, NULL, mode);

	must(place);
	item->flags = SCHEDULE_MERGED;
	item->content_place = place;
	item->wanted.size_bytes = strlen(content);
	return item;
}

/* A plan with each kind of item, on disk. */
static void make_plan(void)
{
	for (size_t i = 0; i < NAMES; i++)
		make_before(FILES[i].name, FILES[i].before);
	must(link(path_of("written"), path_of("written2")) == 0);
	/* where there are any; else there is nothing to be removed */
	(void)setxattr(path_of("attribute"), "user.seen", "x", 1, 0);
	(void)setxattr(path_of("kept"), "user.seen", "x", 1, 0);
	/* of the first the records have a copy, since it keeps its other name; of the second a link */
	must(truncate(path_of("large"), LARGE) == 0 && truncate(path_of("linked"), LARGE) == 0 &&
	     link(path_of("large"), path_of("large2")) == 0);
	must(chmod(path_of("written"), 0444) == 0 && chmod(path_of("closed"), 0500) == 0);
	must(mkdir(undo, 0700) == 0);
	records_fd = open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(records_fd >= 0);
	plan = (struct schedule){ .head = { .magic = OPERATION_MAGIC,
					    .state = OPERATION_STARTED,
					    .number = 1,
					    .kind = OPERATION_UNDO } };
	(void)add(SCHEDULE_REMOVE, "gone", NULL, 0);
	(void)add(SCHEDULE_REMOVE, "closed/gone", NULL, 0);
	(void)add(SCHEDULE_RMDIR, "old", NULL, 0);
	(void)add(SCHEDULE_STAGE, "from", ".seen-undo.1/0", 0);
	struct pack_state renamed = plan.items[plan.count - 1].found;
	(void)add(SCHEDULE_PLACE, "to", ".seen-undo.1/0", 0);
	plan.items[plan.count - 1].found = renamed;
	plan.items[plan.count - 1].found.ctime_ns = 0;
	(void)add(SCHEDULE_MKDIR, "dir", NULL, S_IFDIR | 0750);
	(void)add_content(SCHEDULE_PUT, "put", "put", S_IFREG | 0640);
	(void)add_content(SCHEDULE_PUT, "dir/inner", "inner", S_IFREG | 0400);
	(void)add_content(SCHEDULE_SWAP, "swap", "before", S_IFREG | 0644);
	(void)add_content(SCHEDULE_PUT, "link", "now", S_IFLNK | 0777);
	(void)add_content(SCHEDULE_SWAP, "relink", "before", S_IFLNK | 0777);
	(void)add_content(SCHEDULE_PUT, "closed/put", "put", S_IFREG | 0640);
	(void)add_content(SCHEDULE_SWAP, "closed/swap", "before", S_IFREG | 0640);
	(void)add(SCHEDULE_PUT, "fifo", NULL, S_IFIFO | 0600);
	/* an earlier state of the same file: its attributes go with it */
	struct schedule_item *kept = add_content(SCHEDULE_SWAP, "kept", "then", S_IFREG | 0600);
	kept->wanted.ino = kept->found.ino;
	kept->wanted.dev = kept->found.dev;
	(void)add(SCHEDULE_LINK, "hard", "one", S_IFREG | 0644);
	(void)add(SCHEDULE_RELINK, "hardened", "one", S_IFREG | 0644);
	(void)add_content(SCHEDULE_SWAP, "linked", "small", S_IFREG | 0644);
	(void)add_content(SCHEDULE_WRITE, "large", "small", S_IFREG | 0644);
	(void)add_content(SCHEDULE_WRITE, "written", "earlier", S_IFREG | 0444);
	struct schedule_item *attribute = add(SCHEDULE_ATTRIBUTE, "attribute", NULL,
					      S_IFREG | 0644);
	attribute->flags = SCHEDULE_NO_VALUE;
	attribute->other = schedule_add_text(&plan, "user.seen");
	(void)add(SCHEDULE_META, "mode", NULL, S_IFREG | 0600);
	plan.items[plan.count - 1].flags = SCHEDULE_MTIME;
	plan.items[plan.count - 1].wanted.mtime_ns = 1000000000;
	must(schedule_resolve(&plan, &records) == 0 && schedule_write(&plan, records_fd) == 0);
}

static struct schedule_item *item_of(const char *name)
{
	for (size_t i = plan.count; i-- > 0;)
		if (strcmp(schedule_text(&plan, plan.items[i].path), path_of(name)) == 0)
			return &plan.items[i];
	return NULL;
}

static bool fail_check(const char *name, const char *why)
{
	const struct schedule_item *item = item_of(name);

	(void)fprintf(stderr, "%s is %s: %s (item's state %d, error %d)\n", name,
		      inspect(name) ? inspect(name) : "gone", why, item ? item->state : -1,
		      item ? result.errors[item - plan.items] : 0);
	return false;
}

/* Each path is as before or as wanted; as wanted where it counts as done, and where it is not done something says so. */
static bool check_each(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		const char *name = FILES[i].name, *there = inspect(name);
		const struct schedule_item *item = item_of(name);
		bool is_done = !item || item->state == SCHEDULE_DONE;
		if (is_external[i]) {
			if (!is_same(there, "external"))
				return fail_check(name, "not the external one");
			continue;
		}
		/* what is written in place is half done until it is gone on with */
		if (item && item->kind == SCHEDULE_WRITE && item->state == SCHEDULE_TODO &&
		    result.errors[item - plan.items] && is_same(there, "torn"))
			continue;
		if (!is_same(there, FILES[i].after) && !is_same(there, FILES[i].before))
			return fail_check(name, "neither");
		if (is_done && strcmp(name, "from") != 0 && !is_same(there, FILES[i].after))
			return fail_check(name, "not done");
		if (item && item->state >= SCHEDULE_SKIPPED && !result.errors[item - plan.items])
			return fail_check(name, "no error");
	}
	/* what is renamed is there once */
	if (is_external[2] || is_external[3])
		return true;
	if ((access(path_of("from"), F_OK) == 0) + (access(path_of("to"), F_OK) == 0) +
		    (access(path_of(".seen-undo.1/0"), F_OK) == 0) !=
	    1)
		return fail_check("from", "not there once");
	return true;
}

static bool has_temporary(const char *directory)
{
	DIR *stream = opendir(directory);
	bool found = false;

	for (struct dirent *entry; stream && (entry = readdir(stream));)
		found = found || (strncmp(entry->d_name, ".seen-undo", 10) == 0 &&
				  strcmp(entry->d_name, ".seen-undo.1") != 0);
	if (stream)
		(void)closedir(stream);
	return found;
}

/* What was made writable for a while is as it was. */
static bool is_closed(void)
{
	struct stat closed, written;

	must(stat(path_of("closed"), &closed) == 0);
	if ((closed.st_mode & 07777) != 0500)
		return fail_check("closed", "left open");
	return lstat(path_of("written"), &written) < 0 || is_external[11] ||
	       ((written.st_mode & 07777) == 0444 || fail_check("written", "left writable"));
}

static size_t descriptors(void)
{
	DIR *stream = opendir("/proc/self/fd");
	size_t open_count = 0;

	must(stream);
	while (readdir(stream))
		open_count++;
	(void)closedir(stream);
	return open_count;
}

struct failure {
	const char *names;
	long number;
	int error;
	long died;      /* > 0: it was killed before, at that call of all that change something */
	bool is_always; /* all calls behind it, too; and all is done */
	bool is_raced; /* before that call another program changes the file `raced`, and it does not fail */
	int external; /* > 0: of each so many paths one was changed then */
	long calls;   /* how many there were, of a run without a failure */
};

/* What another process of `seen` finds of it. */
static bool read_again(void)
{
	apply_result_free(&result);
	schedule_free(&plan);
	return tree_records_read(undo, &records) == 0 &&
	       schedule_read(records_fd, 1, &records, &plan) == 0;
}

/* Killed: nothing that it does from then on is done. */
static void kill_at(long which)
{
	fail_at("pwrite write pwritev mkdirat unlinkat renameat2 linkat symlinkat mknodat chmod "
		"fchmod futimens utimensat openat",
		which, EIO);
	always = true;
	(void)apply_plan(&plan, &records, records_fd, root, false, &result);
	fail_at(NULL, 0, 0);
	always = false;
	must(read_again());
}

static void change_files(int each)
{
	struct stat closed;

	must(stat(path_of("closed"), &closed) == 0 && chmod(path_of("closed"), 0700) == 0);
	for (size_t i = 0; i < NAMES; i++) {
		const char *path = path_of(FILES[i].name), *there = inspect(FILES[i].name);
		is_external[i] = each > 0 && (int)i % 4 == each - 1 && !is_same(there, "/") &&
				 strcmp(FILES[i].name, "one") != 0 &&
				 access(path_of("dir"), F_OK) == 0;
		if (!is_external[i])
			continue;
		must(!there || unlink(path) == 0);
		write_path(path, "external", 8);
	}
	must(chmod(path_of("closed"), closed.st_mode & 07777) == 0);
}

static size_t raced;

/* Another program gives a name to another file. */
static void race(void)
{
	const char *path = path_of(FILES[raced].name);
	const char *there = inspect(FILES[raced].name);

	if (is_same(there, "/") || strcmp(FILES[raced].name, "one") == 0)
		return;
	write_path(path_of("external"), "external", 8);
	is_external[raced] = rename(path_of("external"), path) == 0;
}

/* Does the plan with one failing call, and then the rest of it. */
static int run_failing(void *data)
{
	struct failure *failure = data;

	if (!as_root && geteuid() == 0)
		must(setresgid(USER, USER, USER) == 0 && setresuid(USER, USER, USER) == 0);
	make_plan();
	if (failure->died > 0)
		kill_at(failure->died);
	size_t before = descriptors();
	change_files(failure->external);
	fail_at(failure->names, failure->number, failure->error);
	always = failure->is_always;
	meanwhile = failure->is_raced ? race : NULL;
	int first = apply_plan(&plan, &records, records_fd, root, failure->died > 0, &result);
	long calls = count;
	fail_at(NULL, 0, 0);
	always = false;
	meanwhile = NULL;
	if (failure->is_always && (first != 0 || result.done != plan.count))
		return 9;
	if (failure->number == 0) {
		int fd = open(path_of("calls"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		must(write(fd, &calls, sizeof(calls)) == sizeof(calls) && close(fd) == 0);
	}
	if (first != result.error || (result.errors && !check_each()))
		return 1;
	if (descriptors() != before)
		return 2;
	/* what began to be made is left only where something failed that is named */
	if (first == 0)
		return has_temporary(root) && result.failed + result.skipped == 0 ? 3
		       : failure->number == 0 && !is_closed()                     ? 10
										  : 0;
	/* what ended it is gone: as `seen undo --continue` */
	tree_records_close(&records);
	if (!read_again())
		return 4;
	if (apply_plan(&plan, &records, records_fd, root, true, &result) != 0)
		return 5;
	if (!check_each())
		return 6;
	for (size_t i = 0; i < plan.count; i++)
		if (plan.items[i].state == SCHEDULE_TODO)
			return 7;
	return has_temporary(root) ? 8 : is_closed() ? 0 : 11;
}

static int run(struct failure *failure)
{
	(void)snprintf(root, sizeof(root), "/dev/shm/seen-test-XXXXXX");
	if (!mkdtemp(root)) {
		(void)snprintf(root, sizeof(root), "/tmp/seen-test-XXXXXX");
		must(mkdtemp(root) != NULL);
	}
	(void)snprintf(undo, sizeof(undo), "%s/undo", root);
	if (!as_root && geteuid() == 0)
		must(chown(root, USER, USER) == 0);
	int status = in_child(run_failing, failure);
	int fd = open(path_of("calls"), O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		must(read(fd, &failure->calls, sizeof(failure->calls)) > 0 && close(fd) == 0);
	(void)chmod(path_of("closed"), 0700);
	(void)nftw(root, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return status;
}

/* Each call of these, with each error. */
static void check_each_call(const char *names, const int *errors, size_t error_count, long died,
			    int external)
{
	struct failure failure = { .names = names, .died = died, .external = external };

	cr_assert_eq(run(&failure), 0);
	cr_assert_gt(failure.calls, 0);
	for (long at = 1; at <= failure.calls; at++)
		for (size_t i = 0; i < error_count; i++) {
			struct failure one = { .names = names, .number = at, .error = errors[i] };
			int status = run(&one);
			cr_expect_eq(status, 0, "call %ld of %s, %s: %d", at, names,
				     strerror(errors[i]), status);
		}
}

#define CHECK_EACH(names, ...) \
	check_each_call(names, (const int[]){ __VA_ARGS__ }, \
			sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int), 0, 0)

Test(apply_failing, memory)
{
	as_root = true;
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	CHECK_EACH("malloc calloc realloc", ENOMEM);
}

Test(apply_failing, opens)
{
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	CHECK_EACH("openat open openat2 fcntl fdopendir", EMFILE, EACCES);
}

Test(apply_failing, reads)
{
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	CHECK_EACH("read pread fstat fstatat statx readlinkat readdir lseek ioctl fstatfs", EIO,
		   EACCES);
}

Test(apply_failing, writes)
{
	as_root = true;
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	CHECK_EACH("write pwrite pwritev ftruncate fallocate posix_fallocate fsync fdatasync",
		   ENOSPC, EIO);
}

/* The kernel reports at a close what it could not write. */
Test(apply_failing, closes)
{
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	CHECK_EACH("close", EIO);
}

Test(apply_failing, names)
{
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	CHECK_EACH("mkdirat unlinkat renameat renameat2 linkat symlinkat mknodat", EACCES, ENOSPC,
		   EEXIST, EINVAL);
}

Test(apply_failing, metadata)
{
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	CHECK_EACH("fchmod chmod fchown fchownat futimens utimensat lgetxattr llistxattr fgetxattr "
		   "flistxattr fsetxattr lsetxattr lremovexattr",
		   EPERM, EIO);
}

/* It was killed at each call that changes something, and goes on; others changed files meanwhile. */
Test(apply_failing, killed)
{
	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	for (int external = 0; external <= 4; external++)
		for (long died = 1; died < 150; died += external ? 3 : 1) {
			struct failure failure = { .names = "x",
						   .died = died,
						   .external = external };
			int status = run(&failure);
			cr_expect_eq(status, 0, "killed at %ld, changes %d: %d", died, external,
				     status);
		}
}

/* The same, and then a call fails, too. */
Test(apply_failing, killed_and_failing)
{
	static const char *const NAMES_OF_CALLS[] = {
		"openat open openat2 read pread fstat fstatat statx readlinkat",
		"write pwrite ftruncate mkdirat unlinkat renameat2 linkat symlinkat mknodat chmod "
		"futimens",
	};
	static const int ERRORS[] = { EACCES, EIO, EINVAL, EEXIST, ENOENT };

	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	for (long i = 0; i < 150; i++) {
		struct failure failure = { .names = NAMES_OF_CALLS[i % 2],
					   .died = 3 + i * 37 % 140,
					   .external = (int)(i % 5),
					   .number = 1 + i * 53 % 170,
					   .error = ERRORS[i % 3 + (i % 2 ? 2 : 0)] };
		int status = run(&failure);
		cr_expect_eq(status, 0, "killed at %ld, changes %d, call %ld of %s, %s: %d",
			     failure.died, failure.external, failure.number, failure.names,
			     strerror(failure.error), status);
	}
}

/* A file system that does not know a call: it is done in another way. */
Test(apply_failing, file_systems)
{
	static const struct failure FAILURES[] = {
		{ .names = "renameat2", .error = EINVAL, .is_always = true },
		{ .names = "openat2", .error = ENOSYS, .is_always = true },
		{ .names = "fallocate posix_fallocate ioctl",
		  .error = EOPNOTSUPP,
		  .is_always = true },
	};

	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	for (size_t i = 0; i < sizeof(FAILURES) / sizeof(FAILURES[0]); i++) {
		struct failure failure = FAILURES[i];
		failure.number = 1;
		int status = run(&failure);
		cr_expect_eq(status, 0, "%s: %d", failure.names, status);
	}
}

/* Another program gives a name of the plan to a file of its own, before each call: that file stays. */
Test(apply_failing, raced)
{
	static const char ALL[] =
		"openat open openat2 fcntl read pread fstat fstatat statx readlinkat write pwrite "
		"ftruncate fsync close mkdirat unlinkat renameat2 linkat symlinkat mknodat fchmod "
		"chmod futimens utimensat lremovexattr";
	struct failure counting = { .names = ALL };

	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	cr_assert_eq(run(&counting), 0);
	for (long at = 1; at <= counting.calls; at++) {
		struct failure failure = { .names = ALL, .number = at, .is_raced = true };
		raced = (size_t)at * 7 % NAMES;
		if (strcmp(FILES[raced].name, "to") == 0)
			continue; /* right behind a rename what is there goes back with what was renamed */
		int status = run(&failure);
		cr_expect_eq(status, 0, "before call %ld, %s: %d", at, FILES[raced].name, status);
	}
}
