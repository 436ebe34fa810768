/* Hazard: a program started without standard input, output or error.  The first file that it opens gets that number,
 * and a shim that opens a file at the start, or writes a message, would be taken for it. */
#include "check.h"

/* In a program that was started so: prints to the file named by an inherited descriptor 9. */
static int print_opens(void)
{
	dprintf(9, "open gives %d", open("file", O_RDONLY));
	dprintf(9, " %d", open("file", O_RDONLY));
	dprintf(9, " %d;", open("file", O_RDWR));
	FILE *stream = fopen("file", "r");
	dprintf(9, " fopen %d;", stream ? fileno(stream) : -1);
	dprintf(9, " printf %d", printf("to standard output\n") < 0 ? -1 : 0);
	dprintf(9, " %s", fflush(stdout) == 0 ? "ok" : strerrorname_np(errno));
	dprintf(9, "; popen %s", system("exit 3") == 3 << 8 ? "ok" : "odd");
	dprintf(9, "\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return print_opens();
	(void)argv;
	for (int closed = 0; closed < 8; closed++) {
		write_file("file", "the file\n", 0644);
		printf("closed:%s%s%s\n", closed & 1 ? " 0" : "", closed & 2 ? " 1" : "",
		       closed & 4 ? " 2" : "");
		pid_t child = fork_flushed();
		if (child == 0) {
			dup2(1, 9);
			for (int fd = 0; fd < 3; fd++)
				if (closed & 1 << fd)
					close(fd);
			execl(self(), "self", "look", NULL);
			_exit(8);
		}
		show_exit("program", child);
		show_file("file");
	}
	fclose(stdin);
	fclose(stdout);
	fclose(stderr);
	/* Here standard output is gone: the result is the exit status. */
	int first = open("file", O_RDONLY), second = open("file", O_RDONLY);
	return first == 0 && second == 1 ? 0 : 1;
}
