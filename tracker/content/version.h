/*
 * Versions and stamps of files.  A version is a file's content: XXH3-128 of its bytes and their
 * number.  A stamp is what stat tells: a hint: when it differs the file has to be read, and when it
 * is equal that proves nothing.
 */
#ifndef SEEN_TRACKER_VERSION_H
#define SEEN_TRACKER_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct version {
	uint64_t low;
	uint64_t high;
	uint64_t size_bytes;
};

struct stamp {
	uint64_t dev;
	uint64_t ino;
	uint64_t size_bytes;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

/* How a text is cut into lines, as an agent does that cuts what is printed.  All zeroes: of no
 * text. */
struct shape {
	uint64_t bytes;
	uint64_t newlines;
	/* bytes of the longest line, its newline not counted; of shorter ones than SHAPE_LINE_BYTES
	 * no less than these */
	uint64_t longest;
	uint64_t open_bytes; /* of a last line without newline */
};

/* Lines up to this length are not told apart: that makes it cheap. */
enum { SHAPE_LINE_BYTES = 256 };

/* shape_add(): bytes that follow. */
void shape_add(struct shape *shape, const char *bytes, size_t size_bytes);

/* shape_unseen(): the same of bytes that were not inspected: each of them may be a line, and all of
 * them one. */
void shape_unseen(struct shape *shape, uint64_t size_bytes);

/* shape_lines(): its lines, also a last one without newline. */
static inline uint64_t shape_lines(const struct shape *shape)
{
	return shape->newlines + (shape->open_bytes != 0);
}

/* What reading a file's bytes yields beside its version. */
struct content {
	struct version version;
	uint64_t lines; /* newlines, one more for a last line without one */
	bool text;      /* no NUL byte */
};

/* How many hexadecimal digits of a version people are shown. */
enum { VERSION_DIGITS = 12 };

/* A version in the making, from bytes in the order of the file.  Opaque words: the state of
 * XXH3-128 (xxhash.h), 64-byte aligned as it asks. */
struct version_stream {
	_Alignas(64) unsigned char state[640];
	uint64_t size_bytes;
};

bool version_equal(const struct version *a, const struct version *b);

/* True for the version that no file has: nothing recorded. */
bool version_is_none(const struct version *version);

/* version_digits(): the digits that a notice and `seen files` show: the first of the hash.
 * ret_text: VERSION_DIGITS + 1 bytes, ended by NUL.  Async-signal-safe. */
void version_digits(const struct version *version, char *ret_text);

struct stamp stamp_of(const struct stat *stat);

bool stamp_equal(const struct stamp *a, const struct stamp *b);

void version_stream_init(struct version_stream *stream);
void version_stream_add(struct version_stream *stream, const void *bytes, uint64_t size_bytes);
struct version version_stream_finish(const struct version_stream *stream);

/* version_of_bytes(): the version of a whole content in memory. */
struct version version_of_bytes(const void *bytes, uint64_t size_bytes);

/* content_of_descriptor(): reads an open file from offset 0 to its end by pread.
 *
 * The descriptor's offset stays.  max_bytes: give up beyond.  Returns 0; -EFBIG; the errors of
 * pread(2).  Uses 1 KiB of stack, 3 where all memory for it (chunk.h) is in use;
 * async-signal-safe. */
int content_of_descriptor(int fd, uint64_t max_bytes, struct content *ret_content);

/* content_and_shape(): the same, and how it is cut into lines. */
int content_and_shape(int fd, uint64_t max_bytes, struct content *ret_content,
		      struct shape *ret_shape);

/* content_of_file(): the same, of a file that fstat(2) says to have so many bytes: where it has no
 * more, the kernel is not asked once more for what comes behind them. */
int content_of_file(int fd, uint64_t size_bytes, uint64_t max_bytes, struct content *ret_content);

#endif
