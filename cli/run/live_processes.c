/* The session's processes that live: see live_processes.h. */
#include "cli/run/live_processes.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/session/session_named.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/sys/sys.h"

enum {
	DEPTH_MAX = 64, /* from a process up to this one */
	MAPS_BYTES = 262144,
	PROCESSES_MAX = 65536,
	BEGUN_MAX =
		64, /* processes and threads that began since a list was taken, to be added to it */
};

static int compare(const void *a, const void *b)
{
	const struct live_process *one = a, *other = b;
	return one->pid < other->pid ? -1 : one->pid > other->pid;
}

static struct live_process *item_of(const struct live_processes *list, uint32_t pid)
{
	struct live_process wanted = { .pid = pid };
	return list->count ? bsearch(&wanted, list->items, list->count, sizeof(wanted), compare)
			   : NULL;
}

/* Adds a process.  Returns false when out of memory. */
static bool append(struct live_processes *list, uint32_t pid, uint32_t parent)
{
	if (list->count == list->capacity) {
		size_t more = list->capacity ? 2 * list->capacity : 256;
		struct live_process *items = more > PROCESSES_MAX ? NULL
								  : reallocarray(list->items, more,
										 sizeof(*items));
		if (!items)
			return false;
		list->items = items;
		list->capacity = more;
	}
	list->items[list->count++] = (struct live_process){ .pid = pid, .parent = parent };
	return true;
}

/* Every process of the machine and its parent. */
static void read_all(struct live_processes *list)
{
	struct live_processes taken = { .items = NULL };
	DIR *directory = opendir("/proc");

	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (pid && !append(&taken, pid, process_parent_of(pid)))
			break;
	}
	if (directory)
		(void)closedir(directory);
	if (taken.count)
		qsort(taken.items, taken.count, sizeof(*taken.items), compare);
	free(list->items);
	list->items = taken.items;
	list->count = taken.count;
	list->capacity = taken.capacity;
}

/* Is `above` the process or an ancestor of it? */
static bool descends(const struct live_processes *list, const struct live_process *process,
		     uint32_t above)
{
	for (int depth = 0; above && process && depth < DEPTH_MAX; depth++) {
		if (process->pid == above)
			return true;
		process = item_of(list, process->parent);
	}
	return false;
}

/* Is the process with a number of the table the one that the table means?  In a PID namespace of
 * its own a process is there by its number in it, which here may be another's, of before the
 * session. */
static bool is_of_number(const struct session *session, uint32_t pid)
{
	enum { SLACK_NS = 1000000000 };
	const struct segment *segment = &session->segment;
	uint64_t passed_ns = sys_clock_ns(CLOCK_REALTIME) - segment->header->created_realtime_ns;
	uint64_t now_ns = sys_boottime_ns(), start_ns;
	char path[SEGMENT_PATH_BYTES];
	struct stat stat;

	if (process_start(pid, &start_ns) && now_ns > passed_ns &&
	    start_ns + SLACK_NS > now_ns - passed_ns)
		return true;
	return session_path(path, sizeof(path), session->directory, "segment") >= 0 &&
	       sys_stat(path, &stat) == 0 && live_process_maps(pid, stat.st_ino);
}

static void mark_own(const struct session *session, pid_t leave_out, struct live_processes *list)
{
	const struct segment *segment = &session->segment;
	uint32_t self = (uint32_t)getpid();
	uint32_t pid_ns = process_pid_ns();

	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		const struct process_slot *slot = segment_slot(segment, TABLE_PROCESSES, i);
		uint32_t pid = __atomic_load_n(&slot->pid, __ATOMIC_RELAXED);
		struct live_process *live_process = pid ? item_of(list, pid) : NULL;
		struct process_slot copy;
		if (live_process && !live_process->is_inspected && !live_process->is_own &&
		    process_read(segment, i, &copy) && copy.pid == pid &&
		    copy.state != PROCESS_FREE && copy.context.process_ns == pid_ns &&
		    !process_is_gone(&copy) && is_of_number(session, pid))
			live_process->is_own = true;
	}
	for (size_t i = 0; i < list->count; i++) {
		struct live_process *live_process = &list->items[i];
		if (live_process->is_inspected)
			continue;
		live_process->is_inspected = true;
		if (live_process->pid == self || descends(list, live_process, (uint32_t)leave_out))
			live_process->is_own = false;
		else if (!live_process->is_own)
			live_process->is_own = descends(list, live_process, self) ||
					       session_is_named_by(session, live_process->pid);
	}
}

/* The next mapping that is shared and to be written to (proc(5), maps).  line: begins at the text of the maps; goes on.
 * Its device is that of the file system, which need not be what stat says (btrfs): the number of the file alone may put
 * off a check, nothing worse. */
static bool find_mapping(char **line, uint64_t *ret_ino)
{
	for (char *next; *line && **line; *line = next) {
		unsigned long long found;
		char *rights = strchr(*line, ' ');
		next = strchr(*line, '\n');
		next = next ? next + 1 : NULL;
		if (!rights || strnlen(rights, 6) < 6 || rights[2] != 'w' || rights[4] != 's' ||
		    sscanf(rights, " %*4s %*x %*x:%*x %llu", &found) != 1)
			continue;
		*ret_ino = found;
		*line = next;
		return true;
	}
	return false;
}

void live_process_each_mapping(uint32_t pid, void (*visit)(void *data, uint64_t ino), void *data)
{
	static char maps[MAPS_BYTES];
	char path[PROC_PATH_BYTES], *line = maps;
	uint64_t ino;

	proc_path(pid, "maps", path);
	if (sys_read_file(path, maps, sizeof(maps)) > 0)
		while (find_mapping(&line, &ino))
			visit(data, ino);
}

struct wanted_mapping {
	uint64_t ino;
	bool is_found;
};

static void compare_mapping(void *data, uint64_t ino)
{
	struct wanted_mapping *wanted = data;
	wanted->is_found = wanted->is_found || wanted->ino == ino;
}

bool live_process_maps(uint32_t pid, uint64_t ino)
{
	struct wanted_mapping wanted = { .ino = ino };

	live_process_each_mapping(pid, compare_mapping, &wanted);
	return wanted.is_found;
}

/* The number that the kernel gave last to a process or thread of this PID namespace, which /proc is to
 * show; 0: not known. */
static uint32_t newest_pid(void)
{
	char text[24], self[24] = "";
	ssize_t bytes = sys_read_file("/proc/sys/kernel/ns_last_pid", text, sizeof(text));

	if (bytes <= 0 || readlink("/proc/self", self, sizeof(self) - 1) <= 0 ||
	    strtoul(self, NULL, 10) != (unsigned long)getpid())
		return 0;
	return (uint32_t)strtoul(text, NULL, 10);
}

/* newest: it was so before the list is taken. */
static void inspect_all(const struct session *session, pid_t leave_out, uint32_t newest,
			struct live_processes *list)
{
	list->newest = newest;
	list->taken_ns = sys_boottime_ns();
	list->leave_out = leave_out;
	read_all(list);
	mark_own(session, leave_out, list);
	list->took_ns = sys_boottime_ns() - list->taken_ns;
}

/* Adds those that have a number behind the newest one of the list.  Threads have such numbers, too, and are taken
 * for processes: what they hold open their process does.  Returns false when out of memory. */
static bool add_begun(const struct session *session, uint32_t newest, struct live_processes *list)
{
	size_t count = list->count;

	for (uint32_t pid = list->newest + 1; pid <= newest; pid++) {
		uint32_t parent = process_parent_of(pid);
		if (parent && !append(list, pid, parent))
			return false;
	}
	list->newest = newest;
	if (list->count == count)
		return true;
	qsort(list->items, list->count, sizeof(*list->items), compare);
	mark_own(session, list->leave_out, list);
	return true;
}

void live_processes_list(const struct session *session, pid_t leave_out,
			 struct live_processes *list)
{
	inspect_all(session, leave_out, newest_pid(), list);
}

void live_processes_renew(const struct session *session, pid_t leave_out,
			  struct live_processes *list)
{
	/* One that was there and is the session's only now, by an exec, is missed for no longer.  On a machine that
	 * takes long to inspect all, that is to be no more than a 25th of its time. */
	const uint64_t MOMENT_NS = 50000000, MOMENTS_MAX = 10, TIMES = 25;
	uint64_t moment_ns = list->took_ns * TIMES;
	uint32_t newest = newest_pid();

	if (moment_ns < MOMENT_NS)
		moment_ns = MOMENT_NS;
	if (moment_ns > MOMENT_NS * MOMENTS_MAX)
		moment_ns = MOMENT_NS * MOMENTS_MAX;

	if (!list->items || !newest || newest < list->newest || newest - list->newest > BEGUN_MAX ||
	    leave_out != list->leave_out || sys_boottime_ns() - list->taken_ns > moment_ns ||
	    !add_begun(session, newest, list))
		inspect_all(session, leave_out, newest, list);
}
