/* A viewer: `cat FILE...`, by open and sendfile; by read and write where the kernel refuses that. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

static int send_to_output(int fd)
{
	char bytes[4096];
	ssize_t count;

	while ((count = sendfile(1, fd, NULL, 1 << 20)) > 0)
		;
	if (count == 0 || errno != EINVAL)
		return (int)count;
	while ((count = read(fd, bytes, sizeof(bytes))) > 0)
		if (write(1, bytes, (size_t)count) != count)
			return -1;
	return (int)count;
}

int main(int argc, char **argv)
{
	int status = 0, first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;

	if (first == argc)
		return send_to_output(0) < 0;
	for (int i = first; i < argc; i++) {
		int fd = strcmp(argv[i], "-") == 0 ? 0 : open(argv[i], O_RDONLY);
		if (fd < 0 || send_to_output(fd) < 0) {
			(void)fprintf(stderr, "cat: %s: %s\n", argv[i], strerror(errno));
			status = 1;
		}
		if (fd > 0)
			(void)close(fd);
	}
	return status;
}
