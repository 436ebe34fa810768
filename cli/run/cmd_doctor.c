/*
 * `seen doctor`: what will be observed on this machine, and of a program.  Linkage is inspected to
 * explain, not to judge: a program is started under the library, and the session is asked.
 *
 * A check is one line: ok, warn (something is less than it could be) or fail (nothing works), and
 * what to do about it.  The exit code says whether all can be observed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/agents/hooks.h"
#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/base/text.h"
#include "cli/command.h"
#include "cli/run/elder.h"
#include "cli/run/outlive.h"
#include "cli/run/probe.h"
#include "cli/run/via.h"
#include "cli/session/session.h"
#include "cli/session/store.h"
#include "config/rules.h"
#include "config/value.h"
#include "shim/supervise/supervisor.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/tracker.h"
#include "tracker/path/path.h"
#include "tracker/process/role.h"
#include "tracker/sys/sys.h"

enum { PROGRAM_TIMEOUT_MS = 5000, CHECKS_MAX = 40, DETAIL_BYTES = 2048 };
/* More than [notice] min_bytes of the trial, less than any agent is taken to pass on whole. */
enum { PROBE_FILE_BYTES = 1024 };

static bool json;

static const struct option_spec SPECS[] = {
	{ "--json", NULL, "a JSON document, seen/doctor/1", &json, NULL },
};

static const struct options OPTIONS = {
	.usage = "doctor [OPTION...] [[--] COMMAND [ARGUMENT...]]",
	.summary = "Reports what would be observed on this machine, and of COMMAND. For that, "
		   "COMMAND's program is started with --version in a temporary session, for 5 "
		   "seconds at most. Of a script that is no known agent, only the interpreter is "
		   "started. Exit code 5: something cannot be observed.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
};

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL };

static const char *const LEVEL_NAMES[] = { "ok", "warn", "fail" };

struct check {
	const char *what;
	enum level level;
	char detail[DETAIL_BYTES];
	const char *remedy; /* NULL: none needed */
};

/* Of the program in question. */
struct program {
	bool found;
	struct executable chain[EXECUTABLE_CHAIN_MAX];
	int count;
	struct invocation invocation;
	char profile[64], tested[64];
	struct probe_result result;
	bool probed;
	struct via via;
	bool supervised; /* what keeps the library out of it keeps nothing from the supervisor */
};

/* Of this machine, for the supervisor. */
struct supervisor {
	int error; /* why there can be none */
	bool waits_killable, wakes_in_step, drops_privileges;
};

struct doctor {
	struct check checks[CHECKS_MAX];
	int count;
	bool unseen; /* something will not be observed */
	const struct config *config;
	struct supervisor supervisor;
	struct probe probe;
	bool probe_is_open;
	char **words; /* COMMAND, or NULL */
	struct program program;
};

/* Adds a line.  remedy: static text, or NULL. */
__attribute__((format(printf, 5, 6))) static void add(struct doctor *doctor, enum level level,
						      const char *what, const char *remedy,
						      const char *format, ...)
{
	char plain[DETAIL_BYTES / 4];
	va_list arguments;

	if (doctor->count == CHECKS_MAX)
		return;
	struct check *check = &doctor->checks[doctor->count++];
	*check = (struct check){ .what = what, .level = level, .remedy = remedy };
	va_start(arguments, format);
	(void)vsnprintf(plain, sizeof(plain), format, arguments);
	va_end(arguments);
	(void)path_escape(plain, check->detail, sizeof(check->detail));
	if (level == LEVEL_FAIL)
		doctor->unseen = true;
}

/* ---- the machine ---- */

static void check_kernel(struct doctor *doctor)
{
	struct utsname name;
	int fd = memfd_create("seen-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (uname(&name) == 0)
		add(doctor, LEVEL_OK, "kernel", NULL, "%s %s, %s", name.sysname, name.release,
		    name.machine);
	if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		add(doctor, LEVEL_OK, "memfd", NULL, "files in memory can be made and sealed");
	else
		add(doctor, LEVEL_FAIL, "memfd",
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
		add(doctor, LEVEL_OK, "supervisor", NULL, "possible%s%s; below it %s",
		    supervisor->waits_killable ? "" : ", without WAIT_KILLABLE_RECV (Linux 5.19)",
		    supervisor->wakes_in_step ? "" : ", without SYNC_WAKE_UP (Linux 6.6): slower",
		    supervisor->drops_privileges
			    ? "sudo and other setuid programs run without their privileges, which "
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
	add(doctor, LEVEL_WARN, "supervisor", remedy,
	    "none: %s; what the library cannot be in is not seen", why);
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
				add(doctor, LEVEL_WARN, "stranded", "end them: kill their pids",
				    "the supervisor of session %s was killed, and its guardian: "
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
		add(doctor, LEVEL_OK, "birth time", NULL, "files in %s have one", directory);
	else
		add(doctor, LEVEL_WARN, "birth time",
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
		add(doctor, LEVEL_FAIL, "proc",
		    "mount procfs on /proc in this container or sandbox",
		    "/proc does not show this process: programs and ancestors are unknown, "
		    "nothing is answered");
	else if (sys_read_file(path, line, sizeof(line)) <= 0)
		add(doctor, LEVEL_WARN, "proc",
		    "mount /proc without hidepid, or run the agent as one user throughout",
		    "/proc does not show the parent of this process; behind such a parent nothing "
		    "is answered");
	else
		add(doctor, LEVEL_OK, "proc", NULL, "mounted, own entries can be read");
}

static void check_mode(struct doctor *doctor)
{
	const struct config_value *mode = config_value(doctor->config, OPTION_session_mode);

	if (mode->number == SESSION_MODE_OFF) {
		add(doctor, LEVEL_WARN, "mode", "unset it there, or say --mode substitute",
		    "off, set by %s: nothing is observed", mode->origin);
		doctor->unseen = true;
	} else if (mode->number == SESSION_MODE_OBSERVE) {
		add(doctor, LEVEL_WARN, "mode", "unset it there, or say --mode substitute",
		    "observe, set by %s: nothing is answered", mode->origin);
	} else {
		add(doctor, LEVEL_OK, "mode", NULL, "substitute");
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
		add(doctor, level, what, remedy, "%s: %s is no directory", path, existing);
		return false;
	}
	if (there && status.st_uid != geteuid()) {
		add(doctor, level, what, remedy, "%s belongs to another user", path);
		return false;
	}
	if (access(existing, W_OK | X_OK) < 0) {
		int error = errno;
		add(doctor, level, what, remedy, "%s: %s cannot be written to: %s", path, existing,
		    strerror(error));
		return false;
	}
	if (statvfs(existing, &space) < 0) {
		add(doctor, LEVEL_WARN, what, remedy, "%s: its free space is unknown: %s", path,
		    strerror(errno));
		return true;
	}
	uint64_t available = (uint64_t)space.f_bavail * space.f_frsize;
	if (available < mebibyte / 4 || (space.f_files && !space.f_favail)) {
		add(doctor, level, what, remedy, "%s: %" PRIu64 " KiB free, no session fits", path,
		    available / 1024);
		return false;
	}
	if (available < enough)
		add(doctor, LEVEL_WARN, what,
		    "make room: a session takes some 11 MiB, less room makes its tables smaller",
		    "%s: %" PRIu64 " MiB free", path, available / mebibyte);
	else
		add(doctor, LEVEL_OK, what, NULL, "%s: %s, %" PRIu64 " MiB free", path,
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

/* ---- the library ---- */

/* A file with text, in the trial's workspace; its path. */
static int make_probe_file(const struct probe *probe, char *ret_path, size_t capacity)
{
	if (snprintf(ret_path, capacity, "%s/probe.txt", probe->work) >= (int)capacity)
		return -ENAMETOOLONG;
	FILE *file = fopen(ret_path, "we");
	if (!file)
		return -errno;
	for (int written = 0; written < PROBE_FILE_BYTES;)
		written += fprintf(file, "a line of a file that is read twice\n");
	return fclose(file) == 0 ? 0 : -errno;
}

/* Two reads by `cat`: the first is recorded, the second answered. */
static void check_cat(struct doctor *doctor)
{
	char path[PATH_MAX], cat[PATH_MAX];
	char *words[] = { (char *)"cat", path, NULL };
	struct probe_result result = { .started = false };
	struct file_slot file = { .full_reads = 0 };

	int error = make_probe_file(&doctor->probe, path, sizeof(path));
	if (error == 0)
		error = executable_find("cat", cat, sizeof(cat));
	for (int i = 0; i < 2 && error == 0; i++)
		error = probe_run(&doctor->probe, cat, words, PROBE_CAPTURE, PROGRAM_TIMEOUT_MS,
				  &result);
	if (error == 0)
		(void)tracker_file(&doctor->probe.session.segment, path, &file);
	if (error < 0)
		add(doctor, LEVEL_FAIL, "probe", "install cat and make room in TMPDIR",
		    "cat cannot be tried: %s", strerror(-error));
	else if (!result.attached)
		add(doctor, LEVEL_FAIL, "probe",
		    "build seen on this machine, for its libc; let cat be a dynamic program",
		    "the library does not start inside %s%s%s", cat,
		    result.complaint[0] ? ": " : "", result.complaint);
	else if (file.full_reads != 1 || file.notices != 1)
		add(doctor, LEVEL_FAIL, "probe", "report this, with `seen doctor --json`",
		    "%s read a file twice; %u full reads and %u notices are on record, not 1 and "
		    "1%s",
		    cat, file.full_reads, file.notices,
		    result.timed_out ? " (it did not end in time)" : "");
	else
		add(doctor, LEVEL_OK, "probe", NULL,
		    "%s read a file twice: once in full, then a notice", cat);
}

static void check_library(struct doctor *doctor, struct config_request *request)
{
	struct config_error why;

	int error = probe_open(request, &doctor->probe, &why);
	if (doctor->probe.library[0] == '\0') {
		add(doctor, LEVEL_FAIL, "library",
		    "install bin/seen and lib/seen/libseen.so under one prefix", "%s", why.text);
		return;
	}
	if (strpbrk(doctor->probe.library, " :")) {
		add(doctor, LEVEL_FAIL, "library", "install seen under a path without them",
		    "%s cannot be preloaded: its path holds a space or a colon",
		    doctor->probe.library);
		return;
	}
	add(doctor, LEVEL_OK, "library", NULL, "%s", doctor->probe.library);
	if (error < 0) {
		add(doctor, LEVEL_FAIL, "probe",
		    "set TMPDIR to a directory of your own with room for 2 MiB", "%s", why.text);
		return;
	}
	doctor->probe_is_open = true;
	check_cat(doctor);
}

/* ---- the program ---- */

static const struct executable *last_of(const struct program *program)
{
	return &program->chain[program->count - 1];
}

static const char *libc_name(enum executable_libc libc)
{
	static const char *const NAMES[] = { "none", "glibc", "musl", "another libc" };
	return NAMES[libc];
}

static const char *kind_name(enum executable_kind kind)
{
	static const char *const NAMES[] = { "dynamic", "static", "script", "other" };
	return NAMES[kind];
}

static const char *runtime_name(enum executable_runtime runtime)
{
	static const char *const NAMES[] = { "", "Go", "Bun" };
	return NAMES[runtime];
}

/* By which mechanism the program is seen. */
static void check_via(struct doctor *doctor)
{
	struct program *program = &doctor->program;
	const struct executable *last = last_of(program);
	const struct segment *segment = doctor->probe_is_open ? &doctor->probe.session.segment
							      : NULL;
	struct via *via = &program->via;

	via_choose(doctor->config, segment, doctor->words, supervise_supported, via);
	/* It does not know the calls of other architectures. */
	program->supervised = via->ways != SESSION_VIA_PRELOAD &&
			      (last->kind == EXECUTABLE_STATIC ||
			       last->kind == EXECUTABLE_DYNAMIC) &&
			      last->native;
	if (via->note)
		add(doctor, LEVEL_WARN, "via",
		    via->ways == SESSION_VIA_PRELOAD
			    ? "what the line on the supervisor says; or none, with --via preload"
			    : "say --via preload",
		    "%s (%s): %s", via_name(via->ways), via->reason, via->note);
	else
		add(doctor, LEVEL_OK, "via", NULL, "%s: %s", via_name(via->ways), via->reason);
	if (via->refusal)
		add(doctor, LEVEL_FAIL, "rules", "run it as the user it changes to",
		    "[rule %s] would not hold, and the command would not be started: %s",
		    via->rule->name, via->refusal);
	if (via->ways != SESSION_VIA_PRELOAD && via_drops_privileges())
		add(doctor, LEVEL_WARN, "sudo",
		    "run what needs sudo outside of it; or say --via preload, which leaves sudo "
		    "alone and sees "
		    "less",
		    "sudo, su and other setuid programs that it starts get no privileges: below "
		    "the supervisor no_new_privs is set, unless root runs it");
}

static void check_kind(struct doctor *doctor)
{
	const struct executable *last = last_of(&doctor->program);

	for (int i = 0;
	     i < doctor->program.count && doctor->program.chain[i].kind == EXECUTABLE_SCRIPT; i++)
		add(doctor, LEVEL_OK, "script", NULL, "%s, run by %s%s%s",
		    doctor->program.chain[i].path, doctor->program.chain[i].interpreter,
		    doctor->program.chain[i].line[0] ? "" : " (it names no ",
		    doctor->program.chain[i].line[0] ? "" : "interpreter)");
	if (last->kind == EXECUTABLE_DYNAMIC && !last->native)
		add(doctor, LEVEL_FAIL, "executable", "use a build for this machine's architecture",
		    "%s: %u-bit %s: the library is for another architecture and cannot be inside "
		    "it",
		    last->path, last->bits, last->machine);
	else if (doctor->program.supervised && last->kind == EXECUTABLE_DYNAMIC &&
		 last->libc != LIBC_GLIBC)
		add(doctor, LEVEL_OK, "executable", NULL,
		    "%s: %u-bit %s, dynamic, %s (%s): not for the library, but the supervisor",
		    last->path, last->bits, last->machine, libc_name(last->libc), last->loader);
	else if (doctor->program.supervised && last->kind == EXECUTABLE_STATIC)
		add(doctor, LEVEL_OK, "executable", NULL,
		    "%s: %u-bit %s, static: not for the library, but the supervisor", last->path,
		    last->bits, last->machine);
	else if (last->kind == EXECUTABLE_DYNAMIC && last->libc != LIBC_GLIBC)
		add(doctor, LEVEL_WARN, "executable", "use a build for glibc, if there is one",
		    "%s: %u-bit %s, dynamic, %s (%s); the library is for glibc", last->path,
		    last->bits, last->machine, libc_name(last->libc), last->loader);
	else if (last->kind == EXECUTABLE_DYNAMIC)
		add(doctor, LEVEL_OK, "executable", NULL, "%s: %u-bit %s, dynamic, %s", last->path,
		    last->bits, last->machine, libc_name(last->libc));
	else if (last->kind == EXECUTABLE_STATIC)
		add(doctor, LEVEL_WARN, "executable",
		    "none needed for commands; to see its own file access too, use a dynamic "
		    "build, if there is one",
		    "%s: %u-bit %s, static: the library cannot be inside it and its own file "
		    "access is not seen; "
		    "commands it starts through a shell are",
		    last->path, last->bits, last->machine);
	else
		add(doctor, LEVEL_FAIL, "executable", "name the program itself",
		    "%s is neither an ELF file nor a script, or its interpreters form a chain that "
		    "is too long",
		    last->path);
	if ((last->kind != EXECUTABLE_DYNAMIC || last->libc != LIBC_GLIBC) &&
	    !doctor->program.supervised)
		doctor->unseen = true;
}

static void check_privileges(struct doctor *doctor)
{
	const struct executable *last = last_of(&doctor->program);

	if (!last->setuid && !last->setgid && !last->capabilities)
		return;
	add(doctor, LEVEL_WARN, "privileges",
	    "run it as the user it changes to, inside the session",
	    "%s%s%s: the dynamic loader ignores the library when it gains privileges; what it "
	    "starts is not seen either",
	    last->setuid ? "set-user-ID" : "",
	    last->setgid ? (last->setuid ? ", set-group-ID" : "set-group-ID") : "",
	    last->capabilities
		    ? (last->setuid || last->setgid ? ", file capabilities" : "file capabilities")
		    : "");
	doctor->unseen = true;
}

static void check_runtime(struct doctor *doctor)
{
	const struct executable *last = last_of(&doctor->program);

	if (!last->runtime || last->kind != EXECUTABLE_DYNAMIC)
		return;
	if (doctor->program.supervised) {
		add(doctor, LEVEL_OK, "run time", NULL,
		    "%s: it starts with the library, but makes its own system calls: the "
		    "supervisor observes those",
		    runtime_name(last->runtime));
		return;
	}
	add(doctor, LEVEL_WARN, "run time",
	    "none needed for commands; its in-process reads are given in full, as without seen",
	    "%s: it starts with the library, but makes its own system calls: its own file access "
	    "is not seen; commands "
	    "it starts through a shell are",
	    runtime_name(last->runtime));
	doctor->unseen = true;
}

/* What of a command's output is taken for given, in words. */
static void describe_limits(const struct segment *segment, const struct settings_profile *profile,
			    char *ret_text, size_t capacity)
{
	struct output_limits limits = limits_of_profile(segment, profile, true);
	const char *measured = profile ? segment_text(segment, profile->measured, NULL) : NULL;
	char lines[64] = "", line[64] = "", version[64] = "";

	if (limits.lines != UINT64_MAX)
		(void)snprintf(lines, sizeof(lines), " and %" PRIu64 " lines", limits.lines);
	if (limits.line_bytes != UINT64_MAX)
		(void)snprintf(line, sizeof(line), ", no line over %" PRIu64, limits.line_bytes);
	if (measured && strcmp(measured, "*") != 0)
		(void)snprintf(version, sizeof(version), " with %.40s, half for others", measured);
	(void)snprintf(ret_text, capacity,
		       "commands up to %" PRIu64 " bytes%s%s count as given (%s%s)", limits.bytes,
		       lines, line, limits.is_measured ? "measured" : "never measured", version);
}

static void check_role(struct doctor *doctor)
{
	char limits[256];
	struct program *program = &doctor->program;
	const struct segment *segment = &doctor->probe.session.segment;
	char **words = executable_words(program->chain, program->count, doctor->words);

	if (!words)
		return;
	role_invocation(segment, last_of(program)->path, words, &program->invocation);
	free(words);
	const struct invocation *invocation = &program->invocation;
	if (invocation->ignored)
		add(doctor, LEVEL_OK, "role", NULL, "%s (%s), ignored by [processes] ignore",
		    role_name(invocation->role), invocation->name);
	else if (invocation->role != ROLE_AGENT)
		add(doctor, LEVEL_OK, "role", NULL, "%s (%s)%s", role_name(invocation->role),
		    invocation->name,
		    invocation->role == ROLE_TOOL ? "; if it talks to a model, say so: --agent NAME"
						  : "");
	else if (invocation->profile) {
		const struct settings_profile *profile =
			&segment->settings->profiles[invocation->profile - 1];
		const char *name = segment_text(segment, profile->name, NULL);
		const char *tested = segment_text(segment, profile->tested, NULL);
		(void)snprintf(program->profile, sizeof(program->profile), "%s", name ? name : "");
		(void)snprintf(program->tested, sizeof(program->tested), "%s",
			       tested ? tested : "generic");
		bool generic = strcmp(program->tested, "generic") == 0;
		describe_limits(segment, profile, limits, sizeof(limits));
		add(doctor, LEVEL_OK, "role", NULL, "agent (%s), %s%s; %s", invocation->name,
		    generic ? "not tested: conservative profile" : "profile tested with version ",
		    generic ? "" : program->tested, limits);
	} else {
		(void)snprintf(program->tested, sizeof(program->tested), "generic");
		uint64_t other = segment->settings->generic_profile;
		describe_limits(segment, other ? &segment->settings->profiles[other - 1] : NULL,
				limits, sizeof(limits));
		add(doctor, LEVEL_OK, "role", NULL, "agent (%s), no profile of its own; %s",
		    invocation->name, limits);
	}
}

/* An agent of the same name that is there already may do this one's work. */
static void check_elder(struct doctor *doctor, const struct segment *segment)
{
	const struct invocation *agent = &doctor->program.invocation;
	pid_t pid = agent->role == ROLE_AGENT ? elder_find(segment, agent, sys_boottime_ns()) : 0;

	const char *direct = elder_without_daemon(agent->name);
	if (!pid && direct && agent->role == ROLE_AGENT)
		add(doctor, LEVEL_OK, "daemon", NULL,
		    "none runs; at a terminal %s hands its work to one, which goes on when the run "
		    "has ended: `%s` has none",
		    agent->name, direct);
	if (pid)
		add(doctor, LEVEL_WARN, "daemon", elder_remedy(agent->name),
		    "%s (pid %d) is running and takes connections: what is handed to it is not "
		    "observed",
		    agent->name, (int)pid);
}

/* ---- conversations that cannot be told apart from below ---- */

/* What an agent's own hooks say, and what its transcript does.  agent: NULL: there are no hooks for
 * it. */
static void check_hooks_of(struct doctor *doctor, const char *name, const struct hooks_agent *agent)
{
	const struct config_profile *profile = config_profile_find(doctor->config, name);
	bool tells = profile && profile->values[PROFILE_OPTION_TRANSCRIPT].text[0];
	const char *transcript = tells ? "; its transcript reports its conversations, as soon as "
					 "it is written"
				       : "; nothing reports its conversations: at a terminal it "
					 "gets no answers";
	struct hooks_place place;

	if (!agent) {
		add(doctor, LEVEL_OK, "hooks", NULL, "%s: none are known%s", name, transcript);
		return;
	}
	hooks_inspect(agent, false, &place);
	if (place.state == HOOKS_UNKNOWN)
		add(doctor, LEVEL_WARN, "hooks", "what the line says", "%s: %s%s", name,
		    place.fault, transcript);
	else if (place.state != HOOKS_INSTALLED)
		add(doctor, LEVEL_WARN, "hooks", agent->remedy, "%s: %s in %s%s", agent->name,
		    place.state == HOOKS_OTHER ? "of another version, or in part" : "not installed",
		    place.path, transcript);
	else if (place.is_off)
		add(doctor, LEVEL_WARN, "hooks", "take \"disableAllHooks\" out of that file",
		    "%s: installed in %s, which switches all hooks off", agent->name, place.path);
	else
		add(doctor, LEVEL_OK, "hooks", NULL, "%s: installed in %s%s%s", agent->name,
		    place.path, agent->note ? "; " : "", agent->note ? agent->note : "");
}

/* Of each agent that is here. */
static void check_hooks(struct doctor *doctor)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < hooks_count(); i++)
		if (executable_find(hooks_at(i)->name, path, sizeof(path)) == 0)
			check_hooks_of(doctor, hooks_at(i)->name, hooks_at(i));
}

/* What to start for a trial, into words[3]; the path.  A script that is no known agent may do
 * anything with --version: only its interpreter is started. */
static const char *trial_words(const struct doctor *doctor, char **words)
{
	const struct program *program = &doctor->program;
	const struct executable *last = last_of(program);
	bool is_agent = program->invocation.role == ROLE_AGENT;
	int count = 0;

	if (program->count > 1 && !is_agent) {
		words[count++] = (char *)(uintptr_t)program->chain[0].interpreter;
	} else {
		words[count++] = doctor->words[0];
		/* node SCRIPT: the agent is the script */
		if (is_agent && program->count == 1 && doctor->words[1] &&
		    doctor->words[1][0] == '/')
			words[count++] = doctor->words[1];
	}
	words[count++] = (char *)"--version";
	words[count] = NULL;
	return program->count > 1 && is_agent ? program->chain[0].found : last->path;
}

static void check_start(struct doctor *doctor)
{
	struct program *program = &doctor->program;
	const struct executable *last = last_of(program);
	char *words[4];
	const char *path = trial_words(doctor, words), *shown = path_base(path);
	bool whole = program->count == 1 || program->invocation.role == ROLE_AGENT;

	int error = probe_run(&doctor->probe, path, words, PROBE_DISCARD, PROGRAM_TIMEOUT_MS,
			      &program->result);
	const struct probe_result *result = &program->result;
	if (error == 0 && !result->started)
		error = result->error;
	if (error < 0) {
		add(doctor, LEVEL_FAIL, "start", "see whether it runs without seen",
		    "%s cannot be started: %s", path, strerror(-error));
		return;
	}
	program->probed = true;
	const char *late = result->timed_out ? " (it did not end within 5 seconds and was killed)"
					     : "";
	if (!result->attached) {
		/* A program that has nothing against the library may have become one that has. */
		bool explained = last->kind == EXECUTABLE_STATIC ||
				 (program->supervised && via_obstacle(last));
		if (!program->supervised)
			doctor->unseen = true;
		if (explained)
			add(doctor, LEVEL_OK, "start", NULL,
			    "%s --version ran, without the library, as said above%s", shown, late);
		else if (program->supervised)
			add(doctor, LEVEL_OK, "start", NULL,
			    "%s --version ran, and became what the library is not in%s%s: that is "
			    "for the supervisor%s",
			    shown, result->unobserved[0] ? ": " : "", result->unobserved, late);
		else
			add(doctor, LEVEL_FAIL, "start",
			    "use a dynamic build for this machine's libc",
			    "%s --version ran without the library%s%s%s", shown,
			    result->complaint[0] ? ": " : "", result->complaint, late);
		return;
	}
	add(doctor, LEVEL_OK, "start", NULL, "%s --version ran with the library inside%s", shown,
	    late);
	if (result->unobserved[0] && program->supervised) {
		add(doctor, LEVEL_OK, "starts", NULL,
		    "it started what the library is not in: %s; that is for the supervisor",
		    result->unobserved);
	} else if (result->unobserved[0]) {
		doctor->unseen = true;
		add(doctor, LEVEL_WARN, "starts",
		    "none needed for commands; ask `seen doctor` about that program",
		    "it started what could not be observed: %s; commands that this starts through "
		    "a shell are",
		    result->unobserved);
	}
	if (!whole)
		add(doctor, LEVEL_OK, "starts", NULL,
		    "the script itself was not run: what it starts shows in `seen run --summary`");
}

/* How far the guard of writes reaches: what it is asked about, and what passes by it. */
static void check_guard(struct doctor *doctor)
{
	const struct program *program = &doctor->program;
	const struct executable *last = last_of(program);
	const char *name = path_base(last->path);
	bool library = program->via.ways != SESSION_VIA_SUPERVISE && !via_obstacle(last) &&
		       !last->setuid && !last->setgid && !last->capabilities;

	if (config_number(doctor->config, OPTION_session_mode) == SESSION_MODE_OFF)
		return;
	if (program->supervised && library)
		add(doctor, LEVEL_OK, "guard", NULL,
		    "opens for writing, renames, links, truncations and removals by every program "
		    "are checked before they are made; stores through a mapping are not");
	else if (program->supervised)
		add(doctor, LEVEL_OK, "guard", NULL,
		    "opens for writing, renames, links, truncations and removals by every program "
		    "are checked before they are made; a notice that %s itself writes into a "
		    "file in place is not refused",
		    name);
	else if (library)
		add(doctor, LEVEL_OK, "guard", NULL,
		    "what programs do through libc is checked before it is done: opens for "
		    "writing, renames, links, truncations, removals, writes of a notice; stores "
		    "through a mapping and programs without the library are not");
	else
		add(doctor, LEVEL_WARN, "guard", "say --via both, where a supervisor is possible",
		    "%s's own writes are not guarded, since the library does not see them; those "
		    "of programs that it starts through a shell are",
		    name);
}

/* Which rules are in force, and how far they reach: with COMMAND, into its own program. */
static void check_rules(struct doctor *doctor)
{
	const struct program *program = &doctor->program;
	const struct executable *last = program->found ? last_of(program) : NULL;
	const char *obstacle = last ? via_obstacle(last) : NULL;
	char names[DETAIL_BYTES / 8];
	size_t used = 0;
	int count = 0;

	names[0] = '\0';
	for (size_t i = 0; i < config_rule_count(doctor->config); i++) {
		const struct config_rule *rule = config_rule_at(doctor->config, i);
		if (!config_rule_is_in_force(doctor->config, rule))
			continue;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s (%s)",
						 count ? ", " : "", rule->name,
						 rule->values[RULE_OPTION_ACTION].text);
		count++;
	}
	if (!count || config_number(doctor->config, OPTION_session_mode) == SESSION_MODE_OFF)
		return;
	if (last && !obstacle && (last->setuid || last->setgid || last->capabilities))
		obstacle = "it gains privileges";
	if (last && obstacle && !program->supervised)
		add(doctor, LEVEL_WARN, "rules",
		    doctor->supervisor.error ? "what the line on the supervisor says"
					     : "say --via both",
		    "%d in force, but not for %s itself (%s): %s", count, path_base(last->path),
		    obstacle, names);
	else if (program->via.ways == SESSION_VIA_SUPERVISE)
		add(doctor, LEVEL_OK, "rules", NULL,
		    "%d in force, for every program below the supervisor, but for list and "
		    "metadata: %s",
		    count, names);
	else if (program->via.ways == SESSION_VIA_BOTH)
		add(doctor, LEVEL_OK, "rules", NULL,
		    "%d in force, for every program below the supervisor: %s", count, names);
	else
		add(doctor, LEVEL_OK, "rules", NULL,
		    "%d in force, for programs that the library is in; for static ones, Go, Bun "
		    "and "
		    "musl with --via both: %s",
		    count, names);
}

static void check_program(struct doctor *doctor)
{
	struct program *program = &doctor->program;
	char missing[PATH_MAX];
	int count = executable_chain(doctor->words[0], program->chain, missing);

	if (count < 0) {
		add(doctor, LEVEL_FAIL, "program",
		    count == -ENOENT ? "install it, or give its path"
				     : "make it executable and readable",
		    "%s: %s", missing, strerror(-count));
		return;
	}
	program->found = true;
	program->count = count;
	if (strchr(doctor->words[0], '/') == NULL || count > 1)
		add(doctor, LEVEL_OK, "program", NULL, "%s is %s", doctor->words[0],
		    program->chain[0].path);
	check_via(doctor);
	check_kind(doctor);
	check_privileges(doctor);
	check_runtime(doctor);
	check_guard(doctor);
	if (!doctor->probe_is_open)
		return;
	check_role(doctor);
	check_elder(doctor, &doctor->probe.session.segment);
	if (program->invocation.role == ROLE_AGENT)
		check_hooks_of(doctor, program->invocation.name,
			       hooks_find(program->invocation.name));
	check_start(doctor);
}

/* ---- the report ---- */

static json_t *json_program(const struct doctor *doctor)
{
	const struct program *program = &doctor->program;

	if (!program->found)
		return json_null();
	json_t *object = json_object(), *scripts = json_array();
	const struct executable *last = last_of(program);
	for (int i = 0; i < program->count - 1; i++)
		(void)json_array_append_new(scripts, text_json(program->chain[i].path));
	(void)json_object_set_new(object, "name", text_json(doctor->words[0]));
	(void)json_object_set_new(object, "scripts", scripts);
	(void)json_object_set_new(object, "executable", text_json(last->path));
	(void)json_object_set_new(object, "kind", json_string(kind_name(last->kind)));
	(void)json_object_set_new(object, "libc", json_string(libc_name(last->libc)));
	(void)json_object_set_new(object, "machine",
				  last->bits ? text_json(last->machine) : json_null());
	(void)json_object_set_new(object, "bits",
				  last->bits ? json_integer(last->bits) : json_null());
	(void)json_object_set_new(object, "run_time",
				  last->runtime ? json_string(runtime_name(last->runtime))
						: json_null());
	(void)json_object_set_new(object, "setuid", json_boolean(last->setuid));
	(void)json_object_set_new(object, "setgid", json_boolean(last->setgid));
	(void)json_object_set_new(object, "capabilities", json_boolean(last->capabilities));
	(void)json_object_set_new(object, "role",
				  doctor->probe_is_open
					  ? json_string(role_name(program->invocation.role))
					  : json_null());
	(void)json_object_set_new(object, "profile",
				  program->profile[0] ? text_json(program->profile) : json_null());
	(void)json_object_set_new(object, "tested",
				  program->tested[0] ? text_json(program->tested) : json_null());
	(void)json_object_set_new(object, "via", json_string(via_name(program->via.ways)));
	(void)json_object_set_new(object, "via_reason", text_json(program->via.reason));
	(void)json_object_set_new(object, "via_note",
				  program->via.note ? json_string(program->via.note) : json_null());
	(void)json_object_set_new(object, "attached",
				  program->probed ? json_boolean(program->result.attached)
						  : json_null());
	return object;
}

static json_t *json_supervisor(const struct supervisor *supervisor)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "possible", json_boolean(supervisor->error == 0));
	(void)json_object_set_new(object, "error",
				  supervisor->error ? json_string(strerror(-supervisor->error))
						    : json_null());
	(void)json_object_set_new(object, "wait_killable_recv",
				  json_boolean(supervisor->waits_killable));
	(void)json_object_set_new(object, "sync_wake_up", json_boolean(supervisor->wakes_in_step));
	(void)json_object_set_new(object, "drops_privileges",
				  json_boolean(supervisor->drops_privileges));
	return object;
}

static int print_json(const struct doctor *doctor)
{
	json_t *document = json_object(), *checks = json_array();

	for (int i = 0; i < doctor->count; i++) {
		const struct check *check = &doctor->checks[i];
		json_t *object = json_object();
		(void)json_object_set_new(object, "what", json_string(check->what));
		(void)json_object_set_new(object, "level", json_string(LEVEL_NAMES[check->level]));
		(void)json_object_set_new(object, "detail", json_string(check->detail));
		(void)json_object_set_new(object, "remedy",
					  check->remedy ? json_string(check->remedy) : json_null());
		(void)json_array_append_new(checks, object);
	}
	(void)json_object_set_new(document, "schema", json_string("seen/doctor/1"));
	(void)json_object_set_new(document, "observable", json_boolean(!doctor->unseen));
	(void)json_object_set_new(document, "checks", checks);
	(void)json_object_set_new(document, "supervisor", json_supervisor(&doctor->supervisor));
	(void)json_object_set_new(document, "program",
				  doctor->words ? json_program(doctor) : json_null());
	return text_json_print(document);
}

static void print_people(const struct doctor *doctor)
{
	static const char *const COLORS[] = { "32", "33", "31" };

	for (int i = 0; i < doctor->count; i++) {
		const struct check *check = &doctor->checks[i];
		(void)printf("%s%-4s%s  %s: %s\n", text_style(stdout, COLORS[check->level]),
			     LEVEL_NAMES[check->level], text_style(stdout, "0"), check->what,
			     check->detail);
		if (check->remedy)
			(void)printf("      remedy: %s\n", check->remedy);
	}
}

static int examine(struct doctor *doctor, struct config_request *request)
{
	int error = 0;

	check_kernel(doctor);
	check_supervisor(doctor);
	check_stranded(doctor);
	check_creation_times(doctor);
	check_proc(doctor);
	check_mode(doctor);
	check_directories(doctor);
	check_library(doctor, request);
	if (doctor->words)
		check_program(doctor);
	else
		check_hooks(doctor);
	check_rules(doctor);
	if (json)
		error = print_json(doctor);
	else
		print_people(doctor);
	probe_close(&doctor->probe);
	if (error < 0) {
		message("out of memory");
		return EXIT_CODE_OUTPUT;
	}
	return doctor->unseen ? EXIT_CODE_UNOBSERVED : EXIT_CODE_OK;
}

int cmd_doctor(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct doctor *doctor = calloc(1, sizeof(*doctor));
	int code = EXIT_CODE_OUTPUT;

	if (!doctor) {
		message("out of memory");
	} else if (options_parse(&OPTIONS, argc, argv, &parsed, &code) == 0 &&
		   options_load(&parsed, &code) == 0) {
		doctor->config = parsed.config;
		if (parsed.first_word < argc)
			doctor->words = argv + parsed.first_word;
		code = examine(doctor, &parsed.request);
	}
	options_done(&parsed);
	free(doctor);
	return code;
}
