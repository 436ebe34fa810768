/*
 * The window between the guard's check and the call: an outsider replaces a file, a guarded writer writes over it.
 *
 * usage: window outsider FILE PAUSE_US      until standard input ends; prints how many versions it made
 *        window writer FILE COUNT WAIT_US   COUNT times: reads FILE, waits, writes it anew
 *
 * The outsider's versions are of BYTES bytes, begin with "outsider N" and take FILE's place by rename; between two it pauses for 0 to
 * PAUSE_US, by chance.  Each has N as the extended attribute user.version, so that the writer can tell which one it has truncated.
 *
 * The writer prints a line for each write: READ DESTROYED ERRNO: what it had read before (0: none of the outsider's), what was there when
 * it was truncated (0: its own), and why it failed (0: it did not).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/support/support.h"

enum { BYTES = 4096 };

static const char ATTRIBUTE[] = "user.version";

static char content[BYTES];

static void make(const char *whose, unsigned long number)
{
	memset(content, '.', sizeof(content));
	content[sizeof(content) - 1] = '\n';
	int length = snprintf(content, sizeof(content), "%s %lu", whose, number);
	content[length] = '\n';
}

static int act_outsider(const char *path, unsigned pause_us)
{
	struct pollfd end = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned long number = 0;
	char temporary[4096];

	(void)snprintf(temporary, sizeof(temporary), "%s.outsider", path);
	while (poll(&end, 1, 0) == 0) {
		make("outsider", ++number);
		int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		must(fd >= 0 && fsetxattr(fd, ATTRIBUTE, &number, sizeof(number), 0) == 0);
		must(write(fd, content, BYTES) == BYTES && close(fd) == 0);
		must(rename(temporary, path) == 0);
		if (pause_us)
			(void)usleep((unsigned)rand() % pause_us);
	}
	(void)printf("%lu\n", number);
	return 0;
}

static unsigned long number_in(const char *path)
{
	unsigned long number = 0;
	int fd = open(path, O_RDONLY);

	must(fd >= 0 && read(fd, content, sizeof(content)) >= 0 && close(fd) == 0);
	return sscanf(content, "outsider %lu", &number) == 1 ? number : 0;
}

static int act_writer(const char *path, unsigned long count, unsigned wait_us)
{
	for (unsigned long i = 1; i <= count; i++) {
		unsigned long seen = number_in(path), destroyed = 0;
		int error = 0;

		if (wait_us)
			(void)usleep(wait_us);
		make("session", i);
		int fd = open(path, O_WRONLY | O_TRUNC);
		if (fd < 0) {
			error = errno;
		} else {
			if (fgetxattr(fd, ATTRIBUTE, &destroyed, sizeof(destroyed)) < 0)
				destroyed = 0;
			else
				must(fremovexattr(fd, ATTRIBUTE) == 0);
			must(write(fd, content, BYTES) == BYTES && close(fd) == 0);
		}
		(void)printf("%lu %lu %d\n", seen, destroyed, error);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "outsider") == 0)
		return act_outsider(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	if (argc == 5 && strcmp(argv[1], "writer") == 0)
		return act_writer(argv[2], strtoul(argv[3], NULL, 10),
				  (unsigned)strtoul(argv[4], NULL, 10));
	(void)fprintf(stderr,
		      "usage: window outsider FILE PAUSE_US | window writer FILE COUNT WAIT_US\n");
	return 2;
}
