/* The stations of calls about descriptors inside a process: see stations_descriptor.h. */
#include "shim/preload/stations_descriptor.h"

#include "shim/preload/stations.h"

void keep_closed(enum operation operation, unsigned fd, unsigned other, struct close_work *own)
{
	if (operation == OPERATION_CLOSE)
		keep_closing(fd, fd);
	else if (operation == OPERATION_CLOSE_MANY)
		keep_closing(fd, other);
	else if (operation == OPERATION_REPLACE && fd != other)
		keep_closing(other, other);
	else if (operation == OPERATION_CLOSE_STREAM)
		own->closing.kept = keep_stream_closing((int)fd);
}

/* What a stream over a descriptor reads is not seen.  stream: NULL: none was made. */
void stations_observe_stream(int fd, FILE *stream)
{
	if (stream && shim.views)
		viewer_untrackable();
	if (__builtin_expect(shim.tracks, 0))
		reader_made_stream(fd);
	if (stream && __builtin_expect(shim.guards && guarded_any(), 0))
		guarded_stream(fd, stream);
}

void stations_observe_closing(int fd, bool by_number)
{
	if (shim.views && by_number)
		viewer_untrackable();
	if (shim.views)
		viewer_closing(fd);
	else if (shim.reads_own)
		in_process_closing(fd);
	else if (__builtin_expect(shim.tracks, 0))
		reader_closing(fd);
}

void stations_observe_stream_closing(int fd, FILE *stream)
{
	if (shim.reads_own)
		in_process_stream_closing(fd);
	else if (shim.views)
		viewer_closing(fd);
	if (__builtin_expect(shim.tracks, 0))
		reader_stream_closing(stream);
}

void stations_observe_closing_many(unsigned first, unsigned last)
{
	if (shim.views)
		viewer_untrackable();
	else if (shim.reads_own)
		in_process_closing_many(first, last);
	else if (__builtin_expect(shim.tracks, 0))
		reader_untrackable();
	if (shim.guards && guarded_any())
		guarded_closing_many(first, last);
}

void stations_observe_duplicated(int fd, int copy)
{
	if (shim.views)
		viewer_untrackable();
	else if (shim.reads_own)
		in_process_closing(copy);
	else if (__builtin_expect(shim.tracks, 0))
		reader_duplicated(fd, copy);
	if (shim.guards && guarded_any())
		guarded_duplicated(fd, copy);
}

int close_by_stations(int fd)
{
	struct close_work own;
	struct call call = close_call(OPERATION_CLOSE, fd, -1, NULL, &own);
	int saved_errno = errno, refused = 0;

	order_closes(&call, OPERATION_CLOSE);
	if (close_ends(0, &own) < 0)
		refused = errno;
	errno = saved_errno;
	return refused;
}
