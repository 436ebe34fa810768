/* Hazard: a shim that registers a handler of its own: the order of the program's, those that register more, that exit
 * again, that open files; destructors; and a stream's bytes that are only written then. */
#include "check.h"

#include <pthread.h>

static void print_text(const char *text)
{
	CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

#define HANDLER(n) \
	static void handler_##n(void) \
	{ \
		print_text("atexit " #n "\n"); \
	}
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
TEN(HANDLER, 1)
TEN(HANDLER, 2)

static void on_exit_handler(int status, void *number)
{
	char text[64];
	snprintf(text, sizeof(text), "on_exit %ld, status %d\n", (long)number, status);
	print_text(text);
}

static void registered_late(void)
{
	print_text("registered by a handler\n");
}

static void registers(void)
{
	print_text("registers\n");
	atexit(registered_late);
}

static void opens(void)
{
	char bytes[20];
	int fd = open("file", O_RDONLY);
	ssize_t count = read(fd, bytes, sizeof(bytes));
	print_text(count == 9 ? "opened in a handler\n" : "odd\n");
	close(fd);
	rename("file", "renamed");
	rename("renamed", "file");
}

static void exits_again(void)
{
	print_text("exit in a handler\n");
	exit(6);
}

__attribute__((constructor)) static void start(void)
{
	print_text("constructor\n");
}

__attribute__((destructor)) static void finish(void)
{
	opens();
	print_text("destructor\n");
}

static void *exit_in_thread(void *unused)
{
	(void)unused;
	exit(8);
}

int main(int argc, char **argv)
{
	int way = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t thread;

	if (!way) {
		write_file("file", "the file\n", 0644);
		for (char digit = '1'; digit <= '7'; digit++) {
			char mode[2] = { digit, '\0' };
			printf("-- %s\n", mode);
			show_self(mode);
		}
	}
#define REGISTER(n) CHECK(atexit(handler_##n) == 0);
	TEN(REGISTER, 1)
	for (long i = 0; i < 20; i++)
		CHECK(on_exit(on_exit_handler, (void *)i) == 0);
	TEN(REGISTER, 2)
	CHECK(atexit(registers) == 0 && atexit(opens) == 0);
	printf("left in the buffer\n");
	switch (way) {
	case 1:
		CHECK(atexit(exits_again) == 0);
		exit(5);
	case 2:
		CHECK(pthread_create(&thread, NULL, exit_in_thread, NULL) == 0);
		pause();
		break;
	case 3:
		_exit(7);
	case 4:
		CHECK(at_quick_exit(registered_late) == 0);
		quick_exit(9);
	case 5:
		pthread_exit(NULL);
	case 6:
		CHECK(freopen("/dev/full", "w", stdout) != NULL);
		printf("not to be written\n");
		exit(fflush(stdout) == 0 ? 1 : 4);
	case 7: {
		/* A fork that ends by exit runs all of them too. */
		pid_t child = fork_flushed();
		if (child == 0)
			exit(3);
		show_exit("fork", child);
		exit(256 + 2);
	}
	default:
		break;
	}
	return 0;
}
