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

#include "cli/base/executable.h"
#include "cli/base/exit_code.h"
#include "cli/run/live_processes.h"
#include "cli/run/via.h"
#include "cli/session/counts.h"
#include "cli/session/process_image.h"
#include "cli/session/session_make.h"
#include "config/load.h"
#include "tracker/journal/journal_map.h"
#include "tracker/path/path.h"
#include "tracker/process/process.h"
#include "tracker/sys/sys.h"

enum { TICK_MS = 5, DIRECTORIES_OPEN_MAX = 16, KILLS_MAX = 20, OWN_FLAGS = 15, PLACES = 3 };

/* What a trial must know for certain, whatever the user's configuration says. */
static const char *const FLAGS[OWN_FLAGS - PLACES][2] = {
	{ "--mode", "substitute" },         { "-c", "paths.include=" },
	{ "-c", "paths.exclude=" },         { "-c", "processes.viewers=cat" },
	{ "-c", "processes.ignore=" },      { "-c", "notice.min_bytes=512" },
	{ "-c", "notice.max_bytes=24000" }, { "-c", "window.requests=50" },
	{ "-c", "window.bytes=0" },         { "-c", "session.files=128" },
	{ "-c", "session.deliveries=128" }, { "-c", "session.arena_bytes=65536" },
};

static void own_flag(const struct probe *probe, int index, const char **ret_flag,
		     const char **ret_value)
{
	static const char *const NAMES[PLACES] = { "--workspace", "--runtime-dir", "--state-dir" };

	*ret_flag = index < PLACES ? NAMES[index] : FLAGS[index - PLACES][0];
	*ret_value = index == 0       ? probe->work
		     : index < PLACES ? probe->directory
				      : FLAGS[index - PLACES][1];
}

static int add_flag(struct config_request *request, const char *flag, const char *value,
		    struct config_error *why)
{
	/* argv must outlive the request; these words are constants, or part of the probe. */
	char *words[] = { (char *)(uintptr_t)flag, (char *)(uintptr_t)value };
	int index = 0;
	int taken = config_request_flag(request, 2, words, &index, why);
	return taken == 1 ? 0 : taken < 0 ? taken : -EINVAL;
}

/* The user's configuration, but for that. */
static int load_config(struct config_request *request, struct probe *probe,
		       struct config_error *why)
{
	for (int i = 0; i < OWN_FLAGS; i++) {
		const char *flag, *value;
		own_flag(probe, i, &flag, &value);
		int error = add_flag(request, flag, value, why);
		if (error < 0)
			return error;
	}
	int error = config_new(&probe->config);
	return error < 0 ? error : config_load(probe->config, request, why);
}

int probe_open(struct config_request *request, char **flags, int flag_count,
	       struct probe *ret_probe, struct config_error *ret_why)
{
	const char *top = getenv("TMPDIR");
	char template[PATH_MAX];

	*ret_probe = (struct probe){ .flags = flags, .flag_count = flag_count };
	*ret_why = (struct config_error){ "out of memory" };
	int error = session_library(ret_probe->library, sizeof(ret_probe->library));
	if (error < 0) {
		(void)snprintf(ret_why->text, sizeof(ret_why->text), "%s",
			       session_library_missing(error));
		return error;
	}
	if (!top || top[0] != '/')
		top = "/tmp";
	(void)snprintf(template, sizeof(template), "%s/seen-doctor.XXXXXX", top);
	if (!mkdtemp(template)) {
		error = -errno;
		(void)snprintf(ret_why->text, sizeof(ret_why->text),
			       "no directory can be made in %.900s: %s", top, strerror(-error));
		return error;
	}
	if (!realpath(template, ret_probe->directory) ||
	    snprintf(ret_probe->work, sizeof(ret_probe->work), "%s/work", ret_probe->directory) >=
		    (int)sizeof(ret_probe->work) ||
	    mkdir(ret_probe->work, 0700) < 0)
		return -errno;
	error = load_config(request, ret_probe, ret_why);
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

/* In the child: becomes `seen run`. */
static void become(const struct probe *probe, char **line, enum probe_output output, int output_fd)
{
	static const char *const OTHERS[] = { "SEEN_SESSION", "SEEN_SESSION_MODE", "SEEN_AGENT_IS",
					      "SEEN_SCOPE" };
	char errors[PATH_MAX];
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
		(void)unsetenv(OTHERS[i]);
	int error = errors_path(probe, errors, sizeof(errors));
	if (error == 0)
		error = open_to("/dev/null", O_RDONLY, STDIN_FILENO);
	if (error == 0 && output == PROBE_CAPTURE)
		error = dup2(output_fd, STDOUT_FILENO) < 0 ? -errno : 0;
	else if (error == 0)
		error = open_to("/dev/null", O_WRONLY, STDOUT_FILENO);
	if (error == 0)
		error = open_to(errors, O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
	if (error == 0 && chdir(probe->work) == 0)
		(void)execv("/proc/self/exe", line);
	_exit(EXIT_CODE_FAILED);
}

/* The command line of the run: NULL: out of memory.  Its words are borrowed. */
static char **run_line(const struct probe *probe, char *const words[], const char *via,
		       enum probe_output output)
{
	enum { MORE = 12 };
	size_t count = 0, at = 0;

	while (words[count])
		count++;
	const char **line = calloc((size_t)probe->flag_count + (size_t)2 * OWN_FLAGS + count + MORE,
				   sizeof(*line));
	if (!line)
		return NULL;
	line[at++] = "seen";
	line[at++] = "run";
	for (int i = 0; i < probe->flag_count; i++)
		line[at++] = probe->flags[i];
	for (int i = 0; i < OWN_FLAGS; i++, at += 2)
		own_flag(probe, i, &line[at], &line[at + 1]);
	line[at++] = "--session";
	line[at++] = probe->session.name;
	line[at++] = "--quiet";
	line[at++] = "--best-effort";
	line[at++] = "--agent-is";
	line[at++] = output == PROBE_CAPTURE ? "outside" : "inside";
	if (via) {
		line[at++] = "--via";
		line[at++] = via;
	}
	line[at++] = "--";
	memcpy(line + at, words, count * sizeof(*words));
	return (char **)(uintptr_t)line;
}

/* Ends the run and all that it started. */
static void kill_all(const struct probe *probe, pid_t run)
{
	struct live_processes list = { .items = NULL };
	bool found = true;

	(void)kill(run, SIGKILL);
	for (int i = 0; i < KILLS_MAX && found; i++) {
		found = false;
		live_processes_list(&probe->session, 0, &list);
		for (size_t k = 0; k < list.count; k++) {
			if (list.items[k].is_own && (pid_t)list.items[k].pid != run &&
			    kill((pid_t)list.items[k].pid, SIGKILL) == 0)
				found = true;
		}
		if (found)
			(void)poll(NULL, 0, TICK_MS);
	}
	free(list.items);
}

/* Waits until the run has ended or its time is over.  Returns its status. */
static int wait_for(const struct probe *probe, pid_t child, int timeout_ms,
		    struct probe_result *result)
{
	uint64_t end_ns = sys_boottime_ns() + (uint64_t)timeout_ms * 1000000u;
	siginfo_t info = { 0 };
	int status = 0;

	/* Left as a zombie until all was killed, so that the number stays its own. */
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0) {
		if (sys_boottime_ns() > end_ns) {
			result->timed_out = true;
			break;
		}
		(void)poll(NULL, 0, TICK_MS);
	}
	kill_all(probe, child);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* What keeps the library out of a process's program. */
static const char *obstacle_of(const struct journal *journal, const struct process_slot *process)
{
	struct executable *chain = calloc(EXECUTABLE_CHAIN_MAX, sizeof(*chain));
	char path[PATH_MAX], missing[PATH_MAX];
	const char *obstacle = NULL;

	process_image_path(journal, process, path);
	int count = path[0] && chain ? executable_chain(path, chain, missing) : 0;
	if (count > 0)
		obstacle = via_obstacle(&chain[count - 1]);
	free(chain);
	return obstacle;
}

static void add_name(const struct process_slot *process, char *names)
{
	char name[sizeof(process->name) * 4];
	size_t length = strlen(names);

	if (path_escape(process->name, name, sizeof(name)) >= 0 && !strstr(names, name))
		(void)snprintf(names + length, PROBE_NAMES_BYTES - length, "%s%s",
			       length ? ", " : "", name);
}

/* What the session knows of the programs that were started with serials above `since`: of the first
 * one's process by the last program that it became. */
static void ask_session(const struct segment *segment, const struct journal *journal,
			uint64_t since, struct probe_result *result)
{
	struct process_slot process, first = { .serial = UINT64_MAX }, last = { .serial = 0 };

	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++)
		if (process_read(segment, i, &process) && process.state != PROCESS_FREE &&
		    process.serial > since && process.serial < first.serial)
			first = process;
	result->started = first.serial != UINT64_MAX;
	for (uint64_t i = 0; result->started && i < segment_processes_used(segment); i++) {
		if (!process_read(segment, i, &process) || process.state == PROCESS_FREE ||
		    process.serial <= since)
			continue;
		process.name[sizeof(process.name) - 1] = '\0';
		if (process.pid == first.pid && process.serial > last.serial)
			last = process;
		if (process.state != PROCESS_ANNOUNCED && obstacle_of(journal, &process))
			add_name(&process, result->supervised);
	}
	if (!result->started)
		return;
	result->attached = last.state != PROCESS_ANNOUNCED;
	result->obstacle = obstacle_of(journal, &last);
}

static void read_complaint(const struct probe *probe, struct probe_result *result)
{
	char path[PATH_MAX], line[sizeof(result->complaint) / 4];

	if (errors_path(probe, path, sizeof(path)) < 0 ||
	    sys_read_file(path, line, sizeof(line)) <= 0)
		return;
	const char *first = line;
	while (strncmp(first, "seen: ", 6) == 0 && strchr(first, '\n'))
		first = strchr(first, '\n') + 1; /* of the run itself */
	line[(size_t)(first - line) + strcspn(first, "\n")] = '\0';
	(void)path_escape(first, result->complaint, sizeof(result->complaint));
}

int probe_run(const struct probe *probe, char *const words[], const char *via,
	      enum probe_output output, int timeout_ms, struct probe_result *ret_result)
{
	const struct segment *segment = &probe->session.segment;
	uint64_t counters[COUNTER_COUNT], since_ns = sys_boottime_ns();
	uint64_t since = segment_serial(segment);
	struct probe_result result = { .started = false };
	struct journal journal = { .header = NULL };
	int ends[2];

	for (int i = 0; i < COUNTER_COUNT; i++)
		counters[i] = segment_counter(segment, (enum counter)i);
	char **line = run_line(probe, words, via, output);
	if (!line || pipe2(ends, O_CLOEXEC) < 0) {
		int error = line ? -errno : -ENOMEM;
		free(line);
		return error;
	}
	pid_t child = fork();
	if (child == 0)
		become(probe, line, output, ends[1]);
	int error = child < 0 ? -errno : 0;
	(void)close(ends[1]);
	free(line);
	if (child > 0) {
		int code = wait_for(probe, child, timeout_ms, &result);
		(void)session_map_journal(&probe->session, &journal);
		ask_session(segment, &journal, since, &result);
		if (!result.started)
			result.error = code == EXIT_CODE_NOT_EXECUTABLE ? -EACCES : -ENOENT;
		counts_compute(segment, counters, since_ns, counters);
		coverage_compute(segment, &journal, counters, since_ns, &result.coverage);
		journal_unmap(&journal);
		read_complaint(probe, &result);
	}
	(void)close(ends[0]);
	if (error == 0)
		*ret_result = result;
	return error;
}
