/* Hazard: an environment of 10,000 variables, and one as large as the kernel takes: a shim that copies it to the stack,
 * or adds to one that has no room, changes what exec answers. */
#include "check.h"

enum { VARIABLES = 10000 };

static int count_variables(void)
{
	long count = 0, sum = 0;
	for (char **variable = environ; *variable; variable++) {
		if (strncmp(*variable, "V", 1) != 0)
			continue;
		count++;
		sum += atol(strchr(*variable, '=') + 1);
	}
	printf("%ld variables, their sum %ld\n", count, sum);
	return 3;
}

int main(int argc, char **argv)
{
	static char text[VARIABLES][24];
	static char *list[VARIABLES + 200];
	int count = 0;

	if (argc > 1)
		return count_variables();
	(void)argv;
	for (char **variable = environ; *variable && count < 100; variable++)
		list[count++] = *variable;
	for (int i = 0; i < VARIABLES; i++) {
		snprintf(text[i], sizeof(text[i]), "V%d=%d", i, i);
		list[count++] = text[i];
	}
	environ = list;
	show_self("inherited");
	char *const words[] = { (char *)"self", (char *)"list", NULL };
	pid_t child = fork_flushed();
	if (child == 0) {
		execve(self(), words, list);
		_exit(126);
	}
	show_exit("execve", child);
	child = vfork();
	if (child == 0) {
		execvpe(self(), words, list);
		_exit(126);
	}
	show_exit("vfork, execvpe", child);
	SHOW(system("exit 4"));

	/* One text of more than the kernel takes (MAX_ARG_STRLEN). */
	size_t size_bytes = 140000;
	char *long_text = malloc(size_bytes);
	memset(long_text, 'x', size_bytes - 1);
	long_text[size_bytes - 1] = '\0';
	memcpy(long_text, "LONG=", 5);
	char *too_long[] = { long_text, NULL };
	SHOW(execve(self(), words, too_long));
	free(long_text);
	return 0;
}
