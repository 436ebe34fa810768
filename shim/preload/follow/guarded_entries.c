/* The descriptors that the guard inspects: see guarded_entries.h. */
#include "shim/preload/follow/guarded_entries.h"

#include <sys/stat.h>

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
