/* This machine: see doctor_machine.h. */
#include "cli/run/doctor_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/confine/bwrap.h"
#include "cli/confine/landlock.h"
#include "cli/enable/enabled.h"
#include "cli/enable/enabled_state.h"
#include "cli/run/above.h"
#include "cli/run/outlive.h"
#include "cli/session/session.h"
#include "cli/session/store.h"
#include "config/value.h"
#include "shim/supervise/supervisor.h"
#include "tracker/sys/sys.h"

static void check_kernel(struct doctor *doctor)
{
	struct utsname name;
	int fd = memfd_create("seen-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (uname(&name) == 0)
		doctor_add(doctor, LEVEL_OK, "kernel", NULL, "%s %s, %s", name.sysname,
			   name.release, name.machine);
	if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		doctor_add(doctor, LEVEL_OK, "memfd", NULL,
			   "files in memory can be made and sealed");
	else
		doctor_add(doctor, LEVEL_FAIL, "memfd",
			   "allow memfd_create and F_ADD_SEALS in this container or sandbox",
			   "no sealed file in memory can be had (%s): no notice can be given",
			   strerror(errno));
	if (fd >= 0)
		(void)close(fd);
}

/* Is the running kernel of this version or a later one? */
static bool kernel_is_at_least(unsigned major, unsigned minor)
{
	struct utsname name;
	unsigned found[2];

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &found[0], &found[1]) == 2 &&
	       (found[0] > major || (found[0] == major && found[1] >= minor));
}

static void check_supervisor(struct doctor *doctor)
{
	struct supervisor *supervisor = &doctor->supervisor;
	const char *why = "it cannot be set up here",
		   *remedy = "see why with `seen run --via both -- true`, or say --via preload";

	supervisor->error = supervise_supported();
	supervisor->waits_killable = kernel_is_at_least(5, 19);
	supervisor->wakes_in_step = kernel_is_at_least(6, 6);
	supervisor->drops_privileges = via_drops_privileges();
	switch (supervisor->error) {
	case 0:
		doctor_add(doctor, LEVEL_OK, "supervisor", NULL, "possible%s%s; below it %s",
			   supervisor->waits_killable ? ""
						      : ", without WAIT_KILLABLE_RECV (Linux 5.19)",
			   supervisor->wakes_in_step ? ""
						     : ", without SYNC_WAKE_UP (Linux 6.6): slower",
			   supervisor->drops_privileges
				   ? "sudo and other setuid programs run without their privileges, "
				     "which "
				     "--via preload leaves to them"
				   : "setuid programs keep their privileges, as it may do without "
				     "no_new_privs");
		return;
	case -ENOSYS:
		why = "the kernel is older than 5.14 or has no seccomp user notification";
		remedy = "use a newer kernel; or say --via preload";
		break;
	case -EPERM:
	case -EACCES:
		why = "the policy of this machine, container or sandbox forbids it";
		remedy = "allow seccomp filters with user notification there; or say --via preload";
		break;
	case -EBUSY:
		why = "there is one above already, of a sandbox or another seen";
		remedy = "run seen outside of that; or say --via preload";
		break;
	default:
		break;
	}
	doctor_add(doctor, LEVEL_WARN, "supervisor", remedy,
		   "none: %s; what the library cannot be in is not seen", why);
}

static void check_confinement(struct doctor *doctor)
{
	char reason[BWRAP_REASON_BYTES];
	const char *no_landlock;
	enum bwrap_state state = bwrap_try(reason);

	if (state == BWRAP_WORKS)
		doctor_add(doctor, LEVEL_OK, "confine", NULL, "possible, by %s: %s", reason,
			   geteuid() == 0
				   ? "mount namespace, of root's capabilities those for files "
				     "of others"
				   : "user and mount namespace, no capabilities");
	else if (above_is_confined())
		doctor_add(doctor, LEVEL_WARN, "confine", "leave --confine out in here",
			   "the run that this one is in is confined already: what that keeps from "
			   "it is out of reach here, too");
	else if (landlock_version(&no_landlock))
		doctor_add(doctor, LEVEL_WARN, "confine", bwrap_remedy(state),
			   "by Landlock %d alone (%s): files that are protected in a writable "
			   "directory cannot be kept, a run with --confine does not start where "
			   "there are some; -c confine.by=rules has rules keep these",
			   landlock_version(&no_landlock),
			   state == BWRAP_ABSENT ? "there is no bwrap" : reason);
	else
		doctor_add(doctor, LEVEL_WARN, "confine", bwrap_remedy(state),
			   "not possible, a run with --confine does not start: %s, and %s",
			   state == BWRAP_ABSENT ? "there is no bwrap" : reason, no_landlock);
}

/* Agents of which each start is to be wrapped. */
static void check_enabled(struct doctor *doctor)
{
	enum { SHOWN = 8 };
	struct enabled enabled;

	if (enabled_read(&enabled) < 0)
		return;
	for (size_t i = 0; i < enabled.count && i < SHOWN; i++) {
		const char *name = enabled.agents[i].name;
		struct enabled_state state;
		if (i && strcmp(name, enabled.agents[i - 1].name) == 0)
			continue;
		enabled_state_find(name, &state);
		if (state.is_wrapped)
			doctor_add(doctor, LEVEL_OK, "always on", NULL, "%s: wrapped, starts %s",
				   name, state.program);
		else
			doctor_add(doctor, LEVEL_WARN, "always on", NULL, "%s: not wrapped: %s",
				   name, state.why_not);
	}
	enabled_free(&enabled);
}

/* Programs of any session that a killed supervisor left below its filter. */
static void check_stranded(struct doctor *doctor)
{
	char names[OUTLIVE_NAMES_BYTES];
	struct store store;

	if (store_open(doctor->config, &store) == 0)
		for (size_t i = 0; i < store.count; i++) {
			struct session session;
			if (store.sessions[i].state != STORE_LIVE ||
			    session_open(doctor->config, store.sessions[i].name, &session) < 0)
				continue;
			unsigned count = outlive_stranded(&session, names);
			session_close(&session);
			if (count)
				doctor_add(doctor, LEVEL_WARN, "stranded",
					   "end them: kill their pids",
					   "the supervisor of session %s was killed, and its "
					   "guardian: "
					   "calls fail with ENOSYS in %s",
					   store.sessions[i].name, names);
		}
	store_close(&store);
}

static void check_creation_times(struct doctor *doctor)
{
	struct statx status;
	const char *directory = getenv("TMPDIR");

	if (!directory || directory[0] != '/')
		directory = "/tmp";
	if (statx(AT_FDCWD, directory, 0, STATX_BTIME, &status) == 0 &&
	    (status.stx_mask & STATX_BTIME))
		doctor_add(doctor, LEVEL_OK, "birth time", NULL, "files in %s have one", directory);
	else
		doctor_add(
			doctor, LEVEL_WARN, "birth time",
			"set TMPDIR to a directory on ext4, xfs, btrfs or tmpfs (Linux 6.x)",
			"files in %s have none: agents that collect output in files there get no "
			"notices",
			directory);
}

static void check_proc(struct doctor *doctor)
{
	char target[PATH_MAX], path[64], line[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)getppid());
	if (readlink("/proc/self/exe", target, sizeof(target)) <= 0 ||
	    sys_read_file("/proc/self/stat", line, 512) <= 0 ||
	    access("/proc/self/ns/pid", F_OK) < 0)
		doctor_add(doctor, LEVEL_FAIL, "proc",
			   "mount procfs on /proc in this container or sandbox",
			   "/proc does not show this process: programs and ancestors are unknown, "
			   "nothing is answered");
	else if (sys_read_file(path, line, sizeof(line)) <= 0)
		doctor_add(doctor, LEVEL_WARN, "proc",
			   "mount /proc without hidepid, or run the agent as one user throughout",
			   "/proc does not show the parent of this process; behind such a parent "
			   "nothing "
			   "is answered");
	else
		doctor_add(doctor, LEVEL_OK, "proc", NULL, "mounted, own entries can be read");
}

static void check_mode(struct doctor *doctor)
{
	const struct config_value *mode = config_value(doctor->config, OPTION_session_mode);

	if (mode->number == SESSION_MODE_OFF) {
		doctor_add(doctor, LEVEL_WARN, "mode", "unset it there, or say --mode substitute",
			   "off, set by %s: nothing is observed", mode->origin);
		doctor->unseen = true;
	} else if (mode->number == SESSION_MODE_OBSERVE) {
		doctor_add(doctor, LEVEL_WARN, "mode", "unset it there, or say --mode substitute",
			   "observe, set by %s: nothing is answered", mode->origin);
	} else {
		doctor_add(doctor, LEVEL_OK, "mode", NULL, "substitute");
	}
}

/* The nearest directory that exists, from `path` up. */
static void nearest_existing(const char *path, char *ret_directory)
{
	(void)snprintf(ret_directory, PATH_MAX, "%s", path);
	while (access(ret_directory, F_OK) < 0) {
		char *slash = strrchr(ret_directory, '/');
		if (!slash || slash == ret_directory) {
			(void)snprintf(ret_directory, PATH_MAX, "/");
			break;
		}
		*slash = '\0';
	}
}

/* Can sessions be made in a directory?  Returns false when not. */
static bool check_directory(struct doctor *doctor, const char *what, const char *path,
			    enum level level, const char *remedy)
{
	char existing[PATH_MAX];
	struct stat status;
	struct statvfs space;
	const uint64_t mebibyte = UINT64_C(1) << 20, enough = 64 * mebibyte;

	nearest_existing(path, existing);
	bool there = strcmp(existing, path) == 0;
	if (stat(existing, &status) < 0 || !S_ISDIR(status.st_mode)) {
		doctor_add(doctor, level, what, remedy, "%s: %s is no directory", path, existing);
		return false;
	}
	if (there && status.st_uid != geteuid()) {
		doctor_add(doctor, level, what, remedy, "%s belongs to another user", path);
		return false;
	}
	if (access(existing, W_OK | X_OK) < 0) {
		int error = errno;
		doctor_add(doctor, level, what, remedy, "%s: %s cannot be written to: %s", path,
			   existing, strerror(error));
		return false;
	}
	if (statvfs(existing, &space) < 0) {
		doctor_add(doctor, LEVEL_WARN, what, remedy, "%s: its free space is unknown: %s",
			   path, strerror(errno));
		return true;
	}
	uint64_t available = (uint64_t)space.f_bavail * space.f_frsize;
	if (available < mebibyte / 4 || (space.f_files && !space.f_favail)) {
		doctor_add(doctor, level, what, remedy, "%s: %" PRIu64 " KiB free, no session fits",
			   path, available / 1024);
		return false;
	}
	if (available < enough)
		doctor_add(doctor, LEVEL_WARN, what,
			   "make room: a session takes some 11 MiB, less room makes its tables "
			   "smaller",
			   "%s: %" PRIu64 " MiB free", path, available / mebibyte);
	else
		doctor_add(doctor, LEVEL_OK, what, NULL, "%s: %s, %" PRIu64 " MiB free", path,
			   there ? "writable" : "can be made", available / mebibyte);
	return true;
}

static void check_directories(struct doctor *doctor)
{
	char runtime[PATH_MAX], state[PATH_MAX];
	bool usable = false;

	if (session_state_dir(doctor->config, state, sizeof(state)) == 0)
		usable = check_directory(
			doctor, "state folder", state, LEVEL_WARN,
			"name a directory of your own with --state-dir or XDG_STATE_HOME");
	if (session_runtime_dir(doctor->config, runtime, sizeof(runtime)) == 0)
		(void)check_directory(
			doctor, "runtime folder", runtime, usable ? LEVEL_WARN : LEVEL_FAIL,
			"name a directory of your own with --runtime-dir or XDG_RUNTIME_DIR");
}

void doctor_check_machine(struct doctor *doctor)
{
	check_kernel(doctor);
	check_supervisor(doctor);
	check_confinement(doctor);
	check_stranded(doctor);
	check_creation_times(doctor);
	check_proc(doctor);
	check_mode(doctor);
	check_directories(doctor);
	check_enabled(doctor);
}
