/* Landlock: see landlock.h. */
#include "cli/confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/types.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/confine/capabilities.h"
#include "cli/confine/grants.h"
#include "cli/confine/socket_filter.h"
#include "tracker/sys/sys.h"

enum { LEAST_VERSION = 3, DEVICES_VERSION = 5, SCOPES_VERSION = 6 };

/* As linux/landlock.h of Linux 6.12 has them; Debian 12's headers are older. */
enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5,
	MAKE_CHAR = 1 << 6,
	MAKE_DIR = 1 << 7,
	MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9,
	MAKE_FIFO = 1 << 10,
	MAKE_BLOCK = 1 << 11,
	MAKE_SYM = 1 << 12,
	REFER = 1 << 13,
	TRUNCATE = 1 << 14,
	IOCTL_DEV = 1 << 15,

	OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
	TO_READ = EXECUTE | READ_FILE | READ_DIR,
	TO_WRITE = TO_READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG |
		   MAKE_SOCK | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE,
	ALL = TO_WRITE | MAKE_CHAR | MAKE_BLOCK,

	RULE_PATH_BENEATH = 1,
	CREATE_VERSION = 1 << 0,
	SCOPE_ABSTRACT_SOCKETS = 1 << 0,
};

struct ruleset_attributes {
	uint64_t files, network, scopes;
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

static int version(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
}

int landlock_version(const char **ret_reason)
{
	int found = version();

	*ret_reason = found < 0 ? "this kernel has no Landlock"
				: "this kernel's Landlock is older than Linux 6.2";
	return found >= LEAST_VERSION ? found : 0;
}

struct making {
	int ruleset, version;
};

static int add_rule(void *data, const char *path, enum grant_level level)
{
	static const uint64_t RIGHTS[] = {
		[GRANT_LIST] = READ_DIR, [GRANT_READ] = TO_READ, [GRANT_WRITE] = TO_WRITE
	};
	const struct making *making = data;
	struct path_beneath rule = { .allowed = RIGHTS[level],
				     .parent = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC) };
	struct stat stat;
	int error = 0;

	if (rule.parent < 0) /* it is gone, or out of reach */
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	if (strncmp(path, "/dev/", 5) == 0 && level == GRANT_WRITE &&
	    making->version >= DEVICES_VERSION)
		rule.allowed |= IOCTL_DEV;
	if (fstat(rule.parent, &stat) < 0)
		error = -errno;
	else if (!S_ISDIR(stat.st_mode))
		rule.allowed &= OF_FILES;
	/* A link has no content, and a file of the kernel's own (a pipe's) has no place. */
	if (error == 0 && rule.allowed && !S_ISLNK(stat.st_mode) &&
	    syscall(SYS_landlock_add_rule, making->ruleset, RULE_PATH_BENEATH, &rule, 0) < 0 &&
	    errno != EBADFD)
		error = -errno;
	(void)close(rule.parent);
	return error;
}

/* The devices that bubblewrap's --dev has.  Its /dev/pts and /dev/shm are empty ones; these are the
 * machine's (docs/rules.md). */
static int add_devices(struct confinement *confinement)
{
	static const char *const DEVICES[] = { "/dev/null",   "/dev/zero", "/dev/full",
					       "/dev/random", "/dev/tty",  "/dev/urandom",
					       "/dev/ptmx",   "/dev/pts",  "/dev/shm",
					       NULL };
	int error = confinement_add(confinement, "/dev", CONFINE_HIDDEN);

	for (size_t i = 0; DEVICES[i] && error == 0; i++)
		error = confinement_add(confinement, DEVICES[i], CONFINE_WRITABLE);
	return error;
}

int landlock_make(struct confinement *confinement)
{
	struct making making = { .version = version() };
	struct ruleset_attributes attributes = { .files = ALL };
	size_t bytes = sizeof(attributes.files);

	if (making.version >= DEVICES_VERSION)
		attributes.files |= IOCTL_DEV;
	if (making.version >= SCOPES_VERSION) {
		attributes.scopes = SCOPE_ABSTRACT_SOCKETS;
		bytes = sizeof(attributes);
	}
	making.ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, bytes, 0);
	if (making.ruleset < 0)
		return -errno;
	(void)fcntl(making.ruleset, F_SETFD, FD_CLOEXEC);
	int error = add_devices(confinement);
	if (error == 0)
		error = grants_each(confinement, add_rule, &making);
	if (error < 0) {
		(void)close(making.ruleset);
		return error;
	}
	return making.ruleset;
}

static int restrict_self(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

/* By raw calls: below another run's library, libc's would have that run supervise this process, and
 * there is one supervisor at most. */
int landlock_leave_others(void)
{
	const struct ruleset_attributes attributes = { .scopes = SCOPE_ABSTRACT_SOCKETS };
	long ruleset = version() < SCOPES_VERSION
			       ? -ENOSYS
			       : sys_call3(SYS_landlock_create_ruleset, (long)&attributes,
					   sizeof(attributes), 0);

	if (ruleset < 0)
		return (int)ruleset;
	long error = sys_call3(SYS_landlock_restrict_self, ruleset, 0, 0);
	if (error == -EPERM && sys_call6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) == 0)
		error = sys_call3(SYS_landlock_restrict_self, ruleset, 0, 0);
	(void)close((int)ruleset);
	return (int)error;
}

int landlock_enter(const struct confinement *confinement, int ruleset)
{
	int error = geteuid() == 0 ? capabilities_drop() : 0;

	if (error == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		error = -errno;
	if (error == 0)
		error = restrict_self(ruleset);
	return error == 0
		       ? socket_filter_install(confinement->shares_network,
					       confinement_count(confinement, CONFINE_CLOSED) == 0)
		       : error;
}
