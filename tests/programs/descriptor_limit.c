/* Hazard: no descriptor is left (RLIMIT_NOFILE): a shim that needs one, at the start or later, fails a program that has
 * just enough. */
#include "check.h"

#include <sys/resource.h>

/* Under a limit, with all descriptors but `left` in use: works, and starts a program. */
static void work(int limit, int left)
{
	struct rlimit value = { (rlim_t)limit, (rlim_t)limit };
	int opened = 0, first = 0;

	printf("-- limit %d, %d left\n", limit, left);
	fflush(stdout);
	CHECK(setrlimit(RLIMIT_NOFILE, &value) == 0);
	for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0; opened++)
		first = first ? first : fd;
	printf("opened %d, then %s\n", opened, strerrorname_np(errno));
	for (int i = 0; i < left; i++)
		CHECK(close(first + opened - 1 - i) == 0);
	SHOW(open("missing", O_RDONLY));
	SHOW(rename("missing", "other"));
	SHOW_POINTER(fopen("file", "r"));
	SHOW(dup(0));
	fflush(stdout);
}

static void child_of(int limit, int left)
{
	pid_t child = fork_flushed();
	if (child == 0) {
		work(limit, left);
		/* One must be left for the loader, which opens one library after the other. */
		if (left > 0) {
			closefrom(limit - left);
			execl("/bin/sh", "sh", "-c", "echo a shell; exit 3", NULL);
		}
		exit(0);
	}
	show_exit("program", child);
}

int main(void)
{
	struct rlimit none = { 0, 0 };

	dup2(1, 2);
	write_file("file", "the file\n", 0644);
	child_of(20, 0);
	child_of(20, 1);
	child_of(20, 2);
	child_of(4, 1);
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	SHOW(open("file", O_RDONLY));
	SHOW(rename("file", "renamed"));
	SHOW(unlink("renamed"));
	return 0;
}
