/* A player that makes calls below a supervisor: what the tests of the supervisor share. */
#ifndef SEEN_TESTS_SUPERVISE_CASE_H
#define SEEN_TESTS_SUPERVISE_CASE_H

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

static _Thread_local struct seat *own_seat;

static inline void count_signal(int signal)
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

static inline void *play_in_thread(void *data)
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

static inline int changing(void *data, const struct supervise_change *change)
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

static inline void ask_for(int error)
{
	(void)pthread_mutex_lock(&asked.lock);
	asked.error = error;
	asked.nap_ms = NAP_MS;
	asked.count = 0;
	asked.path[0] = asked.first_path[0] = '\0';
	memset(&asked.last, 0, sizeof(asked.last));
	(void)pthread_mutex_unlock(&asked.lock);
}

static struct world world;

static struct supervision supervision;

static struct supervisor *supervisor;

static struct stat before; /* of w/f */

static inline bool wait_done(int seat, int timeout_ms)
{
	struct pollfd done = { board->seats[seat].done[0], POLLIN, 0 };
	char byte;

	return poll(&done, 1, timeout_ms) == 1 && read(done.fd, &byte, 1) == 1;
}

/* Orders a call; goes on before it has returned. */
static inline void order(int at, long number, long a, long b, long c, long d, long e)
{
	struct seat *seat = &board->seats[at];
	const long args[6] = { a, b, c, d, e, 0 };

	seat->number = number;
	memcpy(seat->args, args, sizeof(args));
	must(write(seat->go[1], "", 1) == 1);
}

static inline long call_at(int at, long number, long a, long b, long c, long d, long e)
{
	order(at, number, a, b, c, d, e);
	must(wait_done(at, WAIT_MS));
	return board->seats[at].result;
}

static inline long call(long number, long a, long b, long c, long d, long e)
{
	return call_at(0, number, a, b, c, d, e);
}

/* Bytes at an address that the player has, too. */
static inline long copy_to_board(const void *bytes, size_t size_bytes)
{
	if (board->used + size_bytes > TEXT_BYTES)
		board->used = 0;
	char *at = board->text + board->used;
	memcpy(at, bytes, size_bytes);
	board->used += (size_bytes + 15) & ~(size_t)15;
	return (long)(uintptr_t)at;
}

static inline long text(const char *string)
{
	return copy_to_board(string, strlen(string) + 1);
}

static inline void start_player(void)
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
		board->listener = filter_install(0, false, &board->promised);
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

static inline void fill(void)
{
	world_fill(&world, "f", SIZE_BYTES, 1);
	world_fill(&world, "g", SIZE_BYTES, 2);
	must(stat(world_path(&world, "f"), &before) == 0);
}

static inline void start(void)
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

static inline void stop(void)
{
	for (int i = PROCESSES - 1; i >= 0; i--)
		if (board->seats[i].pid)
			(void)kill(board->seats[i].pid, SIGKILL);
	struct pollfd all = { supervise_descriptor(supervisor), POLLIN, 0 };
	while (poll(&all, 1, WAIT_MS) == 1 && supervise_tend(supervisor))
		;
	world_close(&world);
}

/* Has the file the bytes that world_fill() wrote, and is it the same one? */
static inline bool is_as_before(const char *name, unsigned seed)
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

static inline struct open_how how_for(uint64_t flags)
{
	return (struct open_how){ .flags = flags };
}

static inline long do_open_trunc(void)
{
	return call(SYS_openat, NOW, text("f"), O_RDONLY | O_TRUNC, 0, 0);
}

static inline long do_open_write_trunc(void)
{
	return call(SYS_openat, NOW, text("f"), O_WRONLY | O_CREAT | O_TRUNC, 0600, 0);
}

static inline long do_open_write(void)
{
	return call(SYS_openat, NOW, text("f"), O_WRONLY, 0, 0);
}

static inline long do_open_both(void)
{
	return call(SYS_openat, NOW, text("f"), O_RDWR | O_APPEND, 0, 0);
}

static inline long do_openat2(void)
{
	struct open_how how = how_for(O_WRONLY | O_TRUNC);
	return call(SYS_openat2, NOW, text("f"), copy_to_board(&how, sizeof(how)), sizeof(how), 0);
}

static inline long do_truncate(void)
{
	return call(SYS_truncate, text("f"), 10, 0, 0, 0);
}

static inline long do_renameat(void)
{
	return call(SYS_renameat2, NOW, text("g"), NOW, text("f"), 0);
}

static inline long do_exchange(void)
{
	return call(SYS_renameat2, NOW, text("g"), NOW, text("f"), RENAME_EXCHANGE);
}

static inline long do_unlinkat(void)
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

#endif
