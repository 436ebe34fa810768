/* Hazard: what a program finds in its environment and leaves for its children.  Their order, their values, their number
 * are those of its starter but for LD_PRELOAD and SEEN_*; UV_USE_IO_URING is the one that `seen run` documents. */
#include "check.h"

static int show_variables(void)
{
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, "LD_PRELOAD=", 11) != 0 &&
		    strncmp(*variable, "SEEN_", 5) != 0 &&
		    strncmp(*variable, "UV_USE_IO_URING=", 16) != 0)
			printf("%s\n", *variable);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return show_variables();
	(void)argv;
	/* As it was given. */
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, "LD_PRELOAD=", 11) != 0 &&
		    strncmp(*variable, "SEEN_", 5) != 0 &&
		    strncmp(*variable, "UV_USE_IO_URING=", 16) != 0)
			printf("%.*s\n", (int)strcspn(*variable, "="), *variable);
	/* As it hands it on. */
	char *before = environ[0];
	char **list = environ;
	CHECK(putenv((char *)"PUT=1") == 0);
	CHECK(setenv("SET", "2", 1) == 0);
	CHECK(unsetenv("HOME") == 0);
	show_self("child");
	CHECK(environ[0] == before || list != environ);
	char variable[] = "CHANGED=before";
	CHECK(putenv(variable) == 0);
	memcpy(variable + 8, "behind", 6);
	show_self("child");
	return 0;
}
