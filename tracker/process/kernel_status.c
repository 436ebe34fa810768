/* What the kernel reports of a process: see kernel_status.h. */
#include "tracker/process/kernel_status.h"

#include <errno.h>
#include <string.h>

#include "tracker/path/decimal.h"
#include "tracker/process/identity.h"
#include "tracker/process/subject.h"
#include "tracker/sys/sys.h"

uint32_t process_pid_ns(void)
{
	struct stat stat;
	return sys_stat("/proc/self/ns/pid", &stat) == 0 ? (uint32_t)stat.st_ino : 0;
}

bool kernel_executable_of(uint32_t pid, struct identity *ret_identity)
{
	char path[PROC_PATH_BYTES];
	struct stat stat;
	proc_path(pid, "exe", path);
	if (sys_stat(path, &stat) < 0)
		return false;
	*ret_identity = identity_of(&stat);
	return true;
}

bool process_same_image(uint32_t pid, uint32_t other_pid)
{
	struct identity one, other;
	return kernel_executable_of(pid, &one) && kernel_executable_of(other_pid, &other) &&
	       identity_equal(&one, &other);
}

bool kernel_is_in_sandbox_of_its_own(uint32_t pid, uint32_t other_pid)
{
	static const char *const NAMESPACES[] = { "ns/user", "ns/mnt", "ns/pid" };
	bool is_other = false;

	for (size_t i = 0; i < sizeof(NAMESPACES) / sizeof(NAMESPACES[0]); i++) {
		char path[PROC_PATH_BYTES], other_path[PROC_PATH_BYTES];
		struct stat stat, other;
		proc_path(pid, NAMESPACES[i], path);
		proc_path(other_pid, NAMESPACES[i], other_path);
		if (sys_stat(path, &stat) < 0 || sys_stat(other_path, &other) < 0)
			return false;
		is_other = is_other || stat.st_ino != other.st_ino;
	}
	return is_other;
}

bool kernel_status_of(uint32_t pid, struct kernel_status *ret_status)
{
	enum { FLAGS = 9, THREADS = 20, START = 22, FORK_NO_EXEC = 0x40 };
	char path[PROC_PATH_BYTES], text[1024];
	uint64_t flags = 0, threads, ticks;

	proc_path(pid, "stat", path);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	const char *at = strrchr(text, ')');
	bool is_dead = at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
	for (int field = 3; at; field++) {
		if ((at = strchr(at + 1, ' ')) == NULL)
			return false;
		if (field == FLAGS)
			(void)decimal_parse(at + 1, &flags);
		/* Dead, and not waited for: other threads may go on without the first. */
		if (field == THREADS && is_dead && decimal_parse(at + 1, &threads) && threads <= 1)
			return false;
		if (field == START)
			break;
	}
	if (!at || !decimal_parse(at + 1, &ticks))
		return false;
	*ret_status = (struct kernel_status){ ticks * 10000000u, (flags & FORK_NO_EXEC) != 0 };
	return true;
}

bool process_start(uint32_t pid, uint64_t *ret_start_ns)
{
	struct kernel_status status;

	if (!kernel_status_of(pid, &status))
		return false;
	*ret_start_ns = status.start_ns;
	return true;
}

bool process_is_gone(const struct process_slot *process)
{
	if (process->pid == 0 || process->context.process_ns != process_pid_ns())
		return false;
	struct kernel_status status;
	/* Started after it was announced (a fork comes before the announcement, a spawn shortly
	 * behind it): another process with the same number. */
	return !kernel_status_of(process->pid, &status) ||
	       status.start_ns > process->time_ns + 2000000000u;
}
