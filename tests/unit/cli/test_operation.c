/* operation.h: which operations a session has, and the number of the next one. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/undo/operation.h"
#include "support.h"

static char undo[] = "/tmp/seen-test-XXXXXX";
static int directory;
static struct operation_head *heads;
static size_t count;
static uint32_t next;

static void init(void)
{
	must(mkdtemp(undo));
	directory = open(undo, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(directory >= 0);
	heads = NULL;
}

static void fini(void)
{
	free(heads);
	(void)close(directory);
	(void)nftw(undo, world_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(operation, .init = init, .fini = fini);

/* Its directory; is_sound: with a plan, of which the head alone is there. */
static void add(uint32_t number, bool is_sound)
{
	const struct operation_head head = { .magic = OPERATION_MAGIC,
					     .state = OPERATION_DONE,
					     .number = number,
					     .kind = OPERATION_UNDO };
	char name[OPERATION_NAME_BYTES], plan[64];

	operation_name(number, name);
	must(mkdirat(directory, name, 0700) == 0);
	(void)snprintf(plan, sizeof(plan), "%s/%s", name, OPERATION_PLAN);
	int fd = openat(directory, plan, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0);
	must(write(fd, &head, is_sound ? sizeof(head) : sizeof(head) / 2) > 0);
	(void)close(fd);
}

static int read_heads(void)
{
	free(heads);
	heads = NULL;
	count = next = 0;
	return operation_heads(directory, &heads, &count, &next);
}

Test(operation, the_first_has_the_number_1)
{
	cr_assert_eq(read_heads(), 0);
	cr_assert_eq(count, 0);
	cr_assert_eq(next, 1);
}

Test(operation, they_are_in_their_order)
{
	add(2, true);
	add(10, true);
	add(1, true);
	cr_assert_eq(read_heads(), 0);
	cr_assert_eq(count, 3);
	cr_assert_eq(heads[0].number, 1);
	cr_assert_eq(heads[1].number, 2);
	cr_assert_eq(heads[2].number, 10);
	cr_assert_eq(next, 11);
}

/* What an undo changed stands beside its plan: another one must not get its directory. */
Test(operation, a_damaged_plan_keeps_its_number)
{
	add(1, true);
	add(2, false);
	cr_assert_eq(read_heads(), 0);
	cr_assert_eq(count, 1);
	cr_assert_eq(next, 3);
}

Test(operation, a_directory_without_a_plan_keeps_its_number)
{
	add(1, true);
	must(mkdirat(directory, "op-00000002", 0700) == 0);
	must(mkdirat(directory, "op-x", 0700) == 0);
	cr_assert_eq(read_heads(), 0);
	cr_assert_eq(count, 1);
	cr_assert_eq(next, 3);
}

/* Without it, what it did would count as never done. */
Test(operation, a_plan_that_cannot_be_read_is_an_error)
{
	add(1, true);
	must(mkdirat(directory, "op-00000002", 0700) == 0);
	must(mkdirat(directory, "op-00000002/" OPERATION_PLAN, 0700) == 0);
	cr_assert_eq(read_heads(), -EISDIR);
}

Test(operation, behind_the_last_number_there_is_none)
{
	must(mkdirat(directory, "op-99999999", 0700) == 0);
	cr_assert_eq(read_heads(), -EOVERFLOW);
}
