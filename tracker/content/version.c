/* Versions and stamps: see version.h. */
#include "tracker/content/version.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

_Static_assert(sizeof(XXH3_state_t) <= sizeof(((struct version_stream *)0)->state),
	       "the state fits");
_Static_assert(_Alignof(XXH3_state_t) <= 64, "the state is aligned");

enum { SMALL_CHUNK_BYTES = 2048 };

bool version_equal(const struct version *a, const struct version *b)
{
	return a->low == b->low && a->high == b->high && a->size_bytes == b->size_bytes;
}

bool version_is_none(const struct version *version)
{
	return version->low == 0 && version->high == 0 && version->size_bytes == 0;
}

void version_digits(const struct version *version, char *ret_text)
{
	for (int i = 0; i < VERSION_DIGITS; i++)
		ret_text[i] = "0123456789abcdef"[(version->high >> (60 - 4 * i)) & 15];
	ret_text[VERSION_DIGITS] = '\0';
}

struct stamp stamp_of(const struct stat *stat)
{
	return (struct stamp){
		.dev = stat->st_dev,
		.ino = stat->st_ino,
		.size_bytes = (uint64_t)stat->st_size,
		.mtime_ns = stat->st_mtim.tv_sec * 1000000000 + stat->st_mtim.tv_nsec,
		.ctime_ns = stat->st_ctim.tv_sec * 1000000000 + stat->st_ctim.tv_nsec,
	};
}

bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size_bytes == b->size_bytes &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

void version_stream_init(struct version_stream *stream)
{
	stream->size_bytes = 0;
	(void)XXH3_128bits_reset((XXH3_state_t *)(void *)stream->state);
}

void version_stream_add(struct version_stream *stream, const void *bytes, uint64_t size_bytes)
{
	stream->size_bytes += size_bytes;
	(void)XXH3_128bits_update((XXH3_state_t *)(void *)stream->state, bytes, size_bytes);
}

struct version version_stream_finish(const struct version_stream *stream)
{
	XXH128_hash_t hash = XXH3_128bits_digest((const XXH3_state_t *)(const void *)stream->state);
	return (struct version){ hash.low64, hash.high64, stream->size_bytes };
}

struct version version_of_bytes(const void *bytes, uint64_t size_bytes)
{
	XXH128_hash_t hash = XXH3_128bits(bytes, size_bytes);
	return (struct version){ hash.low64, hash.high64, size_bytes };
}

/* In bytes of a register, as long as those hold it: the compiler then compares many bytes at
 * once. */
static uint64_t count_newlines(const char *bytes, size_t size_bytes)
{
	enum { LANES = 16, ROWS_MAX = 255 };
	uint64_t count = 0;
	size_t i = 0;

	while (size_bytes - i >= LANES) {
		uint8_t lanes[LANES] = { 0 };
		size_t rows = (size_bytes - i) / LANES;
		if (rows > ROWS_MAX)
			rows = ROWS_MAX;
		for (size_t row = 0; row < rows; row++, i += LANES)
			for (int lane = 0; lane < LANES; lane++)
				lanes[lane] = (uint8_t)(lanes[lane] +
							(bytes[i + (size_t)lane] == '\n'));
		for (int lane = 0; lane < LANES; lane++)
			count += lanes[lane];
	}
	for (; i < size_bytes; i++)
		count += bytes[i] == '\n';
	return count;
}

/* A line that is no longer than the longest one so far is not told from its neighbours: it is
 * enough that there is a newline among so many bytes, and the last of these begins what is asked
 * next. */
void shape_add(struct shape *shape, const char *bytes, size_t size_bytes)
{
	const char *at = bytes, *end = bytes + size_bytes, *newline;
	uint64_t longest = shape->longest;

	shape->bytes += size_bytes;
	shape->newlines += count_newlines(bytes, size_bytes);
	if (longest < SHAPE_LINE_BYTES)
		longest = SHAPE_LINE_BYTES;
	if (shape->open_bytes) {
		newline = memchr(at, '\n', size_bytes);
		shape->open_bytes += (uint64_t)((newline ? newline : end) - at);
		if (longest < shape->open_bytes)
			longest = shape->open_bytes;
		at = newline ? newline + 1 : end;
		if (newline)
			shape->open_bytes = 0;
	}
	while ((uint64_t)(end - at) > longest) {
		newline = memrchr(at, '\n', longest + 1);
		if (!newline) {
			const char *from = at + longest + 1;
			newline = memchr(from, '\n', (size_t)(end - from));
			longest = (uint64_t)((newline ? newline : end) - at);
		}
		if (!newline)
			break;
		at = newline + 1;
	}
	if (at < end) {
		newline = memrchr(at, '\n', (size_t)(end - at));
		shape->open_bytes = (uint64_t)(end - (newline ? newline + 1 : at));
	}
	shape->longest = longest < shape->bytes ? longest : shape->bytes;
}

void shape_unseen(struct shape *shape, uint64_t size_bytes)
{
	shape->bytes += size_bytes;
	shape->newlines += size_bytes;
	shape->open_bytes += size_bytes;
	if (shape->longest < shape->open_bytes)
		shape->longest = shape->open_bytes;
}

/* size_bytes: that the file has by its stat; where as many were read, and the last call found its
 * end, that is all. */
static int read_content(int fd, uint64_t size_bytes, uint64_t max_bytes, char *chunk,
			size_t chunk_bytes, struct content *ret_content, struct shape *shape)
{
	struct version_stream stream;
	struct content content = { .text = true };
	char last = '\n';

	version_stream_init(&stream);
	for (;;) {
		ssize_t got = sys_pread(fd, chunk, chunk_bytes, (off_t)stream.size_bytes);
		if (got < 0)
			return (int)got;
		if (got == 0)
			break;
		if (stream.size_bytes + (uint64_t)got > max_bytes)
			return -EFBIG;
		version_stream_add(&stream, chunk, (uint64_t)got);
		content.lines += count_newlines(chunk, (size_t)got);
		if (shape)
			shape_add(shape, chunk, (size_t)got);
		last = chunk[got - 1];
		content.text = content.text && !memchr(chunk, '\0', (size_t)got);
		if ((size_t)got < chunk_bytes && stream.size_bytes == size_bytes)
			break;
	}
	content.lines += last != '\n';
	content.version = version_stream_finish(&stream);
	*ret_content = content;
	return 0;
}

/* Where all chunks are in use. */
__attribute__((noinline)) static int read_content_on_stack(int fd, uint64_t size_bytes,
							   uint64_t max_bytes,
							   struct content *ret_content,
							   struct shape *shape)
{
	char chunk[SMALL_CHUNK_BYTES];
	return read_content(fd, size_bytes, max_bytes, chunk, sizeof(chunk), ret_content, shape);
}

static int read_by_chunk(int fd, uint64_t size_bytes, uint64_t max_bytes,
			 struct content *ret_content, struct shape *shape)
{
	char *chunk = chunk_acquire();
	int error = chunk ? read_content(fd, size_bytes, max_bytes, chunk, CHUNK_BYTES, ret_content,
					 shape)
			  : read_content_on_stack(fd, size_bytes, max_bytes, ret_content, shape);
	chunk_release(chunk);
	return error;
}

int content_of_file(int fd, uint64_t size_bytes, uint64_t max_bytes, struct content *ret_content)
{
	return read_by_chunk(fd, size_bytes, max_bytes, ret_content, NULL);
}

int content_of_descriptor(int fd, uint64_t max_bytes, struct content *ret_content)
{
	return read_by_chunk(fd, UINT64_MAX, max_bytes, ret_content, NULL);
}

int content_and_shape(int fd, uint64_t max_bytes, struct content *ret_content,
		      struct shape *ret_shape)
{
	struct shape shape = { 0 };
	int error = read_by_chunk(fd, UINT64_MAX, max_bytes, ret_content, &shape);

	if (error == 0)
		*ret_shape = shape;
	return error;
}
