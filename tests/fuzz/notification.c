/*
 * What the supervisor is asked by a process that means no good: calls with any arguments, and any memory behind them.
 *
 * A player makes the calls below a filter, and this program judges each.  Then it fails by EPERM: none is made.
 * An input is up to CALLS_MAX calls, each a number, a seat and six arguments of three bytes, and behind them what
 * lies in the player's memory.
 */
#include <linux/openat2.h>
#include <sys/prctl.h>

#include "fuzz_harness.h"
#include "player.h"
#include "shim/call/operation.h"
#include "shim/supervise/call.h"
#include "shim/supervise/notify.h"
#include "shim/supervise/target.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_map.h"

enum { CALLS_MAX = 4, ARGUMENTS = 6, EDGE_BYTES = 64, JOURNAL_BYTES = 1 << 24, ERRNO_MAX = 4095 };

static struct targets *targets;
static struct journal journal;
static struct supervision supervision;
static int listener;
static size_t call_bytes;
static pid_t command;
static long directory; /* that the player has open */

static int changing(void *data, const struct supervise_change *change)
{
	(void)data;
	fuzz_holds(change->path[0] == '/');
	return strlen(change->path) % 2 ? -ESTALE : 0;
}

static void go_on_alone(struct exchange *exchange)
{
	(void)exchange;
}

/* Judges calls until the seat's is done.  are_made: those that may be are made. */
static void judge_calls(int seat, bool are_made)
{
	static struct received received;
	struct pollfd ready[] = { { listener, POLLIN, 0 },
				  { board->seats[seat].done[0], POLLIN, 0 } };

	for (;;) {
		fuzz_holds(poll(ready, 2, WAIT_MS) > 0);
		if (ready[1].revents) {
			fuzz_holds(wait_done(seat, 0));
			return;
		}
		if (notify_receive(listener, &received, call_bytes) < 0)
			continue;
		struct exchange exchange = { .listener = listener,
					     .call = (const void *)received.call,
					     .received_ns = sys_clock_ns(CLOCK_MONOTONIC),
					     .note_slow = go_on_alone };
		struct verdict verdict = call_judge(targets, &supervision, 0, &exchange);
		fuzz_holds(verdict.kind != VERDICT_FAIL ||
			   (verdict.value < 0 && verdict.value >= -ERRNO_MAX));
		if (!are_made && verdict.kind != VERDICT_ANSWERED)
			verdict = verdict_fail(-EPERM);
		notify_answer(listener, exchange.call->id, verdict);
	}
}

static void finish(void)
{
	for (int i = PROCESSES - 1; i >= 0; i--)
		if (board->seats[i].pid)
			(void)kill(board->seats[i].pid, SIGKILL);
	(void)kill(command, SIGKILL);
	journal_unmap(&journal);
	world_close(&world);
}

static void start(void)
{
	char path[128];
	struct supervise_root root;
	int go;

	world_open(&world, "undo.enable=yes", NULL);
	make_board();
	world_fill(&world, "f", EDGE_BYTES, 1);
	must(mkdir(world_path(&world, "d"), 0700) == 0);
	must(symlink("f", world_path(&world, "link")) == 0);
	(void)snprintf(path, sizeof(path), "%s/journal", world.root);
	must(journal_create(path, "fuzz", "0123456789abcdef", world.workspace, JOURNAL_BYTES) == 0);
	must(journal_map(path, &journal) == 0);
	must(notify_read_sizes(&call_bytes) == 0);
	launch_player(&root, &listener, &go);
	command = root.pid;
	must(atexit(finish) == 0);
	supervision = (struct supervision){ .segment = &world.segment,
					    .journal = &journal,
					    .command = root.pid,
					    .changing = changing };
	targets = targets_make(&supervision);
	must(targets && targets_enter(targets, &root) == 0);
	must(write(go, "", 1) == 1 && close(go) == 0);
	for (int i = 0; i < SEATS; i++)
		judge_calls(i, true);
	order(0, SYS_openat, AT_FDCWD, text("d"), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0);
	judge_calls(0, true);
	directory = board->seats[0].result;
	must(directory >= 0);
}

static char *board_limit(void)
{
	const uintptr_t PAGE = (uintptr_t)sysconf(_SC_PAGESIZE);

	return (char *)(((uintptr_t)(board + 1) + PAGE - 1) / PAGE * PAGE);
}

/* Three bytes: what the number means, and the number. */
static long argument_of(const uint8_t *bytes)
{
	long number = bytes[1] << 8 | bytes[2];

	switch (bytes[0] % 8) {
	case 0: /* into the memory; twice, since most arguments that matter are */
	case 1:
		return (long)(uintptr_t)(board->text + number % 4096);
	case 2: /* at its end: no NUL follows */
		return (long)(uintptr_t)(board_limit() - number % EDGE_BYTES);
	case 3:
		return AT_FDCWD;
	case 4:
		return directory;
	case 5: /* flags: those of most calls are below */
		return number;
	case 6: /* of openat(2), which are larger */
		return (long)number << 8;
	default: /* nowhere */
		return -number;
	}
}

static void fill(char *at, size_t capacity, int rest, const uint8_t *bytes, size_t size)
{
	memset(at, rest, capacity);
	memcpy(at, bytes, size < capacity ? size : capacity);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { CALL_BYTES = 2 + 3 * ARGUMENTS };
	enum { MEMORY_BYTES = TEXT_BYTES / 64 };
	size_t calls;

	if (!targets)
		start();
	if (size < 1)
		return 0;
	calls = data[0] % CALLS_MAX + 1;
	data++;
	size--;
	if (calls > size / CALL_BYTES)
		calls = size / CALL_BYTES;
	const uint8_t *memory = data + calls * CALL_BYTES;
	size_t memory_bytes = size - calls * CALL_BYTES;
	fill(board->text, MEMORY_BYTES, 0, memory, memory_bytes);
	fill(board_limit() - EDGE_BYTES, EDGE_BYTES, 'x', memory, memory_bytes);
	for (size_t i = 0; i < calls; i++, data += CALL_BYTES) {
		const struct system_call *form = &SYSTEM_CALLS[data[0] % SYSTEM_CALL_COUNT];
		int seat = data[1] % SEATS;
		long args[ARGUMENTS];
		for (int j = 0; j < ARGUMENTS; j++)
			args[j] = argument_of(data + 2 + 3 * j);
		if (form->trap != TRAP_ALWAYS && form->trap != TRAP_BY_FLAGS)
			continue; /* it would be made */
		order(seat, form->number, args[0], args[1], args[2], args[3], args[4]);
		judge_calls(seat, false);
		long result = board->seats[seat].result;
		if (form->operation == OPERATION_OPEN && result > STDERR_FILENO) {
			order(seat, SYS_close, result, 0, 0, 0, 0);
			judge_calls(seat, false);
		}
	}
	return 0;
}
