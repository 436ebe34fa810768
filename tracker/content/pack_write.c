/* Appends to a session's packs: see pack_write.h. */
#include "tracker/content/pack_write.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/uio.h>

#include "tracker/content/pack_check.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_room.h"
#include "tracker/content/pack_window.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum { SMALL_CHUNK_BYTES = 1024 /* on the stack, where all chunks are in use */ };

/* A record in the making. */
struct draft {
	struct pack_record record;
	const char *path, *other;
	int part;     /* descriptor; -1: none */
	char *memory; /* of the part, where the record goes; NULL: by the descriptor */
};

static const char ZEROES[PACK_UNIT_BYTES];

/* Reserves room for a record that does not cross the end of a part. */
static uint64_t reserve(const struct segment *segment, uint64_t size_bytes)
{
	uint64_t *next = &segment->header->undo_next;
	uint64_t place, before = __atomic_load_n(next, __ATOMIC_RELAXED);

	do {
		place = before & ~(uint64_t)(PACK_UNIT_BYTES - 1);
		if (place / PACK_PART_BYTES != (place + size_bytes - 1) / PACK_PART_BYTES)
			place = (place / PACK_PART_BYTES + 1) * PACK_PART_BYTES;
	} while (!__atomic_compare_exchange_n(next, &before, place + size_bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return place;
}

static size_t cut(const char *text, uint32_t *flags)
{
	size_t length = text ? strnlen(text, PACK_PATH_BYTES_MAX + 1) : 0;

	if (length <= PACK_PATH_BYTES_MAX)
		return length;
	*flags |= PACK_CUT;
	return PACK_PATH_BYTES_MAX;
}

/* Fills in a draft and reserves its place.  content_bytes: of an INLINE one. */
static void start_draft(const struct segment *segment, const struct pack_note *note,
			size_t content_bytes, struct draft *ret_draft)
{
	uint32_t flags = note->flags;
	size_t path_bytes = cut(note->path, &flags), other_bytes = cut(note->other, &flags);
	uint64_t size_bytes = pack_size_bytes(path_bytes, other_bytes, content_bytes);

	*ret_draft = (struct draft){
		.record = {
			.magic = PACK_MAGIC,
			.place = reserve(segment, size_bytes),
			.size_bytes = (uint32_t)size_bytes,
			.path_bytes = (uint16_t)path_bytes,
			.other_bytes = (uint16_t)other_bytes,
			.content_bytes = (uint32_t)content_bytes,
			.kind = (uint8_t)note->kind,
			.reason = (uint8_t)note->reason,
			.what = (uint8_t)note->what,
			.time_realtime_ns = sys_realtime_ns(),
			.boundary = __atomic_load_n(&segment->header->undo_boundary, __ATOMIC_RELAXED),
			.process = note->process,
			.pid = note->pid,
			.flags = flags,
			.amount = note->amount,
			.before = note->before,
		},
		.path = note->path,
		.other = note->other,
		.part = -1,
	};
}

/* Writes at an offset of the record, whole. */
static int write_at(const struct draft *draft, const char *bytes, size_t size_bytes, size_t offset)
{
	return sys_write_aside(draft->part, bytes, size_bytes,
			       (off_t)(draft->record.place % PACK_PART_BYTES + offset));
}

/* Where the content stands, from the record on. */
static size_t content_offset(const struct pack_record *record)
{
	return sizeof(*record) + record->path_bytes + record->other_bytes;
}

/* Begins a record in memory: a reader passes it over until it is whole. */
static void start_in_memory(const struct draft *draft)
{
	struct pack_record *there = (struct pack_record *)(void *)draft->memory;

	there->place = draft->record.place;
	there->size_bytes = draft->record.size_bytes;
	__atomic_store_n(&there->magic, PACK_MAGIC_BEGUN, __ATOMIC_RELEASE);
}

static void write_to_memory(const struct draft *draft, const void *content, size_t content_bytes)
{
	const struct pack_record *record = &draft->record;
	const size_t behind_magic = offsetof(struct pack_record, result);
	char *at = draft->memory + sizeof(*record);

	memcpy(draft->memory + behind_magic, (const char *)record + behind_magic,
	       sizeof(*record) - behind_magic);
	if (record->path_bytes)
		memcpy(at, draft->path, record->path_bytes);
	if (record->other_bytes)
		memcpy(at + record->path_bytes, draft->other, record->other_bytes);
	if (content_bytes)
		memcpy(draft->memory + content_offset(record), content, content_bytes);
	__atomic_store_n(&((struct pack_record *)(void *)draft->memory)->magic, record->magic,
			 __ATOMIC_RELEASE);
}

static int write_to_part(const struct draft *draft, const void *content, size_t content_bytes)
{
	const struct pack_record *record = &draft->record;
	size_t written = content_offset(record) + content_bytes;
	/* the rest of the last unit is a hole, but for the last record of the file, which is to be whole */
	size_t rest = content_bytes == record->content_bytes ? record->size_bytes - written : 0;
	struct iovec parts[] = {
		{ (void *)(uintptr_t)record, sizeof(*record) },
		{ (void *)(uintptr_t)draft->path, record->path_bytes },
		{ (void *)(uintptr_t)draft->other, record->other_bytes },
		{ (void *)(uintptr_t)content, content_bytes },
		{ (void *)(uintptr_t)ZEROES, rest },
	};
	ssize_t wrote;
	do
		wrote = sys_call6(SYS_pwritev, draft->part, (long)parts,
				  sizeof(parts) / sizeof(parts[0]),
				  (long)(record->place % PACK_PART_BYTES), 0, 0);
	while (wrote == -EINTR);
	sys_wrote_aside(wrote);
	if (wrote < 0)
		return (int)wrote;
	return (size_t)wrote == written + rest ? 0 : -ENOSPC;
}

/* Writes what is not there yet: the record and its paths, and content that is in memory.  What is not written
 * in one piece is no record that a reader believes. */
static int write_draft(struct draft *draft, const void *content, size_t content_bytes)
{
	draft->record.check = pack_check(&draft->record, draft->path, draft->other);
	if (!draft->memory)
		return write_to_part(draft, content, content_bytes);
	write_to_memory(draft, content, content_bytes);
	return 0;
}

/* Where it is written to: ended by close_part(). */
static int open_part(const struct segment *segment, struct draft *draft)
{
	const struct pack_record *record = &draft->record;

	draft->memory = pack_window_acquire(segment, record->place, record->size_bytes, true);
	if (draft->memory) {
		start_in_memory(draft);
		return 0;
	}
	if (!sys_may_be_this_large(record->place % PACK_PART_BYTES + record->size_bytes))
		return -EFBIG;
	draft->part = pack_open_part(segment, pack_part_of(record->place));
	return draft->part < 0 ? draft->part : 0;
}

static void close_part(const struct draft *draft)
{
	if (draft->memory)
		pack_window_release();
	if (draft->part >= 0)
		(void)sys_close(draft->part);
}

static uint64_t finish_draft(const struct segment *segment, const struct draft *draft, int error)
{
	close_part(draft);
	/* what can be made again, and what has no content, is no loss */
	bool is_lost = draft->record.held == PACK_NOT_KEPT &&
		       draft->record.reason != PACK_REBUILDABLE &&
		       draft->record.reason != PACK_NO_FILE;
	if (error < 0 || is_lost)
		segment_count(segment, COUNTER_lost_undo, 1);
	if (error < 0)
		return PACK_NO_PLACE;
	segment_count(segment, COUNTER_undo_records, 1);
	pack_add_bytes(segment, draft->record.size_bytes);
	return draft->record.place;
}

uint64_t pack_write(const struct segment *segment, const struct pack_note *note,
		    enum pack_held held, const void *content, size_t content_bytes)
{
	struct draft draft;

	start_draft(segment, note, content_bytes, &draft);
	draft.record.held = (uint8_t)held;
	if (held == PACK_INLINE)
		draft.record.version = version_of_bytes(content, content_bytes);
	int error = open_part(segment, &draft);
	if (error == 0)
		error = write_draft(&draft, content, content_bytes);
	return finish_draft(segment, &draft, error);
}

static uint64_t write_lost(const struct segment *segment, const struct pack_note *note,
			   enum pack_reason reason)
{
	struct pack_note lost = *note;

	lost.reason = reason;
	return pack_write(segment, &lost, PACK_NOT_KEPT, NULL, 0);
}

static enum pack_reason reason_of(int error)
{
	switch (error) {
	case -EFBIG:
		return PACK_TOO_LARGE;
	case -ENOSPC:
	case -EDQUOT:
		return PACK_NO_ROOM;
	case -EACCES:
	case -EPERM:
		return PACK_UNREADABLE;
	case -EXDEV:
		return PACK_OTHER_DEVICE;
	default:
		return PACK_UNKNOWN;
	}
}

/* ---- small contents: behind the record ---- */

/* Reads what the file holds to where it stands behind the record.  -EAGAIN: it is not what it was. */
static int read_inline(struct draft *draft, int fd)
{
	const struct pack_record *record = &draft->record;
	char *content = draft->memory + content_offset(record);
	ssize_t got = sys_pread_all(fd, content, record->content_bytes, 0);

	if (got != (ssize_t)record->content_bytes)
		return got < 0 ? (int)got : -EAGAIN;
	draft->record.version = version_of_bytes(content, (uint64_t)got);
	return write_draft(draft, NULL, 0);
}

/* Copies what the file holds behind the record, piece by piece.  -EAGAIN: likewise. */
static int copy_inline(struct draft *draft, int fd, char *chunk, size_t chunk_bytes)
{
	const struct pack_record *record = &draft->record;
	size_t offset = content_offset(record), done = 0;
	struct version_stream stream;

	version_stream_init(&stream);
	while (done < record->content_bytes) {
		size_t left = record->content_bytes - done;
		ssize_t got = sys_pread(fd, chunk, left < chunk_bytes ? left : chunk_bytes,
					(off_t)done);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? (int)got : -EAGAIN;
		/* of one piece: with the record, by one call */
		if ((size_t)got == record->content_bytes) {
			draft->record.version = version_of_bytes(chunk, (uint64_t)got);
			return write_draft(draft, chunk, (size_t)got);
		}
		version_stream_add(&stream, chunk, (uint64_t)got);
		int error = write_at(draft, chunk, (size_t)got, offset + done);
		if (error < 0)
			return error;
		done += (size_t)got;
	}
	draft->record.version = version_stream_finish(&stream);
	size_t rest = record->size_bytes - offset - done;
	int error = write_at(draft, ZEROES, rest, offset + done);
	return error < 0 ? error : write_draft(draft, NULL, 0);
}

static __attribute__((noinline)) int copy_inline_on_stack(struct draft *draft, int fd)
{
	char chunk[SMALL_CHUNK_BYTES];
	return copy_inline(draft, fd, chunk, sizeof(chunk));
}

static int keep_inline(const struct segment *segment, const struct pack_note *note, int fd,
		       uint64_t *ret_place)
{
	struct draft draft;

	start_draft(segment, note, note->before.size_bytes, &draft);
	draft.record.held = PACK_INLINE;
	int error = open_part(segment, &draft);
	if (error == 0 && draft.memory) {
		error = read_inline(&draft, fd);
	} else if (error == 0) {
		char *chunk = chunk_acquire();
		error = chunk ? copy_inline(&draft, fd, chunk, CHUNK_BYTES)
			      : copy_inline_on_stack(&draft, fd);
		chunk_release(chunk);
	}
	if (error < 0) {
		close_part(&draft);
		return error;
	}
	*ret_place = finish_draft(segment, &draft, 0);
	return 0;
}

/* ---- large contents: files of their own ---- */

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

static int copy_file(const struct segment *segment, int from, int to, uint64_t size_bytes,
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

/* Makes the content's own file: a shared copy where the file system has them, else a copy. */
static int fill_file(const struct segment *segment, struct draft *draft, int fd)
{
	const uint64_t size_bytes = draft->record.before.size_bytes;
	char name[PACK_FILE_NAME_BYTES];
	int directory = pack_open_files(segment, draft->record.place, name);

	if (directory < 0)
		return directory;
	int to = sys_openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
	int error = to < 0 ? to : 0;
	if (to >= 0 && sys_call3(SYS_ioctl, to, FICLONE, fd) == 0) {
		draft->record.held = PACK_REFLINK;
	} else if (to >= 0) {
		draft->record.held = PACK_COPY;
		error = copy_file(segment, fd, to, size_bytes, &draft->record.version);
	}
	if (to >= 0) {
		int closed = sys_close(to);
		if (error == 0 && closed < 0 && closed != -EINTR)
			error = closed;
		if (error < 0)
			(void)sys_unlinkat(directory, name, 0);
	}
	(void)sys_close(directory);
	return error;
}

/* Puts a record whose content is a file in place.  ret_place: also where it could not be written. */
static int finish_file(const struct segment *segment, struct draft *draft, int error,
		       uint64_t *ret_place)
{
	if (error < 0)
		return error;
	error = open_part(segment, draft);
	if (error == 0)
		error = write_draft(draft, NULL, 0);
	if (error < 0)
		pack_drop_file(segment, draft->record.place);
	else if (draft->record.held != PACK_REFLINK)
		pack_add_bytes(segment, draft->record.before.size_bytes);
	*ret_place = finish_draft(segment, draft, error);
	return 0;
}

uint64_t pack_keep(const struct segment *segment, const struct pack_note *note, int fd)
{
	uint64_t place = PACK_NO_PLACE;
	int error;

	if (note->before.size_bytes == 0)
		return pack_write(segment, note, PACK_INLINE, "", 0);
	error = pack_make_room(segment, note->before.size_bytes);
	if (error == 0 && note->before.size_bytes <= PACK_INLINE_BYTES_MAX) {
		error = keep_inline(segment, note, fd, &place);
	} else if (error == 0) {
		struct draft draft;
		start_draft(segment, note, 0, &draft);
		error = fill_file(segment, &draft, fd);
		error = finish_file(segment, &draft, error, &place);
	}
	return error < 0 ? write_lost(segment, note, reason_of(error)) : place;
}

uint64_t pack_link(const struct segment *segment, const struct pack_note *note, int directory,
		   const char *name)
{
	char own_name[PACK_FILE_NAME_BYTES];
	uint64_t place = PACK_NO_PLACE;
	struct draft draft;

	if (pack_make_room(segment, note->before.size_bytes) < 0)
		return PACK_NO_PLACE;
	start_draft(segment, note, 0, &draft);
	draft.record.held = PACK_LINK;
	int own_directory = pack_open_files(segment, draft.record.place, own_name);
	if (own_directory < 0)
		return PACK_NO_PLACE;
	int error = sys_linkat(directory, name, own_directory, own_name, 0);
	(void)sys_close(own_directory);
	return finish_file(segment, &draft, error, &place) < 0 ? PACK_NO_PLACE : place;
}

void pack_fail(const struct segment *segment, uint64_t place)
{
	const uint32_t failed = PACK_FAILED;

	if (place == PACK_NO_PLACE)
		return;
	char *memory = pack_window_acquire(segment, place, sizeof(struct pack_record), false);
	if (memory) {
		__atomic_store_n(&((struct pack_record *)(void *)memory)->result, failed,
				 __ATOMIC_RELAXED);
		pack_window_release();
		return;
	}
	int part = pack_open_part(segment, pack_part_of(place));
	if (part < 0)
		return;
	sys_wrote_aside(sys_pwrite(
		part, &failed, sizeof(failed),
		(off_t)(place % PACK_PART_BYTES + offsetof(struct pack_record, result))));
	(void)sys_close(part);
}

uint64_t pack_boundary(const struct segment *segment, enum pack_cause cause)
{
	const struct pack_note note = {
		.kind = PACK_BOUNDARY,
		.what = cause,
		.pid = (uint32_t)sys_getpid(),
	};

	pack_raise_boundary(segment);
	return pack_write(segment, &note, PACK_NOT_TAKEN, NULL, 0);
}
