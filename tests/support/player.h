/*
 * A player: this program itself, below a filter.  It makes the system calls that a test orders, at seats of a board
 * that both have mapped in the same place, so that addresses are the same.  Seat 0 is the command, the others are
 * copies of it that have made no call, but for the last: a thread of the command.
 *
 * Knows nothing of Criterion.
 */
#ifndef SEEN_TESTS_PLAYER_H
#define SEEN_TESTS_PLAYER_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "shim/start/filter.h"
#include "shim/supervise/supervise.h"
#include "support.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

enum { PROCESSES = 3, THREAD = PROCESSES, SEATS, TEXT_BYTES = 1 << 20, WAIT_MS = 10000 };

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

static struct world world;

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

/* The board, and the pipes of its seats. */
static inline void make_board(void)
{
	int file = memfd_create("board", 0);

	must(file >= 0 && ftruncate(file, sizeof(*board)) == 0);
	board = mmap(BOARD, sizeof(*board), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
	must(board == BOARD);
	board->file = file;
	for (int i = 0; i < SEATS; i++)
		must(pipe(board->seats[i].go) == 0 && pipe(board->seats[i].done) == 0);
}

/* Starts the player in the world's workspace.  It waits for a byte before it calls exec, and then sits down at
 * each seat.
 *
 * ret_root: as supervise_start() takes it.  ret_listener, ret_go: where its calls are taken, and the byte is
 * written; the caller closes them. */
static inline void launch_player(struct supervise_root *ret_root, int *ret_listener, int *ret_go)
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
	*ret_listener = (int)syscall(SYS_pidfd_getfd, descriptor, board->listener, 0);
	must(*ret_listener >= 0);
	must(close(descriptor) == 0 && close(ready[0]) == 0 && close(ready[1]) == 0 &&
	     close(go[0]) == 0);
	*ret_root = (struct supervise_root){ .pid = child,
					     .process = board->process,
					     .context = context,
					     .no_new_privs = board->promised };
	*ret_go = go[1];
}

#endif
