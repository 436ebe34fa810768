/* What this process does, for the journal: see record.h. */
#include "shim/preload/record.h"

#include <errno.h>
#include <string.h>

#include "shim/keep/scratch.h"
#include "shim/preload/append.h"
#include "shim/preload/descriptors.h"
#include "shim/preload/directory.h"
#include "shim/preload/memory.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

/* ---- texts ---- */

/* A filter of system calls gives any error without inspecting what a pointer points to: then it is
 * tried, where that may be. */
static bool is_trusted(const char *path)
{
	return !shim.sandboxed && (!shim.filtered || (path && launch_is_text(path)));
}

/* Did the kernel read the path before it failed with this error?  Only then is the pointer known to
 * be good. */
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

/* What a relative path is relative to, as records tell it (journal.h, `directory`). */
static uint32_t directory_of(int directory)
{
	if (in_vfork_child()) /* its directory and descriptors are its own */
		return 0;
	if (directory == AT_FDCWD)
		return change_directory_text();
	const struct descriptor *descriptor = descriptor_at(directory);
	return descriptor ? descriptor->opened : 0;
}

/* A path by another name of the workspace's root is recorded as one below the root.  Returns false
 * where it is no such path. */
static bool write_behind_alias(struct journal_record *record, const char *path)
{
	const char *rest = path_behind_alias(&shim.segment, path);

	if (!rest || !rest[strspn(rest, "/")])
		return false;
	const char *root = segment_text(&shim.segment, shim.segment.settings->paths_workspace,
					NULL);
	if (!root)
		return false;
	record->path = append_text(rest + strspn(rest, "/"), &record->marks);
	record->directory = append_text(root, &record->marks);
	record->directory_fd = AT_FDCWD;
	return true;
}

/* The same of a name whose directory has no place in the record: written whole, into scratch.
 * NULL: it is no such path. */
static char *without_alias(const char *path)
{
	if (path[0] != '/' || !path_behind_alias(&shim.segment, path))
		return NULL;
	size_t bytes = strnlen(path, SEGMENT_PATH_BYTES) + 1;
	char *real = bytes <= SEGMENT_PATH_BYTES ? scratch_acquire() : NULL;
	if (real) {
		memcpy(real, path, bytes);
		path_use_root(&shim.segment, real, SEGMENT_PATH_BYTES);
	}
	return real;
}

static void write_path(struct journal_record *record, int directory, const char *path)
{
	if (path[0] == '/' &&
	    __builtin_expect(
		    __atomic_load_n(&shim.segment.header->aliases[0], __ATOMIC_RELAXED) != 0, 0) &&
	    write_behind_alias(record, path))
		return;
	record->path = append_text(path, &record->marks);
	record->directory_fd = directory;
	if (path[0] != '/')
		record->directory = directory_of(directory);
}

/* Is an access to be recorded, by level and by the globs of [journal] exclude?  A path that is not
 * known is. */
static bool is_wanted_here(bool writes, int directory, const char *path)
{
	const struct settings *settings = shim.segment.settings;
	bool wanted = path_is_recorded(&shim.segment, writes, NULL);

	if (!wanted || !path || strnlen(path, SEGMENT_PATH_BYTES) == SEGMENT_PATH_BYTES ||
	    (settings->journal_level != JOURNAL_LEVEL_WORKSPACE &&
	     !settings->journal_exclude.count))
		return wanted;
	char *normal = scratch_acquire();
	if (normal && change_path(directory, path, normal, SEGMENT_PATH_BYTES) >= 0)
		wanted = path_is_recorded(&shim.segment, writes, normal);
	scratch_release(normal);
	return wanted;
}

static inline bool is_wanted(bool writes, int directory, const char *path)
{
	if (__builtin_expect(shim.records_all, 1))
		return true;
	return is_wanted_here(writes, directory, path);
}

/* Memory that may not be there: what the caller hands to exec, where a wrong pointer has to give
 * EFAULT. */
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

/* ---- the process ---- */

static void start_process(struct journal_record *record, pid_t parent, uint32_t starter)
{
	append_thread = shim.pid;
	struct encoder encoder = append_encoder();
	record->process = encoder.process;
	record->tid = encoder.tid;
	record->marks |= encoder.marks;
	shim.record = encode_process(&encoder, record, &shim.request.context, shim.role,
				     shim.process, shim.pid, parent, starter);
}

void record_fork(void)
{
	struct journal_record record = journal_blank(JOURNAL_FORK);
	uint32_t starter = shim.record;

	if (!shim.records)
		return;
	descriptor_fork();
	record.directory = change_directory_text();
	start_process(&record, shim.fork_parent, starter);
}

void record_exit(int status)
{
	struct journal_record record = journal_blank(JOURNAL_EXIT);

	if (!shim.records)
		return;
	descriptor_closing(0, UINT32_MAX);
	record.amount = (uint32_t)status & 0xff; /* what waitpid(2) will tell */
	(void)append_record(&record, NULL, 0);
}

void record_exec(int directory, const char *path, const char *arguments, size_t argument_bytes,
		 bool cut, struct process_ref process, pid_t pid)
{
	struct journal_record record = journal_blank(JOURNAL_EXEC);

	if (!shim.records)
		return;
	/* asked once: no child returns to the parent in here */
	if (in_vfork_child())
		shim_vforked.called = VFORK_CHILD;
	if (path[0]) {
		write_path(&record, directory, path);
	} else {
		const struct descriptor *file = in_vfork_child() ? NULL : descriptor_at(directory);
		record = descriptor_record(JOURNAL_EXEC, directory, file);
	}
	if (cut)
		record.marks |= JOURNAL_CUT;
	if (argument_bytes)
		record.other_path = journal_text(&shim.journal, arguments, argument_bytes,
						 append_may_grow());
	record.amount = process.serial;
	record.count = (uint32_t)pid;
	/* exec in place: what the standard descriptors were opened for goes with them. */
	struct journal_exec standard = { 0 };
	bool known = false;
	for (int fd = 0; pid && fd < JOURNAL_STANDARD; fd++) {
		const struct descriptor *descriptor = descriptor_standard(fd);
		if (!descriptor)
			continue;
		known = true;
		standard.standard[fd].path = descriptor->path;
		standard.standard[fd].directory = descriptor->directory;
		standard.standard[fd].directory_fd = descriptor->directory_fd;
	}
	uint32_t number = append_record(&record, known ? &standard : NULL,
					known ? sizeof(standard) : 0);
	process_set_record(&shim.segment, process, number);
	if (shim_vforked.called)
		shim_vforked.called = VFORK_CALLED;
}

/* What this program's standard descriptors were opened for by the one that stood in this process
 * before. */
static void inherit(void)
{
	struct journal_entry entry;
	uint64_t number = process_record(&shim.segment, shim.process);

	if (!number || journal_next(&shim.journal, &number, &entry) != JOURNAL_FOUND_RECORD ||
	    entry.record.head.op != JOURNAL_EXEC || entry.record.amount != shim.process.serial)
		return;
	for (int fd = 0; fd < JOURNAL_STANDARD; fd++) {
		struct descriptor as = { .start_bytes = DESCRIPTOR_NOT_WEIGHED,
					 .path = entry.exec.standard[fd].path,
					 .directory = entry.exec.standard[fd].directory,
					 .directory_fd = entry.exec.standard[fd].directory_fd };
		if (as.path)
			descriptor_follow(fd, &as);
	}
}

void record_start(const char *executable, char *const argv[])
{
	struct journal_record record = journal_blank(JOURNAL_START);

	if (!shim.records)
		return;
	shim.record = 0;
	write_path(&record, AT_FDCWD, executable);
	record.directory = change_directory_text();
	char words[512], *joined = words;
	bool cut = false;
	size_t used = record_join(argv, false, joined, sizeof(words), &cut);
	if (cut && (joined = scratch_acquire()) != NULL)
		used = record_join(argv, false, joined, SEGMENT_PATH_BYTES, &cut);
	if (joined)
		record.other_path = journal_text(&shim.journal, joined, used, append_may_grow());
	if (cut)
		record.marks |= JOURNAL_CUT;
	scratch_release(joined);
	if (!(shim.request.context.flags & CONTEXT_ATTACHED))
		record.marks |= JOURNAL_UNATTACHED;
	start_process(&record, sys_getppid(), 0);
	inherit();
}

void record_exec_failed(uint64_t serial, int error)
{
	struct journal_record record = journal_blank(JOURNAL_EXEC_FAILED);

	if (!shim.records)
		return;
	record.head.error = (uint16_t)error;
	record.amount = serial;
	(void)append_record(&record, NULL, 0);
}

/* ---- names ---- */

/* The beginning of a record of a call that was given a name.  path: becomes NULL where it was not
 * read.  Returns false when the call is not recorded. */
static bool start_name(struct journal_record *record, bool failed, bool writes, int directory,
		       const char **path)
{
	if (failed)
		record->head.error = (uint16_t)errno;
	if (!was_path_read(record->head.error, *path))
		*path = NULL;
	if (!is_wanted(writes, directory, *path))
		return false;
	if (*path)
		write_path(record, directory, *path);
	return true;
}

void record_name(enum journal_op op, bool failed, int directory, const char *path, uint32_t flags,
		 uint64_t amount)
{
	struct journal_record record = journal_blank(op);

	if (!shim.records)
		return;
	if (!start_name(&record, failed, true, directory, &path))
		return;
	record.flags = flags;
	record.amount = amount;
	(void)append_record(&record, NULL, 0);
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
		write_path(&record, directory, path);
	if (other) {
		char *real = op != JOURNAL_SYMLINK ? without_alias(other) : NULL;
		record.other_path = append_text(real ? real : other, &record.marks);
		scratch_release(real);
		if (op != JOURNAL_SYMLINK && other[0] != '/')
			record.amount = directory_of(other_directory);
	}
	record.fd = other_directory;
	record.flags = flags;
	(void)append_record(&record, NULL, 0);
}

/* ---- opening, reading, writing ---- */

/* The file's size, as it was opened for writing. */
static void note_size(int fd, uint64_t size_bytes)
{
	if ((unsigned)fd >= DESCRIPTORS_MAX || size_bytes >= DESCRIPTOR_NOT_WEIGHED ||
	    in_vfork_child())
		return;
	descriptor_table[fd].start_bytes = (uint32_t)size_bytes;
	descriptor_table[fd].starts = shim_starts();
}

/* The same for whatever is special. */
static __attribute__((noinline)) void opened_by_any(int fd, int directory, const char *path,
						    int flags, const struct open_facts *facts)
{
	struct journal_record record = journal_blank(JOURNAL_OPEN);

	if (!shim.records)
		return;
	if ((unsigned)fd < DESCRIPTORS_MAX && !in_vfork_child())
		__atomic_store_n(&descriptor_table[fd].state, 0, __ATOMIC_RELAXED);
	if (!start_name(&record, fd < 0, encode_open_writes((uint32_t)flags), directory, &path))
		return;
	record.fd = fd;
	record.flags = (uint32_t)flags;
	if (facts && facts->is_decided)
		encode_decision(&record, facts->decision, facts->reason);
	if (facts)
		record.marks |= facts->marks;
	bool details = facts && facts->is_known;
	uint32_t number = append_record(&record, details ? &facts->details : NULL,
					details ? sizeof(facts->details) : 0);
	if (fd < 0)
		return;
	if (path)
		descriptor_follow_opened(fd, number, &record);
	if (path && facts && facts->is_weighed)
		note_size(fd, facts->size_bytes);
	if (facts && facts->is_decided && facts->decision != DECISION_CONTENT) {
		struct encoder encoder = append_encoder();
		encode_answer(&encoder, &record, details ? &facts->details : NULL,
			      facts->bytes_saved);
	}
}

void record_opened(int fd, int directory, const char *path, int flags,
		   const struct open_facts *facts)
{
	struct journal_record record;

	if (fd < 0 || !path || facts || !shim.records || !shim.records_all ||
	    !append_is_known_thread()) {
		opened_by_any(fd, directory, path, flags, facts);
		return;
	}
	record = journal_blank(JOURNAL_OPEN);
	write_path(&record, directory, path);
	record.fd = fd;
	record.flags = (uint32_t)flags;
	uint32_t number = append_record(&record, NULL, 0);
	descriptor_follow_opened(fd, number, &record);
}

void record_answered(int fd, const struct open_facts *facts)
{
	struct descriptor *descriptor = descriptor_at(fd);

	if (!descriptor || facts->decision == DECISION_CONTENT || in_vfork_child())
		return;
	struct encoder encoder = append_encoder();
	struct journal_record record = descriptor_record(JOURNAL_NONE, fd, descriptor);
	record.process = encoder.process;
	record.tid = encoder.tid;
	encode_decision(&record, facts->decision, facts->reason);
	encode_answer(&encoder, &record, &facts->details, facts->bytes_saved);
}

void record_listed(int fd, bool failed, int directory, const char *path, uint16_t marks)
{
	struct journal_record record = journal_blank(JOURNAL_LIST);

	if (!shim.records)
		return;
	if (!start_name(&record, failed, false, directory, &path))
		return;
	record.marks |= marks;
	record.fd = fd;
	uint32_t number = append_record(&record, NULL, 0);
	if (fd >= 0 && path)
		descriptor_follow_opened(fd, number, &record);
}

void record_planned(int fd, const char *path, int flags)
{
	struct journal_record record = journal_blank(JOURNAL_OPEN);

	if (!shim.records || !is_wanted(encode_open_writes((uint32_t)flags), AT_FDCWD, path))
		return;
	write_path(&record, AT_FDCWD, path);
	record.fd = fd;
	record.flags = (uint32_t)flags;
	record.marks |= JOURNAL_PLANNED;
	(void)append_record(&record, NULL, 0);
}

void record_descriptor(enum journal_op op, bool failed, int fd, uint32_t flags, uint64_t amount)
{
	if (!shim.records)
		return;
	const struct descriptor *descriptor = in_vfork_child() ? NULL : descriptor_at(fd);
	/* One that was opened outside of what is wanted is no less so here. */
	if (!descriptor && !shim.records_all && op != JOURNAL_CHDIR)
		return;
	struct journal_record record = descriptor_record(op, fd, descriptor);
	if (failed)
		record.head.error = (uint16_t)errno;
	record.flags = flags;
	record.amount = amount;
	(void)append_record(&record, NULL, 0);
}

uint32_t record_path(const char *path)
{
	uint16_t marks = 0;
	return shim.records && is_wanted(false, AT_FDCWD, path) ? append_text(path, &marks) : 0;
}

/* ---- what is recorded of a file ---- */

void record_delivery(enum journal_op op, uint32_t path, const struct journal_details *details)
{
	struct encoder encoder;

	if (!path)
		return;
	encoder = append_encoder();
	encode_delivery(&encoder, op, path, details);
}

void record_instructed(uint64_t scope_id, const struct injected *injected)
{
	struct encoder encoder;

	if (!injected->text)
		return;
	encoder = append_encoder();
	encode_instructed(&encoder, scope_id, injected);
}

void record_guarded(const char *path, const struct guard_answer *answer)
{
	struct encoder encoder;

	if (!shim.records || !is_wanted(true, AT_FDCWD, path))
		return;
	encoder = append_encoder();
	encode_guarded(&encoder, path, answer);
}

void record_edited(const char *path, const struct version *before, const struct version *after,
		   enum source source)
{
	struct encoder encoder;

	if (!shim.records || !is_wanted(true, AT_FDCWD, path))
		return;
	encoder = append_encoder();
	encode_edited(&encoder, path, before, after, source);
}

void record_ruled(const char *path, const struct rule_answer *answer)
{
	if (!shim.records)
		return;
	struct encoder encoder = append_encoder();
	struct journal_record record = encode_blank(&encoder, JOURNAL_RULED);
	record.path = encode_text(&encoder, path, &record.marks);
	encode_ruled(&encoder, &record, answer);
}

void record_request(enum decision decision, uint64_t amount, uint32_t inputs)
{
	struct journal_record record = journal_blank(JOURNAL_REQUEST);

	if (!shim.records || !path_is_recorded(&shim.segment, false, NULL))
		return;
	record.decision = (uint8_t)decision;
	record.amount = amount;
	record.count = inputs;
	(void)append_record(&record, NULL, 0);
}
