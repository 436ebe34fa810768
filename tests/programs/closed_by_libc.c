/* Hazard: descriptors that libc closes, moves or keeps open by itself: a shim that counts by number takes the next file for the last
 * one.  Each name is a part of its own: test_journal.py runs them one by one. */
#include "check.h"

#include <linux/close_range.h>
#include <mntent.h>
#include <pty.h>
#include <utmp.h>

/* Uses descriptors that were just free. */
static void use_pipe(void)
{
	char bytes[8];
	int ends[2];
	CHECK(pipe(ends) == 0);
	printf("pipe %d %d\n", ends[0], ends[1]);
	SHOW(write(ends[1], "abc", 3));
	SHOW(read(ends[0], bytes, 3));
	CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
}

static void kept_open(void)
{
	int fd = open("kept", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	SHOW(close_range(3, ~0u, CLOSE_RANGE_CLOEXEC));
	SHOW(write(fd, "secret", 6));
	SHOW(write(fd, "x", 1));
	SHOW(close(fd));
	fd = open("also", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	SHOW(fcloseall());
	SHOW(write(fd, "secret", 6));
	SHOW(close(fd));
}

static void closed(void)
{
	int fd = open("file", O_RDONLY);
	CHECK(fd >= 0);
	SHOW(close_range((unsigned)fd, ~0u, 0));
	use_pipe();
}

static void moved(void)
{
	FILE *stream = fopen("seek", "w");
	SHOW(fputs("hello", stream) > 0);
	SHOW(fseek(stream, 0, SEEK_SET));
	SHOW(fclose(stream));
	stream = fopen("rewind", "w");
	for (int i = 0; i < 10; i++)
		CHECK(fputs("hello", stream) >= 0);
	rewind(stream);
	SHOW(fputs("J", stream) > 0);
	SHOW(fclose(stream));
	stream = fopen("flush", "w");
	SHOW(fputs("hello", stream) > 0);
	SHOW(fflush(stream));
	SHOW(fclose(stream));
	stream = fopen("nothing", "w");
	SHOW(fclose(stream));
	show_file("rewind");
}

static void reopened(void)
{
	FILE *stream = fopen("file", "r");
	SHOW_POINTER(freopen("missing", "r", stream));
	use_pipe();
}

static void mounts(void)
{
	FILE *stream = setmntent("file", "r");
	CHECK(stream);
	SHOW(endmntent(stream));
	use_pipe();
}

/* In a child, whose standard output is a file: what is written next goes to /dev/null. */
static void daemonized(void)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	pid_t child = fork_flushed();
	if (child == 0) {
		int fd = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || dup2(fd, 1) != 1 || close(fd) != 0)
			_exit(9);
		(void)!write(1, "before", 6);
		if (daemon(0, 0) != 0)
			_exit(8);
		(void)!write(1, "to nowhere", 10);
		(void)!open("dev/null", O_RDONLY);
		(void)!write(ends[1], "x", 1);
		_exit(0);
	}
	show_exit("daemon", child);
	char byte;
	CHECK(close(ends[1]) == 0);
	SHOW(read(ends[0], &byte, 1));
	SHOW(read(ends[0], &byte, 1)); /* until it is gone */
	CHECK(close(ends[0]) == 0);
	show_file("output");
}

static void on_terminal(void)
{
	int manager, terminal;
	if (openpty(&manager, &terminal, NULL, NULL, NULL) != 0)
		return;
	pid_t child = fork_flushed();
	if (child == 0) {
		int fd = open("terminal output", O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || dup2(fd, 1) != 1 || close(fd) != 0)
			_exit(9);
		(void)!write(1, "before", 6);
		if (login_tty(terminal) != 0)
			_exit(8);
		(void)!write(1, "to the terminal", 15);
		_exit(0);
	}
	char bytes[64];
	CHECK(close(terminal) == 0);
	SHOW(read(manager, bytes, sizeof(bytes)));
	CHECK(close(manager) == 0);
	show_exit("login_tty", child);
	show_file("terminal output");
}

/* The number of its parent's file is another one's in the child, which makes it the next program's input. */
static void vforked(void)
{
	int fd = open("file", O_RDONLY);
	CHECK(fd >= 0);
	fflush(stdout);
	pid_t child = vfork();
	if (child == 0) {
		close(fd);
		if (open("other", O_RDONLY) != fd || dup2(fd, 0) != 0)
			_exit(9);
		execl("/bin/cat", "cat", NULL);
		_exit(1);
	}
	show_exit("cat", child);
	char byte;
	SHOW(read(fd, &byte, 1));
	CHECK(close(fd) == 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} PARTS[] = { { "kept_open", kept_open },  { "closed", closed },
		      { "moved", moved },          { "reopened", reopened },
		      { "mounts", mounts },        { "daemonized", daemonized },
		      { "terminal", on_terminal }, { "vforked", vforked } };

	write_file("file", "the file\n", 0644);
	write_file("other", "the other\n", 0644);
	for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++)
		if (argc > 1 && strcmp(argv[1], PARTS[i].name) == 0)
			PARTS[i].run();
		else if (argc == 1)
			show_self(PARTS[i].name);
	return 0;
}
