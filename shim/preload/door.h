/*
 * What an exported function means, for the hooks_*.c files: one step between libc's many names for a thing
 * and the modules that care (shim.h).
 */
#ifndef SEEN_SHIM_DOOR_H
#define SEEN_SHIM_DOOR_H

#include "shim/preload/shim.h"

/* door_opened(): a call opened a file.  fd: what it returned.  path: as given, relative to `directory`; NULL: not by
 * name.  flags: of open(2). */
void door_opened(int fd, int directory, const char *path, int flags);

/* door_changed(): what a name stands for was replaced, removed or made by a call that succeeded. */
static inline void door_changed(int directory, const char *path)
{
	if (!shim.on)
		return;
	process_count(&shim.segment, shim.process, PROCESS_CHANGES);
	if (shim.changes)
		change_note(directory, path);
}

/* door_sandboxed(): the program told the kernel which calls to allow it: none of ours are made from then on. */
static inline void door_sandboxed(void)
{
	shim.sandboxed = true;
	shim.views = false;
	shim.reads_own = false;
}

/* door_listed(): a folder was opened to be listed. */
static inline void door_listed(void)
{
	if (shim.on)
		process_count(&shim.segment, shim.process, PROCESS_LISTINGS);
}

/* door_closing_many(): a range of descriptors is about to be closed, both ends included. */
static inline void door_closing_many(unsigned first, unsigned last)
{
	if (shim.views)
		view_odd();
	else if (shim.reads_own)
		own_closing_many(first, last);
}

#endif
