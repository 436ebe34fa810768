/* operation.h, schedule.h, tree_record.h: where one call fails, what an undo left is read as a whole, or not at all; a plan is written as a whole, or not at all. */
#include <criterion/criterion.h>

#include "cli/undo/apply.h"
#include "cli/undo/place.h"
#include "support.h"

#include "failing_libc.h"

static const char
	MEMORY[] = "malloc calloc realloc reallocarray strdup strndup",
	CALLS[] = "open openat fcntl fdopendir readdir read pread fstat fstatat mmap lseek flock "
		  "mkdirat write pwrite pwritev fsync fdatasync ftruncate fallocate close dup";

static char root[64], undo[80];
static int records_fd;
static struct schedule plan;
static struct tree_records records;
static size_t record_count;

static const char *path_of(const char *name)
{
	static char paths[4][128];
	static unsigned next_path;
	char *path = paths[next_path++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void add(const char *name, const char *content, uint32_t plan_number)
{
	const struct merge_text text = { strdup(content), strlen(content) };
	size_t place = schedule_add_merged(&plan, &text);
	struct schedule_item *item = schedule_add(&plan, SCHEDULE_SWAP, path_of(name), NULL, NULL);

	must(place && item);
	item->flags = SCHEDULE_MERGED;
	item->content_place = place;
	item->wanted = (struct pack_state){ .mode = S_IFREG | 0644,
					    .uid = geteuid(),
					    .gid = getegid(),
					    .size_bytes = strlen(content) };
	must(place_inspect(AT_FDCWD, path_of(name), &item->found) == 0);
	plan.head.number = plan_number;
}

static void make_plan(uint32_t plan_number)
{
	plan = (struct schedule){ .head = { .magic = OPERATION_MAGIC,
					    .state = OPERATION_STARTED,
					    .kind = OPERATION_UNDO } };
	add("a", "before a", plan_number);
	add("b", "before b, which is longer", plan_number);
}

/* The first undo is done. */
static void init(void)
{
	struct apply_result result;

	(void)snprintf(root, sizeof(root), "/dev/shm/seen-test-XXXXXX");
	if (!mkdtemp(root)) {
		(void)snprintf(root, sizeof(root), "/tmp/seen-test-XXXXXX");
		must(mkdtemp(root) != NULL);
	}
	(void)snprintf(undo, sizeof(undo), "%s/undo", root);
	must(mkdir(undo, 0700) == 0);
	records_fd = open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(records_fd >= 0);
	write_path(path_of("a"), "a", 1);
	write_path(path_of("b"), "b", 1);
	make_plan(1);
	must(schedule_resolve(&plan, &records) == 0 && schedule_write(&plan, records_fd) == 0);
	must(apply_plan(&plan, &records, records_fd, root, false, &result) == 0 &&
	     result.done == 2);
	apply_result_free(&result);
	schedule_free(&plan);
	must(tree_records_read(undo, &records) == 0);
	record_count = records.count;
	must(record_count >= 4 && records.damaged == 0);
}

static void finish(void)
{
	tree_records_close(&records);
	(void)close(records_fd);
	(void)nftw(root, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(operation_failing, .init = init, .fini = finish);

/* ---- what is asked while a call fails: 0: whole; 1: an error, and nothing; else wrong ---- */

static int read_heads(void)
{
	struct operation_head *heads = NULL;
	size_t head_count = 0;
	uint32_t next_number = 0;
	int status = operation_heads(records_fd, &heads, &head_count, &next_number);

	fail_at(NULL, 0, 0);
	if (status < 0)
		return heads || head_count || next_number ? 2 : 1;
	bool is_whole = head_count == 1 && next_number == 2 && heads[0].state == OPERATION_DONE;
	free(heads);
	return is_whole ? 0 : 3;
}

static int read_plan(void)
{
	struct schedule found;
	int status = schedule_read(records_fd, 1, &records, &found);

	fail_at(NULL, 0, 0);
	bool is_whole = status == 0 && found.count == 2 &&
			strcmp(schedule_text(&found, found.items[1].path), path_of("b")) == 0;
	schedule_free(&found);
	return status < 0 ? 1 : is_whole ? 0 : 3;
}

static int read_records(void)
{
	struct tree_records found;
	int status = tree_records_read(undo, &found);

	fail_at(NULL, 0, 0);
	bool is_whole = status == 0 && found.count == record_count && found.damaged == 0;
	tree_records_close(&found);
	return status < 0 ? 1 : is_whole ? 0 : 3;
}

static int write_plan(void)
{
	int status = schedule_write(&plan, records_fd);
	struct operation_head *heads = NULL;
	struct schedule found = { .count = 0 };
	size_t head_count = 0;

	fail_at(NULL, 0, 0);
	must(operation_heads(records_fd, &heads, &head_count, NULL) == 0);
	free(heads);
	bool is_there = schedule_read(records_fd, 2, &records, &found) == 0 && found.count == 2;
	schedule_free(&found);
	if (status < 0)
		return head_count == 1 && !is_there ? 1 : 2;
	return head_count == 2 && is_there ? 0 : 3;
}

static int set_state(void)
{
	int status = operation_set_redone(records_fd, 1, 7);
	struct operation_head *heads = NULL;
	size_t head_count = 0;

	fail_at(NULL, 0, 0);
	must(operation_heads(records_fd, &heads, &head_count, NULL) == 0 && head_count == 1);
	bool is_set = heads[0].redone_by == 7;
	free(heads);
	return status < 0 ? 1 : is_set ? 0 : 3;
}

struct failure {
	int (*ask)(void);
	const char *names;
	long number;
	int error;
};

static int ask_failing(void *data)
{
	const struct failure *failure = data;

	fail_at(failure->names, failure->number, failure->error);
	int status = failure->ask();
	if (failure->number)
		return status;
	return status ? 255 : 0;
}

/* Each call, until none is made of that number. */
static void check_each_call(int (*ask)(void), const char *names, int error_number)
{
	unsigned failed = 0, whole = 0;

	for (long at = 1; whole < 20 && at < 500; at++) {
		struct failure failure = { ask, names, at, error_number };
		int status = in_child(ask_failing, &failure);
		cr_expect(status <= 1, "call %ld, %s: %d", at, strerror(error_number), status);
		failed += status == 1;
		whole = status == 0
				? whole + 1
				: 0; /* so many calls in a row do not matter: there are no more */
		if (ask == write_plan)
			(void)nftw(path_of("undo/op-00000002"), world_remove_one, 16,
				   FTW_DEPTH | FTW_PHYS);
	}
	cr_expect(failed > 0 || error_number == EINTR);
}

static void check(int (*ask)(void))
{
	static const int ERRORS[] = { EIO, EMFILE, ENOSPC, EACCES, EINTR };

	if (!CAN_FAIL)
		cr_skip("a sanitizer has these functions");
	for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++)
		check_each_call(ask, CALLS, ERRORS[i]);
	if (ask != set_state && ask != write_plan) /* which need none */
		check_each_call(ask, MEMORY, ENOMEM);
}

Test(operation_failing, heads)
{
	check(read_heads);
}

Test(operation_failing, plan_is_read)
{
	check(read_plan);
}

Test(operation_failing, records)
{
	check(read_records);
}

Test(operation_failing, plan_is_written)
{
	make_plan(2);
	must(schedule_resolve(&plan, &records) == 0);
	check(write_plan);
	schedule_free(&plan);
}

Test(operation_failing, state)
{
	check(set_state);
}

/* ---- a plan that is not as it was written ---- */

static int read_second(void)
{
	struct schedule found;
	int status = schedule_read(records_fd, 2, &records, &found);

	schedule_free(&found);
	return status;
}

/* Each byte of it but how far it is, and who took it back; and each end of it. */
Test(operation_failing, plan_is_damaged)
{
	char bytes[4096];

	make_plan(2);
	must(schedule_resolve(&plan, &records) == 0 && schedule_write(&plan, records_fd) == 0);
	int fd = open(path_of("undo/op-00000002/" OPERATION_PLAN), O_RDWR | O_CLOEXEC);
	ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
	must(size > 0 && size < (ssize_t)sizeof(bytes) && read_second() == 0);
	for (ssize_t at = 0; at < size; at++) {
		size_t item = at < (ssize_t)sizeof(plan.head)
				      ? 1
				      : ((size_t)at - sizeof(plan.head)) % sizeof(*plan.items);
		bool is_checked = !(at >= (ssize_t)offsetof(struct operation_head, state) &&
				    at < (ssize_t)offsetof(struct operation_head, number)) &&
				  !(item == 0 &&
				    at < (ssize_t)(sizeof(plan.head) + 2 * sizeof(*plan.items)));
		char other = (char)(bytes[at] ^ 1);
		must(pwrite(fd, &other, 1, at) == 1);
		int status = read_second();
		cr_expect_eq(status, is_checked ? -EBADMSG : 0, "byte %zd: %d", at, status);
		must(pwrite(fd, &bytes[at], 1, at) == 1);
	}
	for (off_t end = 0; end < size; end++) {
		must(ftruncate(fd, end) == 0);
		cr_expect_eq(read_second(), -EBADMSG, "its end at %d", (int)end);
	}
	(void)close(fd);
	schedule_free(&plan);
}

/* What a plan cannot be, though nothing was changed since it was written. */
Test(operation_failing, plan_is_no_plan)
{
	for (int i = 0; i < 6; i++) {
		make_plan(2);
		uint64_t end = plan.text_bytes;
		plan.items[1].path = i == 0 ? end : i == 1 ? 0 : plan.items[1].path;
		plan.items[1].other = i == 2 ? end : 0;
		plan.items[1].state = i == 3 ? SCHEDULE_FAILED + 1 : SCHEDULE_TODO;
		plan.texts[end - 1] = i == 4 ? 'x' : '\0';
		plan.texts[0] = i == 5 ? 'x' : '\0';
		must(schedule_write(&plan, records_fd) == 0);
		cr_expect_eq(read_second(), -EBADMSG, "%d", i);
		(void)nftw(path_of("undo/op-00000002"), world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
		schedule_free(&plan);
	}
}
