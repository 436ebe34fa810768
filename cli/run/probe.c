/* Trials: see probe.h. */
#include "cli/run/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/preload.h"
#include "cli/session/session_make.h"
#include "config/load.h"
#include "tracker/path/path.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/process/ticket.h"
#include "tracker/sys/sys.h"

enum { TICK_MS = 5, DIRECTORIES_OPEN_MAX = 16 };

static int add_flag(struct config_request *request, const char *flag, const char *value,
		    struct config_error *why)
{
	/* argv must outlive the request; these words are constants, or part of the probe. */
	char *words[] = { (char *)(uintptr_t)flag, (char *)(uintptr_t)value };
	int index = 0;
	int taken = config_request_flag(request, 2, words, &index, why);
	return taken == 1 ? 0 : taken < 0 ? taken : -EINVAL;
}

/* The user's configuration, but for what a trial must know for certain. */
static int load_config(struct config_request *request, struct probe *probe,
		       struct config_error *why)
{
	const char *const flags[][2] = {
		{ "--workspace", probe->work },
		{ "--runtime-dir", probe->directory },
		{ "--state-dir", probe->directory },
		{ "--mode", "substitute" },
		{ "-c", "paths.include=" },
		{ "-c", "paths.exclude=" },
		{ "-c", "processes.viewers=cat" },
		{ "-c", "processes.ignore=" },
		{ "-c", "notice.min_bytes=512" },
		{ "-c", "notice.max_bytes=24000" },
		{ "-c", "window.requests=50" },
		{ "-c", "window.bytes=0" },
		{ "-c", "session.files=128" },
		{ "-c", "session.deliveries=128" },
		{ "-c", "session.arena_bytes=65536" },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int error = add_flag(request, flags[i][0], flags[i][1], why);
		if (error < 0)
			return error;
	}
	int error = config_new(&probe->config);
	return error < 0 ? error : config_load(probe->config, request, why);
}

int probe_open(struct config_request *request, struct probe *ret_probe,
	       struct config_error *ret_why)
{
	const char *top = getenv("TMPDIR");
	char template[PATH_MAX];

	*ret_probe = (struct probe){ .config = NULL };
	*ret_why = (struct config_error){ "out of memory" };
	if (session_library(ret_probe->library, sizeof(ret_probe->library)) < 0) {
		(void)snprintf(ret_why->text, sizeof(ret_why->text),
			       "lib/seen/libseen.so is not beside this program");
		return -ENOENT;
	}
	if (!top || top[0] != '/')
		top = "/tmp";
	(void)snprintf(template, sizeof(template), "%s/seen-doctor.XXXXXX", top);
	if (!mkdtemp(template)) {
		int error = -errno;
		(void)snprintf(ret_why->text, sizeof(ret_why->text),
			       "no directory can be made in %.900s: %s", top, strerror(-error));
		return error;
	}
	if (!realpath(template, ret_probe->directory) ||
	    snprintf(ret_probe->work, sizeof(ret_probe->work), "%s/work", ret_probe->directory) >=
		    (int)sizeof(ret_probe->work) ||
	    mkdir(ret_probe->work, 0700) < 0)
		return -errno;
	int error = load_config(request, ret_probe, ret_why);
	if (error < 0)
		return error;
	error = session_make(ret_probe->config, "doctor", &ret_probe->session);
	if (error < 0)
		(void)snprintf(ret_why->text, sizeof(ret_why->text),
			       "no session can be made in %.900s: %s", ret_probe->directory,
			       session_explain(error));
	return error;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
	(void)stat;
	(void)type;
	(void)place;
	(void)remove(path);
	return 0;
}

void probe_close(struct probe *probe)
{
	session_close(&probe->session);
	probe->config = config_free(probe->config);
	if (probe->directory[0])
		(void)nftw(probe->directory, remove_entry, DIRECTORIES_OPEN_MAX,
			   FTW_DEPTH | FTW_PHYS);
	probe->directory[0] = '\0';
}

/* ---- the program ---- */

static int prepare_environment(const struct probe *probe)
{
	int error = preload_add(probe->library) < 0 ||
				    setenv("SEEN_SESSION", probe->session.directory, 1) < 0
			    ? -ENOMEM
			    : 0;
	(void)unsetenv("SEEN_SESSION_MODE");
	(void)unsetenv("SEEN_AGENT_IS");
	(void)unsetenv("SEEN_SCOPE");
	(void)unsetenv(TICKET_VARIABLE);
	return error;
}

static int open_to(const char *path, int flags, int fd)
{
	int opened = open(path, flags, 0600);
	if (opened < 0)
		return -errno;
	if (opened != fd) {
		if (dup2(opened, fd) < 0)
			return -errno;
		(void)close(opened);
	}
	return 0;
}

/* Where the program's standard error goes: for the dynamic loader's complaint. */
static int errors_path(const struct probe *probe, char *ret_path, size_t capacity)
{
	return snprintf(ret_path, capacity, "%s/errors", probe->directory) < (int)capacity
		       ? 0
		       : -ENAMETOOLONG;
}

/* In the child: becomes the program; writes errno to `report` when that fails. */
static void become(const struct probe *probe, const char *path, char *const words[],
		   enum probe_output output, int output_fd, int report)
{
	struct context context = { .flags = CONTEXT_ATTACHED | CONTEXT_ROOT | CONTEXT_ROOT_OUT,
				   .pid_ns = process_pid_ns() };
	char ticket[TICKET_BYTES], errors[PATH_MAX];
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	int error = errors_path(probe, errors, sizeof(errors));
	if (error == 0)
		error = open_to("/dev/null", O_RDONLY, STDIN_FILENO);
	if (error == 0 && output == PROBE_CAPTURE)
		error = dup2(output_fd, STDOUT_FILENO) < 0 ? -errno : 0;
	else if (error == 0)
		error = open_to("/dev/null", O_WRONLY, STDOUT_FILENO);
	if (error == 0)
		error = open_to(errors, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
	if (error == 0)
		error = prepare_environment(probe);
	if (error == 0 && chdir(probe->work) < 0)
		error = -errno;
	if (output == PROBE_CAPTURE)
		context.flags |= CONTEXT_EXTERNAL_AGENT | CONTEXT_EXTERNAL_DECLARED;
	if (error == 0) {
		struct process_ref process = process_announce(
			&probe->session.segment, SUBJECT_SELF, &context,
			(struct process_ref){ 0, 0 }, getpid(), path, words, ticket);
		if (process.serial)
			(void)putenv(ticket);
		(void)execvp(path, words);
		error = -errno;
		process_withdraw(&probe->session.segment, process);
	}
	(void)!write(report, &error, sizeof(error));
	_exit(127);
}

/* Waits until the program has ended or its time is over. */
static void wait_for(pid_t child, int timeout_ms, struct probe_result *result)
{
	uint64_t end_ns = sys_boottime_ns() + (uint64_t)timeout_ms * 1000000u;
	siginfo_t info = { 0 };

	/* Left as a zombie until its group was killed, so that the number stays its own. */
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0) {
		if (sys_boottime_ns() > end_ns) {
			result->timed_out = true;
			break;
		}
		(void)poll(NULL, 0, TICK_MS);
	}
	(void)kill(-child, SIGKILL);
	(void)kill(child, SIGKILL);
	while (waitpid(child, &result->status, 0) < 0 && errno == EINTR)
		;
}

/* What the session knows of the process, by the last program that it became. */
static void ask_session(const struct segment *segment, pid_t pid, struct probe_result *result)
{
	uint64_t last = 0;

	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		struct process_slot process;
		char name[sizeof(process.name) * 4];
		if (!process_read(segment, i, &process) || process.state == PROCESS_FREE)
			continue;
		if (process.pid == (uint32_t)pid && process.serial > last) {
			last = process.serial;
			result->attached = process.state != PROCESS_ANNOUNCED;
		}
		process.name[sizeof(process.name) - 1] = '\0';
		if (!process_is_unobserved(&process, sys_boottime_ns(), 0) || /* all have ended */
		    path_escape(process.name, name, sizeof(name)) < 0 ||
		    strstr(result->unobserved, name))
			continue;
		size_t length = strlen(result->unobserved);
		(void)snprintf(result->unobserved + length, sizeof(result->unobserved) - length,
			       "%s%s", length ? ", " : "", name);
	}
}

static void read_complaint(const struct probe *probe, struct probe_result *result)
{
	char path[PATH_MAX], line[sizeof(result->complaint) / 4];

	if (errors_path(probe, path, sizeof(path)) < 0 ||
	    sys_read_file(path, line, sizeof(line)) <= 0)
		return;
	line[strcspn(line, "\n")] = '\0';
	(void)path_escape(line, result->complaint, sizeof(result->complaint));
}

int probe_run(const struct probe *probe, const char *path, char *const words[],
	      enum probe_output output, int timeout_ms, struct probe_result *ret_result)
{
	struct probe_result result = { .started = false };
	int report[2], ends[2];

	if (pipe2(report, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		int error = -errno;
		(void)close(report[0]);
		(void)close(report[1]);
		return error;
	}
	pid_t child = fork();
	if (child == 0)
		become(probe, path, words, output, ends[1], report[1]);
	int error = child < 0 ? -errno : 0;
	(void)close(report[1]);
	(void)close(ends[1]);
	if (child > 0) {
		ssize_t got;
		do
			got = read(report[0], &result.error, sizeof(result.error));
		while (got < 0 && errno == EINTR);
		result.started = got != sizeof(result.error);
		wait_for(child, timeout_ms, &result);
		ask_session(&probe->session.segment, child, &result);
		read_complaint(probe, &result);
	}
	(void)close(report[0]);
	(void)close(ends[0]);
	if (error == 0)
		*ret_result = result;
	return error;
}
