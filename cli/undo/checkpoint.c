/* Checkpoints: see checkpoint.h. */
#include "cli/undo/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/base/preload.h"
#include "config/value.h"
#include "tracker/content/file.h"
#include "tracker/content/pack_write.h"
#include "tracker/path/path.h"
#include "tracker/process/ticket.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

#define MILLISECOND_NS UINT64_C(1000000)

enum {
	IDLE_MS = 200,
	SOON_MS = 50,        /* while there is something to tell */
	PATIENCE_MS = 60000, /* at the end of the run */
};

void checkpoint_start(struct checkpoint *checkpoint, const struct session *session,
		      const struct config *config)
{
	const char *command = config_text(config, OPTION_checkpoint_command);

	*checkpoint = (struct checkpoint){
		.session = session,
		.command = command ? command : "",
		.workspace = config_workspace(config),
		.quiet_ns = config_number(config, OPTION_checkpoint_quiet_ms) * MILLISECOND_NS,
		.child_action = { .sa_handler = SIG_DFL },
	};
	(void)sigemptyset(&checkpoint->mask);
}

/* A file whose edit is to be reported: where it is in the table, or NULL. */
static const struct file_slot *unreported_at(const struct segment *segment, uint64_t index)
{
	const struct file_slot *slot = segment_slot(segment, TABLE_FILES, index);
	bool unreported = __atomic_load_n(&slot->key, __ATOMIC_RELAXED) &&
			  (__atomic_load_n(&slot->flags, __ATOMIC_RELAXED) & FILE_EDIT_UNREPORTED);
	return unreported ? slot : NULL;
}

/* Is there something to tell, and was nothing edited for long enough? */
static bool is_time(struct checkpoint *checkpoint, uint64_t now_ns)
{
	const struct segment *segment = &checkpoint->session->segment;
	uint64_t newest = 0, files = 0;
	uint64_t changed = __atomic_load_n(&segment->header->files_changed, __ATOMIC_RELAXED);

	if (changed == checkpoint->files_changed)
		return checkpoint->files && now_ns - checkpoint->since_ns >= checkpoint->quiet_ns;
	checkpoint->files_changed = changed;
	SEGMENT_EACH_USED (segment, TABLE_FILES, i) {
		const struct file_slot *slot = unreported_at(segment, i);
		uint64_t edited = slot ? __atomic_load_n(&slot->agent_edit_realtime_ns,
							 __ATOMIC_RELAXED)
				       : 0;
		files += slot != NULL;
		newest = edited > newest ? edited : newest;
	}
	if (newest != checkpoint->newest_realtime_ns || files != checkpoint->files) {
		checkpoint->newest_realtime_ns = newest;
		checkpoint->files = files;
		checkpoint->since_ns = now_ns;
	}
	return files && now_ns - checkpoint->since_ns >= checkpoint->quiet_ns;
}

static void note_reported(struct file_slot *file, const void *data)
{
	(void)data;
	file->flags &= ~(uint32_t)FILE_EDIT_UNREPORTED;
}

/* Writes the paths that are to be reported, and marks them as reported.  Returns how many. */
static unsigned report_edits(const struct segment *segment, FILE *file)
{
	char path[SEGMENT_PATH_BYTES], line[4 * SEGMENT_PATH_BYTES];
	struct file_slot copy;
	unsigned reported = 0;

	SEGMENT_EACH_USED (segment, TABLE_FILES, i) {
		const struct file_slot *slot = unreported_at(segment, i);
		if (!slot || !slot_read(slot, &copy, sizeof(copy)))
			continue;
		/* Marked first: an edit that comes between is reported the next time. */
		(void)file_change_known(segment, copy.key, note_reported, NULL);
		if (file_path(segment, &copy, path, sizeof(path)) < 0)
			continue;
		const char *name = path_relative(segment, path);
		if (strchr(name, '\n') && path_escape(name, line, sizeof(line)) >= 0)
			name = line;
		(void)fprintf(file, "%s\n", name);
		reported++;
	}
	return reported;
}

/* The environment without what makes a process one of the session's. */
static void leave_session(void)
{
	char library[SEGMENT_PATH_BYTES];

	(void)unsetenv(TICKET_VARIABLE);
	if (session_library(library, sizeof(library)) == 0)
		(void)preload_remove(library);
}

__attribute__((noreturn)) static void become(const struct checkpoint *checkpoint, int input)
{
	int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

	/* What the terminal sends to the agent's job is not for it. */
	(void)setpgid(0, 0);
	leave_session();
	(void)setenv(CHECKPOINT_VARIABLE, checkpoint->point, 1);
	if (dup2(input, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
	    chdir(checkpoint->workspace) < 0)
		_exit(127);
	(void)sigaction(SIGCHLD, &checkpoint->child_action, NULL);
	(void)sigprocmask(SIG_SETMASK, &checkpoint->mask, NULL);
	(void)execl("/bin/sh", "sh", "-c", checkpoint->command, (char *)NULL);
	_exit(127);
}

/* What there is now is kept before it changes: `seen undo --since` of this time brings it back. */
static void set_point(struct checkpoint *checkpoint)
{
	const struct segment *segment = &checkpoint->session->segment;
	struct timespec now;
	struct tm parts;
	char seconds[sizeof("YYYY-MM-DDTHH:MM:SS")];

	if (segment_undo(segment))
		(void)pack_boundary(segment, PACK_COMMAND);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (!gmtime_r(&now.tv_sec, &parts) ||
	    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
		seconds[0] = '\0';
	(void)snprintf(checkpoint->point, sizeof(checkpoint->point), "%s.%09ldZ", seconds,
		       now.tv_nsec);
}

static void start(struct checkpoint *checkpoint)
{
	int input = memfd_create("seen-checkpoint", MFD_CLOEXEC);
	FILE *file = input < 0 ? NULL : fdopen(input, "w");
	pid_t pid = -1;

	set_point(checkpoint);
	if (file && report_edits(&checkpoint->session->segment, file) && fflush(file) == 0 &&
	    lseek(input, 0, SEEK_SET) == 0)
		pid = fork();
	if (pid == 0)
		become(checkpoint, input);
	if (pid < 0)
		message("the checkpoint command could not be started: %s", strerror(errno));
	else
		checkpoint->running = pid;
	if (file)
		(void)fclose(file);
	else if (input >= 0)
		(void)close(input);
}

/* Has the one that was started ended?  True when there is none. */
static bool has_ended(struct checkpoint *checkpoint)
{
	int status;

	if (!checkpoint->running)
		return true;
	pid_t ended = waitpid(checkpoint->running, &status, WNOHANG);
	if (ended == 0 || (ended < 0 && errno == EINTR))
		return false;
	checkpoint->running = 0;
	if (ended > 0 && WIFSIGNALED(status))
		message("the checkpoint command was ended by signal %d", WTERMSIG(status));
	else if (ended > 0 && WEXITSTATUS(status) != 0)
		message("the checkpoint command ended with status %d", WEXITSTATUS(status));
	return true;
}

unsigned checkpoint_tick(struct checkpoint *checkpoint)
{
	uint64_t now_ns;

	if (!checkpoint->command[0])
		return IDLE_MS;
	now_ns = sys_boottime_ns();
	if (!has_ended(checkpoint))
		return IDLE_MS;
	if (is_time(checkpoint, now_ns))
		start(checkpoint);
	return checkpoint->files && !checkpoint->running ? SOON_MS : IDLE_MS;
}

/* Waits for the one that runs.  False: no longer, it goes on alone. */
static bool wait_for_exit(struct checkpoint *checkpoint)
{
	static const struct timespec PAUSE = { .tv_nsec = 50000000 };
	uint64_t until_ns = sys_boottime_ns() + PATIENCE_MS * MILLISECOND_NS;
	sigset_t ends;

	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigaddset(&ends, SIGQUIT);
	(void)sigaddset(&ends, SIGCHLD);
	while (!has_ended(checkpoint)) {
		int signal = sigtimedwait(&ends, NULL, &PAUSE);
		if ((signal > 0 && signal != SIGCHLD) || sys_boottime_ns() > until_ns) {
			message("the checkpoint command still runs");
			return false;
		}
	}
	return true;
}

void checkpoint_finish(struct checkpoint *checkpoint)
{
	if (!checkpoint->command[0] || !wait_for_exit(checkpoint))
		return;
	(void)is_time(checkpoint, sys_boottime_ns());
	if (!checkpoint->files)
		return;
	start(checkpoint);
	(void)wait_for_exit(checkpoint);
}
