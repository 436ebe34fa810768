/* shim/call: what a system call is as struct call, what it asks the rules, what it does to names. */
#include <criterion/criterion.h>
#include <linux/fs.h>
#include <string.h>

#include "shim/call/call.h"
#include "support.h"

static struct call made_of(long number, long a, long b, long c, long d, long e)
{
	const uint64_t words[6] = { (uint64_t)a, (uint64_t)b, (uint64_t)c,
				    (uint64_t)d, (uint64_t)e, 0 };
	const struct system_call *form = system_call_find(number);
	struct call call;

	must(form);
	call_of_number(form, words, &call);
	return call;
}

static const char *const ONE = "one", *const TWO = "two";
#define TEXT(text) ((long)(uintptr_t)(text))

static bool is_name(const struct call_name *name, int directory, const char *path)
{
	return name->directory == directory && name->path == path;
}

Test(call, two_names)
{
	struct call call = made_of(SYS_renameat2, 3, TEXT(ONE), 4, TEXT(TWO), RENAME_EXCHANGE);
	uint32_t old, new, of_old, of_new;

	cr_expect_eq(call.operation, OPERATION_RENAME);
	cr_expect(is_name(&call.name, 3, ONE) && is_name(&call.other, 4, TWO));
	cr_expect_eq(call.flags, RENAME_EXCHANGE);
	rule_ops_of_rename(RENAME_EXCHANGE, &of_old, &of_new);
	call_rules(&call, &old, &new);
	cr_expect(old == of_old && new == of_new);

	call = made_of(SYS_linkat, 3, TEXT(ONE), 4, TEXT(TWO), AT_SYMLINK_FOLLOW);
	cr_expect(call.operation == OPERATION_LINK && call.name.follows && !call.other.follows);
	call_rules(&call, &old, &new);
	cr_expect(old == RULE_LINK && new == RULE_MAKES_LINK);

	call = made_of(SYS_symlinkat, TEXT(TWO), 5, TEXT(ONE), 0, 0);
	cr_expect(is_name(&call.name, 5, ONE) && is_name(&call.other, AT_FDCWD, TWO));
	call_rules(&call, &old, &new);
	cr_expect(old == RULE_MAKES_LINK && !new);
}

Test(call, one_name)
{
	struct call call = made_of(SYS_unlinkat, 3, TEXT(ONE), 0, 0, 0);
	cr_expect(call.operation == OPERATION_DELETE && is_name(&call.name, 3, ONE));
	call = made_of(SYS_unlinkat, 3, TEXT(ONE), AT_REMOVEDIR | 1, 0, 0);
	cr_expect(call.operation == OPERATION_REMOVE_DIRECTORY && call.flags == AT_REMOVEDIR);
	call = made_of(SYS_mkdirat, 3, TEXT(ONE), 0750, 0, 0);
	cr_expect(call.operation == OPERATION_MAKE && call.flags == (S_IFDIR | 0750));
	call = made_of(SYS_truncate, TEXT(ONE), 77, 0, 0, 0);
	cr_expect(call.operation == OPERATION_TRUNCATE && call.amount == 77 && call.name.follows);
	cr_expect(is_name(&call.name, AT_FDCWD, ONE));
}

static uint32_t asked_of(const struct call *call)
{
	uint32_t name, other;
	call_rules(call, &name, &other);
	cr_expect_eq(other, 0);
	return name;
}

Test(call, opens)
{
	struct call call = made_of(SYS_openat, 3, TEXT(ONE), O_RDWR | O_CREAT, 0600, 0);
	cr_expect(call.operation == OPERATION_OPEN && is_name(&call.name, 3, ONE));
	cr_expect(call.descriptor == -1 && call.name.follows);
	cr_expect_eq(asked_of(&call), RULE_READ | RULE_WRITE | RULE_CREATE);
	cr_expect_eq(call_open_purpose(call.flags), OPENS_WRITE);

	call = made_of(SYS_openat, 3, TEXT(ONE), O_RDONLY | O_NOFOLLOW, 0, 0);
	cr_expect_not(call.name.follows);
	/* Where a link is at the path's end, the kernel finds that the name is taken. */
	call_set_open_flags(&call, O_WRONLY | O_CREAT | O_EXCL);
	cr_expect_not(call.name.follows);
	cr_expect_eq(asked_of(&call), RULE_WRITE | RULE_CREATE | RULE_ONLY_NEW);
	call_set_open_flags(&call, O_RDONLY | O_NOFOLLOW);
	cr_expect_not(call.name.follows);
	cr_expect_eq(call_open_purpose(call.flags), OPENS_READ);
	call_set_open_flags(&call, O_RDONLY | O_DIRECTORY);
	cr_expect_eq(asked_of(&call), RULE_LIST);
	cr_expect_eq(call_open_count(call_open_purpose(call.flags)), PROCESS_LISTINGS);
	cr_expect_eq(call_open_purpose(O_TMPFILE | O_RDWR), OPENS_WRITE);
	cr_expect_eq(call_open_purpose(O_RDONLY | O_TRUNC), OPENS_WRITE);
	cr_expect_eq(call_open_purpose(O_PATH | O_DIRECTORY), OPENS_PLACE);
}

/* What is noted of each name; -1: nothing. */
static int of_name(const struct call *call)
{
	enum file_action action;
	return call_action_of_name(call, &action) ? (int)action : -1;
}

static int of_other(const struct call *call, enum call_presence presence)
{
	enum file_action action;
	return call_action_of_other(call, presence, &action) ? (int)action : -1;
}

Test(call, actions)
{
	struct call call = { .operation = OPERATION_RENAME };

	cr_expect_eq(of_name(&call), FILE_ACTION_REMOVE);
	cr_expect_eq(of_other(&call, PRESENCE_UNKNOWN), FILE_ACTION_WRITE);
	cr_expect_eq(of_other(&call, PRESENCE_THERE), FILE_ACTION_CHANGE);
	cr_expect_eq(of_other(&call, PRESENCE_NONE), FILE_ACTION_CREATE);
	call.flags = RENAME_NOREPLACE;
	cr_expect_eq(of_other(&call, PRESENCE_UNKNOWN), FILE_ACTION_CREATE);
	call.flags = RENAME_EXCHANGE;
	cr_expect_eq(of_name(&call), FILE_ACTION_WRITE);
	call = (struct call){ .operation = OPERATION_LINK };
	cr_expect_eq(of_name(&call), -1);
	cr_expect_eq(of_other(&call, PRESENCE_UNKNOWN), FILE_ACTION_CREATE);
	call = (struct call){ .operation = OPERATION_SYMLINK };
	cr_expect_eq(of_name(&call), FILE_ACTION_CREATE);
	cr_expect_eq(of_other(&call, PRESENCE_UNKNOWN), -1);
	call = (struct call){ .operation = OPERATION_MAKE, .flags = S_IFDIR | 0700 };
	cr_expect_eq(of_name(&call), -1);
	call.flags = S_IFIFO;
	cr_expect_eq(of_name(&call), FILE_ACTION_CREATE);
	call.operation = OPERATION_REMOVE_DIRECTORY;
	cr_expect_eq(of_name(&call), -1);
	call.operation = OPERATION_DELETE;
	cr_expect_eq(of_name(&call), FILE_ACTION_REMOVE);
	call.operation = OPERATION_TRUNCATE;
	cr_expect_eq(of_name(&call), FILE_ACTION_WRITE);
}

Test(call, metadata)
{
	static const struct {
		long number;
		int flags;
		bool follows;
	} CASES[] = {
#ifdef SYS_chmod
		{ SYS_chmod, JOURNAL_METADATA_MODE, true },
		{ SYS_chown, JOURNAL_METADATA_OWNER, true },
		{ SYS_lchown, JOURNAL_METADATA_OWNER, false },
		{ SYS_utime, JOURNAL_METADATA_TIMES, true },
#endif
		{ SYS_setxattr, JOURNAL_METADATA_ATTRIBUTE, true },
		{ SYS_lsetxattr, JOURNAL_METADATA_ATTRIBUTE, false },
		{ SYS_removexattr, JOURNAL_METADATA_NO_ATTRIBUTE, true },
		{ SYS_lremovexattr, JOURNAL_METADATA_NO_ATTRIBUTE, false },
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct call call = made_of(CASES[i].number, TEXT(ONE), TEXT(TWO), 3, 0, 0);
		cr_expect_eq(call.operation, OPERATION_METADATA, "%ld", CASES[i].number);
		cr_expect(is_name(&call.name, AT_FDCWD, ONE), "%ld", CASES[i].number);
		cr_expect_eq(call.flags, (uint32_t)CASES[i].flags, "%ld", CASES[i].number);
		cr_expect_eq(call.name.follows, CASES[i].follows, "%ld", CASES[i].number);
		if (CASES[i].flags == JOURNAL_METADATA_ATTRIBUTE ||
		    CASES[i].flags == JOURNAL_METADATA_NO_ATTRIBUTE)
			cr_expect_eq(call.attribute, TWO, "%ld", CASES[i].number);
	}
	struct call call = made_of(SYS_fchmodat, 3, TEXT(ONE), 0640, 0, 0);
	cr_expect(is_name(&call.name, 3, ONE) && call.flags == JOURNAL_METADATA_MODE);
	cr_expect_eq(call.amount, 0640);
	call = made_of(SYS_fchownat, 3, TEXT(ONE), 7, 8, AT_SYMLINK_NOFOLLOW);
	cr_expect(call.flags == JOURNAL_METADATA_OWNER && !call.name.follows);
	cr_expect_eq(call.amount, (uint64_t)7 << 32 | 8);
	call = made_of(SYS_utimensat, 3, TEXT(ONE), 0, AT_SYMLINK_NOFOLLOW, 0);
	cr_expect(call.flags == JOURNAL_METADATA_TIMES && !call.name.follows);
	call = made_of(SYS_fchmod, 5, 0600, 0, 0, 0);
	cr_expect(call.operation == OPERATION_METADATA_OF_DESCRIPTOR);
	cr_expect(is_name(&call.name, 5, NULL) && call.amount == 0600);
	call = made_of(SYS_fchown, 5, 7, 8, 0, 0);
	cr_expect_eq(call.amount, (uint64_t)7 << 32 | 8);
	call = made_of(SYS_fsetxattr, 5, TEXT(TWO), 0, 0, 0);
	cr_expect(call.flags == JOURNAL_METADATA_ATTRIBUTE && call.attribute == TWO);
	call = made_of(SYS_fremovexattr, 5, TEXT(TWO), 0, 0, 0);
	cr_expect(call.flags == JOURNAL_METADATA_NO_ATTRIBUTE && call.attribute == TWO);
}

Test(call, descriptors)
{
	struct call call = made_of(SYS_ftruncate, 5, 77, 0, 0, 0);
	cr_expect(call.operation == OPERATION_RESIZE && call.amount == 77);
	call = made_of(SYS_fallocate, 5, 0, 30, 12, 0);
	cr_expect(call.operation == OPERATION_ALLOCATE && call.amount == 42);
	call = made_of(SYS_open_by_handle_at, 5, TEXT(ONE), O_RDONLY | O_DIRECTORY, 0, 0);
	cr_expect(call.operation == OPERATION_OPEN_HANDLE && call.descriptor == -1);
	cr_expect_eq(call_open_purpose(call.flags), OPENS_LIST);
}

Test(call, by_number)
{
	unsigned found = 0;

	for (long number = -1; number < 1000; number++) {
		const struct system_call *form = system_call_find(number);
		cr_expect(!form || form->number == number, "%ld", number);
		found += form != NULL;
	}
	cr_expect_gt(found, 30);
	cr_expect_not_null(system_call_find(SYS_openat));
	cr_expect_null(system_call_find(SYS_getpid));
}

Test(call, purposes)
{
	cr_expect_eq(call_open_purpose(O_RDWR | O_TMPFILE | O_DIRECTORY), OPENS_WRITE);
	cr_expect_eq(call_open_count(OPENS_WRITE), PROCESS_OPENS_WRITE);
	cr_expect_eq(call_open_count(OPENS_READ), PROCESS_OPENS);
	cr_expect(call_open_may_change(O_WRONLY));
	cr_expect(call_open_may_change(O_RDONLY | O_CREAT));
	cr_expect_not(call_open_may_change(O_RDONLY));
	cr_expect_not(call_open_may_change(O_RDONLY | O_DIRECTORY | O_CREAT));
	cr_expect_not(call_open_may_change(O_PATH | O_CREAT));
}

Test(call, asked_in_place_of_its_operation_s)
{
	struct call call = { .operation = OPERATION_DELETE };
	uint32_t usual = asked_of(&call);

	call.rules = RULE_READ;
	cr_expect_neq(usual, RULE_READ);
	cr_expect_eq(asked_of(&call), RULE_READ);
	call = (struct call){ .operation = OPERATION_OPEN_LATER, .flags = O_RDONLY };
	cr_expect_eq(asked_of(&call), RULE_READ);
}

/* ---- the order ---- */

/* What was passed, a letter each; one of them says no. */
static char passed[12];
static char refuses;

static bool pass(char station)
{
	passed[strlen(passed)] = station;
	return station != refuses;
}

static bool station_rules(struct call *call, enum operation operation)
{
	(void)call, (void)operation;
	return pass('r');
}

static bool station_guard(struct call *call, enum operation operation)
{
	(void)call, (void)operation;
	return pass('g');
}

static void station_keep(struct call *call, enum operation operation)
{
	(void)call, (void)operation;
	(void)pass('k');
}

static void station_kept(struct call *call, enum operation operation)
{
	(void)call, (void)operation;
	(void)pass('K');
}

static void station_observe(struct call *call, enum operation operation)
{
	(void)call, (void)operation;
	(void)pass('o');
}

static void station_journal(struct call *call, enum operation operation)
{
	(void)call, (void)operation;
	(void)pass('j');
}

#include "shim/call/order.h"

static const char *way(enum operation operation, char says_no)
{
	struct call call = { .operation = operation };

	memset(passed, 0, sizeof(passed));
	refuses = says_no;
	if (order_may(&call, operation))
		(void)pass('*');
	order_came_back(&call, operation);
	return passed;
}

Test(call, order)
{
	cr_expect_str_eq(way(OPERATION_RENAME, 0), "rgk*Koj");
	cr_expect_str_eq(way(OPERATION_RENAME, 'g'), "rgKoj");
	cr_expect_str_eq(way(OPERATION_RENAME, 'r'), "rKoj");
	cr_expect_str_eq(way(OPERATION_MAKE, 0), "rk*Koj");
	cr_expect_str_eq(way(OPERATION_METADATA_OF_DESCRIPTOR, 0), "rk*Kj");
	cr_expect_str_eq(way(OPERATION_CLOSE, 'r'), "gk*Koj");
	cr_expect_str_eq(way(OPERATION_CLOSE, 'g'), "gKoj");
	cr_expect_str_eq(way(OPERATION_OPEN_STREAM, 'g'), "k*Ko");
	cr_expect_str_eq(way(OPERATION_LIST, 0), "r*oj");
	cr_expect_str_eq(way(OPERATION_LIST, 'r'), "roj");
	cr_expect_str_eq(way(OPERATION_LOCK, 0), "*o");
}
