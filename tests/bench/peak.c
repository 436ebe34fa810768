/*
 * Prints how many KiB a command had in memory at most, and exits as it did.
 *
 * usage: peak FILE COMMAND...: the number is written to FILE.
 *
 * The kernel keeps a process's maximum across exec, and a child begins with what its parent has: a small parent has little.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	FILE *file = argc > 2 ? fopen(argv[1], "w") : NULL;

	if (!file)
		return 2;
	pid_t child = fork();
	if (child == 0) {
		execv(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child)
		return 3;
	(void)fprintf(file, "%ld\n", usage.ru_maxrss);
	return fclose(file) != 0 || !WIFEXITED(status) ? 4 : WEXITSTATUS(status);
}
