/*
 * posix_spawn for a program that becomes supervised: see spawn.h.
 *
 * The child shares the parent's memory until its exec, as libc's does, on a stack of its own, with
 * all signals blocked.  What it does in which order is libc's (glibc, sysdeps/unix/sysv/linux/
 * spawni.c): signals, session, group, identity, actions, mask, exec.
 */
#include "shim/preload/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/preload/real.h"
#include "shim/preload/state.h"
#include "tracker/process/process.h"
#include "tracker/sys/sys.h"

/* How libc keeps an action, since posix_spawn came into it (glibc, posix/spawn_int.h): later ones
 * were added at the end. */
struct spawn_action {
	enum {
		ACTION_CLOSE,
		ACTION_DUP2,
		ACTION_OPEN,
		ACTION_CHDIR,
		ACTION_FCHDIR,
		ACTION_CLOSEFROM,
		ACTION_TCSETPGRP,
		ACTION_KINDS,
	} kind;
	union {
		int fd;
		struct {
			int fd, new_fd;
		} dup2;
		struct {
			int fd;
			const char *path;
			int flags;
			mode_t mode;
		} open;
		const char *path;
	} of;
};

enum {
	STACK_BYTES = 256 << 10,
	SIGNALS = 64,
	SIGNAL_SET_BYTES = 8, /* of the kernel's sigset_t */
	FLAGS_DONE = POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
		     POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_USEVFORK | POSIX_SPAWN_SETSID,
};

/* rt_sigaction(2): the handler comes first on every machine; all zero is the default. */
struct kernel_action {
	unsigned long words[4];
};

/* Shared by parent and child. */
struct spawning {
	const struct launch *launch;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
	char *const *argv;
	char *const *environment;
	uint64_t mask; /* signals that were blocked */
	short flags;
	int error; /* child: why there is no program */
};

static const struct spawn_action *actions_of(const posix_spawn_file_actions_t *actions)
{
	return (const struct spawn_action *)(const void *)actions->__actions;
}

bool spawn_can_do(const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes)
{
	if (attributes && (attributes->__flags & ~FLAGS_DONE))
		return false;
	for (int i = 0; actions && i < actions->__used; i++)
		if ((unsigned)actions_of(actions)[i].kind >= ACTION_KINDS)
			return false;
	return true;
}

/* ---- in the child ---- */

/* Handlers are of the program that is replaced.  exec would reset them, but not before the mask. */
static void reset_signals(const struct spawning *spawning)
{
	const struct kernel_action by_default = { { 0 } };
	struct kernel_action action;

	for (int signal = 1; signal <= SIGNALS; signal++) {
		bool is_reset = (spawning->flags & POSIX_SPAWN_SETSIGDEF) &&
				sigismember(&spawning->attributes->__sd, signal) == 1;
		if (!is_reset && (sys_call6(SYS_rt_sigaction, signal, 0, (long)&action,
					    SIGNAL_SET_BYTES, 0, 0) < 0 ||
				  action.words[0] == (unsigned long)SIG_DFL ||
				  action.words[0] == (unsigned long)SIG_IGN))
			continue;
		(void)sys_call6(SYS_rt_sigaction, signal, (long)&by_default, 0, SIGNAL_SET_BYTES, 0,
				0);
	}
}

/* Returns 0 or a negative errno. */
static long set_identity(const struct spawning *spawning)
{
	long error = 0;

	if (spawning->flags & POSIX_SPAWN_SETSID)
		error = sys_call3(SYS_setsid, 0, 0, 0);
	if (error >= 0 && (spawning->flags & POSIX_SPAWN_SETPGROUP))
		error = sys_call3(SYS_setpgid, 0, spawning->attributes->__pgrp, 0);
	if (error >= 0 && (spawning->flags & POSIX_SPAWN_RESETIDS)) {
		error = sys_call3(SYS_setresuid, -1, sys_call3(SYS_getuid, 0, 0, 0), -1);
		if (error >= 0)
			error = sys_call3(SYS_setresgid, -1, sys_call3(SYS_getgid, 0, 0, 0), -1);
	}
	return error < 0 ? error : 0;
}

/* Only of a number that no descriptor can have is it an error that it is not open. */
static long close_one(int fd)
{
	struct rlimit limit;
	long error = sys_close(fd);

	if (error >= 0)
		return 0;
	(void)sys_call6(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	return fd < 0 || (rlim_t)fd >= limit.rlim_cur ? error : 0;
}

static long open_at(const struct spawn_action *action)
{
	(void)sys_close(action->of.open.fd);
	long fd = sys_open(action->of.open.path, action->of.open.flags, action->of.open.mode);
	if (fd < 0 || fd == action->of.open.fd)
		return fd;
	long error = sys_call3(SYS_dup3, fd, action->of.open.fd, 0);
	(void)sys_close((int)fd);
	return error;
}

static long duplicate(const struct spawn_action *action)
{
	if (action->of.dup2.fd != action->of.dup2.new_fd)
		return sys_call3(SYS_dup3, action->of.dup2.fd, action->of.dup2.new_fd, 0);
	/* The same number: it is to stay open. */
	long flags = sys_fcntl(action->of.dup2.fd, F_GETFD, 0);
	return flags < 0 ? flags : sys_fcntl(action->of.dup2.fd, F_SETFD, flags & ~FD_CLOEXEC);
}

static long set_foreground(int fd)
{
	enum { TIOCSPGRP_REQUEST = 0x5410 };
	int group = (int)sys_call3(SYS_getpgid, 0, 0, 0);

	return sys_call3(SYS_ioctl, fd, TIOCSPGRP_REQUEST, (long)&group);
}

static long do_action(const struct spawn_action *action)
{
	switch (action->kind) {
	case ACTION_CLOSE:
		return close_one(action->of.fd);
	case ACTION_DUP2:
		return duplicate(action);
	case ACTION_OPEN:
		return open_at(action);
	case ACTION_CHDIR:
		return sys_call3(SYS_chdir, (long)action->of.path, 0, 0);
	case ACTION_FCHDIR:
		return sys_call3(SYS_fchdir, action->of.fd, 0, 0);
	case ACTION_CLOSEFROM:
		return sys_call3(SYS_close_range, action->of.fd, (long)UINT32_MAX, 0);
	case ACTION_TCSETPGRP:
		return set_foreground(action->of.fd);
	case ACTION_KINDS:
		break;
	}
	return -EINVAL;
}

static long prepare(const struct spawning *spawning)
{
	reset_signals(spawning);
	long error = set_identity(spawning);
	const posix_spawn_file_actions_t *actions = spawning->actions;
	for (int i = 0; error >= 0 && actions && i < actions->__used; i++)
		error = do_action(&actions_of(actions)[i]);
	return error;
}

static int become(void *data)
{
	struct spawning *spawning = data;
	const struct launch *launch = spawning->launch;
	const uint64_t *mask = &spawning->mask;

	long error = prepare(spawning);
	if (error < 0) {
		spawning->error = (int)-error;
		return 127;
	}
	process_set_pid(&shim.segment, launch->process, sys_getpid());
	launch_supervise(launch);
	if (spawning->flags & POSIX_SPAWN_SETSIGMASK)
		mask = (const uint64_t *)(const void *)&spawning->attributes->__ss;
	(void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)mask, 0, SIGNAL_SET_BYTES, 0, 0);
	if (launch->place.searches)
		(void)REAL(execvpe)(launch->place.path, spawning->argv, spawning->environment);
	else
		(void)REAL(execve)(launch->place.path, spawning->argv, spawning->environment);
	spawning->error = errno ? errno : ECHILD;
	return 127;
}

/* ---- in the parent ---- */

int spawn_program(const struct launch *launch, pid_t *ret_pid,
		  const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
		  char *const argv[], char *const environment[])
{
	struct spawning spawning = { .launch = launch,
				     .actions = actions,
				     .attributes = attributes,
				     .argv = argv,
				     .environment = environment,
				     .flags = attributes ? attributes->__flags : 0 };
	const uint64_t all = UINT64_MAX;
	int saved = errno;
	long stack = sys_mmap(STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1);

	if (stack < 0)
		return -1;
	(void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&spawning.mask,
			SIGNAL_SET_BYTES, 0, 0);
	pid_t pid = clone(become, (char *)stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD,
			  &spawning);
	int error = pid < 0 ? errno : spawning.error;
	if (pid > 0 && error)
		(void)sys_call6(SYS_wait4, pid, 0, 0, 0, 0, 0);
	(void)sys_munmap((void *)stack, STACK_BYTES);
	(void)sys_call6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&spawning.mask, 0, SIGNAL_SET_BYTES,
			0, 0);
	errno = saved;
	if (!error && ret_pid)
		*ret_pid = pid;
	return error;
}
