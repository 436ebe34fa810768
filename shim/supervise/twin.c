/* Opens a file as another process would: see twin.h. */
#include "shim/supervise/twin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/start/compat.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/open_below.h"
#include "shim/supervise/proc.h"
#include "shim/supervise/rights.h"
#include "tracker/path/decimal.h"
#include "tracker/sys/sys.h"

enum {
	WAIT_MS = 2000,   /* for a twin or holder, which others of its user may stop */
	FINISH_MS = 200,  /* for one that was killed */
	DOMAINS_MAX = 64, /* that are in use */
	NONE = -1,
};

/* Descriptors that a twin or a holder works with. */
enum {
	AT_CHANNEL,        /* to the supervisor */
	AT_ROOT,           /* of the process */
	AT_BASE,           /* that the path begins at */
	AT_USER_NAMESPACE, /* the last one: NONE where it is the supervisor's */
	PLACES,
	AT_RULESET = AT_ROOT,
};

/* What is to be done. */
struct task {
	bool is_domain;   /* AT_RULESET: become a holder; else a twin: */
	bool has_numbers; /* its users and groups are the supervisor's */
	bool has_root;    /* its root directory and mounts are */
	struct rights rights;
	uint64_t dev, ino; /* of the file that is to be found */
	char path[SEGMENT_PATH_BYTES];
};

/* What a twin or holder reports: itself, and the errno of what failed, negative, or 0. */
struct said {
	int error;
	pid_t pid;
};

struct domain {
	unsigned users;
	int channel;    /* to its holder */
	pid_t holder;   /* a child of this process; 0: another holder's */
	bool is_broken; /* the holder did not answer in time */
};

static unsigned domain_count;

/* ---- messages, with descriptors ---- */

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(PLACES * sizeof(int))];
};

static bool send_message(int channel, void *bytes, size_t size, const int *fds, size_t count)
{
	struct iovec part = { bytes, size };
	union control control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	return sys_call3(SYS_sendmsg, channel, (long)&message, MSG_NOSIGNAL) == (long)size;
}

/* ret_fds: PLACES; NONE where there are fewer. */
static bool receive_message(int channel, void *ret_bytes, size_t size, int *ret_fds)
{
	struct iovec part = { ret_bytes, size };
	union control control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	for (int i = 0; i < PLACES; i++)
		ret_fds[i] = NONE;
	long got = sys_call3(SYS_recvmsg, channel, (long)&message, MSG_CMSG_CLOEXEC);
	if (got > 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)))
		memcpy(ret_fds, CMSG_DATA(&control.header), control.header.cmsg_len - CMSG_LEN(0));
	return got == (long)size;
}

static void report(int channel, int error, int fd)
{
	struct said said = { error, sys_getpid() };

	(void)send_message(channel, &said, sizeof(said), &fd, fd >= 0);
}

/* ---- in a twin or holder, a copy of a process of several threads: raw calls and the stack alone ---- */

static long set_numbers(const struct rights *rights)
{
	const uint32_t *user = rights->users, *group = rights->groups;
	long error = sys_call6(SYS_prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0, 0);

	if (error == 0)
		error = sys_call3(SYS_setgroups, rights->more_count, (long)rights->more, 0);
	if (error == 0)
		error = sys_call3(SYS_setresgid, group[0], group[1], group[2]);
	if (error == 0)
		error = sys_call3(SYS_setresuid, user[0], user[1], user[2]);
	if (error == 0) { /* these two return what was */
		(void)sys_call3(SYS_setfsgid, group[3], 0, 0);
		(void)sys_call3(SYS_setfsuid, user[3], 0, 0);
	}
	return error;
}

static long set_capabilities(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint32_t low = (uint32_t)capabilities, high = (uint32_t)(capabilities >> 32);
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{ .effective = low, .permitted = low },
		{ .effective = high, .permitted = high },
	};

	return sys_call3(SYS_capset, (long)&header, (long)data, 0);
}

/* No process may trace or read it, whatever user it becomes. */
static void hide(void)
{
	(void)sys_call6(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
}

/* Takes on what the process is. */
static int become(const struct task *task, const int *fds)
{
	long error = task->has_numbers ? 0 : set_numbers(&task->rights);

	if (error == 0 && fds[AT_USER_NAMESPACE] != NONE)
		error = sys_call3(SYS_setns, fds[AT_USER_NAMESPACE], CLONE_NEWUSER, 0);
	if (error == 0 && !task->has_root)
		error = sys_call3(SYS_fchdir, fds[AT_ROOT], 0, 0);
	if (error == 0 && !task->has_root)
		error = sys_call3(SYS_chroot, (long)".", 0, 0);
	if (error == 0)
		error = sys_call3(SYS_fchdir, fds[AT_BASE], 0, 0);
	if (error == 0)
		error = set_capabilities(task->rights.capabilities);
	hide();
	return (int)error;
}

/* descriptors: /proc/self/fd.  Returns a descriptor or a negative errno. */
static int open_expected(const struct task *task, int descriptors)
{
	enum { FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_NO_MAGICLINKS };
	char digits[24];
	struct stat stat;

	int found = open_below(AT_FDCWD, task->path, &how);
	if (found < 0)
		return found;
	if (sys_fstat(found, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_dev != task->dev ||
	    stat.st_ino != task->ino)
		return -ESTALE;
	*decimal_write(digits, (uint64_t)found) = '\0';
	int fd = sys_openat(descriptors, digits, FLAGS | O_NOATIME, 0);
	return fd == -EPERM ? sys_openat(descriptors, digits, FLAGS, 0) : fd;
}

static void run_twin(const struct task *task, const int *fds)
{
	char go;

	hide();
	int descriptors = sys_open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	int error = descriptors < 0 ? descriptors : become(task, fds);
	/* It does not outlive what started it, a holder of which no process knows the children: behind
	 * become(), since a change of numbers clears that (prctl(2)). */
	(void)sys_call6(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	report(fds[AT_CHANNEL], error, NONE);
	/* The supervisor compares first. */
	if (error < 0 || sys_call6(SYS_recvfrom, fds[AT_CHANNEL], (long)&go, 1, 0, 0, 0) != 1)
		return;
	int fd = open_expected(task, descriptors);
	report(fds[AT_CHANNEL], fd < 0 ? fd : 0, fd);
}

static pid_t start(const struct task *task, const int *fds);

static void close_but(int fd)
{
	if (fd > 0)
		sys_close_between(0, (unsigned)fd - 1);
	sys_close_between((unsigned)fd + 1, UINT32_MAX);
}

/* Restricts itself, and makes what is asked for until the supervisor lets go of the domain. */
static void run_holder(const int *fds)
{
	int channel = fds[AT_CHANNEL], got[PLACES], status;
	struct task task = { .is_domain = false };

	hide();
	long error = sys_call6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	if (error == 0)
		error = sys_call3(SYS_landlock_restrict_self, fds[AT_RULESET], 0, 0);
	close_but(channel);
	report(channel, (int)error, NONE);
	while (error == 0 && receive_message(channel, &task, sizeof(task), got)) {
		pid_t child = start(&task, got);
		for (int i = 0; i < PLACES; i++)
			if (got[i] >= 0)
				(void)sys_close(got[i]);
		if (child > 0 && !task.is_domain)
			(void)sys_call6(SYS_wait4, child, (long)&status, __WALL, 0, 0, 0);
		while (sys_call6(SYS_wait4, -1, (long)&status, __WALL | WNOHANG, 0, 0, 0) > 0)
			; /* holders in this one that ended */
	}
}

/* Makes a twin or a holder: a child of which no signal reports the end. */
static pid_t start(const struct task *task, const int *fds)
{
	pid_t child = (pid_t)sys_call6(SYS_clone, 0, 0, 0, 0, 0, 0);

	if (child != 0)
		return child;
	if (task->is_domain)
		run_holder(fds);
	else
		run_twin(task, fds);
	for (;;)
		(void)sys_call3(SYS_exit_group, 0, 0, 0);
}

/* ---- in the supervisor ---- */

/* Returns a descriptor that came with it, NONE for none, or another negative errno. */
static int hear(int channel, pid_t *ret_pid, int *ret_fd)
{
	struct pollfd event = { channel, POLLIN, 0 };
	int fds[PLACES];
	struct said said;

	if (poll(&event, 1, WAIT_MS) != 1)
		return -ETIMEDOUT;
	if (!receive_message(channel, &said, sizeof(said), fds))
		return -ESRCH;
	*ret_pid = said.pid;
	*ret_fd = fds[0];
	return said.error;
}

/* Has a twin or holder made: by the domain's holder, where there is one.  fds: but for AT_CHANNEL.  ret_child: of this
 * process, or a negative errno; else 0.
 * Returns the channel to it, or a negative errno. */
static int order(struct domain *domain, struct task *task, int *fds, pid_t *ret_child)
{
	int ends[2], error = 0;

	*ret_child = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	fds[AT_CHANNEL] = ends[1];
	if (!domain) {
		*ret_child = start(
			task, fds); /* of one that could not be made the channel ends at once */
	} else {
		size_t count = PLACES - (fds[AT_USER_NAMESPACE] < 0);
		if (__atomic_load_n(&domain->is_broken, __ATOMIC_RELAXED) ||
		    !send_message(domain->channel, task, sizeof(*task), fds,
				  task->is_domain ? AT_RULESET + 1 : count))
			error = -ESRCH;
	}
	(void)close(ends[1]);
	if (error == 0)
		return ends[0];
	(void)close(ends[0]);
	return error;
}

static bool has_ended(pid_t child)
{
	int status;

	return waitpid(child, &status, __WALL | WNOHANG) != 0; /* or it is no child any more */
}

/* One that was killed and has not ended yet. */
struct late {
	struct late *next;
	pid_t pid;
};

/* Those are waited for by the next call.  child: another one; 0: none. */
static void wait_for_late(pid_t child)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct late *first;
	struct late *added = child ? malloc(sizeof(*added)) : NULL;

	(void)pthread_mutex_lock(&lock);
	for (struct late **at = &first; *at;) {
		struct late *one = *at;
		if (!has_ended(one->pid)) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
	}
	if (added) {
		*added = (struct late){ first, child };
		first = added;
	}
	(void)pthread_mutex_unlock(&lock);
}

/* child: 0: none.  A file system that does not answer (FUSE) may keep it from ending. */
static void finish(pid_t child)
{
	struct pollfd event = { .events = POLLIN };

	if (child > 0) {
		event.fd = (int)sys_call3(SYS_pidfd_open, child, 0, 0);
		(void)kill(child, SIGKILL);
		if (event.fd >= 0)
			(void)poll(&event, 1, FINISH_MS);
		if (event.fd >= 0)
			(void)close(event.fd);
	}
	wait_for_late(child > 0 && !has_ended(child) ? child : 0);
}

/* Lets a twin that has become what it is to be open the file.  Returns a descriptor or a negative errno. */
static int ask_twin(const struct task *task, int channel)
{
	struct rights rights;
	pid_t twin;
	int fd;

	int error = hear(channel, &twin, &fd);
	if (error == 0 && (rights_read(twin, &rights) < 0 || !rights_equal(&rights, &task->rights)))
		error = -EPERM;
	if (error == 0)
		error = send(channel, "", 1, MSG_NOSIGNAL) == 1 ? hear(channel, &twin, &fd)
								: -ESRCH;
	return error < 0 ? error : fd < 0 ? -EBADF : fd;
}

static int open_by_twin(struct domain *domain, struct task *task, int *fds)
{
	pid_t child;
	int channel = order(domain, task, fds, &child);

	if (channel < 0)
		return channel;
	int fd = ask_twin(task, channel);
	if (fd == -ETIMEDOUT && domain)
		__atomic_store_n(&domain->is_broken, true, __ATOMIC_RELAXED);
	(void)close(channel);
	finish(child);
	return fd;
}

/* Where the path begins. */
static int open_base(const struct named *named)
{
	char name[32] = "cwd";

	if (named->path[0] == '/')
		(void)snprintf(name, sizeof(name), "root");
	else if (named->directory != AT_FDCWD)
		(void)snprintf(name, sizeof(name), "fd/%d", named->directory);
	return proc_open_path(named->tid, name);
}

/* Its users and groups are to be set where they are others: each number must stand for one. */
static int read_rights(pid_t pid, struct task *task)
{
	struct rights own;
	int error = rights_read(pid, &task->rights);

	if (error == 0)
		error = rights_read(getpid(), &own);
	if (error < 0)
		return error;
	task->has_numbers = rights_have_same_numbers(&own, &task->rights);
	return (task->has_numbers || rights_numbers_are_all()) && rights_share_label(pid) ? 0
											  : -EPERM;
}

/* An ordinary user may not set it where it is the same already. */
static bool has_our_root(pid_t tid)
{
	char root[4];

	return proc_link(tid, "root", root, sizeof(root)) == 1 &&
	       proc_mount_ns(tid) == proc_mount_ns(getpid());
}

static int open_user_namespace(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return sys_open(path, O_RDONLY | O_CLOEXEC, 0);
}

int twin_open(const struct target *target, const struct named *named, const struct stat *expected)
{
	int fds[PLACES] = { NONE, NONE, NONE, NONE };
	struct task task = { .has_root = has_our_root(named->tid),
			     .dev = expected->st_dev,
			     .ino = expected->st_ino };

	if (strlen(named->path) >= sizeof(task.path))
		return -ENAMETOOLONG;
	memcpy(task.path, named->path, strlen(named->path) + 1);
	int error = read_rights(target->pid, &task);
	if (error == 0 && !rights_share_user_namespace(target->pid))
		error = fds[AT_USER_NAMESPACE] = open_user_namespace(target->pid);
	if (error >= 0)
		error = fds[AT_ROOT] = proc_open_path(named->tid, "root");
	if (error >= 0)
		error = fds[AT_BASE] = open_base(named);
	int fd = error < 0 ? error : open_by_twin(target->domain, &task, fds);
	for (int i = AT_ROOT; i < PLACES; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	return fd;
}

/* ---- domains ---- */

/* channel: to its holder. */
static struct domain *make_domain(int channel, pid_t holder)
{
	struct domain *domain = malloc(sizeof(*domain));

	if (domain)
		*domain = (struct domain){ .users = 1, .channel = channel, .holder = holder };
	return domain;
}

static struct domain *restrict_holder(struct domain *outer, int ruleset)
{
	int fds[PLACES] = { NONE, ruleset, NONE, NONE }, fd;
	struct task task = { .is_domain = true };
	struct domain *domain = NULL;
	pid_t child, holder;

	int channel = order(outer, &task, fds, &child);
	if (channel >= 0 && hear(channel, &holder, &fd) == 0)
		domain = make_domain(channel, child);
	if (!domain && channel >= 0)
		(void)close(channel);
	if (!domain)
		finish(child);
	return domain;
}

struct domain *domain_enter(struct domain *outer, int pidfd, int ruleset)
{
	struct domain *domain = NULL;

	int own = (int)sys_call3(SYS_pidfd_getfd, pidfd, ruleset, 0);
	if (own < 0)
		return NULL;
	if (__atomic_fetch_add(&domain_count, 1, __ATOMIC_RELAXED) < DOMAINS_MAX)
		domain = restrict_holder(outer, own);
	if (!domain)
		(void)__atomic_fetch_sub(&domain_count, 1, __ATOMIC_RELAXED);
	(void)close(own);
	return domain;
}

struct domain *domain_share(struct domain *domain)
{
	if (domain)
		(void)__atomic_fetch_add(&domain->users, 1, __ATOMIC_RELAXED);
	return domain;
}

void domain_release(struct domain *domain)
{
	if (!domain || __atomic_sub_fetch(&domain->users, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	(void)close(domain->channel);
	finish(domain->holder);
	free(domain);
	(void)__atomic_fetch_sub(&domain_count, 1, __ATOMIC_RELAXED);
}
