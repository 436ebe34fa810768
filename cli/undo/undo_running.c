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

enum { ANCESTORS_MAX = 64, PAUSE_NS = 10000000, PAUSE_NS_MAX = 100000000 };

static const uint64_t YOUNG_NS = 1000000000, WAIT_NS = 1000000000;

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

/* A copy is on record as soon as it runs; a program, when it has been loaded, or never: it is not observed.  A process
 * began when it was forked; when its program did is not known. */
static bool is_young(const struct undo_session *session, uint32_t pid)
{
	uint64_t start_ns;

	return process_start(pid, &start_ns) && session->read_ns < start_ns + YOUNG_NS;
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
		found = pid && is_young(session, pid) && !steps_has_process(&session->steps, pid) &&
			!is_above(pid) && session_is_named_by(&session->session, pid);
	}
	if (directory)
		(void)closedir(directory);
	return found;
}

/* The pauses grow: to read a long journal takes its time, too. */
int undo_running(struct undo_session *session, const struct step **ret_step)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };
	const uint64_t end_ns = sys_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
	int error = 0;

	*ret_step = find(session);
	while (!*ret_step && error == 0 && sys_clock_ns(CLOCK_MONOTONIC) < end_ns &&
	       any_begins(session)) {
		(void)nanosleep(&pause, NULL);
		pause.tv_nsec = pause.tv_nsec * 2 < PAUSE_NS_MAX ? pause.tv_nsec * 2 : PAUSE_NS_MAX;
		error = undo_session_read_again(session);
		*ret_step = error == 0 ? find(session) : NULL;
	}
	return error;
}
