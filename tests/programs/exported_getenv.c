/* Hazard: bash has a getenv, setenv, unsetenv and putenv of its own and exports them: a shim that calls getenv gets into
 * the program's tables before they are there.  This program's end it. */
#include "check.h"

static bool is_ready;

#define OWN(name) \
	do { \
		if (!is_ready) { \
			write(1, name " called too early\n", sizeof(name " called too early")); \
			abort(); \
		} \
	} while (0)

char *getenv(const char *name)
{
	OWN("getenv");
	return (char *)(strcmp(name, "PATH") == 0 ? "/bin:/usr/bin" : "own");
}

char *secure_getenv(const char *name)
{
	OWN("secure_getenv");
	return getenv(name);
}

int setenv(const char *name, const char *value, int replace)
{
	OWN("setenv");
	(void)name;
	(void)value;
	(void)replace;
	return 0;
}

int unsetenv(const char *name)
{
	OWN("unsetenv");
	(void)name;
	return 0;
}

int putenv(char *variable)
{
	OWN("putenv");
	(void)variable;
	return 0;
}

int main(void)
{
	write_file("file", "the file\n", 0644);
	show_file("file");
	SHOW(rename("file", "renamed"));
	SHOW(system("cat renamed"));
	is_ready = true;
	printf("%s\n", getenv("ANY"));
	SHOW(system("cat renamed"));
	pid_t child = fork_flushed();
	if (child == 0) {
		execlp("cat", "cat", "renamed", NULL);
		_exit(126);
	}
	show_exit("execlp", child);
	is_ready = false;
	return 0;
}
