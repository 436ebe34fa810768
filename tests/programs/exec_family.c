/* Hazard: every way to replace a program: lists of words of any length, by descriptor, by an empty path, by a search of
 * PATH with scripts that have no first line (ENOEXEC: the shell takes them), and from a thread that is not the first. */
#include "check.h"

#include <pthread.h>
#include <spawn.h>

static int show_words(int argc, char **argv)
{
	printf("%d:", argc);
	for (int i = 1; i < argc; i++)
		printf(" %s", argv[i]);
	printf(" (ONE is %s)\n", getenv("ONE") ? getenv("ONE") : "not set");
	return 3;
}

/* Runs STATEMENT in a child and shows what became of it. */
#define IN_CHILD(what, statement) \
	do { \
		pid_t child = fork_flushed(); \
		if (child == 0) { \
			statement; \
			_exit(100 + (errno == ENOENT) + 2 * (errno == EACCES) + \
			      3 * (errno == ENOEXEC)); \
		} \
		show_exit(what, child); \
	} while (0)

static void *from_thread(void *path)
{
	execl(path, "self", "words", "from", "a", "thread", NULL);
	_exit(126);
}

static void in_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, from_thread, (void *)self());
	pthread_join(thread, NULL);
	_exit(125);
}

#define W10 "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"
#define W100 W10, W10, W10, W10, W10, W10, W10, W10, W10, W10

int main(int argc, char **argv)
{
	char *const words[] = { (char *)"self", (char *)"words", (char *)"v", NULL };
	char *const script_words[] = { (char *)"script", (char *)"s", NULL };
	char *const one[] = { (char *)"ONE=1", NULL };
	const char *path = self();

	if (argc > 1)
		return show_words(argc, argv);
	dup2(1, 2);
	CHECK(mkdir("bin", 0755) == 0 && mkdir("closed", 0) == 0);
	write_file("bin/script", "echo no first line: $0 $1\n", 0755);
	write_file("bin/named", "#!/bin/sh -e\necho first line: $1\n", 0755);
	write_file("bin/plain", "echo\n", 0644);
	write_file("bin/lost", "#!/no/such/interpreter\n", 0755);
	write_file("bin/empty", "", 0755);
	CHECK(symlink("named", "bin/linked") == 0);

	IN_CHILD("execv", execv(path, words));
	IN_CHILD("execve", execve(path, words, one));
	IN_CHILD("execvp", execvp(path, words));
	IN_CHILD("execvpe", execvpe(path, words, one));
	IN_CHILD("execl", execl(path, "self", "words", "l", NULL));
	IN_CHILD("execl, 402 words", execl(path, "self", "words", W100, W100, W100, W100, NULL));
	IN_CHILD("execl, no words", execl(path, "self", NULL));
	IN_CHILD("execlp", execlp(path, "self", "words", "lp", NULL));
	IN_CHILD("execle", execle(path, "self", "words", "le", NULL, one));
	IN_CHILD("execle, 302 words", execle(path, "self", "words", W100, W100, W100, NULL, one));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	IN_CHILD("fexecve", fexecve(fd, words, one));
	IN_CHILD("execveat, empty path", execveat(fd, "", words, one, AT_EMPTY_PATH));
	IN_CHILD("execveat, absolute", execveat(-7, path, words, one, 0));
	int bin = open("bin", O_RDONLY | O_DIRECTORY);
	IN_CHILD("execveat, relative", execveat(bin, "named", script_words, one, 0));
	IN_CHILD("execveat, not through a link",
		 execveat(bin, "linked", script_words, one, AT_SYMLINK_NOFOLLOW));
	int script = open("bin/named", O_RDONLY);
	IN_CHILD("fexecve, a script", fexecve(script, script_words, environ));
	int gone = open(path, O_RDONLY);
	CHECK(dup2(gone, 200) == 200);
	IN_CHILD("execveat, descriptor 200", execveat(200, "", words, one, AT_EMPTY_PATH));
	IN_CHILD("from a thread", in_thread());

	CHECK(setenv("PATH", "closed:missing:bin:/bin:/usr/bin", 1) == 0);
	IN_CHILD("PATH, first line", execvp("named", script_words));
	IN_CHILD("PATH, no first line", execvp("script", script_words));
	IN_CHILD("PATH, no first line, own environment", execvpe("script", script_words, one));
	IN_CHILD("PATH, no first line, words", execlp("script", "script", "t", NULL));
	IN_CHILD("no first line", execv("bin/script", script_words));
	IN_CHILD("PATH, not executable", execvp("plain", script_words));
	IN_CHILD("PATH, interpreter not there", execvp("lost", script_words));
	IN_CHILD("PATH, empty file", execvp("empty", script_words));
	IN_CHILD("PATH, nowhere", execvp("no-such-program", script_words));
	IN_CHILD("with a slash", execvp("bin/named", script_words));
	CHECK(setenv("PATH", "", 1) == 0);
	IN_CHILD("empty PATH", execvp("cat", script_words));
	CHECK(unsetenv("PATH") == 0);
	IN_CHILD("no PATH", execlp("cat", "cat", "bin/plain", NULL));
	return 0;
}
