/*
 * The exported functions that start and end programs: the program is announced, its environment
 * gets its ticket (launch.c).
 * These run between vfork and exec: nothing but the stack and the segment is written to.
 */
#include <alloca.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/preload/call.h"
#include "shim/preload/directory.h"
#include "shim/preload/exit.h"
#include "shim/preload/launch.h"
#include "shim/preload/real.h"
#include "shim/preload/sandbox.h"
#include "shim/preload/spawn.h"
#include "shim/preload/stations.h"
#include "tracker/sys/sys.h"

/* Prepares `launch` and `changed`, the environment to start a program with; the given one where
 * nothing may be added.  A macro because the arrays live on the caller's stack. */
#define PREPARE(pid, directory, path, searches, argv, environment) \
	struct launch launch; \
	char *const *changed = (char *const *)(environment); \
	launch_measure(&launch, (struct program_place){ directory, path, searches }, argv, \
		       environment); \
	if (launch.announces) \
		launch_announce(&launch, pid, argv); \
	if (launch.variables >= 0) { \
		size_t pointers = (size_t)launch.variables + LAUNCH_VARIABLES_MORE; \
		char **array = launch.large ? NULL : alloca(pointers * sizeof(*array)); \
		changed = launch_environment(&launch, environment, array, \
					     alloca(launch.preload_bytes)); \
	}

/* Ends the function where a rule refuses the program. */
#define ASK(directory, path, searches) \
	if (!call_may_run(directory, path, searches)) \
		return -1;

/* For the functions that replace the caller's image: posix_spawn's child is another task. */
#define PREPARE_EXEC(directory, path, searches, argv, environment) \
	PREPARE(sys_getpid(), directory, path, searches, argv, environment) \
	launch_supervise(&launch);

/* exec came back: it failed. */
static int failed(const struct launch *launch, int error)
{
	launch_done(launch, 0, errno);
	return error;
}

EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
	ASK(AT_FDCWD, path, false)
	PREPARE_EXEC(AT_FDCWD, path, false, argv, environment)
	return failed(&launch, REAL(execve)(path, argv, changed));
}

EXPORT int execv(const char *path, char *const argv[])
{
	ASK(AT_FDCWD, path, false)
	PREPARE_EXEC(AT_FDCWD, path, false, argv, environ)
	return failed(&launch, REAL(execve)(path, argv, changed));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	ASK(AT_FDCWD, file, true)
	PREPARE_EXEC(AT_FDCWD, file, true, argv, environ)
	return failed(&launch, REAL(execvpe)(file, argv, changed));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
	ASK(AT_FDCWD, file, true)
	PREPARE_EXEC(AT_FDCWD, file, true, argv, environment)
	return failed(&launch, REAL(execvpe)(file, argv, changed));
}

EXPORT int execveat(int directory, const char *path, char *const argv[], char *const environment[],
		    int flags)
{
	ASK(directory, path, false)
	PREPARE_EXEC(directory, path, false, argv, environment)
	/* glibc has had it since 2.34: below an older one it is reached by syscall() alone */
	return failed(&launch,
		      (int)REAL(syscall)(SYS_execveat, directory, path, argv, changed, flags));
}

EXPORT int fexecve(int fd, char *const argv[], char *const environment[])
{
	ASK(fd, "", false)
	PREPARE_EXEC(fd, "", false, argv, environment)
	return failed(&launch, REAL(fexecve)(fd, argv, changed));
}

/* The words of execl and similar up to their NULL, in an array on the caller's stack; `list` stands
 * behind the NULL. */
#define COLLECT_WORDS(first, list) \
	int words = 1; \
	va_start(list, first); \
	while (va_arg(list, const char *)) \
		words++; \
	va_end(list); \
	char **argv = alloca(((size_t)words + 1) * sizeof(*argv)); \
	argv[0] = (char *)(first); \
	va_start(list, first); \
	for (int word = 1; word <= words; word++) \
		argv[word] = va_arg(list, char *);

EXPORT int execl(const char *path, const char *first, ...)
{
	va_list list;
	COLLECT_WORDS(first, list)
	va_end(list);
	ASK(AT_FDCWD, path, false)
	PREPARE_EXEC(AT_FDCWD, path, false, argv, environ)
	return failed(&launch, REAL(execve)(path, argv, changed));
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list list;
	COLLECT_WORDS(first, list)
	va_end(list);
	ASK(AT_FDCWD, file, true)
	PREPARE_EXEC(AT_FDCWD, file, true, argv, environ)
	return failed(&launch, REAL(execvpe)(file, argv, changed));
}

EXPORT int execle(const char *path, const char *first, ...)
{
	va_list list;
	COLLECT_WORDS(first, list)
	char *const *environment = va_arg(list, char *const *);
	va_end(list);
	ASK(AT_FDCWD, path, false)
	PREPARE_EXEC(AT_FDCWD, path, false, argv, environment)
	return failed(&launch, REAL(execve)(path, argv, changed));
}

EXPORT int posix_spawn(pid_t *ret_pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attributes, char *const argv[],
		       char *const environment[])
{
	pid_t pid = 0;
	if (!call_may_run(AT_FDCWD, path, false))
		return EACCES;
	PREPARE(0, actions ? PROGRAM_DIRECTORY_UNKNOWN : AT_FDCWD, path, false, argv, environment)
	int error = -1;
	if (launch_wants_supervisor(&launch) && spawn_can_do(actions, attributes))
		error = spawn_program(&launch, &pid, actions, attributes, argv, changed);
	if (error < 0) {
		launch_note_spawned(&launch);
		error = REAL(posix_spawn)(&pid, path, actions, attributes, argv, changed);
	}
	if (!error && ret_pid)
		*ret_pid = pid;
	launch_done(&launch, error ? 0 : pid, error);
	return error;
}

EXPORT int posix_spawnp(pid_t *ret_pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attributes, char *const argv[],
			char *const environment[])
{
	pid_t pid = 0;
	if (!call_may_run(AT_FDCWD, file, true))
		return EACCES;
	PREPARE(0, actions ? PROGRAM_DIRECTORY_UNKNOWN : AT_FDCWD, file, true, argv, environment)
	int error = -1;
	if (launch_wants_supervisor(&launch) && spawn_can_do(actions, attributes))
		error = spawn_program(&launch, &pid, actions, attributes, argv, changed);
	if (error < 0) {
		launch_note_spawned(&launch);
		error = REAL(posix_spawnp)(&pid, file, actions, attributes, argv, changed);
	}
	if (!error && ret_pid)
		*ret_pid = pid;
	launch_done(&launch, error ? 0 : pid, error);
	return error;
}

/* libc starts this by a hidden call, and says so where it cannot (system(3)). */
static const char SHELL[] = "/bin/sh";
enum { EXITED_127 = 127 << 8 };

EXPORT int system(const char *command)
{
	reader_untrackable();
	if (command && !call_may_run(AT_FDCWD, SHELL, false))
		return EXITED_127;
	if (!command || !launch_repairs_command())
		return REAL(system)(command);
	size_t bytes = strlen(command) + LAUNCH_COMMAND_MORE;
	char *repaired = bytes < 131072 ? alloca(bytes) : NULL;
	if (repaired)
		launch_command(command, repaired, bytes);
	return REAL(system)(repaired ? repaired : command);
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	reader_untrackable();
	if (!call_may_run(AT_FDCWD, SHELL, false))
		return NULL;
	if (!launch_repairs_command())
		return REAL(popen)(command, mode);
	size_t bytes = strlen(command) + LAUNCH_COMMAND_MORE;
	char *repaired = bytes < 131072 ? alloca(bytes) : NULL;
	if (repaired)
		launch_command(command, repaired, bytes);
	return REAL(popen)(repaired ? repaired : command, mode);
}

/* libio's own name for popen, exported for old programs. */
EXPORT FILE *_IO_popen(const char *command, const char *mode)
{
	return popen(command, mode);
}

/* The child will open the file by libc's hidden calls: that is recorded now. */
EXPORT int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int fd,
					    const char *path, int flags, mode_t mode)
{
	struct call call = { .operation = OPERATION_OPEN_LATER,
			     .name = { .path = path, .directory = AT_FDCWD },
			     .descriptor = fd,
			     .error = -1 };
	int error = EACCES;
	call_set_open_flags(&call, (uint32_t)flags);
	if (order_may(&call, OPERATION_OPEN_LATER))
		error = call.error = REAL(posix_spawn_file_actions_addopen)(actions, fd, path,
									    flags, mode);
	order_came_back(&call, OPERATION_OPEN_LATER);
	return error;
}

EXPORT void _exit(int status)
{
	ending_now(status);
	REAL(_exit)(status);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	ending_now(status);
	REAL(_Exit)(status);
	__builtin_unreachable();
}

/* It runs handlers of its own and then ends. */
EXPORT void quick_exit(int status)
{
	ending_now(status);
	REAL(quick_exit)(status);
	__builtin_unreachable();
}

/* libc puts other files behind descriptors 0, 1 and 2. */
static inline int standard_moved(int error)
{
	if (error == 0 && shim.records)
		descriptor_closing(0, 2);
	return error;
}

EXPORT int daemon(int keep_directory, int keep_standard)
{
	int error = REAL(daemon)(keep_directory, keep_standard);
	if (!keep_directory && shim.on)
		change_directory();
	return keep_standard ? error : standard_moved(error);
}

EXPORT int login_tty(int terminal)
{
	return standard_moved(REAL(login_tty)(terminal));
}

EXPORT pid_t forkpty(int *ret_terminal, char *name, const struct termios *settings,
		     const struct winsize *size)
{
	pid_t pid = REAL(forkpty)(ret_terminal, name, settings, size);
	(void)standard_moved(pid);
	return pid;
}

/* From then on a filter of the program's own may kill it for a call of ours. */
EXPORT int prctl(int option, ...)
{
	unsigned long arguments[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, unsigned long);
	va_end(list);
	bool shared = option == PR_SET_SECCOMP &&
		      in_vfork_child(); /* then it is not this process */
	if (option == PR_SET_SECCOMP)
		call_may_be_sandboxed();
	if (option == PR_SET_NO_NEW_PRIVS && arguments[0] == 1)
		sandbox_begins(true);
	int error = REAL(prctl)(option, arguments[0], arguments[1], arguments[2], arguments[3]);
	if (shared)
		return error;
	if (option == PR_SET_SECCOMP && error == 0 && arguments[0] == SECCOMP_MODE_STRICT)
		call_sandboxed_strictly();
	else if (option == PR_SET_SECCOMP && error == 0)
		call_sandboxed();
	return error;
}
