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
	NAMED = 4,
	STAT_BYTES = 512,
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

/* Counts those that live, and names the first of them. */
static unsigned report(const struct live_processes *list, char *ret_text, size_t capacity)
{
	char stat[STAT_BYTES];
	unsigned count = 0;
	size_t used = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < list->count; i++) {
		const struct live_process *live_process = &list->items[i];
		const char *name = live_process->is_own ? name_of(live_process->pid, stat) : NULL;
		if (!name || count++ >= NAMED || used >= capacity)
			continue;
		int length = snprintf(ret_text + used, capacity - used, "%s%s (pid %u)",
				      used ? ", " : "", name, live_process->pid);
		used += length > 0 ? (size_t)length : 0;
	}
	return count;
}

void outlive_print(const struct session *session, pid_t leave_out, bool is_sealed)
{
	static const struct timespec PAUSE = { .tv_nsec = PAUSE_NS };
	struct live_processes list = { NULL, 0 };
	char names[NAMED * 64], number[TEXT_NUMBER_BYTES];
	unsigned count = 1;

	for (int attempt = 0; attempt < ATTEMPTS && count; attempt++) {
		if (attempt)
			(void)nanosleep(&PAUSE, NULL);
		live_processes_list(session, leave_out, &list);
		count = report(&list, names, sizeof(names));
	}
	free(list.items);
	if (!count)
		return;
	bool one = count == 1;
	message("%s process%s on after the end: %s%s", text_number(count, number),
		one ? " goes" : "es go", names, count > NAMED ? " ..." : "");
	if (is_sealed)
		message("what %s from now on is not under this seal; the next run of this "
			"session seals it",
			one ? "it records" : "they record");
}
