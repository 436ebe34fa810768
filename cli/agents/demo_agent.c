/*
 * seen-demo-agent: a small scripted agent, to see what `seen` does without having a real one.
 *
 * 	seen-demo-agent			makes a directory, and runs itself there under `seen run --summary`
 * 	seen-demo-agent --in DIRECTORY	is the agent: files and commands are in DIRECTORY
 *
 * The first is also the person who changes a file while the agent works on it.
 *
 * It starts commands as real agents do: a child, `bash -c`, standard input /dev/null, output and
 * errors to a socket pair; it reads to the end and waits.  What it prints is what a model would
 * get.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/child_output.h"

enum {
	OUTPUT_MAX = 65536, /* bytes of a command's output that are kept */
	SHOWN_COLUMNS = 46, /* of its beginning that are printed */
	DIRECTORIES_OPEN_MAX = 8,
	FAILED = 125,    /* as `seen run` says it */
	PATIENCE = 1500, /* checks, some 2 ms apart */
};

static const char PERSON[] = "SEEN_DEMO_PERSON"; /* in the environment: there is one */

static const struct {
	const char *comment;
	const char *command; /* NULL: an external writer adds a line to the notes */
} STEPS[] = {
	{ "first read", "cat notes.txt" },
	{ "read again", "cat notes.txt" },
	{ "in a pipeline", "cat notes.txt | sha256sum" },
	{ "the same by sum", "sha256sum notes.txt" },
	{ "a change", "sed -i 's/^Line 1 /LINE ONE /' notes.txt" },
	{ "read once more", "cat notes.txt" },
	{ "a person", NULL },
	{ "overwritten", "echo 'All new.' > notes.txt" },
};

static int fail(const char *what)
{
	(void)fprintf(stderr, "seen-demo-agent: %s: %s\n", what, strerror(errno));
	return FAILED;
}

/* ---- the agent ---- */

static int write_notes(void)
{
	FILE *file = fopen("notes.txt", "we");
	if (!file)
		return -1;
	for (int i = 1; i <= 30; i++)
		(void)fprintf(file, "Line %d of the notes that the model wants to read.\n", i);
	return fclose(file);
}

static void become_shell(int output, const char *command)
{
	char *words[] = { (char *)"bash", (char *)"-c", (char *)(uintptr_t)command, NULL };
	int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (empty >= 0 && dup2(empty, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	    dup2(output, STDERR_FILENO) >= 0) {
		(void)execvp("bash", words);
		words[0] = (char *)"sh";
		(void)execvp("sh", words);
	}
	_exit(127);
}

/* Runs a command; its output, ended by NUL, into text.  Returns the number of bytes, or -1. */
static ssize_t run_command(const char *command, char *text)
{
	int ends[2], status;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid_t child = fork();
	if (child == 0)
		become_shell(ends[1], command);
	(void)close(ends[1]);
	ssize_t length = child_output_read(ends[0], child, text, OUTPUT_MAX, &status);
	return length < 0 ? -1 : length;
}

static void nap(void)
{
	const struct timespec SOON = { .tv_nsec = 2000000 };
	(void)nanosleep(&SOON, NULL);
}

/* Path of the file by which the person is asked: beside the directory, which is the agent's. */
static bool path_of_request(const char *directory, char *ret_path)
{
	return snprintf(ret_path, PATH_MAX, "%s.please", directory) < PATH_MAX;
}

/* Asks the person to change the notes, and waits for it.  False: there is no person. */
static bool ask_person(const char *directory)
{
	char path[PATH_MAX];

	if (!getenv(PERSON) || !path_of_request(directory, path))
		return false;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	(void)close(fd);
	for (int tries = 0; tries < PATIENCE; tries++, nap())
		if (access(path, F_OK) < 0)
			return true;
	(void)unlink(path);
	return false;
}

static void print_step(const char *comment, const char *command, const char *text, ssize_t bytes)
{
	int shown = (int)strcspn(text, "\n");
	bool cut = shown > SHOWN_COLUMNS;

	(void)printf("%-15s  $ %-41s %5zd bytes  %.*s%s\n", comment, command, bytes,
		     cut ? SHOWN_COLUMNS : shown, text, cut ? "..." : "");
	(void)fflush(stdout);
}

static int be_agent(const char *directory)
{
	static char text[OUTPUT_MAX];

	if (chdir(directory) < 0 || write_notes() < 0)
		return fail(directory);
	(void)puts("A scripted agent runs shell commands. What the model gets for each:");
	(void)fflush(stdout);
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
		if (!STEPS[i].command) {
			if (!ask_person(directory))
				break;
			(void)printf("%-15s  adds a line to notes.txt\n", STEPS[i].comment);
			continue;
		}
		ssize_t bytes = run_command(STEPS[i].command, text);
		if (bytes < 0)
			return fail(STEPS[i].command);
		print_step(STEPS[i].comment, STEPS[i].command, text, bytes);
	}
	return 0;
}

/* ---- around it ---- */

/* The program: ../../bin/seen from the directory of this one. */
static int find_paths(char *ret_self, char *ret_seen)
{
	ssize_t length = readlink("/proc/self/exe", ret_self, PATH_MAX - 1);
	if (length <= 0)
		return -1;
	ret_self[length] = '\0';
	memcpy(ret_seen, ret_self, (size_t)length + 1);
	for (int up = 0; up < 3; up++) {
		char *slash = strrchr(ret_seen, '/');
		if (slash)
			*slash = '\0';
	}
	static const char NAME[] = "/bin/seen";
	size_t directory = strlen(ret_seen);
	if (directory + sizeof(NAME) > PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(ret_seen + directory, NAME, sizeof(NAME));
	return access(ret_seen, X_OK);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
	(void)stat;
	(void)type;
	(void)place;
	(void)remove(path);
	return 0;
}

/* The person: waits to be asked, and adds a line.  Ends with its parent. */
_Noreturn static void be_person(const char *directory, pid_t parent)
{
	char path[PATH_MAX], notes[PATH_MAX];
	FILE *file;

	if (!path_of_request(directory, path) ||
	    snprintf(notes, sizeof(notes), "%s/notes.txt", directory) >= (int)sizeof(notes))
		_exit(FAILED);
	while (access(path, F_OK) < 0) {
		if (getppid() != parent)
			_exit(0);
		nap();
	}
	file = fopen(notes, "ae");
	if (file) {
		(void)fputs("A line that a person added.\n", file);
		(void)fclose(file);
	}
	(void)unlink(path);
	_exit(0);
}

/* Descriptor 0 of the run is /dev/null: the agent reads nothing there and has one conversation.
 * With a terminal there `seen run` would wait for evidence of which conversation it is in, and
 * answer nothing. */
static void close_input(void)
{
	int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (empty >= 0)
		(void)dup2(empty, STDIN_FILENO);
}

/* Runs itself under `seen run` in the directory.  Returns the exit status. */
static int run_under_seen(const char *seen, const char *self, const char *directory)
{
	char *words[] = { (char *)(uintptr_t)seen,      (char *)"run",
			  (char *)"--summary",          (char *)"--workspace",
			  (char *)(uintptr_t)directory, (char *)"--",
			  (char *)(uintptr_t)self,      (char *)"--in",
			  (char *)(uintptr_t)directory, NULL };
	int status;

	/* Interrupted from the terminal, the directory is removed all the same. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	pid_t parent = getpid(), person = fork();
	if (person == 0)
		be_person(directory, parent);
	pid_t child = fork();
	if (child == 0) {
		if (person > 0)
			(void)setenv(PERSON, "1", 1);
		(void)signal(SIGINT, SIG_DFL);
		(void)signal(SIGQUIT, SIG_DFL);
		close_input();
		(void)execv(seen, words);
		_exit(fail(seen));
	}
	if (child < 0)
		return fail("fork");
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return fail("wait");
	if (person > 0) {
		(void)kill(person, SIGKILL);
		(void)waitpid(person, NULL, 0);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX], seen[PATH_MAX], directory[PATH_MAX];
	const char *top = getenv("TMPDIR");

	if (argc == 3 && strcmp(argv[1], "--in") == 0)
		return be_agent(argv[2]);
	if (argc > 1) {
		(void)fputs("usage: seen-demo-agent [--in DIRECTORY]\n", stderr);
		return strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "--version") == 0 ? 0 : 2;
	}
	if (find_paths(self, seen) < 0)
		return fail("../../bin/seen");
	(void)snprintf(directory, sizeof(directory), "%s/seen-demo.XXXXXX",
		       top && top[0] == '/' ? top : "/tmp");
	if (!mkdtemp(directory))
		return fail(directory);
	int code = run_under_seen(seen, self, directory);
	(void)nftw(directory, remove_entry, DIRECTORIES_OPEN_MAX, FTW_DEPTH | FTW_PHYS);
	return code;
}
