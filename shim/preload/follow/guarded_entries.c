/* The descriptors that the guard inspects: see guarded_entries.h. */
#include "shim/preload/follow/guarded_entries.h"

#include <errno.h>
#include <sys/stat.h>

#include "shim/keep/scratch.h"
#include "shim/preload/follow/write_check.h"
#include "shim/preload/keep_file.h"
#include "tracker/sys/sys.h"

struct write_entry guarded_entries[GUARDED_DESCRIPTORS];
unsigned guarded_end;

void guarded_store(int fd, const struct opening *opening)
{
	if ((unsigned)fd >= GUARDED_DESCRIPTORS)
		return;
	struct write_entry *entry = &guarded_entries[fd];
	if (__atomic_exchange_n(&entry->state, ENTRY_TAKEN, __ATOMIC_ACQ_REL) == ENTRY_TAKEN)
		return;
	entry->opening = *opening;
	entry->tail_bytes = 0;
	unsigned end = __atomic_load_n(&guarded_end, __ATOMIC_RELAXED);
	while (end <= (unsigned)fd &&
	       !__atomic_compare_exchange_n(&guarded_end, &end, (unsigned)fd + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_store_n(&entry->state, ENTRY_OPEN, __ATOMIC_RELEASE);
}

void guarded_drop(int fd)
{
	if ((unsigned)fd < GUARDED_DESCRIPTORS)
		__atomic_store_n(&guarded_entries[fd].state, ENTRY_NONE, __ATOMIC_RELEASE);
}

bool guarded_is_same_file(int fd, const struct opening *opening)
{
	struct stat stat;
	return sys_fstat(fd, &stat) == 0 && stat.st_dev == opening->dev &&
	       stat.st_ino == opening->ino;
}

bool guarded_has_copy(int fd, uint64_t number)
{
	unsigned end = __atomic_load_n(&guarded_end, __ATOMIC_RELAXED);

	for (unsigned other = 0; other < end; other++)
		if (other != (unsigned)fd &&
		    __atomic_load_n(&guarded_entries[other].state, __ATOMIC_ACQUIRE) ==
			    ENTRY_OPEN &&
		    guarded_entries[other].opening.number == number)
			return true;
	return false;
}

/* Opens the file once more, to be read, by the path that it was opened by a moment ago: /proc need not be asked then.
 * What is there must be that file, or nothing is opened.  path: room for it, holds it then.  Returns a descriptor, or -1. */
static int reopen_by_path(const struct opening *opening, char *path)
{
	const int FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
	struct stat stat;

	if (!keep_opened_path(opening->dev, opening->ino, path) ||
	    sys_fstatat(AT_FDCWD, path, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !guarded_is_of(opening, &stat))
		return -1;
	int fd = sys_open(path, FLAGS | O_NOATIME, 0);
	if (fd == -EPERM)
		fd = sys_open(path, FLAGS, 0);
	if (fd >= 0 && (sys_fstat(fd, &stat) < 0 || !guarded_is_of(opening, &stat))) {
		(void)sys_close(fd);
		fd = -1;
	}
	return fd < 0 ? -1 : fd;
}

int guarded_reopen(int fd, const struct opening *opening, char **ret_path)
{
	char *path = scratch_acquire();
	int copy = path ? reopen_by_path(opening, path) : -1;

	if (copy < 0) {
		scratch_release(path);
		path = NULL;
		copy = write_check_reopen(fd, O_RDONLY);
	}
	*ret_path = path;
	return copy;
}
