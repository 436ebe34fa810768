/*
 * The guard inside a process: calls that may destroy something are looked at before they are made (tracker/guard.h), and what came
 * of them is recorded when the file is closed.
 *
 * Only paths that the guard is concerned with cost more than a look into the tables; for these a file is opened, hashed, copied.
 * A path is read before the call here: where the caller's memory is not there, the call is left alone.
 *
 * A descriptor's entry is believed only while it still is the file that was opened.  Copies of a descriptor share an opening: the
 * change is complete when the last of them is closed.  Where that cannot be told (a program was started that may have it, it is
 * mapped, the process was killed) the write stays unfinished, which is never taken for somebody else's change.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "shim/preload/record.h"
#include "shim/preload/shim.h"
#include "tracker/baseline.h"
#include "tracker/capture.h"
#include "tracker/chunk.h"
#include "tracker/contents.h"
#include "tracker/file.h"
#include "tracker/path.h"
#include "tracker/sys.h"

enum {
	DESCRIPTORS = 1024,
	TAIL_BYTES = SEGMENT_NONCE_BYTES - 1,
};

enum state {
	WRITE_NONE,
	WRITE_TAKEN, /* somebody fills it in, or takes it out */
	WRITE_OPEN,
};

enum marks {
	MARK_STREAM = 1,    /* libc writes, also after the process's exit handlers */
	MARK_INHERITED = 2, /* fork's parent, or another image, opened it */
	MARK_MAPPED = 4,
	MARK_CHECKS = 8,    /* a notice written to it is refused */
	MARK_KEPT = 16,     /* `before` is in the content store */
	MARK_NEW = 32,      /* there was nothing before */
	MARK_REFUSED = 64,  /* a notice was: nothing is written by this opening any more */
	MARK_TOUCHED = 256, /* something was destroyed by it, or written */
	MARK_REST =
		128, /* somebody else opened it: what is behind `start_bytes` is this program's */
};

enum { REFUSED_MAX = 16 };

/* A descriptor that this process writes to a file by. */
static struct write_entry {
	uint32_t state;
	uint32_t tail_bytes;
	struct opening opening;
	char tail[TAIL_BYTES]; /* the last bytes written: a nonce may come in two parts */
} entries[DESCRIPTORS];
unsigned writes_entries; /* from here on none was ever used */
static uint32_t starts;  /* programs that this process started */

/* Files that a notice was refused for, and that nothing was written to since: half of something may be in them. */
static struct refused {
	uint64_t dev, ino; /* ino 0: none */
	uint64_t until_ns; /* it is not removed before: by a program that takes its file for half written (libuv) */
} refused[REFUSED_MAX];
static uint32_t refused_count;

static struct guard_writer writer(void)
{
	return (struct guard_writer){
		.scope_id = shim.scope_id,
		.serial = shim.process.serial,
		.context = &shim.request.context,
		.role = shim.role,
		/* Most programs that copy open both files before they read. */
		.answered = shim.answered || shim.answers_own,
	};
}

/* Is this call to be looked at, and may a path be read? */
static bool may_look(const char *path)
{
	return shim.guards && !shim.sandboxed && path && !in_vfork_child() && launch_is_text(path);
}

/* ---- looking ---- */

/* By which descriptors this process set locks, of files that it may have closed since. */
static uint64_t locked[DESCRIPTORS / 64];
static bool locked_more; /* by others, too */

void writes_locked(int fd)
{
	if ((unsigned)fd >= DESCRIPTORS)
		locked_more = true;
	else if (!in_vfork_child())
		(void)__atomic_fetch_or(&locked[fd / 64], UINT64_C(1) << fd % 64, __ATOMIC_RELAXED);
}

/* To open and close the file would give up the process's locks on it. */
static bool may_be_locked(const struct stat *file)
{
	struct stat stat;

	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		uint64_t word = __atomic_load_n(&locked[fd / 64], __ATOMIC_RELAXED);
		if (!word)
			fd |= 63;
		else if ((word >> fd % 64 & 1) && sys_fstat(fd, &stat) == 0 &&
			 stat.st_dev == file->st_dev && stat.st_ino == file->st_ino)
			return true;
	}
	return locked_more;
}

/* Opens a file to be read only, without leaving a trace.  Nothing but a regular file is opened at all: others notice.
 * Returns a descriptor or a negative errno; -EINVAL for another kind of file; -EBUSY for one that this process has locked. */
static int open_to_look(int directory, const char *path, bool follows)
{
	struct stat stat;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follows ? 0 : O_NOFOLLOW);

	long error = sys_call6(SYS_newfstatat, directory, (long)path, (long)&stat,
			       follows ? 0 : AT_SYMLINK_NOFOLLOW, 0, 0);
	if (error < 0)
		return (int)error;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	if (may_be_locked(&stat))
		return -EBUSY;
	int fd = (int)sys_call6(SYS_openat, directory, (long)path, flags | O_NOATIME, 0, 0, 0);
	if (fd == -EPERM)
		fd = (int)sys_call6(SYS_openat, directory, (long)path, flags, 0, 0, 0);
	return fd;
}

/* Tells the agent, where it reads what its commands say: never into data, never so that somebody has to wait or is sent a
 * signal. */
static void say(const struct guard_answer *answer, const char *path)
{
	enum { STDERR = 2 };
	struct pollfd writable = { .fd = STDERR, .events = POLLOUT };
	struct timespec at_once = { 0, 0 };
	struct stat stat;

	if (shim.role == ROLE_AGENT || sys_fstat(STDERR, &stat) < 0 ||
	    !capture_is_errors(&shim.segment, &shim.request.context, &stat) ||
	    sys_call6(SYS_ppoll, (long)&writable, 1, (long)&at_once, 0, 0, 0) != 1 ||
	    writable.revents != POLLOUT)
		return;
	char *line = scratch_take();
	size_t length = line ? guard_say(&shim.segment, answer, path, line, SEGMENT_PATH_BYTES) : 0;
	if (length && S_ISSOCK(stat.st_mode))
		(void)sys_call6(SYS_sendto, STDERR, (long)line, (long)length,
				MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
	else if (length &&
		 (!S_ISREG(stat.st_mode) || sys_may_be_this_large((uint64_t)stat.st_size + length)))
		(void)sys_write(STDERR, line, length);
	scratch_give(line);
}

static void end_plan(struct plan *plan)
{
	scratch_give(plan->path);
	plan->path = NULL;
}

/* Before the call, so that one that is killed behind it is not taken for a stranger's. */
static void announce(const struct plan *plan)
{
	struct guard_writer self = writer();
	guard_begin(&shim.segment, &self, plan->path, &plan->answer);
}

/* The call failed. */
static void take_back(const struct plan *plan)
{
	struct guard_writer self = writer();
	guard_cancel(&shim.segment, &self, plan->answer.file_key);
}

/* What the answer means for the call.  False: it fails. */
static bool obey(struct plan *plan)
{
	const struct guard_answer *answer = &plan->answer;

	if (answer->verdict != GUARD_PASS) {
		say(answer, plan->path);
		record_guarded(plan->path, answer);
	}
	if (answer->verdict != GUARD_DENY) {
		announce(plan);
		return true;
	}
	errno = -answer->error;
	end_plan(plan);
	return false;
}

/* Names of descriptors at the beginning of a path (/proc/self/fd/N): what stands behind it, or NULL. */
static const char *behind_descriptor(const char *path, int *ret_fd)
{
	static const char *const beginnings[] = { "/proc/self/fd/", "/dev/fd/",
						  "/proc/thread-self/fd/" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		size_t length = strlen(beginnings[i]);
		if (strncmp(path, beginnings[i], length) != 0)
			continue;
		const char *at = path + length;
		int fd = 0, digits = 0;
		for (; *at >= '0' && *at <= '9' && digits < 9; at++, digits++)
			fd = 10 * fd + *at - '0';
		*ret_fd = fd;
		return digits && (*at == '\0' || *at == '/') ? at : NULL;
	}
	return NULL;
}

/* An absolute, normalized path.  Where a descriptor leads the kernel is asked. */
static bool resolve(int directory, const char *path, char *ret_path)
{
	const char *rest = behind_descriptor(path, &directory);

	if (rest) {
		/* Some programs (claude's writer) name a file by the descriptor of its folder. */
		path = rest + strspn(rest, "/");
	} else if (path[0] == '/' || directory == AT_FDCWD) {
		return change_path(directory, path, ret_path, SEGMENT_PATH_BYTES) >= 0;
	}
	char *folder = scratch_take();
	bool found = folder &&
		     subject_link(SUBJECT_SELF, directory, folder, SEGMENT_PATH_BYTES) > 0 &&
		     folder[0] == '/' &&
		     path_normalize(folder, path, ret_path, SEGMENT_PATH_BYTES) > 0;
	scratch_give(folder);
	return found;
}

/* Is a path one that concerns the guard?  Then ret_plan->path is that path. */
static bool begin_plan(int directory, const char *path, struct plan *ret_plan)
{
	struct guard_writer self = writer();
	char *normal;

	ret_plan->path = NULL;
	ret_plan->holds = false;
	if (!guard_may_concern(&shim.segment, &self, NULL) || !may_look(path) ||
	    !guard_may_concern(&shim.segment, &self, path))
		return false;
	normal = scratch_take();
	if (!normal) {
		segment_count(&shim.segment, COUNTER_unguarded, 1);
		return false;
	}
	if (!resolve(directory, path, normal) || !guard_concerns(&shim.segment, &self, normal)) {
		scratch_give(normal);
		return false;
	}
	ret_plan->path = normal;
	return true;
}

static void note_refused(const struct stat *stat, bool has_content)
{
	uint32_t place = __atomic_fetch_add(&refused_count, 1, __ATOMIC_RELAXED) % REFUSED_MAX;
	uint64_t burst_ns = shim.segment.settings->notice_burst_ms * 1000000u;

	__atomic_store_n(&refused[place].until_ns, has_content ? sys_boottime_ns() + burst_ns : 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&refused[place].dev, stat->st_dev, __ATOMIC_RELAXED);
	__atomic_store_n(&refused[place].ino, stat->st_ino, __ATOMIC_RELAXED);
}

enum asks { ASKS, ASKS_TO_REMOVE, FORGETS };

/* Was a notice refused for the file?  FORGETS: it is being written anew. */
static bool was_refused(const struct stat *stat, enum asks asks)
{
	bool was = false;

	if (!__atomic_load_n(&refused_count, __ATOMIC_RELAXED))
		return false;
	for (int i = 0; i < REFUSED_MAX; i++) {
		if (__atomic_load_n(&refused[i].ino, __ATOMIC_RELAXED) != stat->st_ino ||
		    __atomic_load_n(&refused[i].dev, __ATOMIC_RELAXED) != stat->st_dev)
			continue;
		was = was || asks != ASKS_TO_REMOVE ||
		      __atomic_load_n(&refused[i].until_ns, __ATOMIC_RELAXED) > sys_boottime_ns();
		if (asks == FORGETS)
			__atomic_store_n(&refused[i].ino, 0, __ATOMIC_RELAXED);
	}
	return was;
}

/* A notice would be found under the plan's name, or what was put back not found there. */
static bool refuse_name(struct plan *plan)
{
	plan->answer.verdict = GUARD_DENY;
	plan->answer.reason = GUARD_NOTICE;
	plan->answer.error = -EIO;
	return obey(plan);
}

/* A program that could not write removes what it takes for half of something. */
static bool removes_refused(int directory, const char *path)
{
	struct stat stat;
	return __atomic_load_n(&refused_count, __ATOMIC_RELAXED) &&
	       sys_call6(SYS_newfstatat, directory, (long)path, (long)&stat, AT_SYMLINK_NOFOLLOW, 0,
			 0) == 0 &&
	       was_refused(&stat, ASKS_TO_REMOVE);
}

/* Looks at what is there now, and decides. */
static bool look(enum guard_kind kind, int directory, const char *path, bool follows,
		 struct plan *plan)
{
	struct guard_writer self = writer();
	int fd = open_to_look(directory, path, follows);

	if (fd == -EINVAL || fd == -ELOOP) { /* a folder, a device, a link */
		end_plan(plan);
		return true;
	}
	guard_look(&shim.segment, &self, plan->path, fd, kind, &plan->answer);
	if (fd >= 0)
		(void)sys_close(fd);
	if (plan->answer.reason == GUARD_UNREADABLE || !plan->answer.file_key) {
		end_plan(plan);
		return true;
	}
	return obey(plan);
}

/* A file that is to be emptied is looked at by the descriptor that is to be given, when there is one.  False: there is a device, a folder,
 * something that is locked. */
static bool begin_to_hold(int directory, const char *path, int flags, struct plan *plan)
{
	struct stat stat;
	long error = sys_call6(SYS_newfstatat, directory, (long)path, (long)&stat,
			       flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0, 0, 0);

	plan->is_new = error == -ENOENT;
	plan->answer = (struct guard_answer){
		.kind = GUARD_REPLACES,
		.file_key = path_key(&shim.segment, plan->path),
	};
	if (error < 0 && !plan->is_new)
		return false;
	if (error == 0 && (!S_ISREG(stat.st_mode) || may_be_locked(&stat)))
		return false;
	plan->holds = true;
	return true;
}

bool plan_open(int directory, const char *path, int flags, bool holds, struct plan *ret_plan)
{
	enum guard_kind kind = flags & O_TRUNC    ? GUARD_REPLACES
			       : flags & O_APPEND ? GUARD_APPENDS
						  : GUARD_WRITES;

	if (!begin_plan(directory, path, ret_plan))
		return true;
	if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_PATH | O_DIRECTORY)) ||
	    (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		/* There must be nothing, or the call fails. */
		ret_plan->answer = (struct guard_answer){
			.reason = GUARD_NEW,
			.knows = GUARD_KNEW | GUARD_WHOLE,
			.file_key = path_key(&shim.segment, ret_plan->path),
		};
		if (flags & (O_PATH | O_DIRECTORY))
			end_plan(ret_plan);
		else
			announce(ret_plan);
		return true;
	}
	if (kind == GUARD_REPLACES && holds && (flags & O_ACCMODE) != O_RDONLY) {
		if (!begin_to_hold(directory, path, flags, ret_plan))
			end_plan(ret_plan);
		return true;
	}
	return look(kind, directory, path, !(flags & O_NOFOLLOW), ret_plan);
}

bool plan_change(enum guard_kind kind, int directory, const char *path, bool follows,
		 struct plan *ret_plan)
{
	if (!begin_plan(directory, path, ret_plan))
		return true;
	if (kind == GUARD_UNNAMES && removes_refused(directory, path))
		return refuse_name(ret_plan);
	return look(kind, directory, path, follows, ret_plan);
}

/* Is the file one that a notice is refused for? */
static bool is_kept_clean(uint64_t key)
{
	struct file_slot file;
	return shim.answered ||
	       (file_find(&shim.segment, key, &file) == 0 && (file.flags & FILE_HAS_BASELINE));
}

/* Looks at what is about to take the place of the file that the plan is about.  False: it carries a notice, or would
 * have if that had not been refused. */
static bool look_at_source(int directory, const char *path, bool follows, struct plan *plan)
{
	struct guard_writer self = writer();
	bool has_nonce = false;
	struct stat stat;
	int fd = open_to_look(directory, path, follows);

	plan->source = (struct version){ 0 };
	plan->source_key = 0;
	if (fd < 0)
		return true;
	if (guard_scan(&shim.segment, fd, &plan->source, &has_nonce) < 0)
		plan->source = (struct version){ 0 };
	has_nonce = has_nonce || (sys_fstat(fd, &stat) == 0 && was_refused(&stat, ASKS));
	(void)sys_close(fd);
	char *normal = scratch_take();
	if (normal && resolve(directory, path, normal) &&
	    guard_concerns(&shim.segment, &self, normal))
		plan->source_key = path_key(&shim.segment, normal);
	scratch_give(normal);
	return !has_nonce;
}

bool plan_name(int directory, const char *path, bool follows, int other_directory,
	       const char *other, struct plan *ret_plan)
{
	if (!begin_plan(other_directory, other, ret_plan))
		return true;
	ret_plan->answer = (struct guard_answer){
		.reason = GUARD_NEW,
		.knows = GUARD_KNEW | GUARD_WHOLE,
		.file_key = path_key(&shim.segment, ret_plan->path),
	};
	if (!launch_is_text(path)) {
		end_plan(ret_plan);
		return true;
	}
	bool is_clean = look_at_source(directory, path, follows, ret_plan) ||
			!is_kept_clean(ret_plan->answer.file_key);
	if (is_clean)
		return true;
	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	return refuse_name(ret_plan);
}

bool plan_rename(int directory, const char *path, int other_directory, const char *other,
		 struct plan *ret_plan)
{
	if (!begin_plan(other_directory, other, ret_plan))
		return true;
	if (!launch_is_text(path)) {
		end_plan(ret_plan);
		return true;
	}
	struct stat source;
	if (sys_call6(SYS_newfstatat, directory, (long)path, (long)&source, AT_SYMLINK_NOFOLLOW, 0,
		      0) < 0) {
		end_plan(ret_plan); /* the call will say so */
		return true;
	}
	bool is_clean = look_at_source(directory, path, false, ret_plan) ||
			!is_kept_clean(path_key(&shim.segment, ret_plan->path));
	int fd = open_to_look(other_directory, other, false);
	struct guard_writer self = writer();
	if (fd == -EINVAL || fd == -ELOOP) {
		end_plan(ret_plan);
		return true;
	}
	if (is_clean || fd == -ENOENT) {
		guard_look(&shim.segment, &self, ret_plan->path, fd, GUARD_UNNAMES,
			   &ret_plan->answer);
	} else {
		ret_plan->answer = (struct guard_answer){
			.file_key = path_key(&shim.segment, ret_plan->path),
		};
	}
	if (fd >= 0)
		(void)sys_close(fd);
	if (is_clean && !ret_plan->answer.file_key) {
		end_plan(ret_plan);
		return true;
	}
	if (is_clean)
		return obey(ret_plan);
	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	return refuse_name(ret_plan);
}

/* ---- what came of it ---- */

static void complete(uint64_t key, const char *path, const struct version *before,
		     const struct version *now, uint32_t knows)
{
	struct guard_writer self = writer();

	if (version_equal(before, now)) {
		guard_cancel(&shim.segment, &self, key);
		return;
	}
	guard_end(&shim.segment, &self, key, now, knows);
	if (path)
		record_edited(path, before, now, guard_source(self.context, self.role));
}

void plan_changed(struct plan *plan, int error)
{
	struct version now = { 0 };
	int saved_errno = errno;

	if (!plan->path)
		return;
	if (error == 0 && plan->answer.kind == GUARD_WRITES) { /* set to another size */
		bool has_nonce;
		int fd = open_to_look(AT_FDCWD, plan->path, true);
		if (fd >= 0) {
			if (guard_scan(&shim.segment, fd, &now, &has_nonce) == 0)
				complete(plan->answer.file_key, plan->path, &plan->answer.before,
					 &now, plan->answer.knows);
			(void)sys_close(fd);
		}
	} else if (error == 0) {
		complete(plan->answer.file_key, plan->path, &plan->answer.before, &now,
			 plan->answer.knows);
	} else {
		take_back(plan);
	}
	end_plan(plan);
	errno = saved_errno;
}

void plan_renamed(struct plan *plan, int error)
{
	const struct version none = { 0 };

	if (!plan->path)
		return;
	if (error == 0 && !version_is_none(&plan->source)) {
		struct guard_writer self = writer();
		/* A new file has to be on record. */
		guard_begin(&shim.segment, &self, plan->path, &plan->answer);
		complete(plan->answer.file_key, plan->path, &plan->answer.before, &plan->source,
			 plan->answer.knows);
		if (plan->source_key)
			complete(plan->source_key, NULL, &plan->source, &none, GUARD_KNEW);
	} else if (error != 0) {
		take_back(plan);
	}
	end_plan(plan);
}

static struct write_entry *entry_of(int fd)
{
	if ((unsigned)fd >= DESCRIPTORS ||
	    (unsigned)fd >= __atomic_load_n(&writes_entries, __ATOMIC_RELAXED))
		return NULL;
	struct write_entry *entry = &entries[fd];
	return __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) == WRITE_OPEN ? entry : NULL;
}

/* Fills in an entry.  What stood there before has gone unheard. */
static void put_entry(int fd, const struct opening *opening)
{
	if ((unsigned)fd >= DESCRIPTORS)
		return;
	struct write_entry *entry = &entries[fd];
	if (__atomic_exchange_n(&entry->state, WRITE_TAKEN, __ATOMIC_ACQ_REL) == WRITE_TAKEN)
		return;
	entry->opening = *opening;
	entry->tail_bytes = 0;
	unsigned end = __atomic_load_n(&writes_entries, __ATOMIC_RELAXED);
	while (end <= (unsigned)fd &&
	       !__atomic_compare_exchange_n(&writes_entries, &end, (unsigned)fd + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_store_n(&entry->state, WRITE_OPEN, __ATOMIC_RELEASE);
}

static void drop_entry(int fd)
{
	if ((unsigned)fd < DESCRIPTORS)
		__atomic_store_n(&entries[fd].state, WRITE_NONE, __ATOMIC_RELEASE);
}

/* Is the entry's file still what the descriptor is open for? */
static bool is_same_file(int fd, const struct opening *opening)
{
	struct stat stat;
	return sys_fstat(fd, &stat) == 0 && stat.st_dev == opening->dev &&
	       stat.st_ino == opening->ino;
}

static int reopen(int fd, int flags);

int plan_emptied(struct plan *plan, int fd)
{
	struct guard_writer self = writer();
	int saved_errno = errno, error = 0;
	struct stat stat;

	if (!plan->path || !plan->holds || fd < 0)
		return fd;
	plan->holds = false;
	if (sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)) {
		end_plan(plan);
		return fd;
	}
	if (plan->is_new && stat.st_size == 0) {
		plan->answer.reason = GUARD_NEW;
		plan->answer.knows = GUARD_KNEW | GUARD_WHOLE;
		announce(plan);
		return fd;
	}
	int readable = reopen(fd, O_RDONLY);
	guard_look(&shim.segment, &self, plan->path, readable, GUARD_REPLACES, &plan->answer);
	if (readable >= 0)
		(void)sys_close(readable);
	if (plan->answer.file_key && !obey(plan)) {
		error = errno;
	} else {
		/* To empty what is empty sets its times, by open(2). */
		error = (int)-(stat.st_size ? sys_ftruncate(fd, 0) : sys_utimensat(fd, NULL, NULL));
		if (error == EPERM && !stat.st_size)
			error = 0;
		if (error && plan->answer.file_key)
			take_back(plan);
		if (error)
			end_plan(plan);
	}
	if (error) {
		(void)sys_close(fd);
		errno = error;
		return -1;
	}
	if (plan->answer.reason == GUARD_UNREADABLE || !plan->answer.file_key)
		end_plan(plan);
	errno = saved_errno;
	return fd;
}

void plan_opened(struct plan *plan, int fd, int flags, bool stream)
{
	struct opening opening;
	struct stat stat;
	int saved_errno = errno;

	if (!plan->path)
		return;
	if (fd < 0)
		take_back(plan);
	if (fd >= 0 && sys_fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode)) {
		(void)was_refused(&stat, FORGETS);
		opening = (struct opening){
			.number = segment_serial(&shim.segment),
			.dev = stat.st_dev,
			.ino = stat.st_ino,
			.key = plan->answer.file_key,
			.before = plan->answer.before,
			.knows = plan->answer.knows,
			.marks = (stream ? MARK_STREAM : 0) | (plan->answer.kept ? MARK_KEPT : 0) |
				 (flags & O_APPEND ? 0 : MARK_CHECKS) |
				 (plan->answer.reason == GUARD_NEW ? MARK_NEW : 0) |
				 (flags & O_TRUNC ? MARK_TOUCHED : 0),
			.starts = __atomic_load_n(&starts, __ATOMIC_RELAXED),
		};
		put_entry(fd, &opening);
	}
	end_plan(plan);
	errno = saved_errno;
}

/* Opens the file of a descriptor once more, whatever that is open for. */
static int reopen(int fd, int flags)
{
	char path[PROC_PATH_BYTES];

	subject_path(SUBJECT_SELF, fd, path);
	flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int copy = sys_open(path, flags | O_NOATIME, 0);
	return copy == -EPERM ? sys_open(path, flags, 0) : copy;
}

/* What is about to be taken out of a file is kept: there may be more than a notice in it. */
static void keep_what_is_there(int fd)
{
	struct version kept;
	int readable = reopen(fd, O_RDONLY);
	char *path = scratch_take();

	if (readable >= 0 && path &&
	    subject_link(SUBJECT_SELF, readable, path, SEGMENT_PATH_BYTES) > 0)
		(void)contents_save(&shim.segment, readable, path, CONTENTS_DESTROYED, &kept);
	scratch_give(path);
	if (readable >= 0)
		(void)sys_close(readable);
}

/* fd: for writing. */
static int put_into(int fd, const struct opening *opening, uint64_t rest)
{
	if (opening->marks & (MARK_NEW | MARK_REST))
		return (int)sys_call3(SYS_ftruncate, fd, (long)rest, 0);
	return contents_restore(&shim.segment, &opening->before, fd);
}

/* Puts back what was there before the file was opened.  fd: for reading or writing. */
static bool put_back(int fd, const struct opening *opening)
{
	uint64_t rest = opening->marks & MARK_REST ? opening->start_bytes : 0;
	bool cuts = opening->marks & (MARK_NEW | MARK_REST);
	struct stat stat;

	if (sys_fstat(fd, &stat) < 0)
		return false;
	if (cuts && (uint64_t)stat.st_size <= rest)
		return true;
	if (!cuts && !(opening->marks & MARK_KEPT))
		return false;
	if (may_be_locked(&stat)) /* to open it and to close that would give the locks up */
		return put_into(fd, opening, rest) == 0;
	if (stat.st_size > 0)
		keep_what_is_there(fd);
	int writable = reopen(fd, O_WRONLY);
	if (writable < 0)
		return put_into(fd, opening, rest) == 0;
	int error = put_into(writable, opening, rest);
	(void)sys_close(writable);
	return error == 0;
}

/* A notice was about to be stored in a file, or was and has been taken out of it. */
static void note_refusal(int fd)
{
	struct guard_answer answer = { .verdict = GUARD_DENY,
				       .reason = GUARD_NOTICE,
				       .error = -EIO };
	char *path = scratch_take();

	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	if (path && subject_link(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0) {
		record_guarded(path, &answer);
		say(&answer, path);
	}
	scratch_give(path);
}

static bool may_check(const struct opening *opening)
{
	return (opening->marks & MARK_CHECKS) && is_kept_clean(opening->key);
}

/* Is a part of the tail and of what follows it the nonce? */
static bool meets_nonce(const struct write_entry *entry, const char *data, size_t size_bytes)
{
	char both[2 * TAIL_BYTES];
	size_t more = size_bytes < TAIL_BYTES ? size_bytes : TAIL_BYTES;

	memcpy(both, entry->tail, entry->tail_bytes);
	memcpy(both + entry->tail_bytes, data, more);
	return guard_has_nonce(&shim.segment, both, entry->tail_bytes + more);
}

static void keep_tail(struct write_entry *entry, const char *data, size_t size_bytes)
{
	if (size_bytes >= TAIL_BYTES) {
		memcpy(entry->tail, data + size_bytes - TAIL_BYTES, TAIL_BYTES);
		entry->tail_bytes = TAIL_BYTES;
		return;
	}
	size_t kept = entry->tail_bytes + size_bytes > TAIL_BYTES ? TAIL_BYTES - size_bytes
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
		if (!launch_is_readable((const void *)((uintptr_t)(at + offset) & ~(uintptr_t)7)))
			return false;
	return launch_is_readable((const void *)((uintptr_t)(at + size_bytes - 1) & ~(uintptr_t)7));
}

/* Nothing more is written by this opening, nor by copies of it: it would stand where there is something else now. */
static void close_opening(const struct opening *opening)
{
	unsigned end = __atomic_load_n(&writes_entries, __ATOMIC_RELAXED);

	for (unsigned fd = 0; fd < end; fd++)
		if (__atomic_load_n(&entries[fd].state, __ATOMIC_ACQUIRE) == WRITE_OPEN &&
		    entries[fd].opening.number == opening->number)
			(void)__atomic_fetch_or(&entries[fd].opening.marks, MARK_REFUSED,
						__ATOMIC_RELAXED);
}

static bool refuse(int fd, const struct opening *opening)
{
	struct stat stat;

	if (!is_same_file(fd, opening))
		return false;
	/* What others opened for this program goes on: it may be a log. */
	if (!(opening->marks & MARK_REST)) {
		/* Where nothing was done yet there is nothing to be put back. */
		bool is_back = !(opening->marks & (MARK_TOUCHED | MARK_MAPPED)) ||
			       put_back(fd, opening);
		close_opening(opening);
		if (sys_fstat(fd, &stat) == 0)
			note_refused(&stat, is_back && (opening->marks & MARK_KEPT));
		/* The process that this is a copy of shares the offset, and may go on. */
		if (is_back && (opening->marks & MARK_INHERITED))
			(void)sys_lseek(fd, 0, SEEK_END);
	}
	note_refusal(fd);
	errno = EIO;
	return true;
}

bool writes_refuses(int fd, const void *data, size_t size_bytes)
{
	struct write_entry *entry = entry_of(fd);

	if (!entry || shim.sandboxed || in_vfork_child() || !may_check(&entry->opening))
		return false;
	if ((entry->opening.marks & MARK_REFUSED) && is_same_file(fd, &entry->opening)) {
		errno = EIO;
		return true;
	}
	if (!is_memory(data, size_bytes))
		return false;
	if (guard_has_nonce(&shim.segment, data, size_bytes) ||
	    meets_nonce(entry, data, size_bytes))
		return refuse(fd, &entry->opening);
	keep_tail(entry, data, size_bytes);
	entry->opening.marks |= MARK_TOUCHED;
	return false;
}

bool writes_refuses_parts(int fd, const struct iovec *parts, int count)
{
	struct write_entry *entry = entry_of(fd);

	if (!entry || shim.sandboxed || in_vfork_child() || count <= 0 || count > IOV_MAX ||
	    !is_memory(parts, (size_t)count * sizeof(*parts)))
		return false;
	for (int i = 0; i < count; i++)
		if (parts[i].iov_len && writes_refuses(fd, parts[i].iov_base, parts[i].iov_len))
			return true;
	return false;
}

/* Is another descriptor of this process a copy of that one? */
static bool has_copy(int fd, uint64_t number)
{
	unsigned end = __atomic_load_n(&writes_entries, __ATOMIC_RELAXED);

	for (unsigned other = 0; other < end; other++)
		if (other != (unsigned)fd &&
		    __atomic_load_n(&entries[other].state, __ATOMIC_ACQUIRE) == WRITE_OPEN &&
		    entries[other].opening.number == number)
			return true;
	return false;
}

void writes_closing(int fd, struct closing *ret_closing)
{
	struct write_entry *entry = entry_of(fd);

	ret_closing->fd = -1;
	if (!entry || in_vfork_child())
		return;
	ret_closing->opening = entry->opening;
	const struct opening *opening = &ret_closing->opening;
	drop_entry(fd);
	/* Of others' openings it is only asked whether they got a notice from here. */
	bool tells = !(opening->marks & (MARK_INHERITED | MARK_MAPPED));
	bool looks = tells || ((opening->marks & (MARK_MAPPED | MARK_REST) || opening->stream ||
				shim.answered) &&
			       may_check(opening));
	if (looks && !has_copy(fd, opening->number) && !shim.sandboxed && is_same_file(fd, opening))
		ret_closing->fd = reopen(fd, O_RDONLY);
	ret_closing->shared = -1;
	if (ret_closing->fd >= 0 && (opening->marks & MARK_REST))
		ret_closing->shared = sys_fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Is there a nonce in what this program wrote behind what was there? */
static bool rest_has_nonce(int fd, uint64_t at)
{
	size_t carried = 0;
	bool found = false;
	char *chunk = chunk_take();

	for (ssize_t got = 1; chunk && !found && got > 0; at += (uint64_t)(got > 0 ? got : 0)) {
		got = sys_pread(fd, chunk + carried, CHUNK_BYTES - TAIL_BYTES, (off_t)at);
		size_t there = carried + (size_t)(got > 0 ? got : 0);
		found = guard_has_nonce(&shim.segment, chunk, there);
		carried = there < TAIL_BYTES ? there : TAIL_BYTES;
		memmove(chunk, chunk + there - carried, carried);
	}
	chunk_give(chunk);
	return found;
}

/* What the session made of the file. */
static int finish(int fd, const struct opening *opening)
{
	struct guard_writer self = writer();
	struct version now;
	bool has_nonce;
	int ret = 0;

	if (guard_scan(&shim.segment, fd, &now, &has_nonce) < 0)
		return 0;
	bool refuses = opening->marks & MARK_REFUSED;
	if (has_nonce && (opening->marks & MARK_REST))
		has_nonce = rest_has_nonce(fd, opening->start_bytes);
	if ((has_nonce || refuses) && may_check(opening) &&
	    !version_equal(&now, &opening->before)) {
		bool is_back = put_back(fd, opening);
		struct stat stat;
		if (!refuses)
			note_refusal(fd);
		if (sys_fstat(fd, &stat) == 0)
			note_refused(&stat, is_back && (opening->marks & MARK_KEPT));
		errno = EIO;
		ret = -1;
		if (is_back && (opening->marks & MARK_REST)) {
			(void)guard_scan(&shim.segment, fd, &now, &has_nonce);
		} else if (is_back && !(opening->marks & MARK_INHERITED)) {
			guard_cancel(&shim.segment, &self, opening->key);
			return ret;
		}
	}
	if (refuses) {
		errno = EIO; /* also where nothing came behind it */
		ret = -1;
	}
	if (opening->marks & (MARK_INHERITED | MARK_MAPPED))
		return ret;
	char *path = scratch_take();
	bool named = path && subject_link(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0;
	/* Removed, or another file has its name by now: what was told then stands. */
	struct stat own, there;
	bool leads = named && sys_fstat(fd, &own) == 0 && sys_stat(path, &there) == 0 &&
		     own.st_dev == there.st_dev && own.st_ino == there.st_ino;
	if (leads)
		complete(opening->key, path, &opening->before, &now, opening->knows);
	else
		guard_cancel(&shim.segment, &self, opening->key);
	scratch_give(path);
	if (!leads)
		return ret;
	/* Somebody who was started meanwhile may have it still: what comes then is no stranger's. */
	if (opening->starts != __atomic_load_n(&starts, __ATOMIC_RELAXED)) {
		struct guard_answer again = { .file_key = opening->key, .knows = opening->knows };
		guard_begin(&shim.segment, &self, "", &again);
	}
	return ret;
}

int writes_closed(struct closing *closing)
{
	if (closing->fd < 0)
		return 0;
	int saved_errno = errno;
	int ret = finish(closing->fd, &closing->opening);
	if (closing->shared >= 0) {
		/* What was cut off has moved the offset for all. */
		if (ret < 0)
			(void)sys_lseek(closing->shared, 0, SEEK_END);
		(void)sys_close(closing->shared);
	}
	(void)sys_close(closing->fd);
	closing->fd = -1;
	if (ret == 0)
		errno = saved_errno;
	return ret;
}

void writes_closing_many(unsigned first, unsigned last)
{
	unsigned end = __atomic_load_n(&writes_entries, __ATOMIC_RELAXED);

	for (unsigned fd = first; fd <= last && fd < end; fd++) {
		struct closing closing;
		writes_closing((int)fd, &closing);
		(void)writes_closed(&closing);
	}
}

void writes_duplicated(int fd, int copy)
{
	struct write_entry *entry = entry_of(fd);

	if (copy < 0 || fd == copy || in_vfork_child())
		return;
	if (entry) {
		struct opening opening = entry->opening;
		opening.stream = NULL;
		opening.marks &= ~(uint32_t)MARK_STREAM;
		put_entry(copy, &opening);
	} else if (entry_of(copy)) {
		drop_entry(copy);
	}
}

void writes_stream(int fd, void *stream)
{
	struct write_entry *entry = entry_of(fd);

	if (!entry || in_vfork_child())
		return;
	entry->opening.stream = stream;
	(void)__atomic_fetch_or(&entry->opening.marks, MARK_STREAM, __ATOMIC_RELAXED);
}

void writes_touched(int fd)
{
	struct write_entry *entry = entry_of(fd);
	if (entry && !in_vfork_child())
		entry->opening.marks |= MARK_TOUCHED;
}

void writes_mapped(int fd)
{
	struct write_entry *entry = entry_of(fd);
	if (entry && !in_vfork_child())
		entry->opening.marks |= MARK_MAPPED;
}

void writes_started(void)
{
	(void)__atomic_add_fetch(&starts, 1, __ATOMIC_RELAXED);
}

uint64_t writes_key(void)
{
	for (int fd = 1; fd <= 2; fd++) {
		const struct write_entry *entry = entry_of(fd);
		if (entry && !in_vfork_child())
			return entry->opening.key;
	}
	return 0;
}

/* What this program does with a file that is open when it begins.  Where it writes at the end of it, what was there
 * stays there whatever is refused. */
static void begin_with(int fd, const struct stat *stat, struct opening *opening)
{
	int flags = sys_fcntl(fd, F_GETFL, 0);

	opening->number = segment_serial(&shim.segment);
	opening->dev = stat->st_dev;
	opening->ino = stat->st_ino;
	opening->start_bytes = (uint64_t)stat->st_size;
	if (flags < 0 || (flags & O_APPEND))
		return;
	opening->marks |= MARK_CHECKS;
	if (sys_lseek(fd, 0, SEEK_CUR) == stat->st_size)
		opening->marks |= MARK_REST;
}

/* Looks at where a standard descriptor of this program leads that nobody told of.  Others are looked at when they are
 * opened. */
static void look_at_standard(int fd)
{
	struct guard_writer self = writer();
	struct opening opening = { .marks = MARK_INHERITED };
	struct stat stat;

	if (entry_of(fd) || sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode))
		return;
	char *path = scratch_take();
	if (path && subject_link(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0 &&
	    guard_concerns(&shim.segment, &self, path)) {
		opening.key = path_key(&shim.segment, path);
		begin_with(fd, &stat, &opening);
		put_entry(fd, &opening);
	}
	scratch_give(path);
}

void writes_answered(void)
{
	for (int fd = 1; shim.guards && !in_vfork_child() && fd <= 2; fd++)
		look_at_standard(fd);
}

/* Is that the file of a key? */
static bool is_file_of(int fd, uint64_t file_key)
{
	char *path = scratch_take();
	bool is = path && subject_link(SUBJECT_SELF, fd, path, SEGMENT_PATH_BYTES) > 0 &&
		  path_key(&shim.segment, path) == file_key;
	scratch_give(path);
	return is;
}

void writes_inherit(uint64_t file_key)
{
	struct opening opening = { .key = file_key };
	struct file_slot file;
	struct stat stat;

	bool told = file_key && file_find(&shim.segment, file_key, &file) == 0;
	for (int fd = 1; told && fd <= 2; fd++) {
		if (sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || !is_file_of(fd, file_key))
			continue;
		/* From here on it is this program's. */
		struct guard_writer self = writer();
		(void)guard_unfinished(&shim.segment, file_key, &opening.knows);
		struct guard_answer mine = { .file_key = file_key, .knows = opening.knows };
		guard_begin(&shim.segment, &self, "", &mine);
		begin_with(fd, &stat, &opening);
		put_entry(fd, &opening);
		break;
	}
	for (int fd = 1; fd <= 2; fd++)
		look_at_standard(fd);
}

/* What a stream still holds would be written behind our back when this process's exit handlers are through.  Another thread may have
 * the stream for ever: then it is. */
static bool flush(FILE *stream)
{
	if (ftrylockfile(stream) != 0)
		return false;
	(void)fflush_unlocked(stream);
	funlockfile(stream);
	return true;
}

static bool is_flushed(int fd, const struct opening *opening)
{
	FILE *stream = opening->stream;

	if (!stream && fd == 1 && stdout && stdout->_fileno == 1)
		stream = stdout;
	return !stream || (may_check(opening) && flush(stream)) || !(opening->marks & MARK_STREAM);
}

void writes_end(bool flushed)
{
	unsigned end = __atomic_load_n(&writes_entries, __ATOMIC_RELAXED);

	if (shim.sandboxed)
		return;
	for (unsigned fd = 0; fd < end; fd++) {
		struct write_entry *entry = entry_of((int)fd);
		struct closing closing;
		if (!entry || (!flushed && !is_flushed((int)fd, &entry->opening)))
			continue;
		writes_closing((int)fd, &closing);
		(void)writes_closed(&closing);
	}
}

void writes_fork(void)
{
	unsigned end = __atomic_load_n(&writes_entries, __ATOMIC_RELAXED);

	for (unsigned fd = 0; fd < end; fd++) {
		if (entries[fd].state == WRITE_TAKEN)
			entries[fd].state = WRITE_NONE;
		entries[fd].opening.marks |= MARK_INHERITED;
	}
}
