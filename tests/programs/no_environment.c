/* Hazard: programs that start others with an environment of their own, or none: clearenv, env -i, execve with a list
 * made by hand.  Those must find just what was given to them, and may see LD_PRELOAD and names that begin with SEEN_. */
#include "check.h"

static bool is_of_seen(const char *variable)
{
	return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "SEEN_", 5) == 0;
}

static int show_environment(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		if (!is_of_seen(*variable))
			printf("variable %s\n", *variable);
	SHOW(open("file", O_RDONLY));
	return 3;
}

static void with(const char *what, char *const environment[])
{
	char *const argv[] = { (char *)"self", (char *)"environment", NULL };
	pid_t child = fork_flushed();
	if (child == 0) {
		execve(self(), argv, environment);
		_exit(126);
	}
	show_exit(what, child);
}

int main(int argc, char **argv)
{
	char command[8192], huge[100000];
	char *const none[] = { NULL };
	char *const one[] = { (char *)"ONE=1", NULL };
	char *const strange[] = { (char *)"",
				  (char *)"=",
				  (char *)"=x",
				  (char *)"noequals",
				  (char *)"TWICE=1",
				  (char *)"TWICE=2",
				  (char *)"LD_PRELOADX=1",
				  (char *)"NEWLINE=a\nb",
				  (char *)"BYTES=\xff\xfe",
				  NULL };
	char *const big[] = { huge, (char *)"AFTER=1", NULL };

	if (argc > 1)
		return show_environment();
	(void)argv;
	dup2(1, 2);
	write_file("file", "the file\n", 0644);
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	memcpy(huge, "HUGE=", 5);
	with("none", none);
	with("NULL", NULL);
	with("one", one);
	with("strange", strange);
	snprintf(command, sizeof(command), "env -i A=b '%s' environment", self());
	SHOW(system(command));
	snprintf(command, sizeof(command),
		 "env -u LD_PRELOAD -i A=b sh -c 'cat file; \"%s\" environment'", self());
	SHOW(system(command) != -1);
	with("a long one", big + 1);
	CHECK(clearenv() == 0);
	CHECK(environ == NULL || *environ == NULL);
	show_self("cleared");
	SHOW(system("cat file"));
	CHECK(setenv("BACK", "1", 1) == 0);
	show_self("set again");
	environ = NULL;
	show_self("NULL");
	/* Its own environment has not been touched. */
	CHECK(environ == NULL);
	return 0;
}
