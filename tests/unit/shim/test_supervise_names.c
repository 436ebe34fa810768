/* shim/supervise: names, calls that are not asked about, and who waits. */
#include "supervise_case.h"

TestSuite(supervise, .init = start, .fini = stop, .timeout = 60);

/* ---- names ---- */

static const char *absolute(const char *name)
{
	return name[0] == '/' ? name : world_path(&world, name);
}

static void expect_name(const char *given, long directory, const char *path, const char *file)
{
	struct stat stat_of = { 0 };

	ask_for(-ESTALE);
	long result = call(SYS_openat, directory, text(given), O_WRONLY | O_TRUNC, 0, 0);
	cr_expect_eq(result, -ESTALE, "%s: %ld", given, result);
	cr_expect_str_eq(asked.path, absolute(path), "%s: %s", given, asked.path);
	cr_expect_eq(asked.last.exists, file != NULL, "%s", given);
	if (file) {
		must(stat(absolute(file), &stat_of) == 0);
		cr_expect_eq(asked.last.stat.st_ino, stat_of.st_ino, "%s", given);
	}
}

Test(supervise, names)
{
	char name[256];

	long d = call(SYS_openat, NOW, text("d"), O_RDONLY | O_DIRECTORY, 0, 0);
	long path_d = call(SYS_openat, NOW, text("d"), O_PATH | O_DIRECTORY, 0, 0);
	long f = call(SYS_openat, NOW, text("f"), O_RDONLY, 0, 0);
	must(d >= 0 && path_d >= 0 && f >= 0);
	expect_name("f", NOW, "f", "f");
	expect_name("./f", NOW, "f", "f");
	expect_name("d/../f", NOW, "f", "f");
	expect_name("d//.././/d/f", NOW, "d/f", "d/f");
	expect_name(world_path(&world, "f"), NOW, "f", "f");
	expect_name(world_path(&world, "f"), 900, "f", "f");
	(void)snprintf(name, sizeof(name), "//%s/./d/../f", world.workspace);
	expect_name(name, NOW, "f", "f");
	(void)snprintf(name, sizeof(name), "/../../%s/f", world.workspace);
	expect_name(name, NOW, "f", "f");
	expect_name("f", d, "d/f", "d/f");
	expect_name("../f", d, "f", "f");
	expect_name("f", path_d, "d/f", "d/f");
	expect_name("to_f", NOW, "to_f", "f"); /* what stands there is what is opened */
	expect_name("../to_f", d, "to_f", "f");
	expect_name("to_nothing", NOW, "to_nothing", NULL);
	expect_name("none/f", NOW, "none/f", NULL);
	static const char *const OWN[] = { "/proc/self/fd/", "/dev/fd/", "/proc/thread-self/fd/" };
	for (int i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "%s%ld/f", OWN[i], d);
		expect_name(name, NOW, "d/f", "d/f");
		(void)snprintf(name, sizeof(name), "%s%ld/../f", OWN[i], d);
		expect_name(name, NOW, "f", "f");
		(void)snprintf(name, sizeof(name), "%s%ld", OWN[i], f);
		expect_name(name, NOW, "f", "f");
	}
	(void)snprintf(name, sizeof(name), "/proc/%d/fd/%ld/f", board->seats[0].pid, d);
	expect_name(name, NOW, "d/f", "d/f");
}

/* A link in the middle: by text it is another file than by the kernel, and it is the kernel's that is about to change. */
Test(supervise, names_behind_links)
{
	must(mkdir(world_path(&world, "d/e"), 0700) == 0);
	must(symlink("d/e", world_path(&world, "to_e")) == 0);
	expect_name("to_e/../f", NOW, "f", "d/f");
	(void)snprintf(board->text, 256, "%s/to_e/../f", world.workspace);
	board->used = 512;
	expect_name(board->text, NOW, "f", "d/f");
}

/* The last link of a name that is not followed. */
Test(supervise, names_of_links)
{
	struct stat link;

	must(lstat(world_path(&world, "to_f"), &link) == 0);
	ask_for(-ESTALE);
	cr_expect_eq(call(SYS_unlinkat, NOW, text("to_f"), 0, 0, 0), -ESTALE);
	cr_expect_eq(asked.last.stat.st_ino, link.st_ino);
	cr_expect_eq(call(SYS_renameat2, NOW, text("g"), NOW, text("to_f"), 0), -ESTALE);
	cr_expect_eq(asked.last.stat.st_ino, link.st_ino);
	cr_expect_eq(call(SYS_openat, NOW, text("to_f"), O_WRONLY | O_NOFOLLOW, 0, 0), -ESTALE);
	cr_expect_eq(asked.last.stat.st_ino, link.st_ino);
	cr_expect_eq(call(SYS_truncate, text("to_f"), 0, 0, 0, 0), -ESTALE);
	cr_expect_eq(asked.last.stat.st_ino, before.st_ino);
}

Test(supervise, two_directories)
{
	long d = call(SYS_openat, NOW, text("d"), O_RDONLY | O_DIRECTORY, 0, 0);

	ask_for(-ESTALE);
	cr_expect_eq(call(SYS_renameat2, NOW, text("g"), d, text("f"), 0), -ESTALE);
	cr_expect_str_eq(asked.path, world_path(&world, "d/f"));
	cr_expect_eq(call(SYS_renameat2, d, text("f"), NOW, text("g"), 0), -ESTALE);
	cr_expect_str_eq(asked.path, world_path(&world, "g"));
	cr_expect_eq(call(SYS_unlinkat, d, text("f"), 0, 0, 0), -ESTALE);
	cr_expect_str_eq(asked.path, world_path(&world, "d/f"));
}

Test(supervise, long_names)
{
	static char name[5000];
	size_t length = (size_t)snprintf(name, sizeof(name), "%s", world.workspace);

	while (length + 2 < 4094)
		length += (size_t)snprintf(name + length, sizeof(name) - length, "/.");
	(void)snprintf(name + length, sizeof(name) - length, "/f");
	cr_assert_leq(strlen(name), 4095);
	expect_name(name, NOW, "f", "f");
	memset(name, '/', 4096);
	(void)snprintf(name + 4095, 2, "f");
	ask_for(-ESTALE);
	cr_expect_eq(call(SYS_openat, NOW, text(name), O_WRONLY, 0, 0), -ENAMETOOLONG);
	cr_expect_eq(asked.count, 0);
}

Test(supervise, current_directory)
{
	cr_expect_eq(call(SYS_chdir, text("d"), 0, 0, 0, 0), 0);
	expect_name("f", NOW, "d/f", "d/f");
	expect_name("../f", NOW, "f", "f");
	cr_expect_eq(call(SYS_chdir, text("none"), 0, 0, 0, 0), -ENOENT);
	expect_name("f", NOW, "d/f", "d/f");
	long w = call(SYS_openat, NOW, text(".."), O_RDONLY | O_DIRECTORY, 0, 0);
	cr_expect_eq(call(SYS_fchdir, w, 0, 0, 0, 0), 0);
	expect_name("f", NOW, "f", "f");
}

/* A copy that made no call yet has the directory that it was made in, wherever its parent went. */
Test(supervise, current_directory_of_a_copy)
{
	cr_expect_eq(call(SYS_chdir, text("d"), 0, 0, 0, 0), 0);
	expect_name("f", NOW, "d/f", "d/f");
	ask_for(-ESTALE);
	cr_expect_eq(call_at(1, SYS_openat, NOW, text("f"), O_WRONLY, 0, 0), -ESTALE);
	cr_expect_str_eq(asked.path, world_path(&world, "f"), "%s", asked.path);
	cr_expect_eq(asked.last.stat.st_ino, before.st_ino);
	cr_expect_eq(asked.last.pid, board->seats[1].pid);
}

/* Another process gives the current directory another name. */
Test(supervise, current_directory_renamed)
{
	cr_expect_eq(call(SYS_chdir, text("d"), 0, 0, 0, 0), 0);
	expect_name("f", NOW, "d/f", "d/f");
	must(rename(world_path(&world, "d"), world_path(&world, "e")) == 0);
	ask_for(-ESTALE);
	cr_expect_eq(call(SYS_openat, NOW, text("f"), O_WRONLY, 0, 0), -ESTALE);
	cr_expect(asked.last.exists);
}

Test(supervise, resolved_in_root)
{
	struct open_how how = { .flags = O_WRONLY | O_TRUNC, .resolve = RESOLVE_IN_ROOT };
	long w = call(SYS_openat, NOW, text("."), O_RDONLY | O_DIRECTORY, 0, 0);

	ask_for(-ESTALE);
	cr_expect_eq(
		call(SYS_openat2, w, text("/f"), copy_to_board(&how, sizeof(how)), sizeof(how), 0),
		-ESTALE);
	cr_expect_str_eq(asked.path, world_path(&world, "f"), "%s", asked.path);
	cr_expect(asked.last.exists);
}

/* The root is another from that call on, without a program being started. */
Test(supervise, other_root)
{
	if (geteuid() != 0)
		cr_skip_test("for root only");
	cr_expect_eq(call(SYS_chroot, text(world.workspace), 0, 0, 0, 0), 0);
	expect_name("/d/f", NOW, "d/f", "d/f");
	expect_name("/../d/f", NOW, "d/f", "d/f");
	expect_name("d/f", NOW, "d/f", "d/f");
	cr_expect_eq(call(SYS_chdir, text("/d"), 0, 0, 0, 0), 0);
	expect_name("f", NOW, "d/f", "d/f");
}

/* ---- not asked ---- */

Test(supervise, not_asked)
{
	struct open_how how = how_for(O_RDONLY);

	ask_for(-ESTALE);
	cr_expect_geq(call(SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
	cr_expect_geq(call(SYS_openat, NOW, text("f"), O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0, 0), 0);
	cr_expect_geq(call(SYS_openat, NOW, text("f"), O_PATH, 0, 0), 0);
	cr_expect_geq(call(SYS_openat, NOW, text("f"), O_PATH | O_WRONLY | O_TRUNC, 0, 0), 0);
	cr_expect_geq(call(SYS_openat, NOW, text("."), O_RDONLY | O_DIRECTORY, 0, 0), 0);
	cr_expect_geq(call(SYS_openat, NOW, text("."), O_RDONLY, 0, 0), 0);
	cr_expect_geq(call(SYS_openat, NOW, text("."), O_RDWR | O_TMPFILE, 0600, 0), 0);
	cr_expect_geq(
		call(SYS_openat2, NOW, text("f"), copy_to_board(&how, sizeof(how)), sizeof(how), 0),
		0);
	how = how_for(O_PATH);
	cr_expect_geq(
		call(SYS_openat2, NOW, text("f"), copy_to_board(&how, sizeof(how)), sizeof(how), 0),
		0);
	cr_expect_eq(call(SYS_mkdirat, NOW, text("made"), 0700, 0, 0), 0);
	cr_expect_eq(call(SYS_mknodat, NOW, text("fifo"), S_IFIFO | 0600, 0, 0), 0);
	cr_expect_eq(call(SYS_symlinkat, text("f"), NOW, text("link"), 0, 0), 0);
	cr_expect_eq(call(SYS_linkat, NOW, text("f"), NOW, text("hard"), 0), 0);
	cr_expect_eq(call(SYS_linkat, NOW, text("g"), NOW, text("f"), 0), -EEXIST);
	cr_expect_eq(call(SYS_symlinkat, text("g"), NOW, text("f"), 0, 0), -EEXIST);
	cr_expect_eq(call(SYS_chdir, text("d"), 0, 0, 0, 0), 0);
	cr_expect_eq(call(SYS_execve, text("/nonexistent"), 0, 0, 0, 0), -ENOENT);
	cr_expect_eq(call(SYS_execve, text("f"), 0, 0, 0, 0), -EACCES);
	cr_expect_eq(asked.count, 0);
	cr_expect(is_as_before("f", 1));
}

/* ---- what is wrong stays wrong, in the same way ---- */

struct wrong {
	long number, args[6];
};

static int wrongs(struct wrong *ret_wrongs)
{
	static const uint64_t BAD[] = { 0, 1, UINT64_C(0xffffffff81000000), UINT64_MAX,
					UINT64_C(0x8000000000000000) };
	long good = text("f"), directory = text("d");
	/* The last bytes before nothing: the board's end is not one of a page, so a hole is made behind it. */
	char *hole = mmap((char *)BOARD + (UINT64_C(1) << 30), 8192, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	must(hole != MAP_FAILED && munmap(hole, 8192) == 0);
	int count = 0;

#define WRONG(...) (ret_wrongs[count++] = (struct wrong){ __VA_ARGS__ })
	for (size_t i = 0; i <= sizeof(BAD) / sizeof(BAD[0]); i++) {
		long bad = i < sizeof(BAD) / sizeof(BAD[0]) ? (long)BAD[i] : (long)(uintptr_t)hole;
		WRONG(SYS_openat, { NOW, bad, O_RDONLY });
		WRONG(SYS_openat, { NOW, bad, O_WRONLY | O_TRUNC });
		WRONG(SYS_openat, { 900, good, O_WRONLY });
		WRONG(SYS_openat2, { NOW, bad, bad, 24 });
		WRONG(SYS_openat2, { NOW, good, bad, 24 });
		WRONG(SYS_openat2, { NOW, good, good, 1 });
		WRONG(SYS_execve, { bad, 0, 0 });
		WRONG(SYS_execve, { good, bad | 1, 0 });
		WRONG(SYS_execve, { text("/bin/true"), bad | 1, 0 });
		WRONG(SYS_execve, { text("/bin/true"), 0, bad | 1 });
		WRONG(SYS_execveat, { NOW, bad, 0, 0, 0 });
		WRONG(SYS_renameat2, { NOW, bad, NOW, good, 0 });
		WRONG(SYS_renameat2, { NOW, good, NOW, bad, 0 });
		WRONG(SYS_renameat2, { NOW, good, NOW, good, 0xff });
		WRONG(SYS_unlinkat, { NOW, bad, 0 });
		WRONG(SYS_unlinkat, { NOW, good, AT_REMOVEDIR });
		WRONG(SYS_unlinkat, { NOW, directory, 0 });
		WRONG(SYS_unlinkat, { NOW, text("none"), 0x1234 });
		WRONG(SYS_linkat, { NOW, bad, NOW, good, 0 });
		WRONG(SYS_linkat, { NOW, good, NOW, bad, 0 });
		WRONG(SYS_symlinkat, { bad, NOW, good });
		WRONG(SYS_symlinkat, { good, NOW, bad });
		WRONG(SYS_mkdirat, { NOW, bad, 0700 });
		WRONG(SYS_mknodat, { NOW, bad, S_IFIFO | 0600 });
		WRONG(SYS_truncate, { bad, 0 });
		WRONG(SYS_truncate, { good, -1 });
		WRONG(SYS_chdir, { bad });
		WRONG(SYS_fchdir, { (int)bad | 0x4000 });
#ifdef SYS_open
		WRONG(SYS_open, { bad, O_WRONLY });
		WRONG(SYS_creat, { bad, 0600 });
		WRONG(SYS_rename, { bad, good });
		WRONG(SYS_rename, { good, bad });
		WRONG(SYS_unlink, { bad });
		WRONG(SYS_rmdir, { bad });
		WRONG(SYS_rmdir, { good });
		WRONG(SYS_link, { bad, good });
		WRONG(SYS_link, { good, bad });
		WRONG(SYS_symlink, { bad, good });
		WRONG(SYS_symlink, { good, bad });
		WRONG(SYS_mkdir, { bad, 0700 });
		WRONG(SYS_mknod, { bad, S_IFIFO | 0600 });
#endif
	}
	return count;
}

Test(supervise, wrong_calls_fail_as_ever)
{
	static struct wrong all[512];
	static long *results;

	/* First without a supervisor. */
	int count = wrongs(all), status;
	results = mmap(NULL, sizeof(*results) * 512, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		must(chdir(world.workspace) == 0);
		for (int i = 0; i < count; i++) {
			const long *args = all[i].args;
			results[i] = sys_call6(all[i].number, args[0], args[1], args[2], args[3],
					       args[4], 0);
		}
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && status == 0);
	ask_for(0);
	for (int i = 0; i < count; i++) {
		const long *args = all[i].args;
		cr_expect_lt(results[i], 0, "call %ld", all[i].number);
		long result = call(all[i].number, args[0], args[1], args[2], args[3], args[4]);
		cr_expect_eq(result, results[i], "call %ld (%#lx, %#lx, %#lx): %ld, bare %ld",
			     all[i].number, args[0], args[1], args[2], result, results[i]);
	}
	cr_expect(is_as_before("f", 1));
}

/* ---- who waits for whom ---- */

static void order_nap(int seat, const char *name)
{
	ask_for(-ESTALE);
	asked.nap_ms = NAP_MS;
	order(seat, SYS_openat, NOW, text(name), O_WRONLY | O_CREAT, 0600, 0);
	for (int tries = 0; tries < 1000 && asked.count == 0; tries++)
		(void)usleep(1000);
	cr_assert_eq(asked.count, 1);
}

static uint64_t now_ms(void)
{
	return sys_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Others need not wait for what is asked about one. */
Test(supervise, others_go_on)
{
	/* They are known, and settled. */
	for (int i = 0; i < SEATS; i++)
		cr_expect_geq(call_at(i, SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
	order_nap(0, "napping");
	uint64_t since_ms = now_ms();
	for (int i = 0; i < 20; i++) {
		cr_expect_geq(call_at(1 + i % 2, SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
		cr_expect_eq(call_at(1 + i % 2, SYS_openat, NOW, text("f"), O_WRONLY, 0, 0),
			     -ESTALE);
	}
	cr_expect_lt(now_ms() - since_ms, NAP_MS / 2);
	cr_expect_not(wait_done(0, 0));
	cr_expect(wait_done(0, WAIT_MS));
	cr_expect_eq(board->seats[0].result, -ESTALE);
}

/* Nor for another thread of that one, which does have to wait. */
Test(supervise, others_go_on_past_a_thread)
{
	for (int i = 0; i < SEATS; i++)
		cr_expect_geq(call_at(i, SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
	order_nap(0, "napping");
	order(THREAD, SYS_openat, NOW, text("f"), O_RDONLY, 0, 0);
	(void)usleep(10000);
	uint64_t since_ms = now_ms();
	for (int i = 0; i < 20; i++)
		cr_expect_geq(call_at(1 + i % 2, SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
	cr_expect_lt(now_ms() - since_ms, NAP_MS / 2);
	cr_expect(wait_done(0, WAIT_MS) && wait_done(THREAD, WAIT_MS));
	cr_expect_geq(board->seats[THREAD].result, 0);
}

/* Threads have one current directory, whichever of them changes it. */
Test(supervise, current_directory_of_threads)
{
	expect_name("f", NOW, "f", "f");
	cr_expect_eq(call_at(THREAD, SYS_chdir, text("d"), 0, 0, 0, 0), 0);
	expect_name("f", NOW, "d/f", "d/f");
	cr_expect_eq(call_at(THREAD, SYS_chdir, text(".."), 0, 0, 0, 0), 0);
	expect_name("f", NOW, "f", "f");
}

/* Killed while it is asked about: nothing comes of it, and others go on. */
Test(supervise, killed_meanwhile)
{
	order_nap(0, "napping");
	(void)kill(board->seats[0].pid, SIGKILL);
	must(waitpid(board->seats[0].pid, NULL, 0) == board->seats[0].pid);
	board->seats[0].pid = 0;
	cr_expect_eq(access(world_path(&world, "napping"), F_OK), -1);
	for (int i = 0; i < 20; i++)
		cr_expect_geq(call_at(1, SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
	(void)usleep(2 * NAP_MS * 1000);
	for (int i = 0; i < 20; i++)
		cr_expect_eq(call_at(2, SYS_openat, NOW, text("f"), O_WRONLY, 0, 0), -ESTALE);
	cr_expect(is_as_before("f", 1));
}

/* A signal meanwhile: the call is answered once, with its answer, and the signal arrives. */
Test(supervise, interrupted_meanwhile)
{
	order_nap(0, "napping");
	for (int i = 0; i < 5; i++) {
		(void)kill(board->seats[0].pid, SIGUSR1);
		(void)usleep(10000);
	}
	cr_expect(wait_done(0, WAIT_MS));
	cr_expect(board->seats[0].result == -ESTALE || board->seats[0].result == -EINTR);
	cr_expect_geq(board->seats[0].signals, 1);
	cr_expect_eq(access(world_path(&world, "napping"), F_OK), -1);
	ask_for(0);
	cr_expect_geq(call(SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
}

/* It is notified when the last one has ended. */
Test(supervise, end_of_all)
{
	struct pollfd wait = { supervise_descriptor(supervisor), POLLIN, 0 };
	bool live_process = true;

	for (int i = 0; i < SEATS; i++)
		cr_expect_geq(call_at(i, SYS_openat, NOW, text("f"), O_RDONLY, 0, 0), 0);
	while (poll(&wait, 1, 50) == 1)
		cr_assert(supervise_tend(supervisor));
	for (int i = PROCESSES - 1; i >= 0; i--) {
		cr_expect(live_process);
		order(i, SYS_exit_group, 3, 0, 0, 0, 0);
		if (i == 0) {
			int status;
			must(waitpid(board->seats[0].pid, &status, 0) == board->seats[0].pid);
			cr_expect_eq(WEXITSTATUS(status), 3);
		}
		board->seats[i].pid = 0;
		while (live_process && poll(&wait, 1, i == 0 ? WAIT_MS : 200) == 1)
			live_process = supervise_tend(supervisor);
	}
	cr_expect_not(live_process);
}
