/* What an exported function means: see call.h. */
#include "shim/preload/call.h"

#include <string.h>
#include <sys/stat.h>

#include "shim/preload/directory.h"

void call_moved(int error, int fd, const char *path)
{
	if (!shim.on)
		return;
	/* The record first: a path is relative to the directory that is being left. */
	if (path)
		record_name(JOURNAL_CHDIR, error != 0, AT_FDCWD, path, 0, 0);
	else
		record_descriptor(JOURNAL_CHDIR, error != 0, fd, 0, 0);
	if (error == 0) {
		if (__builtin_expect(shim.tracks, 0))
			reader_moved(fd, path);
		if (__builtin_expect(shim.views, 0))
			viewer_moved();
		change_directory();
	}
}
