/*
 * A stranger's `head -n N FILE` that does what it should not: UNUSUAL names it.
 *
 *	(empty)   nothing unusual
 *	status    ends by exit(3)
 *	again     opens the file twice
 *	other     prints lines of FILE.other, which is not what it was asked for
 *	more      prints a line more
 *	errors    says something on descriptor 2, too
 *	touches   the file is another one when it ends
 *	stores    what is in the file is changed by a shared mapping, and its times may be what they were
 *	thread    prints in a thread
 *	kills     is killed at its end
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char bytes[1 << 16];
static size_t length;

static size_t head(size_t size, int lines)
{
	size_t end = 0;
	while (end < size && lines > 0)
		lines -= bytes[end++] == '\n';
	return end;
}

static void print(void)
{
	if (write(1, bytes, length) != (ssize_t)length)
		exit(4);
}

static void *print_in_thread(void *path)
{
	int fd = open(path, O_RDONLY);
	print();
	(void)close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *kind = getenv("UNUSUAL");
	char other[4096], *map = NULL;

	if (argc != 4 || !kind)
		return 5;
	const char *path = argv[3];
	(void)snprintf(other, sizeof(other), "%s.other", path);
	if (strcmp(kind, "other") == 0)
		path = other;
	if (strcmp(kind, "stores") == 0) {
		/* its times are those of the first store: of later ones until the page is written back */
		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(path, O_RDWR), 0);
		if (map == (char *)MAP_FAILED)
			return 9;
		*(volatile char *)map = *(volatile char *)map;
	}
	int fd = open(path, O_RDONLY);
	if (strcmp(kind, "again") == 0)
		(void)close(open(path, O_RDONLY));
	ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
	if (got < 0)
		return 6;
	length = head((size_t)got, atoi(argv[2]) + (strcmp(kind, "more") == 0));
	if (strcmp(kind, "thread") == 0) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, print_in_thread, argv[3]) != 0)
			return 7;
		(void)pthread_join(thread, NULL);
	} else {
		print();
	}
	if (strcmp(kind, "errors") == 0)
		(void)!write(2, "x", 1);
	if (strcmp(kind, "touches") == 0 && pwrite(open(path, O_RDWR), "X", 1, 0) != 1)
		return 8;
	if (map)
		map[0] = 'X';
	if (strcmp(kind, "kills") == 0)
		(void)kill(getpid(), SIGKILL);
	return strcmp(kind, "status") == 0 ? 3 : 0;
}
