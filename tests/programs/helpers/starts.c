/*
 * starts show                  prints what a program finds when it begins: its words, its name, its descriptors ...
 * starts wait                  waits for a signal
 * starts errors STATIC PLAIN   starts what cannot be started, in each way, and prints how that ended
 * starts ways STATIC PLAIN     starts two programs that can be started, in each way: a static one and a dynamic one
 * starts filtered PROGRAM ...  becomes PROGRAM below a seccomp filter of its own that lets everything pass
 *
 * Linked statically and dynamically by tests/behaviour/test_exec_bare.py.  What it prints is the same in each run: no process ids,
 * addresses or times.
 */
#include "check.h"

#include <elf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Longer than the head of an ELF file. */
#define TEXT "echo a text without a first line; : it is longer than that of an ELF file, 64 bytes\n"

enum { WORD_TOO_LONG = 1 << 18, SPAWNS = 20 };

/* ---- what a program finds ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static void show_link(const char *what, const char *path)
{
	char target[4096];
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	target[length < 0 ? 0 : length] = '\0';
	printf(" %s %s", what, base_of(target));
}

static int show(int argc, char **argv)
{
	char name[16] = "";
	struct rlimit limit = { 0 };
	int death = 0;
	sigset_t mask;
	const char *listens = getenv("LISTEN_PID");

	printf("[%d:", argc);
	for (int i = 0; i < argc; i++)
		printf(" %s", base_of(argv[i]));
	printf("; as %s;", base_of((const char *)getauxval(AT_EXECFN)));
	show_link("exe", "/proc/self/exe");
	(void)prctl(PR_GET_NAME, name);
	(void)prctl(PR_GET_PDEATHSIG, &death);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	(void)sigprocmask(SIG_BLOCK, NULL, &mask);
	printf(" comm %s; death signal %d; %ld descriptors; personality %x; listens %d; secure "
	       "%ld;",
	       name, death, (long)limit.rlim_cur, (unsigned)personality(0xffffffff),
	       listens ? strtol(listens, NULL, 10) == getpid() : -1, getauxval(AT_SECURE));
	printf(" leads %d %d; open", getpgrp() == getpid(), getsid(0) == getpid());
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf(" %d", fd);
	printf("; signals");
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			printf(" -%d", number);
		if (sigismember(&mask, number) == 1)
			printf(" %d", number);
	}
	printf("]\n");
	return fflush(stdout) == 0 ? 42 : 1;
}

/* ---- ways to start a program ---- */

static void exit_with_errno(void)
{
	_exit(128 + (errno & 127));
}

static void show_result(int status)
{
	if (WIFSIGNALED(status))
		printf("signal %d\n", WTERMSIG(status));
	else if (WEXITSTATUS(status) > 128)
		printf("%s\n", strerrorname_np(WEXITSTATUS(status) - 128));
	else
		printf("status %d\n", WEXITSTATUS(status));
	(void)fflush(stdout);
}

static void show_child(pid_t child)
{
	int status;

	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	show_result(status);
}

static void by_execve(const char *path, char **words)
{
	(void)execve(path, words, environ);
}

static void by_execvp(const char *path, char **words)
{
	(void)execvp(path, words);
}

static void by_execveat(const char *path, char **words)
{
	(void)syscall(SYS_execveat, AT_FDCWD, path, words, environ, 0);
}

static void by_fexecve(const char *path, char **words)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)fexecve(fd, words, environ);
}

static void by_empty_path(const char *path, char **words)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		(void)execveat(fd, "", words, environ, AT_EMPTY_PATH);
}

static const struct {
	const char *name;
	void (*exec)(const char *path, char **words);
} EXECS[] = { { "execve", by_execve },
	      { "execvp", by_execvp },
	      { "execveat", by_execveat },
	      { "fexecve", by_fexecve },
	      { "execveat, empty path", by_empty_path } };

static void start_by_fork(const char *path, char **words)
{
	for (size_t i = 0; i < sizeof(EXECS) / sizeof(EXECS[0]); i++) {
		printf("  %s: ", EXECS[i].name);
		pid_t child = fork_flushed();
		if (child == 0) {
			EXECS[i].exec(path, words);
			exit_with_errno();
		}
		show_child(child);
	}
}

static void start_by_vfork(const char *path, char **words)
{
	volatile int error = 0;

	printf("  vfork: ");
	(void)fflush(stdout);
	pid_t child = vfork();
	if (child == 0) {
		(void)execve(path, words, environ);
		error = errno; /* the parent's, too */
		_exit(99);
	}
	if (error) {
		(void)waitpid(child, NULL, 0);
		printf("%s\n", strerrorname_np(error));
		return;
	}
	show_child(child);
}

static void start_by_spawn(const char *path, char **words)
{
	pid_t child = -1;

	for (int searches = 0; searches < 2; searches++) {
		printf(searches ? "  posix_spawnp: " : "  posix_spawn: ");
		(void)fflush(stdout);
		errno = 0;
		int error = (searches ? posix_spawnp : posix_spawn)(&child, path, NULL, NULL, words,
								    environ);
		if (error)
			printf("returned %s\n", strerrorname_np(error));
		else
			show_child(child);
	}
}

static void start(const char *what, const char *path, char **words)
{
	printf("%s\n", what);
	start_by_fork(path, words);
	start_by_vfork(path, words);
	start_by_spawn(path, words);
}

/* ---- what cannot be started ---- */

static void copy_program(const char *from, const char *to, size_t bytes)
{
	char *content = malloc(bytes);
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	ssize_t count = content && in >= 0 ? read(in, content, bytes) : -1;

	CHECK(count > 0 && write(out, content, (size_t)count) == count);
	CHECK(close(in) == 0 && close(out) == 0);
	free(content);
}

/* A copy of a dynamic program that asks for another loader, of a path no longer than the first. */
static void copy_with_loader(const char *from, const char *to, const char *loader)
{
	struct stat status;
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	CHECK(stat(from, &status) == 0);
	copy_program(from, to, (size_t)status.st_size);
	int fd = open(to, O_RDWR);
	CHECK(fd >= 0 && pread(fd, &header, sizeof(header), 0) == sizeof(header));
	for (int i = 0; i < header.e_phnum; i++) {
		off_t place = (off_t)(header.e_phoff + (size_t)i * sizeof(segment));
		CHECK(pread(fd, &segment, sizeof(segment), place) == sizeof(segment));
		if (segment.p_type != PT_INTERP)
			continue;
		CHECK(strlen(loader) < segment.p_filesz);
		segment.p_filesz = strlen(loader) + 1;
		CHECK(pwrite(fd, loader, segment.p_filesz, (off_t)segment.p_offset) > 0);
		CHECK(pwrite(fd, &segment, sizeof(segment), place) == sizeof(segment));
	}
	CHECK(close(fd) == 0);
}

static void start_damaged(const char *statically, const char *plain)
{
	static const size_t CUTS[] = { 3, 4, 40, 64, 200, 5000 };
	char *words[] = { (char *)"damaged", (char *)"show", NULL };

	for (size_t i = 0; i < sizeof(CUTS) / sizeof(CUTS[0]); i++) {
		char what[40];
		copy_program(statically, "damaged", CUTS[i]);
		(void)snprintf(what, sizeof(what), "cut after %zu bytes", CUTS[i]);
		start(what, "./damaged", words);
	}
	write_file("text", TEXT, 0755);
	copy_with_loader(plain, "damaged", "text");
	start("a loader that is none", "./damaged", words);
	copy_with_loader(plain, "damaged", "missing");
	start("a loader that is not there", "./damaged", words);
	copy_with_loader(plain, "damaged", ".");
	start("a loader that is a directory", "./damaged", words);
}

static void start_bad_names(void)
{
	static char long_name[300], too_long[WORD_TOO_LONG];
	char *words[] = { (char *)"bad", (char *)"show", NULL };
	char *large[] = { (char *)"bad", too_long, NULL };

	memset(long_name, 'x', sizeof(long_name) - 1);
	memset(too_long, 'x', sizeof(too_long) - 1);
	start("not there", "./missing", words);
	start("not on PATH", "no-such-program-anywhere", words);
	start("below a file", "./text/below", words);
	start("a directory", "./directory", words);
	start("an empty name", "", words);
	start("a name that is too long", long_name, words);
	start("a link to itself", "./loop", words);
	start("not executable", "./closed", words);
	start("empty", "./empty", words);
	start("no first line", "./text", words);
	start("no first line, on PATH", "text", words);
	start("an interpreter that is not there", "./lost", words);
	start("interpreters without end", "./endless", words);
	start("a word that is too long", "./named", large);
}

static int show_errors(const char *statically, const char *plain)
{
	char *words[] = { (char *)"busy", (char *)"show", NULL };
	struct stat status;

	CHECK(mkdir("directory", 0755) == 0 && symlink("loop", "loop") == 0);
	start_damaged(statically, plain);
	write_file("closed", "#!/bin/sh\n", 0644);
	write_file("empty", "", 0755);
	write_file("lost", "#!/no/such/interpreter\n", 0755);
	write_file("endless", "#!./endless\n", 0755);
	write_file("named", "#!/bin/sh\n", 0755);
	CHECK(setenv("PATH", "directory:/no/such:.:/usr/bin:/bin", 1) == 0);
	start_bad_names();
	CHECK(stat(statically, &status) == 0);
	copy_program(statically, "busy", (size_t)status.st_size);
	int fd = open("busy", O_WRONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	start("open for writing", "./busy", words);
	CHECK(close(fd) == 0);
	return 0;
}

/* ---- what can be started ---- */

static bool is_exe_of(pid_t child, const char *program)
{
	char path[64], target[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)child);
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	return strcmp(base_of(target), base_of(program)) == 0;
}

/* When vfork and posix_spawn return, the child is the program already. */
static void show_exe_at_return(const char *program)
{
	char *words[] = { (char *)"waits", (char *)"wait", NULL };
	volatile int forked = 0, spawned = 0;

	for (volatile int i = 0; i < SPAWNS; i++) {
		pid_t child = vfork();
		if (child == 0) {
			(void)execve(program, words, environ);
			_exit(99);
		}
		forked += is_exe_of(child, program);
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
		CHECK(posix_spawn(&child, program, NULL, NULL, words, environ) == 0);
		spawned += is_exe_of(child, program);
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	printf("the program itself when vfork returned: %d of %d; posix_spawn: %d\n", forked,
	       SPAWNS, spawned);
}

/* A program that exists in memory alone, by a descriptor that is closed by its start. */
static void show_memory_program(const char *program)
{
	char *words[] = { (char *)"memory", (char *)"show", NULL }, bytes[65536];
	int in = open(program, O_RDONLY), fd = memfd_create("program", MFD_CLOEXEC);
	ssize_t count;

	while ((count = read(in, bytes, sizeof(bytes))) > 0)
		CHECK(write(fd, bytes, (size_t)count) == count);
	CHECK(close(in) == 0);
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int readable = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(readable >= 0 && close(fd) == 0);
	for (int empty = 0; empty < 2; empty++) {
		pid_t child = fork_flushed();
		if (child == 0) {
			if (empty)
				(void)execveat(readable, "", words, environ, AT_EMPTY_PATH);
			else
				(void)fexecve(readable, words, environ);
			exit_with_errno();
		}
		show_child(child);
	}
	CHECK(close(readable) == 0);
}

static void prepare_child(int which)
{
	char number[32];

	switch (which) {
	case 0:
		(void)prctl(PR_SET_PDEATHSIG, SIGUSR1);
		break;
	case 1:
		(void)snprintf(number, sizeof(number), "%d", (int)getpid());
		(void)setenv("LISTEN_PID", number, 1);
		break;
	case 2:
		(void)personality(ADDR_NO_RANDOMIZE);
		break;
	case 3: { /* no descriptor is free */
		struct rlimit limit = { 12, 12 };
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		while (dup(0) >= 0)
			;
		break;
	}
	case 4: /* nor can there be one */
	{
		struct rlimit limit = { 3, 3 };
		(void)setrlimit(RLIMIT_NOFILE, &limit);
		break;
	}
	case 5:
		(void)setsid();
		break;
	case 6: {
		sigset_t set;
		(void)sigfillset(&set);
		(void)sigprocmask(SIG_SETMASK, &set, NULL);
		(void)signal(SIGUSR2, SIG_IGN);
		break;
	}
	default:
		(void)close(0);
		(void)close(2);
	}
}

static void show_kept(const char *program)
{
	static const char *const WHAT[] = { "death signal", "LISTEN_PID",        "personality",
					    "full table",   "three descriptors", "session",
					    "signals",      "closed descriptors" };
	char *words[] = { (char *)"another name", (char *)"show", NULL };

	for (int i = 0; i < (int)(sizeof(WHAT) / sizeof(WHAT[0])); i++) {
		printf("%s: ", WHAT[i]);
		pid_t child = fork_flushed();
		if (child == 0) {
			prepare_child(i);
			(void)execve(program, words, environ);
			exit_with_errno();
		}
		show_child(child);
	}
}

/* By a spawn whose attributes and actions all mean something. */
static void show_spawn_attributes(const char *program)
{
	char *words[] = { (char *)"spawned", (char *)"show", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t set;
	pid_t child;

	CHECK(posix_spawn_file_actions_init(&actions) == 0 &&
	      posix_spawnattr_init(&attributes) == 0);
	CHECK(posix_spawn_file_actions_adddup2(&actions, 1, 17) == 0);
	CHECK(posix_spawn_file_actions_addclose(&actions, 0) == 0);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	CHECK(posix_spawnattr_setsigmask(&attributes, &set) == 0);
	CHECK(posix_spawnattr_setflags(&attributes,
				       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP) == 0);
	(void)fflush(stdout);
	CHECK(posix_spawn(&child, program, &actions, &attributes, words, environ) == 0);
	show_child(child);
}

static int show_ways(const char *statically, const char *plain)
{
	const char *const programs[] = { statically, plain };
	char command[4096];

	for (int i = 0; i < 2; i++) {
		char *words[] = { (char *)"a name of its own", (char *)"show", NULL };
		start(i ? "dynamic" : "static", programs[i], words);
		(void)snprintf(command, sizeof(command), "exec '%s' show", programs[i]);
		printf("system: ");
		(void)fflush(stdout);
		show_result(system(command));
		FILE *shell = popen(command, "r");
		CHECK(shell);
		char line[4096];
		while (fgets(line, sizeof(line), shell))
			printf("popen: %s", line);
		show_result(pclose(shell));
		show_exe_at_return(programs[i]);
		show_memory_program(programs[i]);
		show_kept(programs[i]);
		show_spawn_attributes(programs[i]);
	}
	return 0;
}

/* ---- below another filter ---- */

static int become_filtered(char **words)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	(void)execv(words[0], words);
	return 99;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "errors") == 0)
		return show_errors(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "ways") == 0)
		return show_ways(argv[2], argv[3]);
	if (argc > 2 && strcmp(argv[1], "filtered") == 0)
		return become_filtered(argv + 2);
	if (argc == 2 && strcmp(argv[1], "wait") == 0)
		return pause();
	return show(argc, argv);
}
