/* Hazard: system() and popen(), which start a shell by libc's own calls; signals of the parent meanwhile; pipes in both
 * directions and with "e". */
#include "check.h"

static void show_popen(const char *command, const char *mode)
{
	char line[200];
	fflush(stdout);
	FILE *stream = popen(command, mode);
	CHECK(stream);
	if (mode[0] == 'w')
		fprintf(stream, "one\ntwo\n");
	else
		while (fgets(line, sizeof(line), stream))
			printf("read: %s", line);
	show_status(command, pclose(stream));
}

int main(void)
{
	write_file("file", "the file\n", 0644);
	SHOW(system("cat file"));
	SHOW(system("exit 3"));
	SHOW(system("kill -9 $$"));
	SHOW(system("no-such-program 2>/dev/null"));
	SHOW(system(""));
	SHOW(system(":"));
	SHOW(system("cat file | tr a-z A-Z | cat; (cat file; cat file) >copy; wc -l <copy"));
	SHOW(system("sleep 0.01 & wait; echo background"));
	SHOW(system("x=$(cat file); echo \"$x\"; test \"$x\" = 'the file'"));
	show_popen("cat file", "r");
	show_popen("cat file", "re");
	show_popen("cat", "w");
	show_popen("exit 5", "r");
	show_popen("kill -TERM $$", "r");
	show_popen("head -1", "we");
	/* Many at once. */
	FILE *streams[20];
	for (int i = 0; i < 20; i++)
		CHECK(streams[i] = popen("cat file", "r"));
	char line[100];
	for (int i = 19; i >= 0; i--) {
		CHECK(fgets(line, sizeof(line), streams[i]) && strcmp(line, "the file\n") == 0);
		CHECK(pclose(streams[i]) == 0);
	}
	SHOW(waitpid(-1, NULL, 0));
	/* Without LD_PRELOAD, or with an empty one: the library's words for it stand before the command's. */
	CHECK(unsetenv("LD_PRELOAD") == 0);
	SHOW(system("cat file; exit 3"));
	show_popen("cat 'file'; exit 5", "r");
	CHECK(setenv("LD_PRELOAD", "", 1) == 0);
	SHOW(system("cat \"file\"; exit 4"));
	return 0;
}
