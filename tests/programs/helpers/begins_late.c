/* begins_late MILLISECONDS COMMAND...: ends at once, and leaves a copy that no handler of fork(3) runs in.  It says nothing
 * for that long, as one that has not run yet, and becomes the command then.
 * begins_late then MILLISECONDS COMMAND...: leaves no copy. */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	bool is_copy = argc > 1 && strcmp(argv[1], "then") == 0;

	argv += is_copy;
	if (argc - is_copy < 3)
		return 2;
	if (!is_copy && syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != 0)
		return 0;
	(void)usleep((useconds_t)strtoul(argv[1], NULL, 10) * 1000);
	(void)execvp(argv[2], argv + 2);
	return 127;
}
