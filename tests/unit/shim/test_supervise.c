/* shim/supervise/supervise.h: what is asked before a change, what becomes of the call, and who waits for whom.
 *
 * Below the filter runs this program itself, as a player: it makes the system calls that the test orders, at seats of a board that
 * both have mapped in the same place, so that addresses are the same.  Seat 0 is the command, the others are copies of it
 * that have made no call, but for the last: a thread of the command. */
#include "supervise_case.h"

TestSuite(supervise, .init = start, .fini = stop, .timeout = 60);

/* ---- the test ---- */

Test(supervise, refused_with_that_error)
{
	static const int ERRORS[] = { ESTALE, EACCES };
	struct stat now;

	for (size_t i = 0; i < sizeof(DESTROYERS) / sizeof(DESTROYERS[0]); i++) {
		const struct destroyer *one = &DESTROYERS[i];
		for (int error = 0; error < 2; error++) {
			ask_for(-ERRORS[error]);
			cr_expect_eq(one->make(), -ERRORS[error], "%s", one->name);
			cr_expect_eq(asked.count, 1, "%s", one->name);
			cr_expect_eq(asked.last.op, one->op, "%s", one->name);
			cr_expect_eq(asked.last.flags, one->flags, "%s: %#x", one->name,
				     asked.last.flags);
			cr_expect_eq(asked.last.pid, board->seats[0].pid);
			cr_expect_eq(asked.last.role, ROLE_TOOL, "%u", asked.last.role);
			cr_expect_str_eq(asked.path, world_path(&world, "f"), "%s", one->name);
			cr_expect(asked.last.exists && asked.last.stat.st_ino == before.st_ino &&
					  asked.last.stat.st_size == SIZE_BYTES,
				  "%s", one->name);
			cr_expect(is_as_before("f", 1) && is_as_before("g", 2), "%s", one->name);
			must(stat(world_path(&world, "f"), &now) == 0);
			cr_expect_eq(now.st_ino, before.st_ino);
			cr_expect(now.st_mtim.tv_sec == before.st_mtim.tv_sec &&
				  now.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
		}
	}
}

Test(supervise, made_when_allowed)
{
	for (size_t i = 0; i < sizeof(DESTROYERS) / sizeof(DESTROYERS[0]); i++) {
		const struct destroyer *one = &DESTROYERS[i];
		(void)unlink(world_path(&world, "f"));
		fill();
		ask_for(0);
		long result = one->make();
		cr_expect_geq(result, 0, "%s: %ld", one->name, result);
		cr_expect_eq(asked.count, one->asks, "%s", one->name);
		bool opens_only = one->op == JOURNAL_OPEN && !(one->flags & O_TRUNC);
		cr_expect_eq(is_as_before("f", 1), opens_only, "%s", one->name);
		if (result > 0)
			(void)call(SYS_close, result, 0, 0, 0, 0);
	}
}

/* The second name of an exchange is asked for, too. */
Test(supervise, exchange)
{
	ask_for(0);
	cr_expect_eq(do_exchange(), 0);
	cr_expect_str_eq(asked.first_path, world_path(&world, "f"));
	cr_expect_str_eq(asked.path, world_path(&world, "g"));
	cr_expect(asked.last.exists);
	cr_expect(is_as_before("f", 2) && is_as_before("g", 1));
}

Test(supervise, what_is_not_there)
{
	ask_for(-ESTALE);
	cr_expect_eq(call(SYS_openat, NOW, text("new"), O_WRONLY | O_CREAT, 0600, 0), -ESTALE);
	cr_expect_not(asked.last.exists);
	cr_expect_str_eq(asked.path, world_path(&world, "new"));
	cr_expect_eq(access(world_path(&world, "new"), F_OK), -1);
	cr_expect_eq(call(SYS_renameat2, NOW, text("g"), NOW, text("new"), 0), -ESTALE);
	cr_expect_not(asked.last.exists);
	ask_for(0);
	cr_expect_eq(call(SYS_unlinkat, NOW, text("new"), 0, 0, 0), -ENOENT);
	cr_expect_eq(call(SYS_openat, NOW, text("new/x"), O_WRONLY | O_CREAT, 0600, 0), -ENOENT);
	cr_expect_eq(call(SYS_truncate, text("d"), 0, 0, 0, 0), -EISDIR);
	cr_expect(asked.last.exists && S_ISDIR(asked.last.stat.st_mode));
	cr_expect_eq(call(SYS_unlinkat, NOW, text("d"), AT_REMOVEDIR, 0, 0), -ENOTEMPTY);
	cr_expect_eq(asked.last.flags, AT_REMOVEDIR);
	cr_expect_geq(call(SYS_openat, NOW, text("new"), O_WRONLY | O_CREAT, 0600, 0), 0);
}
