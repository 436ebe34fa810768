/* shim/supervise/supervise.h: what is asked before a change, what becomes of the call, and who waits for whom.
 *
 * Below the filter runs this program itself, as a player: it makes the system calls that the test orders, at seats of a board that
 * both have mapped in the same place, so that addresses are the same.  Seat 0 is the command, the others are copies of it
 * that have made no call, but for the last: a thread of the command. */
#include <criterion/criterion.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "shim/start/filter.h"
#include "shim/supervise/supervisor.h"
#include "support.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

enum {
	PROCESSES = 3,
	THREAD = PROCESSES,
	SEATS,
	TEXT_BYTES = 1 << 20,
	WAIT_MS = 10000,
	NAP_MS = 600,
	SIZE_BYTES = 3000
};

#define BOARD ((void *)(uintptr_t)0x500000000000)

/* What the test orders at a seat. */
struct seat {
	int go[2], done[2];
	pid_t pid;
	unsigned signals; /* that reached it */
	long number, args[6], result;
};

static struct board {
	int file, listener;
	bool promised;
	struct process_ref process;
	struct seat seats[SEATS];
	size_t used;
	char text[TEXT_BYTES];
} * board;

/* ---- the player ---- */

static _Thread_local struct seat *own_seat;

static void count_signal(int signal)
{
	(void)signal;
	own_seat->signals++;
}

_Noreturn static void play_at(struct seat *seat)
{
	struct sigaction action = { .sa_handler = count_signal };
	char byte;

	own_seat = seat;
	(void)sigaction(SIGUSR1, &action, NULL);
	if (seat != &board->seats[THREAD])
		seat->pid = getpid();
	for (;;) {
		(void)sys_write(seat->done[1], "", 1);
		long got;
		do
			got = sys_read(seat->go[0], &byte, 1);
		while (got == -EINTR);
		if (got != 1)
			_exit(0);
		const long *args = seat->args;
		seat->result = sys_call6(seat->number, args[0], args[1], args[2], args[3], args[4],
					 args[5]);
	}
}

static void *play_in_thread(void *data)
{
	play_at(data);
}

/* Before main: a player needs nothing of Criterion. */
__attribute__((constructor)) static void play(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], "--play") != 0)
		return;
	int file = atoi(argv[2]);
	board = mmap(BOARD, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
	must(board == BOARD);
	/* Their ends are the test's alone: all end with it. */
	for (int i = 0; i < SEATS; i++)
		if (close(board->seats[i].go[1]) < 0 || close(board->seats[i].done[0]) < 0)
			abort();
	for (int i = 1; i < PROCESSES; i++)
		if (fork() == 0)
			play_at(&board->seats[i]);
	pthread_t thread;
	must(pthread_create(&thread, NULL, play_in_thread, &board->seats[THREAD]) == 0);
	play_at(&board->seats[0]);
}

/* ---- what is asked ---- */

/* All that was asked since ask_for(), under the lock. */
static struct asked {
	pthread_mutex_t lock;
	int error;  /* answered */
	int nap_ms; /* before that, where `napping` is in the name */
	unsigned count;
	struct supervise_change last;
	char path[SEGMENT_PATH_BYTES];
	char first_path[SEGMENT_PATH_BYTES];
} asked = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int changing(void *data, const struct supervise_change *change)
{
	must(data == &asked);
	(void)pthread_mutex_lock(&asked.lock);
	if (asked.count++ == 0)
		(void)snprintf(asked.first_path, sizeof(asked.first_path), "%s", change->path);
	asked.last = *change;
	(void)snprintf(asked.path, sizeof(asked.path), "%s", change->path);
	int error = asked.error;
	int nap_ms = strstr(change->path, "napping") ? asked.nap_ms : 0;
	(void)pthread_mutex_unlock(&asked.lock);
	(void)usleep((unsigned)nap_ms * 1000);
	return error;
}

static void ask_for(int error)
{
	(void)pthread_mutex_lock(&asked.lock);
	asked.error = error;
	asked.nap_ms = NAP_MS;
	asked.count = 0;
	asked.path[0] = asked.first_path[0] = '\0';
	memset(&asked.last, 0, sizeof(asked.last));
	(void)pthread_mutex_unlock(&asked.lock);
}

/* ---- the test ---- */

static struct world world;
static struct supervision supervision;
static struct supervisor *supervisor;
static struct stat before; /* of w/f */

static bool wait_done(int seat, int timeout_ms)
{
	struct pollfd done = { board->seats[seat].done[0], POLLIN, 0 };
	char byte;

	return poll(&done, 1, timeout_ms) == 1 && read(done.fd, &byte, 1) == 1;
}

/* Orders a call; goes on before it has returned. */
static void order(int at, long number, long a, long b, long c, long d, long e)
{
	struct seat *seat = &board->seats[at];
	const long args[6] = { a, b, c, d, e, 0 };

	seat->number = number;
	memcpy(seat->args, args, sizeof(args));
	must(write(seat->go[1], "", 1) == 1);
}

static long call_at(int at, long number, long a, long b, long c, long d, long e)
{
	order(at, number, a, b, c, d, e);
	must(wait_done(at, WAIT_MS));
	return board->seats[at].result;
}

static long call(long number, long a, long b, long c, long d, long e)
{
	return call_at(0, number, a, b, c, d, e);
}

/* Bytes at an address that the player has, too. */
static long copy_to_board(const void *bytes, size_t size_bytes)
{
	if (board->used + size_bytes > TEXT_BYTES)
		board->used = 0;
	char *at = board->text + board->used;
	memcpy(at, bytes, size_bytes);
	board->used += (size_bytes + 15) & ~(size_t)15;
	return (long)(uintptr_t)at;
}

static long text(const char *string)
{
	return copy_to_board(string, strlen(string) + 1);
}

static void start_player(void)
{
	char number[16], self[256] = "";
	const char *words[] = { self, "--play", number, NULL };
	char ticket[TICKET_BYTES];
	int ready[2], go[2];
	char byte;

	must(pipe2(ready, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
	must(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	(void)snprintf(number, sizeof(number), "%d", board->file);
	struct context context = { .flags = CONTEXT_ATTACHED | CONTEXT_ROOT };
	pid_t child = fork();
	must(child >= 0);
	if (child == 0) {
		must(chdir(world.workspace) == 0);
		board->process = process_announce(&world.segment, SUBJECT_SELF, &context,
						  (struct process_ref){ 0, 0 }, getpid(), self,
						  (char *const *)(uintptr_t)words, ticket);
		board->listener = filter_install(0, &board->promised);
		(void)sys_write(ready[1], "", 1);
		if (sys_read(go[0], &byte, 1) == 1)
			(void)execv(self, (char *const *)(uintptr_t)words);
		for (;;)
			(void)sys_call3(SYS_exit, 1, 0, 0);
	}
	must(read(ready[0], &byte, 1) == 1 && board->listener >= 0);
	int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
	int listener = (int)syscall(SYS_pidfd_getfd, descriptor, board->listener, 0);
	must(listener >= 0);
	supervision = (struct supervision){
		.segment = &world.segment,
		.changing = changing,
		.data = &asked,
	};
	const struct supervise_root root = { .pid = child,
					     .process = board->process,
					     .context = context,
					     .no_new_privs = board->promised };
	must(supervise_start(listener, &root, &supervision, &supervisor) == 0);
	must(write(go[1], "", 1) == 1);
	for (int i = 0; i < SEATS; i++)
		must(wait_done(i, WAIT_MS));
}

static void fill(void)
{
	world_fill(&world, "f", SIZE_BYTES, 1);
	world_fill(&world, "g", SIZE_BYTES, 2);
	must(stat(world_path(&world, "f"), &before) == 0);
}

static void start(void)
{
	int file = memfd_create("board", 0);

	world_open(&world, NULL);
	must(file >= 0 && ftruncate(file, sizeof(*board)) == 0);
	board = mmap(BOARD, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
	must(board == BOARD);
	board->file = file;
	for (int i = 0; i < SEATS; i++)
		must(pipe(board->seats[i].go) == 0 && pipe(board->seats[i].done) == 0);
	fill();
	must(mkdir(world_path(&world, "d"), 0700) == 0);
	world_fill(&world, "d/f", SIZE_BYTES, 3);
	must(symlink("f", world_path(&world, "to_f")) == 0);
	must(symlink("missing", world_path(&world, "to_nothing")) == 0);
	start_player();
	ask_for(0);
}

static void stop(void)
{
	for (int i = PROCESSES - 1; i >= 0; i--)
		if (board->seats[i].pid)
			(void)kill(board->seats[i].pid, SIGKILL);
	struct pollfd all = { supervise_descriptor(supervisor), POLLIN, 0 };
	while (poll(&all, 1, WAIT_MS) == 1 && supervise_tend(supervisor))
		;
	world_close(&world);
}

TestSuite(supervise, .init = start, .fini = stop, .timeout = 60);

/* Has the file the bytes that world_fill() wrote, and is it the same one? */
static bool is_as_before(const char *name, unsigned seed)
{
	static const char AS_IT_WAS[] = "as-it-was";
	static char now[SIZE_BYTES + 1], then[SIZE_BYTES];
	int fd = open(world_path(&world, name), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	ssize_t got = read(fd, now, sizeof(now));
	(void)close(fd);
	world_fill(&world, AS_IT_WAS, SIZE_BYTES, seed);
	fd = open(world_path(&world, AS_IT_WAS), O_RDONLY | O_CLOEXEC);
	must(read(fd, then, SIZE_BYTES) == SIZE_BYTES && close(fd) == 0);
	must(unlink(world_path(&world, AS_IT_WAS)) == 0);
	return got == SIZE_BYTES && memcmp(now, then, SIZE_BYTES) == 0;
}

static const long NOW = AT_FDCWD;

/* A call that would destroy f (or exchange it). */
struct destroyer {
	const char *name;
	uint32_t op;
	uint32_t flags;
	unsigned asks;
	long (*make)(void);
};

static struct open_how how_for(uint64_t flags)
{
	return (struct open_how){ .flags = flags };
}

static long do_open_trunc(void)
{
	return call(SYS_openat, NOW, text("f"), O_RDONLY | O_TRUNC, 0, 0);
}
static long do_open_write_trunc(void)
{
	return call(SYS_openat, NOW, text("f"), O_WRONLY | O_CREAT | O_TRUNC, 0600, 0);
}
static long do_open_write(void)
{
	return call(SYS_openat, NOW, text("f"), O_WRONLY, 0, 0);
}
static long do_open_both(void)
{
	return call(SYS_openat, NOW, text("f"), O_RDWR | O_APPEND, 0, 0);
}
static long do_openat2(void)
{
	struct open_how how = how_for(O_WRONLY | O_TRUNC);
	return call(SYS_openat2, NOW, text("f"), copy_to_board(&how, sizeof(how)), sizeof(how), 0);
}
static long do_truncate(void)
{
	return call(SYS_truncate, text("f"), 10, 0, 0, 0);
}
static long do_renameat(void)
{
	return call(SYS_renameat2, NOW, text("g"), NOW, text("f"), 0);
}
static long do_exchange(void)
{
	return call(SYS_renameat2, NOW, text("g"), NOW, text("f"), RENAME_EXCHANGE);
}
static long do_unlinkat(void)
{
	return call(SYS_unlinkat, NOW, text("f"), 0, 0, 0);
}
#ifdef SYS_open
static long do_old_open(void)
{
	return call(SYS_open, text("f"), O_WRONLY | O_TRUNC, 0, 0, 0);
}
static long do_creat(void)
{
	return call(SYS_creat, text("f"), 0600, 0, 0, 0);
}
static long do_rename(void)
{
	return call(SYS_rename, text("g"), text("f"), 0, 0, 0);
}
static long do_unlink(void)
{
	return call(SYS_unlink, text("f"), 0, 0, 0, 0);
}
#endif

static const struct destroyer DESTROYERS[] = {
	{ "O_TRUNC", JOURNAL_OPEN, O_RDONLY | O_TRUNC, 1, do_open_trunc },
	{ "O_WRONLY|O_TRUNC", JOURNAL_OPEN, O_WRONLY | O_CREAT | O_TRUNC, 1, do_open_write_trunc },
	{ "O_WRONLY", JOURNAL_OPEN, O_WRONLY, 1, do_open_write },
	{ "O_RDWR", JOURNAL_OPEN, O_RDWR | O_APPEND, 1, do_open_both },
	{ "openat2", JOURNAL_OPEN, O_WRONLY | O_TRUNC, 1, do_openat2 },
	{ "truncate", JOURNAL_TRUNCATE, 0, 1, do_truncate },
	{ "renameat2", JOURNAL_RENAME, 0, 1, do_renameat },
	{ "exchange", JOURNAL_RENAME, RENAME_EXCHANGE, 2, do_exchange },
	{ "unlinkat", JOURNAL_DELETE, 0, 1, do_unlinkat },
#ifdef SYS_open
	{ "open", JOURNAL_OPEN, O_WRONLY | O_TRUNC, 1, do_old_open },
	{ "creat", JOURNAL_OPEN, O_WRONLY | O_CREAT | O_TRUNC, 1, do_creat },
	{ "rename", JOURNAL_RENAME, 0, 1, do_rename },
	{ "unlink", JOURNAL_DELETE, 0, 1, do_unlink },
#endif
};

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
