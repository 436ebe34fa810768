/* agent_by_itself COMMAND...: an agent that starts each command through another start of itself, which becomes the shell; hands on
 * what they print. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char bytes[4096];
	ssize_t count;
	int ends[2];

	if (argc == 3 && strcmp(argv[1], "--become") == 0) {
		execl("/bin/bash", "bash", "-c", argv[2], (char *)NULL);
		return 127;
	}
	for (int i = 1; i < argc; i++) {
		if (pipe(ends) < 0)
			return 2;
		if (fork() == 0) {
			(void)dup2(ends[1], 1);
			(void)close(ends[0]);
			(void)close(ends[1]);
			execl("/proc/self/exe", argv[0], "--become", argv[i], (char *)NULL);
			_exit(127);
		}
		(void)close(ends[1]);
		while ((count = read(ends[0], bytes, sizeof(bytes))) > 0)
			if (write(1, bytes, (size_t)count) != count)
				return 2;
		(void)close(ends[0]);
		(void)wait(NULL);
	}
	return 0;
}
