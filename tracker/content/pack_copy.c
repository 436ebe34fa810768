/* A content's own file in the store: see pack_copy.h. */
#include "tracker/content/pack_copy.h"

#include <errno.h>
#include <string.h>

#include "tracker/content/pack_room.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum { SMALL_CHUNK_BYTES = 1024 /* on the stack, where all chunks are in use */ };

/* Copies bytes that are there, and leaves holes where the file has some. */
static int copy_pieces(int from, int to, uint64_t size_bytes, char *chunk, size_t chunk_bytes,
		       struct version *ret_version)
{
	struct version_stream stream;

	version_stream_init(&stream);
	while (stream.size_bytes < size_bytes) {
		uint64_t left = size_bytes - stream.size_bytes;
		ssize_t got = sys_pread(from, chunk,
					left < chunk_bytes ? (size_t)left : chunk_bytes,
					(off_t)stream.size_bytes);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? (int)got : -EAGAIN;
		bool is_hole = chunk[0] == 0 && memcmp(chunk, chunk + 1, (size_t)got - 1) == 0;
		int error = is_hole ? 0
				    : sys_write_aside(to, chunk, (size_t)got,
						      (off_t)stream.size_bytes);
		if (error < 0)
			return error;
		version_stream_add(&stream, chunk, (uint64_t)got);
	}
	*ret_version = version_stream_finish(&stream);
	return 0;
}

static __attribute__((noinline)) int copy_on_stack(int from, int to, uint64_t size_bytes,
						   struct version *ret_version)
{
	char chunk[SMALL_CHUNK_BYTES];
	return copy_pieces(from, to, size_bytes, chunk, sizeof(chunk), ret_version);
}

int pack_copy_file(const struct segment *segment, int from, int to, uint64_t size_bytes,
		   struct version *ret_version)
{
	int error = pack_may_copy(segment, size_bytes, from, to);

	if (error == 0 && !sys_may_be_this_large(size_bytes))
		error = -EFBIG;
	if (error < 0)
		return error;
	char *chunk = chunk_acquire();
	error = chunk ? copy_pieces(from, to, size_bytes, chunk, CHUNK_BYTES, ret_version)
		      : copy_on_stack(from, to, size_bytes, ret_version);
	chunk_release(chunk);
	return error == 0 ? sys_ftruncate(to, (off_t)size_bytes) : error;
}
