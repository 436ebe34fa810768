/* The life of sessions: see session_life.h. */
#include "cli/session/session_life.h"

#include <stdio.h>
#include <string.h>

#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/sys/sys.h"

void session_read_boot_id(char *ret_text, size_t capacity)
{
	ssize_t length = sys_read_file("/proc/sys/kernel/random/boot_id", ret_text, capacity);
	ret_text[length > 0 ? strcspn(ret_text, "\n") : 0] = '\0';
}

/* Are the times of a segment, and the processes in it, of this boot? */
bool session_is_of_this_boot(const struct segment *segment)
{
	char boot_id[sizeof(segment->header->boot_id)];

	session_read_boot_id(boot_id, sizeof(boot_id));
	return strcmp(boot_id, segment->header->boot_id) == 0;
}

/* Has a process ended that was not waited for yet?  Its first thread has, that is: others may go on
 * (proc(5), stat, field 3). */
static bool is_zombie(uint32_t pid)
{
	char path[40], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	const char *behind_name = strrchr(text, ')');
	return behind_name && behind_name[1] == ' ' && behind_name[2] == 'Z';
}

enum session_life session_life(const struct segment *segment)
{
	enum session_life life = SESSION_EMPTY;
	uint32_t pid_ns = process_pid_ns();

	if (!session_is_of_this_boot(segment))
		return SESSION_EMPTY;
	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
		struct process_slot copy;
		/* pid 0: to be set by its starter, which is in the table itself */
		if (!process_read(segment, i, &copy) || copy.pid == 0 ||
		    (copy.state != PROCESS_ANNOUNCED && copy.state != PROCESS_ATTACHED) ||
		    process_is_gone(&copy))
			continue;
		if (copy.context.process_ns == pid_ns && !is_zombie(copy.pid))
			return SESSION_LIVED_IN;
		life = SESSION_UNSURE;
	}
	return life;
}
