/* Hazard: daemons that close every descriptor they did not open, in one call or one by one; the numbers are used
 * again at once.  A shim with a descriptor of its own would lose it, or write to a stranger's file. */
#include "check.h"

static void work(const char *what)
{
	char bytes[64];
	char *const cat[] = { (char *)"/bin/cat", (char *)"file", NULL };

	printf("-- %s\n", what);
	write_file("file", "the file\n", 0644);
	SHOW(open("file", O_RDONLY));
	SHOW(open("written", O_WRONLY | O_CREAT | O_TRUNC, 0644));
	SHOW(read(3, bytes, sizeof(bytes)));
	SHOW(write(4, bytes, 9));
	SHOW(dup2(3, 4));
	SHOW(read(4, bytes, sizeof(bytes)));
	show_file("written");
	show_run("cat", cat);
	SHOW(rename("written", "renamed"));
	SHOW(close(3));
	SHOW(close(4));
}

static void child_of(const char *what, int way)
{
	pid_t child = fork_flushed();
	if (child == 0) {
		if (way == 0)
			CHECK(close_range(3, ~0u, 0) == 0);
		else if (way == 1)
			closefrom(3);
		else if (way == 2)
			for (int fd = 3; fd < 4096; fd++)
				close(fd);
		else if (way == 3)
			CHECK(close_range(3, ~0u, CLOSE_RANGE_UNSHARE) == 0);
		else
			CHECK(close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) == 0);
		work(what);
		exit(0);
	}
	show_exit(what, child);
}

int main(void)
{
	child_of("close_range", 0);
	child_of("closefrom", 1);
	child_of("close, one by one", 2);
	child_of("close_range, not shared", 3);
	child_of("close_range, at exec", 4);

	/* A daemon: a session of its own, its standard descriptors /dev/null; what it says goes to a file. */
	pid_t child = fork_flushed();
	if (child == 0) {
		if (daemon(1, 0) != 0)
			_exit(9);
		int said = open("said", O_WRONLY | O_CREAT | O_TRUNC, 0644);
		dup2(said, 1);
		closefrom(3);
		work("daemon");
		CHECK(rename("said", "all-said") == 0);
		exit(0);
	}
	show_exit("daemon's parent", child);
	for (int i = 0; i < 3000 && access("all-said", F_OK) != 0; i++)
		usleep(10000);
	show_file("all-said");
	return 0;
}
