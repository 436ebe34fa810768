/*
 * fail_calls COUNTS LIBRARY PROGRAM [WHO CALL NUMBER HOW]... -- COMMAND ...
 *
 * Runs a command, and lets system calls fail that PROGRAM makes (WHO is program: all of that executable's), or the code of LIBRARY in any
 * process, but for opens that it makes for that (library): the NUMBER-th of that CALL in all processes below the command.  CALL is a number, or -1: any that changes a file.
 * HOW is an errno; 0: at most one byte of it is done; -1: before it all processes are killed, as by a power cut.
 *
 * COUNTS gets a line "WHO CALL HOW-MANY" for each call, one "synced INODE BYTES" for each fsync(2) and fdatasync(2) of the program that ended
 * well, and "failed N": how many did.  Ends as the command does; 77: it cannot trace here.
 */
#include "check.h"

#include <elf.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#if !defined(__x86_64__)
int main(void)
{
	skip("only for x86_64");
}
#else

enum { CALLS_MAX = 512, FAULTS_MAX = 16, TASKS_MAX = 4096, SCANS_MAX = 400, SYNCS_MAX = 256 };
enum { ANY_CHANGE = -1, SHORT = 0, CUT = -1 };
enum origin { OTHER, PROGRAM, LIBRARY, ORIGIN_COUNT };

static struct fault {
	enum origin origin;
	long call, number;
	int error;
} faults[FAULTS_MAX];

/* A thread that is traced. */
struct task {
	pid_t thread;
	bool is_program;   /* it runs PROGRAM */
	bool is_known;     /* ... or not: its executable was read */
	bool is_in_call;   /* the next stop is the call's end */
	int error;         /* that the call ends with; 0: the kernel's */
	bool syncs;        /* it is in a call that does */
	int scans;         /* how often its memory was searched for the library */
	uint64_t from, to; /* the library's code; to: 0: not found */
};

static const char *library, *program;
static int fault_count;
static long counts[ORIGIN_COUNT][CALLS_MAX], changes[ORIGIN_COUNT], failed;
static struct stat synced[SYNCS_MAX];
static int sync_count;
static struct task tasks[TASKS_MAX];

static struct task *task_of(pid_t thread)
{
	struct task *vacant = NULL;

	for (int i = 0; i < TASKS_MAX; i++) {
		if (tasks[i].thread == thread)
			return &tasks[i];
		if (!vacant && !tasks[i].thread)
			vacant = &tasks[i];
	}
	CHECK(vacant);
	*vacant = (struct task){ .thread = thread };
	return vacant;
}

static void read_executable(struct task *task)
{
	char path[64], target[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)task->thread);
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	task->is_program = strcmp(target, program) == 0;
	task->is_known = true;
}

static void find_library(struct task *task)
{
	char path[64], line[4400], rights[8];
	unsigned long from, to;

	task->scans++;
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)task->thread);
	FILE *maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, library) && sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 &&
		    rights[2] == 'x') {
			task->from = from;
			task->to = to;
		}
	if (maps)
		(void)fclose(maps);
}

static enum origin origin_of(struct task *task, uint64_t code)
{
	if (!task->is_known)
		read_executable(task);
	if (task->is_program)
		return PROGRAM;
	if (!task->to && task->scans < SCANS_MAX)
		find_library(task);
	return code >= task->from && code < task->to ? LIBRARY : OTHER;
}

static bool is_change(long call)
{
	static const int CHANGES[] = {
		SYS_write,  SYS_pwrite64, SYS_writev,   SYS_pwritev,  SYS_rename,    SYS_renameat,
		SYS_link,   SYS_linkat,   SYS_unlink,   SYS_unlinkat, SYS_renameat2, SYS_mkdir,
		SYS_rmdir,  SYS_mkdirat,  SYS_fsync,    SYS_msync,    SYS_fdatasync, SYS_ftruncate,
		SYS_fchmod, SYS_symlink,  SYS_truncate, SYS_chmod,    SYS_symlinkat, SYS_fallocate,
	};

	for (size_t i = 0; i < sizeof(CHANGES) / sizeof(CHANGES[0]); i++)
		if (CHANGES[i] == call)
			return true;
	return false;
}

static bool is_meant(const struct fault *fault, enum origin origin, long call)
{
	if (fault->origin != origin)
		return false;
	return fault->call == ANY_CHANGE
		       ? is_change(call) && fault->number == changes[origin]
		       : fault->call == call && fault->number == counts[origin][call];
}

static void cut(void)
{
	for (int i = 0; i < TASKS_MAX; i++)
		if (tasks[i].thread)
			(void)kill(tasks[i].thread, SIGKILL);
}

/* The library also makes opens for the program that it is in: those name files of the program's. */
static bool is_own_open(const struct task *task, const struct user_regs_struct *registers)
{
	static const char *const OWN[] = { "/proc/", "/state/seen/", "/dev/shm/", ".part" };
	char path[256] = "";
	uint64_t at = registers->orig_rax == SYS_openat ? registers->rsi : registers->rdi;
	struct iovec here = { path, sizeof(path) - 1 }, there = { NULL, sizeof(path) - 1 };

	there.iov_base = (void *)at;
	while (there.iov_len > 0 && process_vm_readv(task->thread, &here, 1, &there, 1, 0) < 0)
		here.iov_len = there.iov_len = there.iov_len / 2; /* it ends with its page */
	for (size_t i = 0; i < sizeof(OWN) / sizeof(OWN[0]); i++)
		if (strstr(path, OWN[i]))
			return true;
	return false;
}

/* A call is about to be made. */
static void enter(struct task *task)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, task->thread, 0, &registers) < 0)
		return;
	long call = (long)registers.orig_rax;
	enum origin origin = call >= 0 && call < CALLS_MAX ? origin_of(task, registers.rip) : OTHER;
	bool opens = call == SYS_open || call == SYS_openat;
	if (origin == OTHER || (origin == LIBRARY && opens && !is_own_open(task, &registers)))
		return;
	counts[origin][call]++;
	changes[origin] += is_change(call);
	task->syncs = origin == PROGRAM && (call == SYS_fsync || call == SYS_fdatasync);
	for (int i = 0; i < fault_count; i++) {
		if (!is_meant(&faults[i], origin, call))
			continue;
		failed++;
		if (faults[i].error == CUT) {
			cut();
			return;
		}
		if (faults[i].error != SHORT) {
			registers.orig_rax = (unsigned long long)-1;
			task->error = faults[i].error;
		} else if (registers.rdx > 1) {
			registers.rdx = 1;
		}
		(void)ptrace(PTRACE_SETREGS, task->thread, 0, &registers);
	}
}

static void leave(struct task *task)
{
	struct user_regs_struct registers;

	if ((!task->error && !task->syncs) ||
	    ptrace(PTRACE_GETREGS, task->thread, 0, &registers) < 0)
		return;
	if (!task->error) {
		char path[64];
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)task->thread,
			       (int)registers.rdi);
		if (registers.rax == 0 && sync_count < SYNCS_MAX &&
		    stat(path, &synced[sync_count]) == 0)
			sync_count++;
		return;
	}
	registers.rax = (unsigned long long)-task->error;
	(void)ptrace(PTRACE_SETREGS, task->thread, 0, &registers);
	task->error = 0;
}

/* Lets a thread that stopped go on. */
static void go_on(pid_t thread, int status)
{
	struct task *task = task_of(thread);
	int signal = WSTOPSIG(status), event = status >> 16;

	if (signal == (SIGTRAP | 0x80)) {
		task->is_in_call = !task->is_in_call;
		if (task->is_in_call)
			enter(task);
		else
			leave(task);
		signal = 0;
	} else if (event == PTRACE_EVENT_EXEC) {
		*task = (struct task){ .thread = thread, .is_in_call = task->is_in_call };
		signal = 0;
	} else if (event == PTRACE_EVENT_STOP) {
		if (signal != SIGTRAP) { /* all of its process stopped */
			(void)ptrace(PTRACE_LISTEN, thread, 0, 0);
			return;
		}
		signal = 0;
	} else if (event) {
		signal = 0;
	}
	(void)ptrace(PTRACE_SYSCALL, thread, 0, signal);
}

static void write_counts(const char *path)
{
	static const char *const NAMES[] = { "other", "program", "library" };
	FILE *file = fopen(path, "w");

	CHECK(file);
	for (int i = 0; i < sync_count; i++)
		(void)fprintf(file, "synced %lu %ld\n", (unsigned long)synced[i].st_ino,
			      (long)synced[i].st_size);
	for (int origin = PROGRAM; origin < ORIGIN_COUNT; origin++)
		(void)fprintf(file, "%s %d %ld\n", NAMES[origin], ANY_CHANGE, changes[origin]);
	for (int origin = PROGRAM; origin < ORIGIN_COUNT; origin++)
		for (int call = 0; call < CALLS_MAX; call++)
			if (counts[origin][call])
				(void)fprintf(file, "%s %d %ld\n", NAMES[origin], call,
					      counts[origin][call]);
	(void)fprintf(file, "failed %ld\n", failed);
	CHECK(fclose(file) == 0);
}

static pid_t start(char **argv)
{
	const long OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		(void)raise(SIGSTOP);
		(void)execv(argv[0], argv);
		_exit(127);
	}
	CHECK(waitpid(child, &status, WUNTRACED) == child);
	if (ptrace(PTRACE_SEIZE, child, 0, OPTIONS) < 0) {
		(void)kill(child, SIGKILL);
		skip("may not trace here");
	}
	CHECK(kill(child, SIGCONT) == 0);
	CHECK(ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0);
	return child;
}

int main(int argc, char **argv)
{
	int at = 4, status, result = 1;
	pid_t thread;

	CHECK(argc > 5);
	library = argv[2];
	program = argv[3];
	for (; at + 4 < argc && strcmp(argv[at], "--") != 0; at += 4) {
		CHECK(fault_count < FAULTS_MAX);
		faults[fault_count++] = (struct fault){ strcmp(argv[at], "program") == 0 ? PROGRAM
											 : LIBRARY,
							strtol(argv[at + 1], NULL, 10),
							strtol(argv[at + 2], NULL, 10),
							atoi(argv[at + 3]) };
	}
	CHECK(at + 1 < argc);
	pid_t child = start(argv + at + 1);
	while ((thread = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
		if (thread <= 0)
			continue;
		if (WIFSTOPPED(status)) {
			go_on(thread, status);
			continue;
		}
		*task_of(thread) = (struct task){ .thread = 0 };
		if (thread == child)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	write_counts(argv[1]);
	return result;
}
#endif
