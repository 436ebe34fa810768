/* Files that were opened for writing, for undo: see keep_file.h. */
#include "shim/preload/keep_file.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "shim/keep/keep_content.h"
#include "shim/keep/keep_directory.h"
#include "shim/keep/keep_name.h"
#include "shim/keep/scratch.h"
#include "shim/preload/keep_self.h"
#include "shim/preload/stations_open.h"
#include "shim/preload/thread.h"
#include "tracker/content/kept.h"
#include "tracker/sys/sys.h"

enum {
	FILES = 256, /* of a larger one what is there is kept when it is opened */
	OPENED_PATH_BYTES = 512,
};

enum marks {
	FILE_FOLLOWED = 1,
	FILE_MODIFIED = 2, /* what it is now is not on record yet */
	FILE_STREAM = 4,   /* libc writes, also after the process's exit handlers */
	FILE_MAPPED = 8,
	FILE_SHARED = 16,    /* a program that was started may have it */
	FILE_CONTINUED = 32, /* it was found as the session had left it */
	FILE_NEW = 64,       /* the open made it */
};

/* A descriptor.  Believed only while it is the file that was opened. */
static struct file {
	uint32_t marks;    /* by atomic operations; 0: none */
	uint32_t starts;   /* of programs, when it was opened */
	uint64_t boundary; /* what was there at this one is kept; 0: not yet */
	uint64_t dev, ino;
} files[FILES];
static uint32_t queues;  /* what is written is not seen */
unsigned keep_files_end; /* from here on none was ever used */

static uint32_t marks_of(const struct file *file)
{
	return __atomic_load_n(&file->marks, __ATOMIC_ACQUIRE);
}

static struct file *file_at(int fd)
{
	if ((unsigned)fd >= __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED))
		return NULL;
	struct file *file = &files[fd];
	return marks_of(file) ? file : NULL;
}

static void add_marks(struct file *file, uint32_t marks)
{
	if ((marks_of(file) & marks) != marks)
		(void)__atomic_fetch_or(&file->marks, marks, __ATOMIC_RELEASE);
}

static void set_file(int fd, const struct file *content)
{
	if ((unsigned)fd >= FILES || in_vfork_child())
		return;
	struct file *file = &files[fd];
	__atomic_store_n(&file->marks, 0, __ATOMIC_RELEASE);
	file->starts = content->starts;
	file->boundary = content->boundary;
	file->dev = content->dev;
	file->ino = content->ino;
	unsigned end = __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);
	while (end <= (unsigned)fd &&
	       !__atomic_compare_exchange_n(&keep_files_end, &end, (unsigned)fd + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_store_n(&file->marks, content->marks, __ATOMIC_RELEASE);
}

/* What a descriptor's file is; false: it is another one than was opened. */
static bool is_opened(int fd, const struct file *file, struct pack_state *ret_state)
{
	const struct call_name name = { .directory = fd };

	return keep_name_state(&name, ret_state) == 0 && ret_state->dev == file->dev &&
	       ret_state->ino == file->ino;
}

/* The same; false also where it has no name any more. */
static bool is_same(int fd, const struct file *file, struct pack_state *ret_state)
{
	return is_opened(fd, file, ret_state) && ret_state->nlink > 0;
}

/* The file that was opened last, by path: most are closed soon. */
static struct {
	uint32_t taken; /* by a thread that reads or writes it */
	struct keep_validity validity;
	uint64_t dev, ino;
	char path[OPENED_PATH_BYTES];
} opened;

static void note_opened(const struct pack_state *state, const char *path)
{
	size_t length = path ? strlen(path) : OPENED_PATH_BYTES;

	if (length >= OPENED_PATH_BYTES || in_vfork_child() ||
	    __atomic_exchange_n(&opened.taken, 1, __ATOMIC_ACQUIRE))
		return;
	opened.validity = keep_validity_init(&shim.segment);
	opened.dev = state->dev;
	opened.ino = state->ino;
	memcpy(opened.path, path, length + 1);
	__atomic_store_n(&opened.taken, 0, __ATOMIC_RELEASE);
}

bool keep_opened_path(uint64_t dev, uint64_t ino, char *ret_path)
{
	if (__atomic_exchange_n(&opened.taken, 1, __ATOMIC_ACQUIRE))
		return false;
	bool found = opened.ino == ino && opened.dev == dev &&
		     keep_validity_holds(&shim.segment, &opened.validity);
	if (found)
		memcpy(ret_path, opened.path, strlen(opened.path) + 1);
	__atomic_store_n(&opened.taken, 0, __ATOMIC_RELEASE);
	return found;
}

/* What a descriptor's file is now, and where: false where it is another, or has no name. */
static bool find_now(int fd, const struct file *file, struct pack_state *ret_state, char *ret_path)
{
	const struct call_name by_descriptor = { .directory = fd };
	const struct call_name by_path = { .path = ret_path, .directory = AT_FDCWD };

	/* by one call, where it is still there */
	if (keep_opened_path(file->dev, file->ino, ret_path) &&
	    keep_name_state(&by_path, ret_state) == 0 && ret_state->dev == file->dev &&
	    ret_state->ino == file->ino)
		return true;
	return is_same(fd, file, ret_state) &&
	       keep_name_resolve(&shim.segment, &by_descriptor, ret_path);
}

/* ---- opens ---- */

static void keep_new(struct call *call, const struct keep_name *name)
{
	if (name->is_link) { /* it leads to nothing: what the open makes has another name */
		call->is_template = true;
		return;
	}
	const struct keeper self = keep_self();
	struct pack_note note = keep_note(&self, PACK_CREATED, name);
	note.before.mode = S_IFREG;
	call->kept.place_1 = pack_write(&shim.segment, &note, PACK_NOT_TAKEN, NULL, 0) + 1;
	call->kept.is_new = true;
}

/* May writes pass unseen?  A libaio that is linked in calls the kernel itself (io_submit(2)), and is
 * of use with O_DIRECT alone. */
static bool is_by_queue(const struct call *call)
{
	return (call->flags & O_DIRECT) || __atomic_load_n(&queues, __ATOMIC_RELAXED);
}

void keep_open(struct call *call)
{
	const uint32_t ONLY_NEW = O_CREAT | O_EXCL;
	const struct keeper self = keep_self();
	struct keep_name name;

	if (!call_open_may_change(call->flags))
		return;
	/* where its file is, the descriptor tells; what it was emptied of is lost */
	call->kept.stamps = call->operation == OPERATION_OPEN_HANDLE;
	if (!call->name.path)
		return;
	call->is_template = call->operation == OPERATION_OPEN_TEMPORARY ||
			    (call->flags & O_TMPFILE) == O_TMPFILE;
	call->kept.stamps = call->is_template;
	if (call->is_template)
		return;
	keep_name_find_content(&self, &call->name, &name);
	bool is_of_undo = name.path && !name.is_excluded;
	if (is_of_undo && !name.is_there && (call->flags & O_CREAT)) {
		keep_new(call, &name);
		call->kept.stamps = true;
	} else if (is_of_undo && name.is_there && (call->flags & ONLY_NEW) != ONLY_NEW &&
		   S_ISREG(name.state.mode) && call_open_purpose(call->flags) == OPENS_WRITE) {
		/* what libc's streams and children write is not seen */
		bool by_stream = call->operation == OPERATION_OPEN_LATER || in_vfork_child() ||
				 is_by_queue(call) ||
				 ((const struct open_work *)call->own)->by_stream;
		if ((call->flags & O_TRUNC) || by_stream) {
			call->kept.place_1 = keep_changing(&self, &name, -1, 0) + 1;
			call->kept.is_kept = true;
			call->kept.is_as_left = keep_is_as_left(&name.state);
		}
		call->kept.was_there = call->kept.stamps = true;
	}
	if (call->kept.stamps) {
		call->kept.path = name.path;
		name.path = NULL;
	}
	keep_name_release(&name);
}

/* Where a new file is: by its name, which /proc need not be asked for. */
static bool find_new(const struct call *call, const struct pack_state *state, char *ret_path)
{
	const struct call_name by_descriptor = { .directory = call->descriptor };
	struct pack_state there;

	if (call->operation == OPERATION_OPEN_TEMPORARY &&
	    keep_name_state(&call->name, &there) == 0 && there.dev == state->dev &&
	    there.ino == state->ino)
		return keep_name_resolve(&shim.segment, &call->name, ret_path);
	return keep_name_resolve(&shim.segment, &by_descriptor, ret_path);
}

/* A file whose name is only known now. */
static bool keep_named_now(const struct call *call, const struct pack_state *state)
{
	const struct keeper self = keep_self();
	char *path = scratch_acquire();
	bool is_of_undo = path && find_new(call, state, path) &&
			  keep_name_observed(&shim.segment, path) &&
			  !keep_name_excluded(&self, path);

	if (is_of_undo && state->nlink) { /* else linkat(2) will give it one */
		const struct pack_note note = {
			.kind = PACK_CREATED,
			.process = shim.record,
			.pid = (uint32_t)shim.pid,
			.before = { .mode = S_IFREG },
			.path = path,
		};
		(void)pack_write(&shim.segment, &note, PACK_NOT_TAKEN, NULL, 0);
	}
	scratch_release(path);
	return is_of_undo;
}

static void keep_unfollowed(int fd, const struct pack_state *state)
{
	const struct call_name by_descriptor = { .directory = fd };
	const struct keeper self = keep_self();
	struct keep_name name = { .name = &by_descriptor, .state = *state };

	name.path = scratch_acquire();
	if (name.path && keep_name_resolve(&shim.segment, &by_descriptor, name.path))
		(void)keep_changing(&self, &name, fd, 0);
	scratch_release(name.path);
}

void keep_opened(struct call *call)
{
	const struct call_name name = { .directory = call->descriptor };
	const struct open_work *own = call->own;
	struct pack_state state;

	if (!call->kept.stamps || call->descriptor < 0 || call->operation == OPERATION_OPEN_LATER ||
	    shim.sandboxed || keep_name_state(&name, &state) < 0 || !S_ISREG(state.mode))
		return;
	if (call->is_template && !keep_named_now(call, &state))
		return;
	bool is_new = call->is_template || call->kept.is_new;
	if (is_new)
		kept_note(&shim.segment, kept_key(&state));
	if (call->descriptor >= FILES && !is_new && !call->kept.is_kept) {
		keep_unfollowed(call->descriptor, &state);
		return;
	}
	bool is_modified = is_new || (call->flags & O_TRUNC) || is_by_queue(call);
	const struct file file = {
		.marks = FILE_FOLLOWED | (is_modified ? FILE_MODIFIED : 0) |
			 (is_new ? FILE_NEW : 0) | (own->by_stream ? FILE_STREAM : 0) |
			 (call->kept.is_as_left ? FILE_CONTINUED : 0),
		.starts = shim_starts(),
		.boundary = is_new || call->kept.is_kept ? keep_boundary() : 0,
		.dev = state.dev,
		.ino = state.ino,
	};
	set_file(call->descriptor, &file);
	if (!call->is_template)
		note_opened(&state, call->kept.path);
}

/* ---- changes ---- */

__attribute__((noinline)) static void keep_first_change(int fd, struct file *file, bool is_mapped)
{
	const struct call_name by_descriptor = { .directory = fd };
	struct keep_name name = { .name = &by_descriptor };
	const struct keeper self = keep_self();
	uint64_t boundary = keep_boundary();

	if (shim.sandboxed)
		return;
	if (!is_same(fd, file, &name.state)) {
		file->boundary = boundary;
		return;
	}
	name.path = scratch_acquire();
	if (name.path && keep_name_resolve(&shim.segment, &by_descriptor, name.path) &&
	    keep_name_observed(&shim.segment, name.path))
		(void)keep_changing(&self, &name, fd, is_mapped ? PACK_MAPPED : 0);
	else if (!name.path)
		segment_count(&shim.segment, COUNTER_lost_undo, 1);
	scratch_release(name.path);
	if (in_vfork_child())
		return;
	file->boundary = boundary;
	if (keep_is_as_left(&name.state))
		add_marks(file, FILE_CONTINUED);
}

void keep_changing_by(int fd, bool is_mapped)
{
	struct file *file = file_at(fd);

	if (!file)
		return;
	if (__builtin_expect(file->boundary != keep_boundary(), 0))
		keep_first_change(fd, file, is_mapped);
	if (!in_vfork_child())
		add_marks(file, is_mapped ? FILE_MODIFIED | FILE_MAPPED : FILE_MODIFIED);
}

bool keep_is_modified(int fd)
{
	struct file *file = file_at(fd);

	return file && !in_vfork_child() && (marks_of(file) & FILE_MODIFIED) &&
	       file->boundary == keep_boundary();
}

bool keep_is_new(int fd)
{
	struct file *file = file_at(fd);
	struct pack_state state;

	return file && !in_vfork_child() && (marks_of(file) & FILE_NEW) &&
	       file->boundary == keep_boundary() && is_same(fd, file, &state);
}

void keep_stream(int fd)
{
	struct file *file = file_at(fd);

	if (!file || in_vfork_child())
		return;
	keep_changing_by(fd, false);
	add_marks(file, FILE_STREAM);
}

void keep_queues(void)
{
	unsigned end = __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);

	if (!shim.keeps || in_vfork_child())
		return;
	__atomic_store_n(&queues, 1, __ATOMIC_RELAXED);
	for (unsigned fd = 0; fd < end; fd++)
		keep_changing_by((int)fd, false);
}

/* ---- what it is afterwards ---- */

/* Another descriptor of this process for the same file. */
static struct file *other_of(int fd, const struct file *file)
{
	unsigned end = __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);

	for (unsigned other = 0; other < end; other++)
		if (other != (unsigned)fd && marks_of(&files[other]) &&
		    files[other].dev == file->dev && files[other].ino == file->ino)
			return &files[other];
	return NULL;
}

bool keep_file_of(int fd, uint64_t *ret_dev, uint64_t *ret_ino)
{
	const struct file *file = file_at(fd);

	if (!file)
		return false;
	*ret_dev = file->dev;
	*ret_ino = file->ino;
	return true;
}

int keep_descriptor_of(uint64_t dev, uint64_t ino)
{
	const struct file like = { .dev = dev, .ino = ino };
	const struct file *file = other_of(-1, &like);
	return file ? (int)(file - files) : -1;
}

static void write_after(enum pack_kind kind, uint32_t marks, const struct pack_state *state,
			const char *path, int fd)
{
	const struct keeper self = keep_self();
	const struct call_name by_descriptor = { .directory = fd };
	const struct pack_note note = {
		.kind = kind,
		.flags = keep_flags_of_descriptor(path, state) |
			 (marks & FILE_SHARED ? PACK_SHARED : 0) |
			 (marks & FILE_MAPPED ? PACK_MAPPED : 0) |
			 (marks & FILE_CONTINUED ? PACK_CONTINUED : 0),
		.process = shim.record,
		.pid = (uint32_t)shim.pid,
		.before = *state,
		.path = path,
	};

	/* What others may write still is not what was left. */
	if (kind != PACK_AFTER || (note.flags & (PACK_SHARED | PACK_MAPPED | PACK_NO_NAME)) ||
	    !keep_left(&self, &note, &by_descriptor, fd))
		(void)pack_write(&shim.segment, &note, PACK_NOT_TAKEN, NULL, 0);
}

/* Puts on record what a descriptor's file is now.  Of one that lost its last name, too: what was found there before is
 * compared with it. */
static void record_after(enum pack_kind kind, int fd, const struct file *file, uint32_t marks)
{
	struct pack_state state;
	char *path = shim.sandboxed ? NULL : scratch_acquire();

	if (!path || (!find_now(fd, file, &state, path) &&
		      !(is_opened(fd, file, &state) && keep_link_of(fd, path)))) {
		scratch_release(path);
		return;
	}
	if (file->starts != shim_starts() && !(sys_fcntl(fd, F_GETFD, 0) & FD_CLOEXEC))
		marks |= FILE_SHARED;
	write_after(kind, marks, &state, path, fd);
	scratch_release(path);
}

/* Takes a descriptor out of the table.  Returns its marks where what it is now is to go on record. */
static uint32_t remove_file(int fd, struct file *file, struct file *ret_copy)
{
	*ret_copy = *file;
	uint32_t marks = __atomic_exchange_n(&file->marks, 0, __ATOMIC_ACQ_REL);
	if (!(marks & FILE_MODIFIED))
		return 0;
	struct file *other = other_of(fd, ret_copy);
	if (!other)
		return marks;
	add_marks(other, marks); /* it is the one that is closed last */
	return 0;
}

void keep_closing(unsigned first, unsigned last)
{
	unsigned end = __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);

	if (in_vfork_child())
		return;
	for (unsigned fd = first; fd < end && fd <= last; fd++) {
		struct file *file = file_at((int)fd), copy;
		uint32_t marks = file ? remove_file((int)fd, file, &copy) : 0;
		if (marks)
			record_after(PACK_AFTER, (int)fd, &copy, marks);
	}
}

char *keep_stream_closing(int fd)
{
	struct file *file = file_at(fd), copy;

	if (!file || in_vfork_child() || shim.sandboxed)
		return NULL;
	/* what is in its buffer is written now */
	add_marks(file, FILE_MODIFIED);
	if (!remove_file(fd, file, &copy))
		return NULL;
	struct pack_state state;
	char *path = scratch_acquire();
	if (path && find_now(fd, &copy, &state, path))
		return path;
	scratch_release(path);
	return NULL;
}

void keep_stream_closed(char *path)
{
	const struct call_name name = { .path = path, .directory = AT_FDCWD };
	const struct keeper self = keep_self();

	if (path)
		keep_after(&self, &name, path, KEEP_WRITTEN);
	scratch_release(path);
}

void keep_duplicated(int fd, int copy)
{
	struct file *file = file_at(fd);

	if (copy < 0 || in_vfork_child())
		return;
	if (file) {
		const struct file same = *file;
		set_file(copy, &same);
		if (copy == 1 || copy == 2) /* libc's streams are there */
			keep_stream(copy);
	} else if ((file = file_at(copy))) {
		__atomic_store_n(&file->marks, 0, __ATOMIC_RELEASE);
	}
}

/* ---- other programs ---- */

/* What a child between vfork and exec has as `fd`, its parent has as this. */
static int descriptor_of_parent(int fd)
{
	if (fd >= JOURNAL_STANDARD || !in_vfork_child())
		return fd;
	unsigned char note = shim_vforked.standard[fd];
	return note == 0 ? fd : note == STANDARD_UNKNOWN ? -1 : note - 1;
}

uint32_t keep_files_handed_on(bool replaces)
{
	unsigned end = __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);
	uint32_t handed_on = 0;

	if (end < JOURNAL_STANDARD)
		end = JOURNAL_STANDARD; /* a child's may be its parent's others */
	for (unsigned fd = 0; fd < end && !shim.sandboxed; fd++) {
		struct file *file = file_at(descriptor_of_parent((int)fd));
		int flags = file ? sys_fcntl((int)fd, F_GETFD, 0) : -EBADF;
		if (flags < 0 || (flags & FD_CLOEXEC))
			continue;
		handed_on |= fd < PROCESS_KEEPS ? UINT32_C(1) << fd : 0;
		if (file->boundary != keep_boundary())
			keep_first_change((int)fd, file, false);
		if (replaces && (marks_of(file) & FILE_MODIFIED))
			record_after(PACK_AFTER, (int)fd, file, marks_of(file) | FILE_SHARED);
	}
	return handed_on;
}

/* A descriptor that another process opened. */
static void follow_foreign(int fd, uint32_t marks)
{
	const struct call_name name = { .directory = fd };
	struct pack_state state;

	if (keep_name_state(&name, &state) < 0 || !S_ISREG(state.mode) ||
	    (sys_fcntl(fd, F_GETFL, 0) & O_ACCMODE) == O_RDONLY)
		return;
	const struct file file = {
		.marks = FILE_FOLLOWED | marks,
		.boundary = kept_is_noted(&shim.segment, kept_key(&state)) ? keep_boundary() : 0,
		.dev = state.dev,
		.ino = state.ino,
	};
	set_file(fd, &file);
}

void keep_files_inherit(uint32_t descriptors)
{
	for (int fd = 0; fd < PROCESS_KEEPS; fd++)
		if (descriptors >> fd & 1)
			follow_foreign(fd, fd < JOURNAL_STANDARD ? FILE_STREAM : 0);
}

void keep_received(const struct msghdr *message)
{
	int saved_errno = errno;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part && !shim.sandboxed;
	     part = CMSG_NXTHDR((struct msghdr *)(uintptr_t)message, part)) {
		size_t bytes = part->cmsg_len - CMSG_LEN(0);
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
			int fd;
			memcpy(&fd, CMSG_DATA(part) + at, sizeof(fd));
			follow_foreign(fd, 0);
		}
	}
	errno = saved_errno;
}

void keep_files_finish(bool flushed)
{
	unsigned end = __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);

	for (unsigned fd = 0; fd < end; fd++) {
		struct file *file = file_at((int)fd), copy;
		uint32_t marks = file ? remove_file((int)fd, file, &copy) : 0;
		bool is_written_later = (marks & FILE_STREAM) && !flushed;
		if (marks)
			record_after(is_written_later ? PACK_OPEN : PACK_AFTER, (int)fd, &copy,
				     marks);
	}
}

void keep_files_fork(void)
{
	unsigned end = __atomic_load_n(&keep_files_end, __ATOMIC_RELAXED);

	opened.ino = 0;
	opened.taken = 0;
	/* what its parent did is its parent's to report */
	for (unsigned fd = 0; fd < end; fd++)
		(void)__atomic_fetch_and(&files[fd].marks,
					 ~(uint32_t)(FILE_MODIFIED | FILE_CONTINUED),
					 __ATOMIC_RELAXED);
}
