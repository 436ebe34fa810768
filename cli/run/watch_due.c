/* When a file is inspected: see watch_due.h. */
#include "cli/run/watch_due.h"

#include "tracker/sys/sys.h"

enum {
	/* a file that is never left alone is inspected after so many times quiet_ms */
	UNQUIET = 50,
};

void due_soon(const struct watch *watch, struct file *file)
{
	uint64_t now_ns = sys_boottime_ns();

	if (!file->due_ns)
		file->first_ns = now_ns;
	file->checks = 0;
	file->due_ns = now_ns + watch->quiet_ns;
	if (file->due_ns > file->first_ns + UNQUIET * watch->quiet_ns)
		file->due_ns = file->first_ns + UNQUIET * watch->quiet_ns;
}

void due_now(struct file *file)
{
	if (!file->due_ns)
		file->first_ns = sys_boottime_ns();
	file->due_ns = 1;
}

void due_later(struct file *file, uint64_t wait_ns)
{
	file->checks++;
	file->due_ns = sys_boottime_ns() + wait_ns;
}

void due_never(struct file *file)
{
	file->due_ns = 0;
	file->checks = 0;
}
