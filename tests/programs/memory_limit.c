/* Hazard: a program whose address space, stack, data, file size or process count is limited, as build farms and judges
 * do: what a shim maps is taken from the program. */
#include "check.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

/* Takes as much as it was given to expect. */
static int allocate(const char *megabytes)
{
	size_t size_bytes = (size_t)atoi(megabytes) * MIB;
	char *memory = malloc(size_bytes);
	printf("%s MiB: %s\n", megabytes, memory ? "there" : strerrorname_np(errno));
	show_file("file");
	SHOW(system("exit 3"));
	free(memory);
	return 0;
}

static void with(const char *what, int resource, rlim_t limit, const char *megabytes)
{
	pid_t child = fork_flushed();
	if (child == 0) {
		struct rlimit value = { limit, limit };
		CHECK(setrlimit(resource, &value) == 0);
		execl(self(), "self", megabytes, NULL);
		_exit(126);
	}
	show_exit(what, child);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return allocate(argv[1]);
	dup2(1, 2);
	write_file("file", "the file\n", 0644);
	with("address space, 256 MiB", RLIMIT_AS, 256 * MIB, "200");
	with("address space, 64 MiB", RLIMIT_AS, 64 * MIB, "55");
	with("address space, 16 MiB", RLIMIT_AS, 16 * MIB, "8");
	with("address space, 6 MiB", RLIMIT_AS, 6 * MIB, "1");
	with("data, 16 MiB", RLIMIT_DATA, 16 * MIB, "8");
	with("data, 2 MiB", RLIMIT_DATA, 2 * MIB, "1");
	with("stack, 256 KiB", RLIMIT_STACK, 256 << 10, "1");
	with("stack, 64 KiB", RLIMIT_STACK, 64 << 10, "1");
	with("file size 0", RLIMIT_FSIZE, 0, "1");
	with("locked memory 0", RLIMIT_MEMLOCK, 0, "1");
	with("core 0", RLIMIT_CORE, 0, "1");
	return 0;
}
