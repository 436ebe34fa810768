/* Hazard: a crash reporter: the handler of a signal, on an alternate stack of 8 KiB, starts a program with the many variables
 * that the process has.  A shim that copies their list to the stack runs over its end. */
#include "check.h"

#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

enum {
	PAGE = 4096,
	STACK_BYTES = 8192,
	USUAL_FRAME = 3632,
	LARGE_STACK_BYTES = 1 << 16,
	VARIABLES_MAX = 1000,
};

static char large_stack[LARGE_STACK_BYTES];
static size_t frame_bytes; /* of a signal, as a handler finds it */

static char *const WORDS[] = { (char *)"true", NULL };

/* Only what may be called in a handler. */
static void print_result(const char *what, int status)
{
	const char *how = status == 0 ? ": ran\n" : ": did not run\n";
	(void)!write(1, what, strlen(what));
	(void)!write(1, how, strlen(how));
}

static void report(int signal)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		execve("/bin/true", WORDS, environ);
		_exit(126);
	}
	(void)waitpid(child, &status, 0);
	print_result("fork", status);
	child = vfork();
	if (child == 0) {
		execve("/bin/true", WORDS, environ);
		_exit(126);
	}
	(void)waitpid(child, &status, 0);
	print_result("vfork", status);
	child = vfork();
	if (child == 0) {
		execv("/missing", WORDS);
		execve("/bin/true", WORDS, environ);
		_exit(126);
	}
	(void)waitpid(child, &status, 0);
	print_result("one that is missing, then", status);
	execve("/missing", WORDS, environ);
	print_result("missing", errno != ENOENT);
	if (signal == SIGSEGV)
		_exit(3);
}

static void measure_frame(int signal)
{
	char here;

	(void)signal;
	frame_bytes = (size_t)(large_stack + LARGE_STACK_BYTES - &here);
}

/* What a signal takes of a stack: a processor with large registers saves more of them, and qemu-user does not say how much. */
static size_t find_frame(void)
{
	const struct sigaction action = { .sa_handler = measure_frame, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = large_stack, .ss_size = LARGE_STACK_BYTES };
	size_t said = getauxval(AT_MINSIGSTKSZ);

	CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0 &&
	      raise(SIGUSR2) == 0);
	return said > frame_bytes ? said : frame_bytes;
}

/* A stack between two pages that must not be touched. */
static void set_stack(void)
{
	size_t frame = find_frame(), size_bytes = STACK_BYTES;
	if (frame > USUAL_FRAME)
		size_bytes += (frame - USUAL_FRAME + PAGE - 1) / PAGE * PAGE;
	char *pages = mmap(NULL, size_bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	CHECK(pages != MAP_FAILED);
	CHECK(mprotect(pages + PAGE, size_bytes, PROT_READ | PROT_WRITE) == 0);
	stack_t stack = { .ss_sp = pages + PAGE, .ss_size = size_bytes };
	CHECK(sigaltstack(&stack, NULL) == 0);
}

static void crash(void)
{
	volatile int *volatile nowhere = (volatile int *)8;
	*nowhere = 1;
}

int main(int argc, char **argv)
{
	static char variables[VARIABLES_MAX][16];
	static const char *const COUNTS[] = { "0", "120", "430", "465", "499", "1000" };
	const struct sigaction action = { .sa_handler = report, .sa_flags = SA_ONSTACK };

	if (argc == 1) {
		for (size_t i = 0; i < sizeof(COUNTS) / sizeof(COUNTS[0]); i++)
			show_self(COUNTS[i]);
		return 0;
	}
	for (int i = 0; i < atoi(argv[1]) && i < VARIABLES_MAX; i++) {
		snprintf(variables[i], sizeof(variables[i]), "VV%d=1", i);
		CHECK(putenv(variables[i]) == 0);
	}
	set_stack();
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
	CHECK(raise(SIGUSR1) == 0);
	crash();
	return 4;
}
