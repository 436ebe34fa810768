/* What outlives a run: see outlive.h. */
#include "cli/run/outlive.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/message.h"
#include "cli/base/text.h"
#include "cli/run/live_processes.h"
#include "tracker/sys/sys.h"

enum {
	ATTEMPTS = 5,
	PAUSE_NS = 20000000,
	NAMED = OUTLIVE_NAMES_BYTES / 64,
	STAT_BYTES = 512,
	STATUS_BYTES = 4096,
};

/* Our own helpers, which go when the last of the others does. */
static const char HELPER[] = "seen-";

/* The name of a process that lives: between the parentheses of its stat (proc(5)); NULL: it has
 * ended, or is a helper. */
static const char *name_of(uint32_t pid, char *stat)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (sys_read_file(path, stat, STAT_BYTES) <= 0)
		return NULL;
	char *name = strchr(stat, '('), *end = strrchr(stat, ')');
	if (!name || !end || strncmp(end, ") Z", 3) == 0 || strncmp(end, ") X", 3) == 0)
		return NULL;
	*end = '\0';
	return strncmp(name + 1, HELPER, sizeof(HELPER) - 1) == 0 ? NULL : name + 1;
}

/* Is it below a filter of seccomp(2)? */
static bool is_filtered(uint32_t pid)
{
	char path[64], text[STATUS_BYTES];

	(void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return sys_read_file(path, text, sizeof(text)) > 0 && strstr(text, "\nSeccomp:\t2\n");
}

/* Counts those of the session that live, and names the first of them.  filtered: only those below a
 * filter. */
static unsigned name_live(const struct live_processes *list, bool filtered, char *ret_text,
			  size_t capacity)
{
	char stat[STAT_BYTES];
	unsigned count = 0;
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < list->count; i++) {
		const struct live_process *live_process = &list->items[i];
		const char *name = live_process->is_own ? name_of(live_process->pid, stat) : NULL;
		if (!name || (filtered && !is_filtered(live_process->pid)) || count++ >= NAMED ||
		    used >= capacity)
			continue;
		int length = snprintf(ret_text + used, capacity - used, "%s%s (pid %u)",
				      used ? ", " : "", name, live_process->pid);
		used += length > 0 ? (size_t)length : 0;
	}
	if (count > NAMED && used < capacity)
		(void)snprintf(ret_text + used, capacity - used, " ...");
	return count;
}

/* Has the session had supervisors, and lives neither one of them nor a guardian?  They are helpers
 * that have its segment mapped. */
static bool is_deserted(const struct session *session, const struct live_processes *list)
{
	const struct segment *segment = &session->segment;
	char path[SEGMENT_PATH_BYTES], comm[STAT_BYTES];
	struct stat stat;

	if ((!segment->header->supervise_mark &&
	     !segment_counter(segment, COUNTER_processes_supervised)) ||
	    session_path(path, sizeof(path), session->directory, "segment") < 0 ||
	    sys_stat(path, &stat) < 0)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		(void)snprintf(path, sizeof(path), "/proc/%u/comm", list->items[i].pid);
		if (sys_read_file(path, comm, sizeof(comm)) > 0 &&
		    strncmp(comm, HELPER, sizeof(HELPER) - 1) == 0 &&
		    live_process_maps(list->items[i].pid, stat.st_ino))
			return false;
	}
	return true;
}

unsigned outlive_stranded(const struct session *session, char *ret_names)
{
	struct live_processes list = { .items = NULL };
	unsigned count = 0;

	live_processes_list(session, 0, &list);
	if (is_deserted(session, &list))
		count = name_live(&list, true, ret_names, OUTLIVE_NAMES_BYTES);
	free(list.items);
	return count;
}

void outlive_find(const struct session *session, pid_t leave_out, struct outlive *ret_outlive)
{
	static const struct timespec PAUSE = { .tv_nsec = PAUSE_NS };
	struct live_processes list = { .items = NULL };
	struct outlive found = { .count = 1 };

	for (int attempt = 0; attempt < ATTEMPTS && found.count; attempt++) {
		if (attempt)
			(void)nanosleep(&PAUSE, NULL);
		live_processes_list(session, leave_out, &list);
		found.count = name_live(&list, false, found.names, sizeof(found.names));
	}
	found.is_stranded = found.count && is_deserted(session, &list) &&
			    name_live(&list, true, found.stranded, sizeof(found.stranded));
	free(list.items);
	*ret_outlive = found;
}

void outlive_print(const struct outlive *outlive, bool is_sealed)
{
	char number[TEXT_NUMBER_BYTES];
	bool one = outlive->count == 1;

	if (!outlive->count)
		return;
	message("%s process%s on after the end: %s", text_number(outlive->count, number),
		one ? " goes" : "es go", outlive->names);
	if (outlive->is_stranded)
		message("supervisor and guardian were killed: calls fail with ENOSYS in %s; end "
			"what was left behind",
			outlive->stranded);
	if (is_sealed)
		message("what %s from now on is not under this seal; the next run of this "
			"session seals it",
			one ? "it records" : "they record");
}
