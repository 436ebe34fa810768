/* The stations of a call about data inside a process: see stations_data.h. */
#include "shim/preload/stations_data.h"

#include <limits.h>

void stations_mapped(void *address, size_t size_bytes, int fd, uint64_t offset)
{
	if (ring_any())
		ring_mapped(fd, address, size_bytes, offset);
	if (__builtin_expect(shim.tracks, 0))
		reader_passed(fd, 1, false);
	if (shim.views)
		viewer_untrackable();
	else if (shim.reads_own)
		in_process_read(fd, size_bytes < SSIZE_MAX ? (ssize_t)size_bytes : SSIZE_MAX);
}
