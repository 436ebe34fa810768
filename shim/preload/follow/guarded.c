/*
 * The guard inside a process, behind a call: what is written by a descriptor that was opened for
 * writing (write_check.c inspected that), and its result when it is closed.
 *
 * A descriptor's entry is believed only while it still is the file that was opened.  Copies of a
 * descriptor share an opening: the change is complete when the last of them is closed.  Where that
 * is not known (a program was started that may have it, it is mapped, the process was killed) the
 * write stays unfinished, which is never taken for an external change.
 */
#include "shim/preload/follow/guarded.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "shim/keep/scratch.h"
#include "shim/preload/descriptors.h"
#include "shim/preload/follow/write_check.h"
#include "shim/preload/memory.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/process/capture.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

void write_check_opened(struct write_check *check, int fd, int flags, bool stream)
{
	struct opening opening;
	struct stat stat;
	int saved_errno = errno;

	if (!check->path)
		return;
	if (fd < 0)
		write_check_undo(check);
	if (fd >= 0 && sys_fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		(void)write_check_was_refused(&stat, FORGETS);
		opening = (struct opening){
			.number = segment_serial(&shim.segment),
			.dev = stat.st_dev,
			.ino = stat.st_ino,
			.key = check->answer.file_key,
			.before = check->answer.before,
			.knows = check->answer.knows,
			.marks = (stream ? OPENING_STREAM : 0) |
				 (check->answer.kept ? OPENING_KEPT : 0) |
				 (flags & O_APPEND ? 0 : OPENING_CHECKS) |
				 (check->answer.reason == GUARD_NEW ? OPENING_NEW : 0) |
				 (flags & O_TRUNC ? OPENING_TOUCHED : 0),
			.starts = shim_starts(),
		};
		guarded_store(fd, &opening);
	}
	write_check_finish(check);
	errno = saved_errno;
}

/* What is about to be taken out of a file is kept: there may be more than a notice in it. */
static void keep_what_is_there(int fd)
{
	struct version kept;
	int readable = write_check_reopen(fd, O_RDONLY);
	char *path = scratch_acquire();

	if (readable >= 0 && path &&
	    subject_link(SUBJECT_SELF, readable, path, SEGMENT_PATH_BYTES) > 0)
		(void)contents_save(&shim.segment, readable, path, CONTENTS_DESTROYED, &kept);
	scratch_release(path);
	if (readable >= 0)
		(void)sys_close(readable);
}

/* fd: for writing. */
static int write_into(int fd, const struct opening *opening, uint64_t rest)
{
	if (opening->marks & (OPENING_NEW | OPENING_REST))
		return (int)sys_call3(SYS_ftruncate, fd, (long)rest, 0);
	return contents_restore(&shim.segment, &opening->before, fd);
}

/* Puts back what was there before the file was opened.  fd: for reading or writing. */
static bool restore(int fd, const struct opening *opening)
{
	uint64_t rest = opening->marks & OPENING_REST ? opening->start_bytes : 0;
	bool cuts = opening->marks & (OPENING_NEW | OPENING_REST);
	struct stat stat;

	if (sys_fstat(fd, &stat) < 0)
		return false;
	if (cuts && (uint64_t)stat.st_size <= rest)
		return true;
	if (!cuts && !(opening->marks & OPENING_KEPT))
		return false;
	if (write_check_may_be_locked(
		    &stat)) /* to open it and to close that would give the locks up */
		return write_into(fd, opening, rest) == 0;
	if (stat.st_size > 0)
		keep_what_is_there(fd);
	int writable = write_check_reopen(fd, O_WRONLY);
	if (writable < 0)
		return write_into(fd, opening, rest) == 0;
	int error = write_into(writable, opening, rest);
	(void)sys_close(writable);
	return error == 0;
}

/* A notice was about to be stored in a file, or was and has been taken out of it. */
static void note_refusal(int fd)
{
	struct guard_answer answer = { .verdict = GUARD_DENY,
				       .reason = GUARD_NOTICE,
				       .error = -EIO };
	char *path = scratch_acquire();

	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	if (path && subject_link(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0) {
		answer.reported = write_check_report(&answer, path);
		record_guarded(path, &answer);
	}
	scratch_release(path);
}

static bool may_check(const struct opening *opening)
{
	return (opening->marks & OPENING_CHECKS) && write_check_is_kept_clean(opening->key);
}

/* Is a part of the tail and of what follows it the nonce? */
static bool meets_nonce(const struct write_entry *entry, const char *data, size_t size_bytes)
{
	char both[2 * GUARDED_REST_BYTES];
	size_t more = size_bytes < GUARDED_REST_BYTES ? size_bytes : GUARDED_REST_BYTES;

	memcpy(both, entry->tail, entry->tail_bytes);
	memcpy(both + entry->tail_bytes, data, more);
	return guard_has_nonce(&shim.segment, both, entry->tail_bytes + more);
}

static void keep_rest(struct write_entry *entry, const char *data, size_t size_bytes)
{
	if (size_bytes >= GUARDED_REST_BYTES) {
		memcpy(entry->tail, data + size_bytes - GUARDED_REST_BYTES, GUARDED_REST_BYTES);
		entry->tail_bytes = GUARDED_REST_BYTES;
		return;
	}
	size_t kept = entry->tail_bytes + size_bytes > GUARDED_REST_BYTES
			      ? GUARDED_REST_BYTES - size_bytes
			      : entry->tail_bytes;
	memmove(entry->tail, entry->tail + entry->tail_bytes - kept, kept);
	memcpy(entry->tail + kept, data, size_bytes);
	entry->tail_bytes = (uint32_t)(kept + size_bytes);
}

/* The caller's memory may not be there: asked of the kernel, page by page. */
static bool is_memory(const void *data, size_t size_bytes)
{
	const char *at = data;

	if (!size_bytes)
		return false;
	for (size_t offset = 0; offset < size_bytes; offset += 4096)
		if (!launch_is_byte(at + offset))
			return false;
	return launch_is_byte(at + size_bytes - 1);
}

/* Nothing more is written by this opening, nor by copies of it: it would stand where there is
 * something else now. */
static void close_opening(const struct opening *opening)
{
	unsigned end = __atomic_load_n(&guarded_end, __ATOMIC_RELAXED);

	for (unsigned fd = 0; fd < end; fd++)
		if (__atomic_load_n(&guarded_entries[fd].state, __ATOMIC_ACQUIRE) == ENTRY_OPEN &&
		    guarded_entries[fd].opening.number == opening->number)
			(void)__atomic_fetch_or(&guarded_entries[fd].opening.marks, OPENING_REFUSED,
						__ATOMIC_RELAXED);
}

static bool refuse(int fd, const struct opening *opening)
{
	struct stat stat;

	if (!guarded_is_same_file(fd, opening))
		return false;
	/* What others opened for this program goes on: it may be a log. */
	if (!(opening->marks & OPENING_REST)) {
		/* Where nothing was done yet there is nothing to be put back. */
		bool is_back = !(opening->marks & (OPENING_TOUCHED | OPENING_MAPPED)) ||
			       restore(fd, opening);
		close_opening(opening);
		if (sys_fstat(fd, &stat) == 0)
			write_check_note_refused(&stat, is_back && (opening->marks & OPENING_KEPT));
		/* The process that this is a copy of shares the offset, and may go on. */
		if (is_back && (opening->marks & OPENING_INHERITED))
			(void)sys_lseek(fd, 0, SEEK_END);
	}
	note_refusal(fd);
	errno = EIO;
	return true;
}

bool guarded_refuses(int fd, const void *data, size_t size_bytes)
{
	struct write_entry *entry = guarded_entry(fd);

	if (!entry || shim.sandboxed || in_vfork_child() || !may_check(&entry->opening))
		return false;
	if ((entry->opening.marks & OPENING_REFUSED) && guarded_is_same_file(fd, &entry->opening)) {
		errno = EIO;
		return true;
	}
	if (!is_memory(data, size_bytes))
		return false;
	if (guard_has_nonce(&shim.segment, data, size_bytes) ||
	    meets_nonce(entry, data, size_bytes))
		return refuse(fd, &entry->opening);
	keep_rest(entry, data, size_bytes);
	entry->opening.marks |= OPENING_TOUCHED;
	return false;
}

bool guarded_refuses_parts(int fd, const struct iovec *parts, int count)
{
	struct write_entry *entry = guarded_entry(fd);

	if (!entry || shim.sandboxed || in_vfork_child() || count <= 0 || count > IOV_MAX ||
	    !is_memory(parts, (size_t)count * sizeof(*parts)))
		return false;
	for (int i = 0; i < count; i++)
		if (parts[i].iov_len && guarded_refuses(fd, parts[i].iov_base, parts[i].iov_len))
			return true;
	return false;
}

void guarded_closing(int fd, struct closing *ret_closing)
{
	struct write_entry *entry = guarded_entry(fd);

	ret_closing->fd = -1;
	ret_closing->path = NULL;
	if (!entry || in_vfork_child())
		return;
	ret_closing->opening = entry->opening;
	const struct opening *opening = &ret_closing->opening;
	guarded_drop(fd);
	/* Of others' openings it is only asked whether they got a notice from here. */
	bool tells = !(opening->marks & (OPENING_INHERITED | OPENING_MAPPED));
	bool inspects = tells || ((opening->marks & (OPENING_MAPPED | OPENING_REST) ||
				   opening->stream || shim.answered) &&
				  may_check(opening));
	if (inspects && !guarded_has_copy(fd, opening->number) && !shim.sandboxed &&
	    guarded_is_same_file(fd, opening))
		ret_closing->fd = guarded_reopen(fd, opening, &ret_closing->path);
	ret_closing->shared = -1;
	if (ret_closing->fd >= 0 && (opening->marks & OPENING_REST))
		ret_closing->shared = sys_fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Is there a nonce in what this program wrote behind what was there? */
static bool rest_has_nonce(int fd, uint64_t at)
{
	size_t carried = 0;
	bool found = false;
	char *chunk = chunk_acquire();

	for (ssize_t got = 1; chunk && !found && got > 0; at += (uint64_t)(got > 0 ? got : 0)) {
		got = sys_pread(fd, chunk + carried, CHUNK_BYTES - GUARDED_REST_BYTES, (off_t)at);
		size_t there = carried + (size_t)(got > 0 ? got : 0);
		found = guard_has_nonce(&shim.segment, chunk, there);
		carried = there < GUARDED_REST_BYTES ? there : GUARDED_REST_BYTES;
		memmove(chunk, chunk + there - carried, carried);
	}
	chunk_release(chunk);
	return found;
}

/* A notice was stored in the file, or was refused: puts back what was there.  Returns whether the
 * file is as before, and the write was none. */
static bool remove_notice(int fd, const struct opening *opening, struct version *now,
			  bool *has_nonce)
{
	struct guard_writer self = write_check_writer();
	bool is_back = restore(fd, opening);
	struct stat stat;

	if (!(opening->marks & OPENING_REFUSED))
		note_refusal(fd);
	if (sys_fstat(fd, &stat) == 0)
		write_check_note_refused(&stat, is_back && (opening->marks & OPENING_KEPT));
	if (!is_back)
		return false;
	if (opening->marks & OPENING_REST) {
		(void)guard_scan(&shim.segment, fd, now, has_nonce);
		return false;
	}
	if (opening->marks & OPENING_INHERITED)
		return false;
	guard_cancel(&shim.segment, &self, opening->key);
	return true;
}

/* Does the path lead to the descriptor's file?  Not where that was removed, or another file has its
 * name by now. */
static bool leads_to(const char *path, int fd)
{
	struct stat own, there;

	return sys_fstat(fd, &own) == 0 && sys_stat(path, &there) == 0 &&
	       own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

/* What the session made of the file, under the name that it has now; without one, what was reported
 * before stands.  has_notice: it may be stored. */
static void report(const struct closing *closing, const struct version *now, bool has_notice)
{
	const struct opening *opening = &closing->opening;
	struct guard_writer self = write_check_writer();
	char *own = closing->path ? NULL : scratch_acquire();
	const char *path = closing->path ? closing->path : own;
	bool leads = closing->path ||
		     (own && subject_link(SUBJECT_SELF, closing->fd, own, SEGMENT_PATH_BYTES) > 0 &&
		      leads_to(own, closing->fd));

	if (leads)
		write_check_complete(opening->key, path, &opening->before, now, opening->knows);
	else
		guard_cancel(&shim.segment, &self, opening->key);
	/* What there was already and is appended to is a record of what was given. */
	bool is_record = !(opening->marks & (OPENING_CHECKS | OPENING_NEW));
	if (leads && has_notice && !is_record && !version_equal(now, &opening->before))
		write_check_stored_notice(opening->key, path, &opening->before);
	scratch_release(own);
	/* A program that was started meanwhile may have it still: what comes then is no
	 * stranger's. */
	if (leads && opening->starts != shim_starts()) {
		struct guard_answer again = { .file_key = opening->key, .knows = opening->knows };
		guard_start_write(&shim.segment, &self, "", &again);
	}
}

/* The last descriptor of an opening was closed.  Returns what close is to return. */
static int finish(const struct closing *closing)
{
	const struct opening *opening = &closing->opening;
	int fd = closing->fd;
	bool refuses = opening->marks & OPENING_REFUSED, has_nonce;
	int ret = refuses ? -1 : 0; /* also where nothing came behind it */
	struct version now;

	if (guard_scan(&shim.segment, fd, &now, &has_nonce) < 0)
		return 0;
	if (has_nonce && (opening->marks & OPENING_REST))
		has_nonce = rest_has_nonce(fd, opening->start_bytes);
	if ((has_nonce || refuses) && may_check(opening) &&
	    !version_equal(&now, &opening->before)) {
		ret = -1;
		if (remove_notice(fd, opening, &now, &has_nonce)) {
			errno = EIO;
			return ret;
		}
	}
	if (ret < 0)
		errno = EIO;
	if (!(opening->marks & (OPENING_INHERITED | OPENING_MAPPED)))
		report(closing, &now, has_nonce && ret == 0);
	return ret;
}

int guarded_closed(struct closing *closing)
{
	if (closing->fd < 0)
		return 0;
	int saved_errno = errno;
	int ret = finish(closing);
	if (closing->shared >= 0) {
		/* What was cut off has moved the offset for all. */
		if (ret < 0)
			(void)sys_lseek(closing->shared, 0, SEEK_END);
		(void)sys_close(closing->shared);
	}
	(void)sys_close(closing->fd);
	scratch_release(closing->path);
	closing->fd = -1;
	if (ret == 0)
		errno = saved_errno;
	return ret;
}

void guarded_closing_many(unsigned first, unsigned last)
{
	unsigned end = __atomic_load_n(&guarded_end, __ATOMIC_RELAXED);

	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		struct closing closing;
		guarded_closing((int)fd, &closing);
		(void)guarded_closed(&closing);
	}
}

void guarded_duplicated(int fd, int copy)
{
	struct write_entry *entry = guarded_entry(fd);

	if (copy < 0 || fd == copy || in_vfork_child())
		return;
	if (entry) {
		struct opening opening = entry->opening;
		opening.stream = NULL;
		opening.marks &= ~(uint32_t)OPENING_STREAM;
		guarded_store(copy, &opening);
	} else if (guarded_entry(copy)) {
		guarded_drop(copy);
	}
}

void guarded_stream(int fd, void *stream)
{
	struct write_entry *entry = guarded_entry(fd);

	if (!entry || in_vfork_child())
		return;
	entry->opening.stream = stream;
	(void)__atomic_fetch_or(&entry->opening.marks, OPENING_STREAM, __ATOMIC_RELAXED);
}

void guarded_touched(int fd)
{
	struct write_entry *entry = guarded_entry(fd);
	if (entry && !in_vfork_child())
		entry->opening.marks |= OPENING_TOUCHED;
}

void guarded_mapped(int fd)
{
	struct write_entry *entry = guarded_entry(fd);
	if (entry && !in_vfork_child())
		entry->opening.marks |= OPENING_MAPPED;
}

void guarded_started(void)
{
	(void)__atomic_add_fetch(&shim.starts, 1, __ATOMIC_RELAXED);
}

uint64_t guarded_key(void)
{
	for (int fd = 1; fd <= 2; fd++) {
		const struct write_entry *entry = guarded_entry(fd);
		if (entry && !in_vfork_child())
			return entry->opening.key;
	}
	return 0;
}

/* What this program does with a file that is open when it begins.  Where it writes at the end of
 * it, what was there stays there whatever is refused. */
static void start_with(int fd, const struct stat *stat, struct opening *opening)
{
	int flags = sys_fcntl(fd, F_GETFL, 0);

	opening->number = segment_serial(&shim.segment);
	opening->dev = stat->st_dev;
	opening->ino = stat->st_ino;
	opening->start_bytes = (uint64_t)stat->st_size;
	if (flags < 0 || (flags & O_APPEND))
		return;
	opening->marks |= OPENING_CHECKS;
	if (sys_lseek(fd, 0, SEEK_CUR) == stat->st_size)
		opening->marks |= OPENING_REST;
}

/* Inspects where a standard descriptor of this program leads, where no starter reported it.  Others
 * are inspected when they are opened. */
static void inspect_standard(int fd)
{
	struct guard_writer self = write_check_writer();
	struct opening opening = { .marks = OPENING_INHERITED };
	struct stat stat;

	if (!guard_may_concern(&shim.segment, &self, NULL) || guarded_entry(fd) ||
	    sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode))
		return;
	char *path = scratch_acquire();
	if (path && subject_link(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0 &&
	    guard_concerns(&shim.segment, &self, path)) {
		opening.key = path_key(&shim.segment, path);
		start_with(fd, &stat, &opening);
		guarded_store(fd, &opening);
	}
	scratch_release(path);
}

void guarded_answered(void)
{
	for (int fd = 1; shim.guards && !in_vfork_child() && fd <= 2; fd++)
		inspect_standard(fd);
}

/* Is that the file of a key? */
static bool is_file_of(int fd, uint64_t file_key)
{
	char *path = scratch_acquire();
	bool is = path && subject_link(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0 &&
		  path_key(&shim.segment, path) == file_key;
	scratch_release(path);
	return is;
}

void guarded_inherit(uint64_t file_key)
{
	struct opening opening = { .key = file_key };
	struct file_slot file;
	struct stat stat;

	bool is_found = file_key && file_find(&shim.segment, file_key, &file) == 0;
	for (int fd = 1; is_found && fd <= 2; fd++) {
		if (sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || !is_file_of(fd, file_key))
			continue;
		/* From here on it is this program's. */
		struct guard_writer self = write_check_writer();
		(void)guard_unfinished(&shim.segment, file_key, &opening.knows);
		struct guard_answer mine = { .file_key = file_key, .knows = opening.knows };
		guard_start_write(&shim.segment, &self, "", &mine);
		start_with(fd, &stat, &opening);
		guarded_store(fd, &opening);
		break;
	}
	for (int fd = 1; fd <= 2; fd++)
		inspect_standard(fd);
}

static bool is_flushed(int fd, const struct opening *opening)
{
	FILE *stream = opening->stream;

	if (!stream && fd == 1 && stdout && stdout->_fileno == 1)
		stream = stdout;
	/* what a stream holds would be written behind our back when the exit handlers are through */
	return !stream || (may_check(opening) && descriptor_stream_flush(stream) != -EBUSY) ||
	       !(opening->marks & OPENING_STREAM);
}

void guarded_finish(bool flushed)
{
	unsigned end = __atomic_load_n(&guarded_end, __ATOMIC_RELAXED);

	if (shim.sandboxed)
		return;
	for (unsigned fd = 0; fd < end; fd++) {
		struct write_entry *entry = guarded_entry((int)fd);
		struct closing closing;
		if (!entry || (!flushed && !is_flushed((int)fd, &entry->opening)))
			continue;
		guarded_closing((int)fd, &closing);
		(void)guarded_closed(&closing);
	}
}

void guarded_fork(void)
{
	unsigned end = __atomic_load_n(&guarded_end, __ATOMIC_RELAXED);

	for (unsigned fd = 0; fd < end; fd++) {
		if (guarded_entries[fd].state == ENTRY_TAKEN)
			guarded_entries[fd].state = ENTRY_NONE;
		guarded_entries[fd].opening.marks |= OPENING_INHERITED;
	}
}
