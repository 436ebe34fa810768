/* Appends to a session's packs: see pack_write.h. */
#include "tracker/content/pack_write.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/uio.h>

#include "tracker/content/kept.h"
#include "tracker/content/pack_code.h"
#include "tracker/content/pack_contents.h"
#include "tracker/content/pack_copy.h"
#include "tracker/content/pack_name.h"
#include "tracker/content/pack_room.h"
#include "tracker/content/pack_texts.h"
#include "tracker/content/pack_window.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum { SMALL_CHUNK_BYTES = 1024 /* on the stack, where all chunks are in use */ };

/* A record in the making. */
struct draft {
	struct pack_record record;
	const struct segment *segment;
	uint64_t key;
	const char *path, *other, *content; /* content: NULL: it is not in memory */
	size_t path_bytes, other_bytes,
		content_bytes; /* of these; the record has less where they stand elsewhere */
	struct pack_text path_text, other_text; /* what of the paths stands elsewhere */
	uint64_t known_place;                   /* where the content stands; PACK_NO_PLACE */
	_Alignas(struct pack_head) unsigned char code
		[PACK_CODE_BYTES_MAX]; /* head and fields, but for the hash of a content */
	int part;                      /* descriptor; -1: none */
	char *memory; /* of the part, where the record goes; NULL: by the descriptor */
};

static const char ZEROES[PACK_UNIT_BYTES];

enum { ANY_PART = -1 };

/* Reserves room for a record that does not cross the end of a part.  part: in this one alone; PACK_NO_PLACE: it is
 * full. */
static uint64_t reserve(const struct segment *segment, uint64_t size_bytes, int64_t part)
{
	uint64_t *next = &segment->header->undo_next;
	uint64_t place, before = __atomic_load_n(next, __ATOMIC_RELAXED);

	do {
		place = before & ~(uint64_t)(PACK_UNIT_BYTES - 1);
		if (place / PACK_PART_BYTES != (place + size_bytes - 1) / PACK_PART_BYTES)
			place = (place / PACK_PART_BYTES + 1) * PACK_PART_BYTES;
		if (part != ANY_PART && pack_part_of(place) != part)
			return PACK_NO_PLACE;
	} while (!__atomic_compare_exchange_n(next, &before, place + size_bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return place;
}

static size_t cut(const char *text, uint32_t *flags)
{
	size_t length = strnlen(text, PACK_PATH_BYTES_MAX + 1);

	if (length <= PACK_PATH_BYTES_MAX)
		return length;
	*flags |= PACK_CUT;
	return PACK_PATH_BYTES_MAX;
}

/* Reserves a record's place, where it may name the places of its paths and its content. */
static void reserve_record(const struct segment *segment, struct draft *draft, int64_t part)
{
	struct pack_record *record = &draft->record;

	draft->path_text.bytes = record->path_unit_1 ? draft->path_text.bytes : 0;
	draft->other_text.bytes = record->other_unit_1 ? draft->other_text.bytes : 0;
	record->path_bytes = (uint16_t)(draft->path_bytes - draft->path_text.bytes);
	record->other_bytes = (uint16_t)(draft->other_bytes - draft->other_text.bytes);
	record->content_bytes = (uint32_t)(record->content_unit_1 ? 0 : draft->content_bytes);
	record->code_bytes = (uint32_t)pack_encode(record, draft->code);
	record->size_bytes = (uint32_t)pack_size_bytes(record->code_bytes, record->path_bytes,
						       record->other_bytes, record->content_bytes);
	record->place = reserve(segment, record->size_bytes, part);
}

/* A place that stands for a text or a content; 0: there is none in that part. */
static uint32_t unit_of(uint64_t place, int64_t part)
{
	return place == PACK_NO_PLACE || pack_part_of(place) != part
		       ? 0
		       : (uint32_t)(place % PACK_PART_BYTES / PACK_UNIT_BYTES) + 1;
}

static bool may_be_known(const struct draft *draft)
{
	return draft->content_bytes >= PACK_CONTENTS_BYTES_MIN;
}

/* The part that the next record goes to, as far as is known. */
static uint32_t next_part(const struct segment *segment)
{
	return (uint32_t)pack_part_of(
		__atomic_load_n(&segment->header->undo_next, __ATOMIC_RELAXED));
}

static void find_place(const struct segment *segment, struct draft *draft)
{
	struct pack_record *record = &draft->record;
	int64_t part = next_part(segment);

	draft->path_text = pack_texts_find(segment, draft->path, draft->path_bytes);
	draft->other_text = pack_texts_find(segment, draft->other, draft->other_bytes);
	record->path_unit_1 = unit_of(draft->path_text.place, part);
	record->other_unit_1 = unit_of(draft->other_text.place, part);
	if (draft->content && may_be_known(draft))
		draft->known_place = pack_contents_find(segment, (uint32_t)part, &record->version,
							draft->content);
	record->content_unit_1 = unit_of(draft->known_place, part);
	bool elsewhere = record->path_unit_1 || record->other_unit_1 || record->content_unit_1;
	reserve_record(segment, draft, elsewhere ? part : (int64_t)ANY_PART);
	if (record->place == PACK_NO_PLACE) { /* in the next part those places mean others */
		record->path_unit_1 = record->other_unit_1 = record->content_unit_1 = 0;
		reserve_record(segment, draft, ANY_PART);
	}
}

/* Fills in a draft and reserves its place.  content: NULL: none, or it is to be read: REFLINK may become COPY then.
 * draft: its `known_place` is set; where it is one, version: of the content; else NULL. */
static void start_draft(const struct segment *segment, const struct pack_note *note,
			enum pack_held held, const void *content, size_t content_bytes,
			const struct version *version, struct draft *draft)
{
	uint32_t flags = note->flags;

	draft->segment = segment;
	draft->key = note->key;
	draft->path = note->path ? note->path : "";
	draft->other = note->other ? note->other : "";
	draft->content = content;
	draft->content_bytes = content_bytes;
	draft->path_bytes = cut(draft->path, &flags);
	draft->other_bytes = cut(draft->other, &flags);
	draft->part = -1;
	draft->memory = NULL;
	draft->record = (struct pack_record){
		.kind = (uint8_t)note->kind,
		.held = (uint8_t)held,
		.reason = (uint8_t)note->reason,
		.what = (uint8_t)note->what,
		.time_realtime_ns = sys_realtime_ns(),
		.boundary = note->boundary ? note->boundary
					   : __atomic_load_n(&segment->header->undo_boundary,
							     __ATOMIC_RELAXED),
		.process = note->process,
		.pid = note->pid,
		.flags = flags,
		.amount = note->amount,
		.before = note->before,
		.version = { .size_bytes = held == PACK_INLINE ? content_bytes : 0 },
	};
	if (held == PACK_INLINE && content)
		draft->record.version = version_of_bytes(content, content_bytes);
	else if (version)
		draft->record.version = *version;
	find_place(segment, draft);
}

/* Notes what a content was read to be: its hash has its place in the code already. */
static void set_version(struct draft *draft, const struct version *version)
{
	unsigned char *hash = draft->code + draft->record.code_bytes - PACK_VERSION_BYTES;

	draft->record.version = *version;
	memcpy(hash, &version->high, sizeof(version->high));
	memcpy(hash + sizeof(version->high), &version->low, sizeof(version->low));
}

/* Writes at an offset of the record, whole. */
static int write_at(const struct draft *draft, const char *bytes, size_t size_bytes, size_t offset)
{
	if (draft->memory) {
		memcpy(draft->memory + offset, bytes, size_bytes);
		return 0;
	}
	return sys_write_aside(draft->part, bytes, size_bytes,
			       (off_t)(draft->record.place % PACK_PART_BYTES + offset));
}

/* Begins a record in memory: a reader passes it over until it is whole. */
static void start_in_memory(const struct draft *draft)
{
	struct pack_head *there = (struct pack_head *)(void *)draft->memory;

	there->check = draft->record.place;
	there->size_bytes = draft->record.size_bytes;
	__atomic_store_n(&there->magic, PACK_MAGIC_BEGUN, __ATOMIC_RELEASE);
}

/* The same of one that is written in pieces. */
static int start_in_part(const struct draft *draft)
{
	const struct pack_head begun = { .magic = PACK_MAGIC_BEGUN,
					 .check = draft->record.place,
					 .size_bytes = draft->record.size_bytes };

	return write_at(draft, (const char *)&begun, sizeof(begun), 0);
}

static void write_to_memory(const struct draft *draft, const void *content, size_t content_bytes)
{
	const struct pack_record *record = &draft->record;
	const size_t behind_magic = offsetof(struct pack_head, result);
	char *at = draft->memory + record->code_bytes;

	memcpy(draft->memory + behind_magic, draft->code + behind_magic,
	       record->code_bytes - behind_magic);
	if (record->path_bytes)
		memcpy(at, draft->path + draft->path_text.bytes, record->path_bytes);
	if (record->other_bytes)
		memcpy(at + record->path_bytes, draft->other + draft->other_text.bytes,
		       record->other_bytes);
	if (content_bytes)
		memcpy(draft->memory + pack_content_offset(record), content, content_bytes);
	__atomic_store_n(&((struct pack_head *)(void *)draft->memory)->magic, PACK_MAGIC,
			 __ATOMIC_RELEASE);
}

static int write_to_part(const struct draft *draft, const void *content, size_t content_bytes)
{
	const struct pack_record *record = &draft->record;
	size_t written = pack_content_offset(record) + content_bytes;
	/* the rest of the last unit is a hole, but for the last record of the file, which is to be whole */
	size_t rest = content_bytes == record->content_bytes ? record->size_bytes - written : 0;
	struct iovec parts[] = {
		{ (void *)(uintptr_t)draft->code, record->code_bytes },
		{ (void *)((uintptr_t)draft->path + draft->path_text.bytes), record->path_bytes },
		{ (void *)((uintptr_t)draft->other + draft->other_text.bytes),
		  record->other_bytes },
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
 * in one piece is no record that a reader believes.  -EALREADY: another process kept the file meanwhile. */
static int write_draft(struct draft *draft, const void *content, size_t content_bytes)
{
	struct pack_head *head = (struct pack_head *)(void *)draft->code;

	if (draft->key && kept_is_noted(draft->segment, draft->key))
		return -EALREADY;
	head->size_bytes = draft->record.size_bytes;
	head->check = pack_check(draft->code, &draft->record, draft->path, draft->path_bytes,
				 draft->other, draft->other_bytes);
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
	bool is_missing = error < 0 && error != -EALREADY && pack_is_change(draft->record.kind);
	if (is_missing || (error >= 0 && pack_is_loss(&draft->record)))
		segment_count(segment, COUNTER_lost_undo, 1);
	if (error < 0)
		return PACK_NO_PLACE;
	segment_count(segment, COUNTER_undo_records, 1);
	pack_add_bytes(segment, draft->record.size_bytes);
	if (draft->record.path_bytes)
		pack_texts_note(segment, draft->path, draft->path_bytes, draft->record.place,
				draft->record.path_unit_1 ? &draft->path_text : NULL);
	if (draft->record.content_bytes && may_be_known(draft))
		pack_contents_note(segment, &draft->record.version, draft->record.place);
	return draft->record.place;
}

/* A record whose content is in memory.  ret_draft: finish_draft() it. */
static int write_record(const struct segment *segment, const struct pack_note *note,
			enum pack_held held, const void *content, size_t content_bytes,
			struct draft *ret_draft)
{
	ret_draft->known_place = PACK_NO_PLACE;
	start_draft(segment, note, held, content, content_bytes, NULL, ret_draft);
	int error = open_part(segment, ret_draft);
	return error < 0 ? error : write_draft(ret_draft, content, ret_draft->record.content_bytes);
}

uint64_t pack_write(const struct segment *segment, const struct pack_note *note,
		    enum pack_held held, const void *content, size_t content_bytes)
{
	struct draft draft;
	int error = write_record(segment, note, held, content, content_bytes, &draft);

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

/* Copies what the file holds behind the record, piece by piece.  -EAGAIN: it is not what it was. */
static int copy_inline(struct draft *draft, int fd, char *chunk, size_t chunk_bytes)
{
	const struct pack_record *record = &draft->record;
	size_t offset = pack_content_offset(record), done = 0;
	struct version_stream stream;
	struct version version;

	version_stream_init(&stream);
	while (done < record->content_bytes) {
		size_t left = record->content_bytes - done;
		ssize_t got = sys_pread(fd, chunk, left < chunk_bytes ? left : chunk_bytes,
					(off_t)done);
		if (got == -EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? (int)got : -EAGAIN;
		version_stream_add(&stream, chunk, (uint64_t)got);
		int error = done == 0 && !draft->memory ? start_in_part(draft) : 0;
		if (error == 0)
			error = write_at(draft, chunk, (size_t)got, offset + done);
		if (error < 0)
			return error;
		done += (size_t)got;
	}
	version = version_stream_finish(&stream);
	set_version(draft, &version);
	size_t rest = record->size_bytes - offset - done;
	int error = write_at(draft, ZEROES, rest, offset + done);
	return error < 0 ? error : write_draft(draft, NULL, 0);
}

static __attribute__((noinline)) int copy_inline_on_stack(struct draft *draft, int fd)
{
	char chunk[SMALL_CHUNK_BYTES];
	return copy_inline(draft, fd, chunk, sizeof(chunk));
}

/* Read first, and written to where it goes only if it stands nowhere yet.  -EAGAIN: likewise. */
static int keep_chunk(const struct segment *segment, const struct pack_note *note, int fd,
		      char *chunk, struct draft *draft)
{
	size_t size_bytes = note->before.size_bytes;
	ssize_t got = sys_pread_all(fd, chunk, size_bytes, 0);

	draft->memory = NULL;
	draft->part = -1;
	if (got != (ssize_t)size_bytes)
		return got < 0 ? (int)got : -EAGAIN;
	return write_record(segment, note, PACK_INLINE, chunk, size_bytes, draft);
}

static int keep_whole(const struct segment *segment, const struct pack_note *note, int fd,
		      char *chunk, struct draft *draft)
{
	uint64_t size_bytes = note->before.size_bytes;
	struct version version = { .low = 0 };

	/* What a program left is what the next one changes.  To read it once more costs a tenth of keeping it. */
	draft->known_place = chunk ? pack_contents_find_file(segment, next_part(segment), fd,
							     size_bytes, chunk, &version)
				   : PACK_NO_PLACE;
	start_draft(segment, note, PACK_INLINE, NULL, size_bytes,
		    draft->known_place == PACK_NO_PLACE ? NULL : &version, draft);
	int error = open_part(segment, draft);
	if (error < 0)
		return error;
	if (draft->record.content_unit_1)
		return write_draft(draft, NULL, 0);
	return chunk ? copy_inline(draft, fd, chunk, CHUNK_BYTES) : copy_inline_on_stack(draft, fd);
}

static int keep_inline(const struct segment *segment, const struct pack_note *note, int fd,
		       uint64_t *ret_place)
{
	struct draft draft;
	char *chunk = chunk_acquire();
	int error = chunk && note->before.size_bytes <= CHUNK_BYTES
			    ? keep_chunk(segment, note, fd, chunk, &draft)
			    : keep_whole(segment, note, fd, chunk, &draft);

	if (error < 0)
		close_part(&draft);
	else
		*ret_place = finish_draft(segment, &draft, 0);
	chunk_release(chunk);
	return error;
}

/* ---- large contents: files of their own ---- */

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
		error = 0;
	} else if (to >= 0) {
		struct version version;
		error = pack_copy_file(segment, fd, to, size_bytes, &version);
		if (error == 0) {
			draft->record.held = PACK_COPY;
			draft->record.version = version;
			(void)pack_encode(&draft->record, draft->code);
		}
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
		draft.known_place = PACK_NO_PLACE;
		start_draft(segment, note, PACK_REFLINK, NULL, 0, NULL, &draft);
		error = fill_file(segment, &draft, fd);
		error = finish_file(segment, &draft, error, &place);
	}
	if (error < 0 && note->key && kept_is_noted(segment, note->key))
		return PACK_NO_PLACE;
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
	draft.known_place = PACK_NO_PLACE;
	start_draft(segment, note, PACK_LINK, NULL, 0, NULL, &draft);
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
	char *memory = pack_window_acquire(segment, place, sizeof(struct pack_head), false);
	if (memory) {
		__atomic_store_n(&((struct pack_head *)(void *)memory)->result, failed,
				 __ATOMIC_RELAXED);
		pack_window_release();
		return;
	}
	int part = pack_open_part(segment, pack_part_of(place));
	if (part < 0)
		return;
	sys_wrote_aside(
		sys_pwrite(part, &failed, sizeof(failed),
			   (off_t)(place % PACK_PART_BYTES + offsetof(struct pack_head, result))));
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
