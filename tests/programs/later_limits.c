/* Hazard: a program that limits itself once it runs, as solvers, judges and Python's resource module do, and one that keeps all
 * that it has in memory: what a shim mapped until then counts. */
#include "check.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { MIB = 1 << 20, UNPRIVILEGED = 65534 };

/* More than one window of the journal, of 131072 units. */
enum { EVENTS = 150000 };

static void allocate(size_t size_bytes)
{
	char *memory = malloc(size_bytes);
	printf("%zu MiB: %s\n", size_bytes / MIB, memory ? "there" : strerrorname_np(errno));
	if (memory)
		memset(memory, 'x', size_bytes);
	free(memory);
}

static void limited(size_t limit, size_t size_bytes)
{
	struct rlimit value = { limit, limit };

	printf("-- %zu MiB of address space\n", limit / MIB);
	pid_t child = fork_flushed();
	if (child == 0) {
		CHECK(setrlimit(RLIMIT_AS, &value) == 0);
		allocate(size_bytes);
		show_file("file");
		SHOW(system("exit 3"));
		SHOW(mkdir("folder", 0700));
		SHOW(rmdir("folder"));
		exit(0);
	}
	show_exit("limited", child);
}

/* Goes on at length behind the limit: what is mapped later counts as well. */
static void at_length(void)
{
	struct rlimit value = { 256 * MIB, 256 * MIB };
	long missing = 0;

	CHECK(setrlimit(RLIMIT_AS, &value) == 0);
	for (int i = 0; i < EVENTS; i++)
		missing += unlink("missing") == -1 && errno == ENOENT;
	printf("missing %ld times\n", missing);
	allocate(100 * MIB);
	exit(0);
}

/* All of it at once, as gpg-agent and real-time programs do; not as root, whom no limit holds. */
static void locked(int flags)
{
	struct rlimit value = { 64 * MIB, 64 * MIB };

	if (setrlimit(RLIMIT_MEMLOCK, &value) != 0 || setuid(UNPRIVILEGED) != 0)
		exit(0);
	SHOW(mlockall(flags));
	SHOW(open("missing", O_RDONLY));
	allocate(MIB);
	SHOW(munlockall());
	exit(0);
}

int main(void)
{
	write_file("file", "the file\n", 0644);
	limited((size_t)800 * MIB, (size_t)600 * MIB);
	limited((size_t)512 * MIB, (size_t)400 * MIB);
	limited((size_t)256 * MIB, (size_t)150 * MIB);
	SHOW(system("ulimit -v 500000; x=$(printf '%0300000d' 0); echo ${#x}; echo 'end'"));
	pid_t child = fork_flushed();
	if (child == 0)
		at_length();
	show_exit("at length", child);
	static const int FLAGS[] = { MCL_CURRENT, MCL_FUTURE, MCL_CURRENT | MCL_FUTURE };
	for (size_t i = 0; i < sizeof(FLAGS) / sizeof(FLAGS[0]); i++) {
		child = fork_flushed();
		if (child == 0)
			locked(FLAGS[i]);
		show_exit("locked", child);
	}
	return 0;
}
