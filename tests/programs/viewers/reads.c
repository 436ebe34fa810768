/* A viewer: `cat FILE...`, by open, read and write. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int copy_to_output(int fd)
{
	char bytes[16384];
	ssize_t count;

	while ((count = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t at = 0; at < count;) {
			ssize_t written = write(1, bytes + at, (size_t)(count - at));
			if (written < 0)
				return -1;
			at += written;
		}
	return (int)count;
}

int main(int argc, char **argv)
{
	int status = 0, first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;

	if (first == argc)
		return copy_to_output(0) < 0;
	for (int i = first; i < argc; i++) {
		int fd = strcmp(argv[i], "-") == 0 ? 0 : open(argv[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0 || copy_to_output(fd) < 0) {
			(void)fprintf(stderr, "cat: %s: %s\n", argv[i], strerror(errno));
			status = 1;
		}
		if (fd > 0)
			(void)close(fd);
	}
	return status;
}
