/*
 * An agent's in-process reads: counted as full reads of a file once all its bytes were read,
 * whatever the thread and the calls.  A read is not "the model saw it": it is no delivery to the
 * agent's scope, only what the guard takes the agent to know of the file
 * (tracker/content/baseline.h).
 *
 * A whitelisted program's in-process reads are answered, too.  What it read whole it has: that is a
 * delivery in a scope of this process alone, and counts only for its own later reads.
 * The descriptor stays the real one, and the real call is made:
 * a first read of a descriptor that got the whole file, from its beginning on, has the notice put
 * over its bytes, and the descriptor stands at the end of the file then.  Everything else gets the
 * real bytes.
 */
#include "shim/preload/follow/in_process.h"

#include <limits.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shim/keep/scratch.h"
#include "shim/preload/directory.h"
#include "shim/preload/follow/burst.h"
#include "shim/preload/follow/guarded.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/answer/decision_delivery.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/segment/slot.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum {
	DESCRIPTORS = 1024,
	FOLLOWED =
		256, /* of them, those whose reads may be answered: memory counts where it is limited */
};

enum followed_state {
	FOLLOWED_TOUCHED = 1,  /* something was read through it */
	FOLLOWED_ANSWERED = 2, /* by a notice */
};

/* By descriptor.  Words are atomic: open, read and close may happen on different threads.  An entry
 * that outlived its descriptor is harmless: it is replaced at the next open. */
static struct descriptor {
	uint64_t key; /* of the file; 0: not followed */
	uint64_t size_bytes;
	uint64_t read_bytes;
} descriptors[DESCRIPTORS];

/* What a whitelisted process knows of it besides. */
static struct followed {
	uint64_t covered_bytes; /* that were read from the beginning on, without a gap */
	/* answered at a place of the reader's choice: where it will go on; 0: it was not */
	uint64_t next;
	struct pending pending; /* as of the open */
	uint32_t state;         /* enum followed_state */
} followed[FOLLOWED];

static struct request in_process_request; /* what all in-process reads begin as */
static uint32_t prepared;                 /* 1: it is being made; 2: it is; 3: it cannot be */
static char program[40];

void in_process_start(const char *name)
{
	size_t length = 0;
	for (; length < sizeof(program) - 1 && name[length]; length++)
		program[length] = name[length];
	program[length] = '\0';
}

/* Makes in_process_request, at the first file that it is needed for.  False: there is none, yet. */
static bool prepare(void)
{
	uint32_t state = __atomic_load_n(&prepared, __ATOMIC_ACQUIRE), none = 0;

	if (__builtin_expect(state != 0, 1))
		return state == 2;
	if (!__atomic_compare_exchange_n(&prepared, &none, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	bool can = request_prepare_in_process(&shim.segment, &shim.request.context,
					      shim.process.serial, shim.scope_id, program,
					      &in_process_request);
	__atomic_store_n(&prepared, can ? 2 : 3, __ATOMIC_RELEASE);
	return can;
}

void in_process_asked(int directory, const char *path, bool writes)
{
	struct stat stat;

	if (shim.edit_pattern != EDIT_PATTERN_ACCESS_WRITE || in_vfork_child())
		return;
	char *normal = scratch_acquire();
	if (normal && change_path(directory, path, normal, SEGMENT_PATH_BYTES) >= 0 &&
	    path_is_tracked(&shim.segment, normal)) {
		/* By another name, too: a link may have led here. */
		uint64_t key = path_key(&shim.segment, normal);
		uint64_t other = sys_stat(normal, &stat) == 0
					 ? file_by_inode(&shim.segment, stat.st_dev, stat.st_ino)
					 : 0;
		burst_note_may_write(key, writes);
		if (other != key)
			burst_note_may_write(other, writes);
	}
	scratch_release(normal);
}

/* ---- what the process has read ---- */

static void count_own_read(struct file_slot *file, const void *data)
{
	const uint32_t *pid = data;
	if (file->last_read_pid != *pid ||
	    sys_boottime_ns() - file->last_read_ns > burst_length_ns())
		file->full_reads++;
	file->last_read_pid = *pid;
	file_note_read(file);
}

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

/* What the process has read of a file, all or some of it, tells what its scope takes the file for.
 * version: NULL: to be inspected . */
static void know(int fd, uint64_t key, const struct version *version)
{
	struct content content;

	if (shim.sandboxed)
		return;
	(void)file_change_known(&shim.segment, key, note_given, NULL);
	if (!shim.scope_id)
		return;
	if (!version &&
	    content_of_descriptor(fd, shim.segment.settings->content_max_file_bytes, &content) == 0)
		version = &content.version;
	if (version)
		baseline_read(&shim.segment, shim.scope_id, key, version);
}

/* Only one thread does what is done at the end of a file.  Returns its key; 0: it was done. */
static uint64_t read_key(struct descriptor *descriptor)
{
	return __atomic_exchange_n(&descriptor->key, 0, __ATOMIC_ACQ_REL);
}

static void count_whole(int fd, uint64_t key, const struct version *version)
{
	uint32_t pid = (uint32_t)sys_getpid();
	(void)file_change_known(&shim.segment, key, count_own_read, &pid);
	know(fd, key, version);
}

/* Is an opened file one of the workspace's?  Where its name does not say so, the kernel does. */
static bool is_tracked(int fd, int directory, const char *path, char *normal)
{
	if (change_path(directory, path, normal, SEGMENT_PATH_BYTES) >= 0 &&
	    path_in_workspace(&shim.segment, normal))
		return path_is_tracked(&shim.segment, normal);
	return subject_name(SUBJECT_SELF, fd, normal, SEGMENT_PATH_BYTES) > 0 &&
	       path_is_tracked(&shim.segment, normal);
}

/* Begins to follow a descriptor of a whitelisted process.  What is answered goes by the name that the
 * kernel knows the file by, as for viewers.  Returns its key; 0: its reads are not answered.
 * normal: of SEGMENT_PATH_BYTES, to be written over. */
static uint64_t follow_opened(int fd, const struct stat *stat, char *normal)
{
	if (!shim.answers_own || fd >= FOLLOWED)
		return 0;
	struct followed *follows = &followed[fd];
	*follows = (struct followed){ .state = 0 };
	if (stat->st_size && prepare() &&
	    subject_name(SUBJECT_SELF, fd, normal, SEGMENT_PATH_BYTES) > 0 &&
	    path_is_tracked(&shim.segment, normal))
		(void)decision_pend(&shim.segment, &in_process_request, normal, stat, NULL,
				    &follows->pending);
	return follows->pending.file_key;
}

/* The same, where it was not followed. */
static uint64_t note_opened(int fd, const struct stamp *stamp, char *normal)
{
	if (subject_name(SUBJECT_SELF, fd, normal, SEGMENT_PATH_BYTES) <= 0)
		normal[0] = '\0';
	return path_is_tracked(&shim.segment, normal)
		       ? file_update(&shim.segment, normal, stamp, NULL, NULL)
		       : 0;
}

void in_process_opened(int fd, int directory, const char *path, struct open_facts *ret_facts)
{
	struct stat stat;

	if (fd < 0 || fd >= DESCRIPTORS)
		return;
	struct descriptor *descriptor = &descriptors[fd];
	if (shim.answers_own && in_vfork_child())
		return;
	__atomic_store_n(&descriptor->key, 0, __ATOMIC_RELAXED);
	char *normal = scratch_acquire();
	if (normal && is_tracked(fd, directory, path, normal) && sys_fstat(fd, &stat) == 0 &&
	    S_ISREG(stat.st_mode)) {
		struct stamp stamp = stamp_of(&stat);
		ret_facts->is_known = stat.st_size != 0;
		ret_facts->details = (struct journal_details){
			.dev = stamp.dev,
			.ino = stamp.ino,
			.size_bytes = stamp.size_bytes,
		};
		uint64_t key = follow_opened(fd, &stat, normal);
		baseline_add_name(&shim.segment, path);
		if (!key)
			key = note_opened(fd, &stamp, normal);
		__atomic_store_n(&descriptor->size_bytes, (uint64_t)stat.st_size, __ATOMIC_RELAXED);
		__atomic_store_n(&descriptor->read_bytes, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&descriptor->key, key, __ATOMIC_RELEASE);
	}
	scratch_release(normal);
}

void in_process_read(int fd, ssize_t count)
{
	if (fd < 0 || fd >= DESCRIPTORS || count < 0)
		return;
	struct descriptor *descriptor = &descriptors[fd];
	uint64_t key = __atomic_load_n(&descriptor->key, __ATOMIC_ACQUIRE);
	if (!key)
		return;
	if (count == 0) {
		/* That a file is empty is known, too, once its end was read. */
		struct version empty = version_of_bytes("", 0);
		if (__atomic_load_n(&descriptor->size_bytes, __ATOMIC_RELAXED) == 0 &&
		    read_key(descriptor))
			know(fd, key, &empty);
		return;
	}
	uint64_t bytes = __atomic_add_fetch(&descriptor->read_bytes, (uint64_t)count,
					    __ATOMIC_RELAXED);
	if (fd < FOLLOWED)
		(void)__atomic_fetch_or(&followed[fd].state, FOLLOWED_TOUCHED, __ATOMIC_RELAXED);
	if (bytes < __atomic_load_n(&descriptor->size_bytes, __ATOMIC_RELAXED) ||
	    !read_key(descriptor))
		return;
	count_whole(fd, key, NULL);
}

/* ---- answers ---- */

/* Puts text over what was read, and nothing over the rest of it: no line of the file is left. */
static void write_over(const struct iovec *parts, int part_count, size_t count, const char *text,
		       size_t text_bytes)
{
	for (int i = 0; i < part_count && count > 0; i++) {
		char *to = parts[i].iov_base;
		size_t here = parts[i].iov_len < count ? parts[i].iov_len : count;
		size_t part = here < text_bytes ? here : text_bytes;
		for (size_t k = 0; k < here; k++)
			to[k] = k < part ? text[k] : '\0';
		text += part;
		text_bytes -= part;
		count -= here;
	}
}

static void note_answered(void)
{
	if (!__atomic_exchange_n(&shim.answered, true, __ATOMIC_RELAXED))
		guarded_answered();
}

/* Where a write of the notice could not be undone there is none. */
static bool can_be_kept(const struct stat *stat)
{
	const struct settings *settings = shim.segment.settings;
	uint64_t size_bytes = (uint64_t)stat->st_size;
	return segment_contents(&shim.segment) && size_bytes <= settings->content_max_bytes &&
	       size_bytes <= settings->content_max_file_bytes;
}

/* A whole read: asks what is to be given.  Returns the bytes of the notice that was put over it, or
 * 0: the real bytes. */
static size_t decide(int fd, struct followed *follows, const struct burst_place *place,
		     const struct stat *stat, const struct iovec *parts, int part_count)
{
	struct answer *answer = (void *)chunk_acquire();
	char *path = scratch_acquire();
	size_t notice_bytes = 0;
	_Static_assert(sizeof(struct answer) <= CHUNK_BYTES, "an answer fits");

	if (answer && path && can_be_kept(stat) &&
	    subject_name(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0) {
		decision_open(&shim.segment, &place->request, path, path, fd, stat, answer);
		struct open_facts facts = { .decision = answer->decision,
					    .reason = answer->reason,
					    .details = { .dev = stat->st_dev,
							 .ino = stat->st_ino,
							 .size_bytes = (uint64_t)stat->st_size,
							 .before = answer->delivered } };
		if (answer->decision != DECISION_CONTENT) {
			facts.details.after = answer->content.version;
			follows->pending.counted = true;
		}
		if (answer->decision == DECISION_NOTICE) {
			notice_bytes = answer->notice_bytes;
			facts.bytes_saved = (uint64_t)stat->st_size - notice_bytes;
			note_answered();
			write_over(parts, part_count, (size_t)stat->st_size, answer->notice,
				   notice_bytes);
			burst_complete(follows->pending.file_key, place);
			know(fd, answer->path_key, &answer->content.version);
		}
		if (shim.records && place->state == BURST_OPEN)
			record_answered(fd, &facts);
	}
	scratch_release(path);
	chunk_release((char *)(void *)answer);
	return notice_bytes;
}

/* All of a file was read, and the real bytes were given.  bytes: where they stand; NULL: in several
 * places. */
static void deliver(int fd, uint64_t key, const struct pending *pending,
		    const struct burst_place *place, const void *bytes)
{
	struct content content;
	struct delivered delivered;
	struct stat stat;

	if (bytes)
		content.version = version_of_bytes(bytes, pending->stamp.size_bytes);
	else if (content_of_descriptor(fd, shim.segment.settings->content_max_file_bytes,
				       &content) < 0)
		content.version = (struct version){ 0 };
	if (place->edits || version_is_none(&content.version) || sys_fstat(fd, &stat) < 0 ||
	    !burst_is_first_whole(key, place, &content.version)) {
		count_whole(fd, key, version_is_none(&content.version) ? NULL : &content.version);
		return;
	}
	struct stamp stamp = stamp_of(&stat);
	struct journal_details details = {
		.dev = stamp.dev,
		.ino = stamp.ino,
		.size_bytes = stamp.size_bytes,
		.after = content.version,
	};
	decision_deliver(&shim.segment, &place->request, pending, &stamp, &content.version,
			 &delivered);
	details.before = delivered.before;
	char *path = delivered.is_changed || delivered.is_given ? scratch_acquire() : NULL;
	if (path && subject_name(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0) {
		uint32_t text = record_path(path);
		if (delivered.is_changed)
			record_delivery(JOURNAL_CHANGED, text, &details);
		if (delivered.is_given)
			record_delivery(JOURNAL_GIVEN, text, &details);
	}
	scratch_release(path);
	know(fd, key, &content.version);
}

bool in_process_follows(int fd)
{
	uint64_t key = shim.answers_own && (unsigned)fd < FOLLOWED
			       ? __atomic_load_n(&descriptors[fd].key, __ATOMIC_ACQUIRE)
			       : 0;
	return key && followed[fd].pending.file_key == key;
}

/* Where a whitelisted process read. */
struct file_read {
	uint64_t start; /* in the file */
	bool placed;    /* the call said so, and the descriptor's offset did not move */
	bool first;     /* of its descriptor */
	bool whole;     /* it got all of the file, which is the one that was opened */
	const struct iovec *parts;
	int part_count;
	size_t count; /* bytes that it got */
};

static bool is_whole(int fd, const struct file_read *read, struct stat *ret_stat)
{
	const struct stamp *opened = &followed[fd].pending.stamp;

	return read->start == 0 && sys_fstat(fd, ret_stat) == 0 &&
	       ret_stat->st_size == (off_t)read->count && ret_stat->st_dev == opened->dev &&
	       ret_stat->st_ino == opened->ino;
}

/* Puts a notice over what was read, where one is to be given.  Returns its bytes; 0: the real ones
 * stand. */
static size_t answer(int fd, const struct file_read *read, const struct burst_place *place,
		     const struct stat *stat)
{
	struct followed *follows = &followed[fd];

	if (!read->whole || place->edits ||
	    !((read->first && place->state == BURST_OPEN) || place->state == BURST_NOTICE))
		return 0;
	size_t notice_bytes = decide(fd, follows, place, stat, read->parts, read->part_count);
	if (!notice_bytes)
		return 0;
	(void)__atomic_fetch_or(&follows->state, FOLLOWED_ANSWERED, __ATOMIC_RELAXED);
	if (read->placed)
		__atomic_store_n(&follows->next, notice_bytes, __ATOMIC_RELAXED);
	request_count_in_process(&shim.segment, &place->request, notice_bytes);
	return notice_bytes;
}

/* The real bytes were given. */
static void count_given(int fd, uint64_t key, const struct file_read *read,
			const struct burst_place *place)
{
	struct descriptor *descriptor = &descriptors[fd];
	struct followed *follows = &followed[fd];
	uint64_t end = read->start + read->count;

	request_count_in_process(&shim.segment, &place->request, (uint64_t)read->count);
	uint64_t covered = __atomic_load_n(&follows->covered_bytes, __ATOMIC_RELAXED);
	if (read->start <= covered && end > covered)
		__atomic_store_n(&follows->covered_bytes, covered = end, __ATOMIC_RELAXED);
	if (covered < __atomic_load_n(&descriptor->size_bytes, __ATOMIC_RELAXED)) {
		in_process_read(fd, (ssize_t)read->count);
		return;
	}
	if (!read_key(descriptor))
		return;
	bool at_one_place = read->whole && read->part_count == 1 &&
			    read->count == follows->pending.stamp.size_bytes;
	deliver(fd, key, &follows->pending, place, at_one_place ? read->parts[0].iov_base : NULL);
}

/* Returns what the call is to return. */
static ssize_t was_read_at(int fd, struct file_read *read)
{
	struct followed *follows = &followed[fd];
	uint64_t key = __atomic_load_n(&descriptors[fd].key, __ATOMIC_ACQUIRE);
	ssize_t count = (ssize_t)read->count;
	struct burst_place place;
	struct stat stat;

	if (!key)
		return count;
	read->first = !(__atomic_fetch_or(&follows->state, FOLLOWED_TOUCHED, __ATOMIC_ACQ_REL) &
			FOLLOWED_TOUCHED);
	uint64_t next = __atomic_load_n(&follows->next, __ATOMIC_RELAXED);
	if (read->placed && next && read->start == next) { /* the end of what it was given */
		write_over(read->parts, read->part_count, read->count, "", 0);
		return 0;
	}
	read->whole = is_whole(fd, read, &stat);
	if (!burst_join(key, &in_process_request, read->first, read->start == 0, read->whole,
			&place)) {
		in_process_read(fd, count);
		return count;
	}
	size_t notice_bytes = answer(fd, read, &place, &stat);
	if (notice_bytes)
		return (ssize_t)notice_bytes;
	count_given(fd, key, read, &place);
	return count;
}

ssize_t in_process_was_read(int fd, const struct iovec *parts, int part_count, off_t offset,
			    ssize_t count)
{
	bool placed = offset != OWN_OFFSET;

	if (count <= 0 || !in_process_follows(fd) || in_vfork_child() || sys_getpid() != shim.pid) {
		in_process_read(fd, count);
		return count;
	}
	if (!placed)
		offset = sys_lseek(fd, 0, SEEK_CUR) - count;
	if (offset < 0) {
		in_process_read(fd, count);
		return count;
	}
	return was_read_at(fd, &(struct file_read){ .start = (uint64_t)offset,
						    .placed = placed,
						    .parts = parts,
						    .part_count = part_count,
						    .count = (size_t)count });
}

size_t in_process_stream_was_read(int fd, void *bytes, off_t offset, size_t count)
{
	struct iovec part = { bytes, count };

	if (offset < 0 || count == 0 || count > SSIZE_MAX || !in_process_follows(fd) ||
	    in_vfork_child() || sys_getpid() != shim.pid)
		return count;
	return (size_t)was_read_at(fd, &(struct file_read){ .start = (uint64_t)offset,
							    .parts = &part,
							    .part_count = 1,
							    .count = count });
}

/* ---- the end ---- */

void in_process_closing(int fd)
{
	if (fd < 0 || fd >= DESCRIPTORS || !__atomic_load_n(&descriptors[fd].key, __ATOMIC_RELAXED))
		return;
	if (in_vfork_child()) /* the table is its parent's */
		return;
	struct descriptor *descriptor = &descriptors[fd];
	uint64_t key = read_key(descriptor);
	if (key && __atomic_load_n(&descriptor->read_bytes, __ATOMIC_RELAXED) > 0)
		know(fd, key, NULL);
}

void in_process_closing_many(unsigned first, unsigned last)
{
	for (unsigned fd = first; fd <= last && fd < DESCRIPTORS; fd++)
		in_process_closing((int)fd);
}

void in_process_finish(void)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		in_process_stream_closing(fd);
}

void in_process_stream_closing(int fd)
{
	if (fd < 0 || fd >= DESCRIPTORS || !__atomic_load_n(&descriptors[fd].key, __ATOMIC_ACQUIRE))
		return;
	bool answered = fd < FOLLOWED && (__atomic_load_n(&followed[fd].state, __ATOMIC_RELAXED) &
					  FOLLOWED_ANSWERED);
	off_t offset = answered ? 0 : sys_lseek(fd, 0, SEEK_CUR);
	if (offset > 0)
		in_process_read(fd, offset);
	in_process_closing(fd);
}
