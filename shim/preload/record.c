/* What this process does, for the journal: see record.h. */
#include "shim/preload/record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/preload/directory.h"
#include "shim/preload/memory.h"
#include "shim/preload/scratch.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/process/scope.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	DESCRIPTORS = 1024,
	NOT_WEIGHED = UINT32_MAX >> 1, /* larger files are not, either */
	STREAM_NO_READS = 0x0004,      /* glibc, libio.h: opened for writing alone */
	STREAM_PUTTING = 0x0800,       /* the buffer holds what was written */
};

enum descriptor_state {
	DESCRIPTOR_FOLLOWED = 1, /* opened by name: 0 means that the entry says nothing */
	DESCRIPTOR_MAPPED = 2,
	DESCRIPTOR_MAPPED_SHARED = 4, /* and may be written to */
};

/* What passed through a descriptor one way. */
struct traffic {
	uint64_t bytes;
	uint32_t calls;
};

/* A descriptor that this program opened by name.  Calls on one descriptor may come from several threads: words are
 * atomic.  An entry that outlived its descriptor is replaced at the next open of that number.  Each is one line of the cache. */
static struct descriptor {
	uint32_t state;  /* enum descriptor_state */
	uint32_t opened; /* number of the OPEN or LIST record */
	uint32_t path;   /* as in that record */
	uint32_t directory;
	int32_t directory_fd;
	struct traffic read, written;
	uint32_t start_bytes; /* of a shell's file that was opened for writing: its size then; NOT_WEIGHED */
	uint32_t starts; /* programs that the process had started by then */
} __attribute__((aligned(64))) descriptors[DESCRIPTORS];
_Static_assert(sizeof(struct descriptor) == 64, "one line of the cache");
static unsigned descriptors_end; /* entries from here on were never used */

/* ---- who ---- */

/* Of this thread.  0: not asked yet. */
static __thread pid_t thread_id;

static inline bool may_grow(void)
{
	return !shim.sandboxed;
}

/* Is this a thread that has been here before, and nothing special? */
static inline bool is_known_thread(void)
{
	return __builtin_expect(!shim_vforked.called && thread_id, 1);
}

/* Fills in who makes a record. */
static __attribute__((noinline, cold)) void sign_first(struct journal_record *record)
{
	if (in_vfork_child()) {
		record->tid = (uint32_t)sys_getpid();
		record->marks |= JOURNAL_VFORKED;
		return;
	}
	if (!thread_id && !shim.sandboxed)
		thread_id = (pid_t)sys_call3(SYS_gettid, 0, 0, 0);
	record->tid = (uint32_t)thread_id;
}

static inline void sign(struct journal_record *record)
{
	record->process = shim.record;
	if (is_known_thread())
		record->tid = (uint32_t)thread_id;
	else
		sign_first(record);
}

/* Fills in who makes a record, and appends it. */
static uint32_t append(struct journal_record *record, const void *details, size_t detail_bytes)
{
	sign(record);
	if (detail_bytes)
		record->marks |= JOURNAL_DETAILS;
	return journal_write(&shim.journal, record, details, detail_bytes, may_grow());
}

/* ---- texts ---- */

/* A filter of system calls gives any error without looking at what a pointer points to: then it is tried, where that may be. */
static bool is_trusted(const char *path)
{
	return !shim.sandboxed && (!shim.filtered || (path && launch_is_text(path)));
}

/* Did the kernel read the path before it failed with this error?  Only then is the pointer known to be good. */
static bool was_path_read_in_vain(int error, const char *path)
{
	if (!is_trusted(path))
		return false;
	switch (error) {
	case ENOENT:
	case EACCES:
	case EPERM:
	case EEXIST:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
	case EROFS:
	case ENXIO:
	case ENODEV:
	case ETXTBSY:
	case EBUSY:
	case ENOTEMPTY:
	case EXDEV:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case ENAMETOOLONG:
	case ESTALE:
	case ENODATA:
		return true;
	default:
		return false;
	}
}

static inline bool was_path_read(int error, const char *path)
{
	return error == 0 || was_path_read_in_vain(error, path);
}

/* The same for the second path of a call: the first one may be what was wrong. */
static bool was_second_path_read(int error, const char *path)
{
	if (error && !is_trusted(path))
		return false;
	return error == 0 || error == EEXIST || error == EXDEV || error == ENOTEMPTY ||
	       error == EISDIR;
}

static uint32_t text_of(const char *text, uint16_t *marks)
{
	size_t length = strnlen(text, SEGMENT_PATH_BYTES);
	if (length == SEGMENT_PATH_BYTES)
		*marks |= JOURNAL_CUT;
	return journal_text(&shim.journal, text, length, may_grow());
}

static struct descriptor *descriptor_at(int fd)
{
	if ((unsigned)fd >= DESCRIPTORS)
		return NULL;
	struct descriptor *descriptor = &descriptors[fd];
	return __atomic_load_n(&descriptor->state, __ATOMIC_ACQUIRE) ? descriptor : NULL;
}

uint32_t record_opening(int fd)
{
	const struct descriptor *descriptor = descriptor_at(fd);
	return descriptor ? descriptor->opened : 0;
}

/* What a relative path is relative to, as records tell it (journal.h, `directory`). */
static uint32_t folder_of(int directory)
{
	if (in_vfork_child()) /* its folder and descriptors are its own */
		return 0;
	if (directory == AT_FDCWD)
		return change_folder_text();
	const struct descriptor *descriptor = descriptor_at(directory);
	return descriptor ? descriptor->opened : 0;
}

/* A path by another name of the workspace's root is recorded as one below the root.  Returns false where it is no such path. */
static bool put_behind_alias(struct journal_record *record, const char *path)
{
	const char *rest = path_behind_alias(&shim.segment, path);

	if (!rest || !rest[strspn(rest, "/")])
		return false;
	const char *root = segment_text(&shim.segment, shim.segment.settings->paths_workspace,
					NULL);
	if (!root)
		return false;
	record->path = text_of(rest + strspn(rest, "/"), &record->marks);
	record->directory = text_of(root, &record->marks);
	record->directory_fd = AT_FDCWD;
	return true;
}

/* The same of a name whose folder has no place in the record: written whole, into scratch.  NULL: it is no such path. */
static char *without_alias(const char *path)
{
	if (path[0] != '/' || !path_behind_alias(&shim.segment, path))
		return NULL;
	size_t bytes = strnlen(path, SEGMENT_PATH_BYTES) + 1;
	char *real = bytes <= SEGMENT_PATH_BYTES ? scratch_take() : NULL;
	if (real) {
		memcpy(real, path, bytes);
		path_use_root(&shim.segment, real, SEGMENT_PATH_BYTES);
	}
	return real;
}

static void put_path(struct journal_record *record, int directory, const char *path)
{
	if (path[0] == '/' &&
	    __builtin_expect(
		    __atomic_load_n(&shim.segment.header->aliases[0], __ATOMIC_RELAXED) != 0, 0) &&
	    put_behind_alias(record, path))
		return;
	record->path = text_of(path, &record->marks);
	record->directory_fd = directory;
	if (path[0] != '/')
		record->directory = folder_of(directory);
}

/* Is an access to be recorded, by level and by the globs of [journal] exclude?  A path that is not known is. */
static bool is_wanted_here(bool writes, int directory, const char *path)
{
	const struct settings *settings = shim.segment.settings;
	bool wanted = path_is_recorded(&shim.segment, writes, NULL);

	if (!wanted || !path || strnlen(path, SEGMENT_PATH_BYTES) == SEGMENT_PATH_BYTES ||
	    (settings->journal_level != JOURNAL_LEVEL_WORKSPACE &&
	     !settings->journal_exclude.count))
		return wanted;
	char *normal = scratch_take();
	if (normal && change_path(directory, path, normal, SEGMENT_PATH_BYTES) >= 0)
		wanted = path_is_recorded(&shim.segment, writes, normal);
	scratch_give(normal);
	return wanted;
}

static inline bool is_wanted(bool writes, int directory, const char *path)
{
	if (__builtin_expect(shim.records_all, 1))
		return true;
	return is_wanted_here(writes, directory, path);
}

/* Memory that may not be there: what the caller hands to exec, where a wrong pointer has to give EFAULT. */
struct reader {
	bool checks;    /* false: it is the program's own, from the kernel */
	uintptr_t page; /* the last one that was found readable */
};

static bool can_read(struct reader *reader, const void *address)
{
	const uintptr_t PAGE = ~(uintptr_t)4095;

	if (!reader->checks || ((uintptr_t)address & PAGE) == reader->page)
		return true;
	if (!launch_is_byte(address))
		return false;
	reader->page = (uintptr_t)address & PAGE;
	return true;
}

size_t record_join(char *const argv[], bool checks, char *ret_bytes, size_t capacity, bool *ret_cut)
{
	/* no page begins at 1 */
	struct reader array = { checks, 1 }, words = { checks, 1 };
	size_t used = 0;

	*ret_cut = false;
	for (size_t i = 0; argv && can_read(&array, &argv[i]) && argv[i]; i++) {
		const char *at = argv[i];
		if (used == capacity) {
			*ret_cut = true;
			break;
		}
		while (used < capacity - 1 && can_read(&words, at) && *at)
			ret_bytes[used++] = *at++;
		if (used == capacity - 1)
			*ret_cut = true;
		ret_bytes[used++] = '\0';
	}
	return used;
}

/* ---- descriptors ---- */

/* A record about what a descriptor was opened for. */
static struct journal_record about(enum journal_op op, int fd, const struct descriptor *descriptor)
{
	struct journal_record record = journal_blank(op);
	record.fd = fd;
	if (descriptor) {
		record.path = descriptor->path;
		record.directory = descriptor->directory;
		record.directory_fd = descriptor->directory_fd;
	}
	return record;
}

/* In a child between vfork and exec: `fd` is now what the parent knows as `parent_fd`; -1: something else. */
static void note_standard(int fd, int parent_fd)
{
	unsigned char *notes = shim_vforked.standard;
	bool known = (unsigned)parent_fd < VFORK_TOUCHED &&
		     !(shim_vforked.touched & (uint64_t)1 << (unsigned)parent_fd);

	if ((unsigned)fd < VFORK_TOUCHED)
		shim_vforked.touched |= (uint64_t)1 << fd;
	if ((unsigned)fd >= JOURNAL_STANDARD)
		return;
	if ((unsigned)parent_fd < JOURNAL_STANDARD && notes[parent_fd])
		notes[fd] = notes[parent_fd];
	else
		notes[fd] = known ? (unsigned char)(parent_fd + 1) : STANDARD_UNKNOWN;
}

/* What a program that is about to replace this image will have as a standard descriptor; NULL: not known. */
static const struct descriptor *standard_at(int fd)
{
	unsigned char note = shim_vforked.called ? shim_vforked.standard[fd] : 0;
	if (note == STANDARD_UNKNOWN)
		return NULL;
	return descriptor_at(note ? note - 1 : fd);
}

/* as: what it was opened for; its counts are those of another. */
static inline void follow(int fd, const struct descriptor *as)
{
	if ((unsigned)fd >= DESCRIPTORS)
		return;
	if (in_vfork_child()) {
		note_standard(fd, -1);
		return;
	}
	struct descriptor *descriptor = &descriptors[fd];
	__atomic_store_n(&descriptor->state, 0, __ATOMIC_RELAXED);
	descriptor->opened = as->opened;
	descriptor->path = as->path;
	descriptor->directory = as->directory;
	descriptor->directory_fd = as->directory_fd;
	descriptor->read = descriptor->written = (struct traffic){ 0 };
	descriptor->start_bytes = as->start_bytes;
	descriptor->starts = as->starts;
	__atomic_store_n(&descriptor->state, DESCRIPTOR_FOLLOWED, __ATOMIC_RELEASE);
	unsigned end = __atomic_load_n(&descriptors_end, __ATOMIC_RELAXED);
	while (__builtin_expect(end <= (unsigned)fd, 0) &&
	       !__atomic_compare_exchange_n(&descriptors_end, &end, (unsigned)fd + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* A descriptor was opened by name, as its record tells. */
static void follow_opened(int fd, uint32_t number, const struct journal_record *record)
{
	struct descriptor as = { .opened = number,
				 .start_bytes = NOT_WEIGHED,
				 .path = record->path,
				 .directory = record->directory,
				 .directory_fd = record->directory_fd };
	follow(fd, &as);
}

/* ---- the process ---- */

static void append_process(struct journal_record *record, pid_t parent, uint32_t starter)
{
	const struct context *context = &shim.request.context;
	struct journal_process process = {
		.serial = shim.process.serial,
		.scope_id = context->scope_id,
		.pid = (uint32_t)shim.pid,
		.parent_pid = (uint32_t)parent,
		.role = shim.role,
		.context = context->flags,
		.pid_ns = context->pid_ns,
		.starter = starter,
	};
	const struct scope_slot *scope = scope_find(&shim.segment, context->scope_id);

	if (scope)
		process.epoch = __atomic_load_n(&scope->epoch, __ATOMIC_RELAXED);
	thread_id = shim.pid;
	shim.record = append(record, &process, sizeof(process));
}

void record_fork(void)
{
	struct journal_record record = journal_blank(JOURNAL_FORK);
	uint32_t starter = shim.record;

	if (!shim.records)
		return;
	/* What the parent's descriptors did is the parent's to tell. */
	unsigned end = __atomic_load_n(&descriptors_end, __ATOMIC_RELAXED);
	for (unsigned fd = 0; fd < end; fd++) {
		descriptors[fd].read = descriptors[fd].written = (struct traffic){ 0 };
		descriptors[fd].start_bytes = NOT_WEIGHED;
	}
	record.directory = change_folder_text();
	append_process(&record, shim.fork_parent, starter);
}

void record_end(int status)
{
	struct journal_record record = journal_blank(JOURNAL_EXIT);

	if (!shim.records)
		return;
	record_closing(0, UINT32_MAX);
	record.amount = (uint32_t)status & 0xff; /* what waitpid(2) will tell */
	(void)append(&record, NULL, 0);
}

void record_exec(int directory, const char *path, const char *arguments, size_t argument_bytes,
		 bool cut, struct process_ref process, pid_t pid)
{
	struct journal_record record = journal_blank(JOURNAL_EXEC);

	if (!shim.records)
		return;
	/* asked once: nobody returns to the parent in here */
	if (in_vfork_child())
		shim_vforked.called = VFORK_CHILD;
	if (path[0]) {
		put_path(&record, directory, path);
	} else {
		const struct descriptor *file = in_vfork_child() ? NULL : descriptor_at(directory);
		record = about(JOURNAL_EXEC, directory, file);
	}
	if (cut)
		record.marks |= JOURNAL_CUT;
	if (argument_bytes)
		record.other_path = journal_text(&shim.journal, arguments, argument_bytes,
						 may_grow());
	record.amount = process.serial;
	record.count = (uint32_t)pid;
	/* exec in place: what the standard descriptors were opened for goes with them. */
	struct journal_exec standard = { 0 };
	bool known = false;
	for (int fd = 0; pid && fd < JOURNAL_STANDARD; fd++) {
		const struct descriptor *descriptor = standard_at(fd);
		if (!descriptor)
			continue;
		known = true;
		standard.standard[fd].path = descriptor->path;
		standard.standard[fd].directory = descriptor->directory;
		standard.standard[fd].directory_fd = descriptor->directory_fd;
	}
	uint32_t number = append(&record, known ? &standard : NULL, known ? sizeof(standard) : 0);
	process_set_record(&shim.segment, process, number);
	if (shim_vforked.called)
		shim_vforked.called = VFORK_CALLED;
}

/* What this program's standard descriptors were opened for by the one that stood in this process before. */
static void inherit(void)
{
	struct journal_entry entry;
	uint64_t number = process_record(&shim.segment, shim.process);

	if (!number || journal_next(&shim.journal, &number, &entry) != JOURNAL_FOUND_RECORD ||
	    entry.record.head.op != JOURNAL_EXEC || entry.record.amount != shim.process.serial)
		return;
	for (int fd = 0; fd < JOURNAL_STANDARD; fd++) {
		struct descriptor as = { .start_bytes = NOT_WEIGHED,
					 .path = entry.exec.standard[fd].path,
					 .directory = entry.exec.standard[fd].directory,
					 .directory_fd = entry.exec.standard[fd].directory_fd };
		if (as.path)
			follow(fd, &as);
	}
}

void record_start(const char *executable, char *const argv[])
{
	struct journal_record record = journal_blank(JOURNAL_START);

	if (!shim.records)
		return;
	shim.record = 0;
	put_path(&record, AT_FDCWD, executable);
	record.directory = change_folder_text();
	char words[512], *joined = words;
	bool cut = false;
	size_t used = record_join(argv, false, joined, sizeof(words), &cut);
	if (cut && (joined = scratch_take()) != NULL)
		used = record_join(argv, false, joined, SEGMENT_PATH_BYTES, &cut);
	if (joined)
		record.other_path = journal_text(&shim.journal, joined, used, may_grow());
	if (cut)
		record.marks |= JOURNAL_CUT;
	scratch_give(joined);
	if (!(shim.request.context.flags & CONTEXT_ATTACHED))
		record.marks |= JOURNAL_UNATTACHED;
	append_process(&record, sys_getppid(), 0);
	inherit();
}

void record_exec_failed(uint64_t serial, int error)
{
	struct journal_record record = journal_blank(JOURNAL_EXEC_FAILED);

	if (!shim.records)
		return;
	record.head.error = (uint16_t)error;
	record.amount = serial;
	(void)append(&record, NULL, 0);
}

/* ---- names ---- */

/* The beginning of a record of a call that was given a name.  path: becomes NULL where it was not read.  Returns false when the
 * call is not recorded. */
static bool begin_name(struct journal_record *record, bool failed, bool writes, int directory,
		       const char **path)
{
	if (failed)
		record->head.error = (uint16_t)errno;
	if (!was_path_read(record->head.error, *path))
		*path = NULL;
	if (!is_wanted(writes, directory, *path))
		return false;
	if (*path)
		put_path(record, directory, *path);
	return true;
}

void record_name(enum journal_op op, bool failed, int directory, const char *path, uint32_t flags,
		 uint64_t amount)
{
	struct journal_record record = journal_blank(op);

	if (!shim.records)
		return;
	if (!begin_name(&record, failed, true, directory, &path))
		return;
	record.flags = flags;
	record.amount = amount;
	(void)append(&record, NULL, 0);
}

void record_names(enum journal_op op, bool failed, int directory, const char *path,
		  int other_directory, const char *other, uint32_t flags)
{
	struct journal_record record = journal_blank(op);

	if (!shim.records)
		return;
	if (failed)
		record.head.error = (uint16_t)errno;
	/* symlink(2) names its target first, the others the name that there is. */
	int error = record.head.error;
	bool target_first = op == JOURNAL_SYMLINK;
	if (!(target_first ? was_second_path_read(error, path) : was_path_read(error, path)))
		path = NULL;
	if (!(target_first ? was_path_read(error, other) : was_second_path_read(error, other)))
		other = NULL;
	bool wanted = is_wanted(true, directory, path);
	if (!wanted && (op == JOURNAL_SYMLINK || !is_wanted(true, other_directory, other)))
		return;
	if (path)
		put_path(&record, directory, path);
	if (other) {
		char *real = op != JOURNAL_SYMLINK ? without_alias(other) : NULL;
		record.other_path = text_of(real ? real : other, &record.marks);
		scratch_give(real);
		if (op != JOURNAL_SYMLINK && other[0] != '/')
			record.amount = folder_of(other_directory);
	}
	record.fd = other_directory;
	record.flags = flags;
	(void)append(&record, NULL, 0);
}

/* ---- opening, reading, writing ---- */

static bool may_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_TRUNC | O_CREAT));
}

/* What an answer that is not the file is recorded as. */
static enum journal_op op_of(enum decision decision)
{
	return decision == DECISION_NOTICE ? JOURNAL_NOTICE
	       : decision == DECISION_DIFF ? JOURNAL_DIFFED
					   : JOURNAL_YIELDED;
}

/* The same for whatever is special. */
static __attribute__((noinline)) void opened_by_any(int fd, int directory, const char *path,
						    int flags, const struct look *look)
{
	struct journal_record record = journal_blank(JOURNAL_OPEN);

	if (!shim.records)
		return;
	if ((unsigned)fd < DESCRIPTORS && !in_vfork_child())
		__atomic_store_n(&descriptors[fd].state, 0, __ATOMIC_RELAXED);
	if (!begin_name(&record, fd < 0, may_write(flags), directory, &path))
		return;
	record.fd = fd;
	record.flags = (uint32_t)flags;
	if (look && look->is_decided) {
		record.decision = (uint8_t)look->decision;
		record.reason = (uint8_t)look->reason;
	}
	if (look)
		record.marks |= look->marks;
	bool details = look && look->is_known;
	uint32_t number = append(&record, details ? &look->details : NULL,
				 details ? sizeof(look->details) : 0);
	if (fd < 0)
		return;
	if (path)
		follow_opened(fd, number, &record);
	if (path && look && look->is_weighed && (unsigned)fd < DESCRIPTORS &&
	    look->size_bytes < NOT_WEIGHED && !in_vfork_child()) {
		descriptors[fd].start_bytes = (uint32_t)look->size_bytes;
		descriptors[fd].starts = shim_starts();
	}
	if (look && look->is_decided && look->decision != DECISION_CONTENT) {
		record.head.op = (uint16_t)op_of(look->decision);
		record.time_realtime_ns = 0;
		record.amount = look->bytes_saved;
		(void)append(&record, details ? &look->details : NULL,
			     details ? sizeof(look->details) : 0);
	}
}

void record_opened(int fd, int directory, const char *path, int flags, const struct look *look)
{
	struct journal_record record;

	if (fd < 0 || !path || look || !shim.records || !shim.records_all || !is_known_thread()) {
		opened_by_any(fd, directory, path, flags, look);
		return;
	}
	record = journal_blank(JOURNAL_OPEN);
	put_path(&record, directory, path);
	record.fd = fd;
	record.flags = (uint32_t)flags;
	uint32_t number = append(&record, NULL, 0);
	follow_opened(fd, number, &record);
}

void record_answered(int fd, const struct look *look)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (!descriptor || look->decision == DECISION_CONTENT || in_vfork_child())
		return;
	struct journal_record record = about(op_of(look->decision), fd, descriptor);
	record.decision = (uint8_t)look->decision;
	record.reason = (uint8_t)look->reason;
	record.amount = look->bytes_saved;
	(void)append(&record, &look->details, sizeof(look->details));
}

void record_listed(int fd, bool failed, int directory, const char *path, uint16_t marks)
{
	struct journal_record record = journal_blank(JOURNAL_LIST);

	if (!shim.records)
		return;
	if (!begin_name(&record, failed, false, directory, &path))
		return;
	record.marks |= marks;
	record.fd = fd;
	uint32_t number = append(&record, NULL, 0);
	if (fd >= 0 && path)
		follow_opened(fd, number, &record);
}

void record_planned(int fd, const char *path, int flags)
{
	struct journal_record record = journal_blank(JOURNAL_OPEN);

	if (!shim.records || !is_wanted(may_write(flags), AT_FDCWD, path))
		return;
	put_path(&record, AT_FDCWD, path);
	record.fd = fd;
	record.flags = (uint32_t)flags;
	record.marks |= JOURNAL_PLANNED;
	(void)append(&record, NULL, 0);
}

/* The first bytes that passed through a descriptor one way.  first: JOURNAL_READ or JOURNAL_WRITE. */
static __attribute__((noinline)) void passed_first(enum journal_op first, int fd,
						   const struct descriptor *descriptor,
						   ssize_t count)
{
	struct journal_record record = about(first, fd, descriptor);
	record.amount = (uint64_t)count;
	(void)append(&record, NULL, 0);
}

static inline void passed(enum journal_op first, int fd, ssize_t count)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (!descriptor || count <= 0 || in_vfork_child())
		return;
	struct traffic *traffic = first == JOURNAL_READ ? &descriptor->read : &descriptor->written;
	(void)__atomic_fetch_add(&traffic->bytes, (uint64_t)count, __ATOMIC_RELAXED);
	if (__atomic_fetch_add(&traffic->calls, 1, __ATOMIC_RELAXED) == 0)
		passed_first(first, fd, descriptor, count);
}

void record_read(int fd, ssize_t count)
{
	passed(JOURNAL_READ, fd, count);
}

void record_written(int fd, ssize_t count)
{
	passed(JOURNAL_WRITE, fd, count);
}

void record_mapped(int fd, int protection, int flags, size_t size_bytes)
{
	struct descriptor *descriptor = descriptor_at(fd);
	bool stores = (protection & PROT_WRITE) && (flags & MAP_SHARED);
	uint32_t state = stores ? DESCRIPTOR_MAPPED_SHARED : DESCRIPTOR_MAPPED;

	if (!descriptor || in_vfork_child() ||
	    (__atomic_fetch_or(&descriptor->state, state, __ATOMIC_RELAXED) & state))
		return;
	struct journal_record record = about(JOURNAL_MAP, fd, descriptor);
	record.flags = (uint32_t)protection | (flags & MAP_SHARED ? JOURNAL_MAP_SHARED : 0);
	record.amount = size_bytes;
	(void)append(&record, NULL, 0);
}

/* What is not told yet of a descriptor that is closed.  total: JOURNAL_READ_TOTAL or JOURNAL_WRITE_TOTAL. */
static void tell(enum journal_op total, int fd, const struct descriptor *descriptor,
		 const struct traffic *traffic)
{
	if (traffic->calls < 2)
		return;
	struct journal_record record = about(total, fd, descriptor);
	record.amount = traffic->bytes;
	record.count = traffic->calls;
	(void)append(&record, NULL, 0);
}

/* What a shell wrote by itself: libc's streams do that unseen.  Told by the file's size; where programs were started meanwhile it is
 * theirs, too, and they tell of it. */
static void tell_weight(int fd, const struct descriptor *descriptor)
{
	struct journal_record record = about(JOURNAL_WRITE, fd, descriptor);
	struct stat stat;

	if (descriptor->start_bytes == NOT_WEIGHED || descriptor->written.calls || shim.sandboxed ||
	    sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    (uint64_t)stat.st_size <= descriptor->start_bytes)
		return;
	if (descriptor->starts == shim_starts())
		record.amount = (uint64_t)stat.st_size - descriptor->start_bytes;
	else
		record.marks |= JOURNAL_AT_LEAST;
	(void)append(&record, NULL, 0);
	/* It is told of by this copy of the descriptor, and by no other again. */
	unsigned end = __atomic_load_n(&descriptors_end, __ATOMIC_RELAXED);
	uint32_t now = (uint64_t)stat.st_size < NOT_WEIGHED ? (uint32_t)stat.st_size : NOT_WEIGHED;
	for (unsigned other = 0; other < end; other++)
		if (descriptors[other].opened == descriptor->opened &&
		    descriptors[other].start_bytes != NOT_WEIGHED)
			descriptors[other].start_bytes = now;
}

void record_replacing(int fd)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (!descriptor || descriptor->start_bytes == NOT_WEIGHED || in_vfork_child())
		return;
	tell_weight(fd, descriptor);
	descriptor->start_bytes = NOT_WEIGHED;
}

void record_closing(unsigned first, unsigned last)
{
	unsigned end = __atomic_load_n(&descriptors_end, __ATOMIC_RELAXED);

	if (in_vfork_child()) { /* its descriptors are its own, this table is its parent's */
		for (unsigned fd = first; fd <= last && fd < VFORK_TOUCHED; fd++)
			note_standard((int)fd, -1);
		return;
	}
	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		struct descriptor *descriptor = &descriptors[fd];
		if (!__atomic_load_n(&descriptor->state, __ATOMIC_ACQUIRE))
			continue;
		tell_weight((int)fd, descriptor);
		if (!__atomic_exchange_n(&descriptor->state, 0, __ATOMIC_ACQ_REL))
			continue;
		tell(JOURNAL_READ_TOTAL, (int)fd, descriptor, &descriptor->read);
		tell(JOURNAL_WRITE_TOTAL, (int)fd, descriptor, &descriptor->written);
	}
}

void record_closing_one(int fd)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (in_vfork_child() ||
	    (descriptor && (descriptor->read.calls > 1 || descriptor->written.calls > 1 ||
			    descriptor->start_bytes != NOT_WEIGHED)))
		record_closing((unsigned)fd, (unsigned)fd);
	else if (descriptor) /* whoever else closes it has nothing to tell either */
		__atomic_store_n(&descriptor->state, 0, __ATOMIC_RELEASE);
}

void record_duplicated(int fd, int copy)
{
	if (copy < 0 || fd == copy)
		return;
	if (in_vfork_child()) {
		note_standard(copy, fd);
		return;
	}
	const struct descriptor *descriptor = descriptor_at(fd);
	record_closing((unsigned)copy, (unsigned)copy);
	if (descriptor)
		follow(copy, descriptor);
}

/* libc's own reads and writes are not seen.  What a stream's buffers tell is that there were some, and how much passed at least
 * (bits/types/struct_FILE.h; the layout is part of glibc's ABI). */
void record_stream_closing(FILE *stream, int fd)
{
	struct descriptor *descriptor = descriptor_at(fd);
	int flags = stream->_flags;
	struct journal_record record;

	if (!descriptor || in_vfork_child())
		return;
	/* A stream for one of both alone has a buffer once it did something; one for both tells which it did last. */
	bool writes = flags & STREAM_NO_READS ? stream->_IO_buf_base != NULL
					      : (flags & STREAM_PUTTING) != 0;
	bool reads = !(flags & STREAM_NO_READS) && !writes && stream->_IO_read_base;
	if (reads && !descriptor->read.calls) {
		record = about(JOURNAL_READ, fd, descriptor);
		record.amount = (uint64_t)(stream->_IO_read_end - stream->_IO_read_base);
		record.marks |= JOURNAL_AT_LEAST;
		(void)append(&record, NULL, 0);
	}
	if (writes && !descriptor->written.calls) {
		record = about(JOURNAL_WRITE, fd, descriptor);
		record.amount = (uint64_t)(stream->_IO_write_ptr - stream->_IO_write_base);
		record.marks |= JOURNAL_AT_LEAST;
		(void)append(&record, NULL, 0);
	}
}

void record_descriptor(enum journal_op op, bool failed, int fd, uint32_t flags, uint64_t amount)
{
	if (!shim.records)
		return;
	const struct descriptor *descriptor = in_vfork_child() ? NULL : descriptor_at(fd);
	/* One that was opened outside of what is wanted is no less so here. */
	if (!descriptor && !shim.records_all && op != JOURNAL_CHDIR)
		return;
	struct journal_record record = about(op, fd, descriptor);
	if (failed)
		record.head.error = (uint16_t)errno;
	record.flags = flags;
	record.amount = amount;
	(void)append(&record, NULL, 0);
}

uint32_t record_path(const char *path)
{
	uint16_t marks = 0;
	return shim.records && is_wanted(false, AT_FDCWD, path) ? text_of(path, &marks) : 0;
}

void record_delivery(enum journal_op op, uint32_t path, const struct journal_details *details)
{
	struct journal_record record = journal_blank(op);

	if (!path)
		return;
	record.path = path;
	record.amount = details->after.size_bytes;
	(void)append(&record, details, sizeof(*details));
}

void record_instructed(uint64_t scope_id, const struct injected *injected)
{
	struct journal_record record = journal_blank(JOURNAL_INSTRUCTED);
	struct journal_details details;

	if (!injected->text)
		return;
	inject_write_record(injected, scope_id, &record, &details);
	(void)append(&record, &details, sizeof(details));
}

/* A record about a file whose versions are known. */
static void append_versions(struct journal_record *record, const char *path,
			    const struct version *before, const struct version *after,
			    uint64_t changer)
{
	struct journal_details details = { .size_bytes = after->size_bytes,
					   .before = *before,
					   .after = *after,
					   .changer = changer };

	record->path = text_of(path, &record->marks);
	record->directory_fd = AT_FDCWD;
	(void)append(record, &details, sizeof(details));
}

void record_guarded(const char *path, const struct guard_answer *answer)
{
	struct journal_record record = journal_blank(JOURNAL_GUARDED);

	if (!shim.records || !is_wanted(true, AT_FDCWD, path))
		return;
	record.decision = (uint8_t)answer->verdict;
	record.reason = (uint8_t)answer->reason;
	record.head.error = (uint16_t)-answer->error;
	record.flags = (answer->degraded ? JOURNAL_GUARDED_DEGRADED : 0) |
		       (answer->kept ? JOURNAL_GUARDED_KEPT : 0) |
		       (answer->reported ? JOURNAL_GUARDED_REPORTED : 0);
	append_versions(&record, path, &answer->before, &answer->baseline, answer->changer);
}

void record_ruled(const char *path, const struct rule_answer *answer)
{
	struct journal_record record = journal_blank(JOURNAL_RULED);
	const char *rule = rule_name(&shim.segment, answer->rule);

	if (!shim.records)
		return;
	record.path = text_of(path, &record.marks);
	record.other_path = journal_text(&shim.journal, rule, strlen(rule), may_grow());
	record.decision = (uint8_t)answer->action;
	record.flags = answer->op;
	record.head.error = answer->action == RULE_ACTION_DENY ? EACCES : 0;
	(void)append(&record, NULL, 0);
}

void record_edited(const char *path, const struct version *before, const struct version *after,
		   enum source source)
{
	struct journal_record record = journal_blank(JOURNAL_EDITED);

	if (!shim.records || !is_wanted(true, AT_FDCWD, path))
		return;
	record.decision = (uint8_t)source;
	record.amount = after->size_bytes;
	append_versions(&record, path, before, after, 0);
}

void record_request(enum decision decision, uint64_t amount, uint32_t inputs)
{
	struct journal_record record = journal_blank(JOURNAL_REQUEST);

	if (!shim.records || !path_is_recorded(&shim.segment, false, NULL))
		return;
	record.decision = (uint8_t)decision;
	record.amount = amount;
	record.count = inputs;
	(void)append(&record, NULL, 0);
}
