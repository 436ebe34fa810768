/* Does a command of a session run: see undo_running.h. */
#include "cli/undo/undo_running.h"

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/session/session_named.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

enum { ANCESTORS_MAX = 64, PAUSE_NS = 10000000, PAUSES_MAX = 200 };

static const uint64_t FORK_NS = 1000000000, PROGRAM_NS = 200000000;

static const struct step *find(const struct undo_session *session)
{
	const struct steps *steps = &session->steps;
	const struct step *own = steps_of_caller(steps), *found = NULL;
	bool *is_running = calloc(steps->count + 1, sizeof(*is_running));

	if (is_running)
		steps_running(steps, &session->session, is_running);
	for (size_t i = 0; is_running && i < steps->count && !found; i++)
		if (is_running[i] && &steps->steps[i] != own)
			found = &steps->steps[i];
	free(is_running);
	return found;
}

/* A copy is on record as soon as it runs; a program, when it has been loaded, or never: it is not observed. */
static bool is_young(uint32_t pid)
{
	struct kernel_status status;
	uint64_t now_ns = sys_boottime_ns();

	return kernel_status_of(pid, &status) &&
	       now_ns < status.start_ns + (status.is_fork ? FORK_NS : PROGRAM_NS);
}

/* Is it this process, or above it? */
static bool is_above(uint32_t wanted)
{
	uint32_t pid = (uint32_t)getpid();

	for (int level = 0; level < ANCESTORS_MAX && pid > 1; level++) {
		if (pid == wanted)
			return true;
		pid = process_parent_of(pid);
	}
	return false;
}

/* Is there a process of the session that began a moment ago, and is not on record? */
static bool any_begins(const struct undo_session *session)
{
	bool asks = session->steps.has_journal && session->session.segment.header;
	DIR *directory = asks ? opendir("/proc") : NULL;
	bool found = false;

	for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		found = pid && is_young(pid) && !steps_has_process(&session->steps, pid) &&
			!is_above(pid) && session_is_named_by(&session->session, pid);
	}
	if (directory)
		(void)closedir(directory);
	return found;
}

int undo_running(struct undo_session *session, const struct step **ret_step)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int error = 0;

	*ret_step = find(session);
	for (int i = 0; !*ret_step && error == 0 && i < PAUSES_MAX && any_begins(session); i++) {
		(void)nanosleep(&pause, NULL);
		error = undo_session_read_again(session);
		*ret_step = error == 0 ? find(session) : NULL;
	}
	return error;
}
