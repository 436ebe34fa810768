/*
 * The guard inside a process, before a call: what it may destroy is looked at before it is made (tracker/guard/guard.h).
 *
 * Only paths that the guard is concerned with cost more than a look into the tables; for these a file is opened, hashed, copied.
 * A path is read before the call here: where the caller's memory is not there, the call is left alone.
 */
#include "shim/preload/follow/plan.h"

#include <errno.h>
#include <string.h>

#include "shim/preload/directory.h"
#include "shim/preload/memory.h"
#include "shim/preload/record.h"
#include "shim/preload/say.h"
#include "shim/preload/scratch.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum { DESCRIPTORS = 1024, REFUSED_MAX = 16 };

/* Files that a notice was refused for, and that nothing was written to since: half of something may be in them. */
static struct refused {
	uint64_t dev, ino; /* ino 0: none */
	uint64_t until_ns; /* it is not removed before: by a program that takes its file for half written (libuv) */
} refused[REFUSED_MAX];
static uint32_t refused_count;

/* Opens the file of a descriptor once more, whatever that is open for. */
int plan_reopen(int fd, int flags)
{
	char path[PROC_PATH_BYTES];

	subject_path(SUBJECT_SELF, fd, path);
	flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int copy = sys_open(path, flags | O_NOATIME, 0);
	return copy == -EPERM ? sys_open(path, flags, 0) : copy;
}

struct guard_writer plan_writer(void)
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
bool plan_may_be_locked(const struct stat *file)
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
	if (plan_may_be_locked(&stat))
		return -EBUSY;
	int fd = (int)sys_call6(SYS_openat, directory, (long)path, flags | O_NOATIME, 0, 0, 0);
	if (fd == -EPERM)
		fd = (int)sys_call6(SYS_openat, directory, (long)path, flags, 0, 0, 0);
	return fd;
}

bool plan_say(const struct guard_answer *answer, const char *path)
{
	struct stat stream;

	if (!say_may(&stream))
		return false;
	char *line = scratch_take();
	bool was_reported = line && say_line(&stream, line,
					     guard_format_message(&shim.segment, answer, path, line,
								  SEGMENT_PATH_BYTES));
	scratch_give(line);
	return was_reported;
}

void plan_end(struct plan *plan)
{
	scratch_give(plan->path);
	plan->path = NULL;
}

/* Before the call, so that one that is killed behind it is not taken for a stranger's. */
static void announce(const struct plan *plan)
{
	struct guard_writer self = plan_writer();
	guard_start_write(&shim.segment, &self, plan->path, &plan->answer);
}

/* The call failed. */
void plan_take_back(const struct plan *plan)
{
	struct guard_writer self = plan_writer();
	guard_cancel(&shim.segment, &self, plan->answer.file_key);
}

/* What the answer means for the call.  False: it fails. */
static bool obey(struct plan *plan)
{
	const struct guard_answer *answer = &plan->answer;
	struct guard_writer self = plan_writer();

	if (answer->verdict != GUARD_PASS) {
		plan->answer.reported = plan_say(answer, plan->path);
		unreported_add(&shim.segment, &self, plan->path, answer);
		record_guarded(plan->path, answer);
	}
	if (answer->verdict != GUARD_DENY) {
		announce(plan);
		return true;
	}
	errno = -answer->error;
	plan_end(plan);
	return false;
}

/* Does a name in the workspace that the guard does not know lead to a file that it knows: a symbolic link, a hard link?  Then
 * normal is the name that is known. */
static bool is_other_name(const struct guard_writer *self, int directory, const char *path,
			  char *normal)
{
	struct stat stat;

	if (!change_resolve(directory, path, normal) || !path_in_workspace(&shim.segment, normal) ||
	    sys_fstatat(directory, path, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(stat.st_mode))
		return change_identify(directory, path, true, normal) &&
		       guard_concerns(&shim.segment, self, normal);
	return S_ISREG(stat.st_mode) && stat.st_nlink > 1 &&
	       guard_find_link(&shim.segment, directory, path, &stat, normal) &&
	       guard_concerns(&shim.segment, self, normal);
}

/* Is a path one that concerns the guard?  Then ret_plan->path is that path, as the kernel knows it.  follows: what is behind a
 * symbolic link is what would be changed. */
static bool begin_plan(int directory, const char *path, bool follows, struct plan *ret_plan)
{
	struct guard_writer self = plan_writer();
	char *normal;

	ret_plan->path = NULL;
	ret_plan->holds = false;
	if (!guard_may_concern(&shim.segment, &self, NULL) || !may_look(path))
		return false;
	/* Of a plain tool's calls the name alone rules out most. */
	bool is_known = guard_may_concern(&shim.segment, &self, path);
	if (!is_known && !follows)
		return false;
	normal = scratch_take();
	if (!normal) {
		segment_count(&shim.segment, COUNTER_unguarded, 1);
		return false;
	}
	if (is_known ? !change_identify(directory, path, follows, normal) ||
			       !guard_concerns(&shim.segment, &self, normal)
		     : !is_other_name(&self, directory, path, normal)) {
		scratch_give(normal);
		return false;
	}
	ret_plan->path = normal;
	return true;
}

void plan_note_refused(const struct stat *stat, bool has_content)
{
	uint32_t place = __atomic_fetch_add(&refused_count, 1, __ATOMIC_RELAXED) % REFUSED_MAX;
	uint64_t burst_ns = shim.segment.settings->notice_burst_ms * 1000000u;

	__atomic_store_n(&refused[place].until_ns, has_content ? sys_boottime_ns() + burst_ns : 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&refused[place].dev, stat->st_dev, __ATOMIC_RELAXED);
	__atomic_store_n(&refused[place].ino, stat->st_ino, __ATOMIC_RELAXED);
}

/* Was a notice refused for the file?  FORGETS: it is being written anew. */
bool plan_was_refused(const struct stat *stat, enum asks asks)
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
	       plan_was_refused(&stat, ASKS_TO_REMOVE);
}

/* Looks at what is there now, and decides. */
static bool look(enum guard_kind kind, int directory, const char *path, bool follows,
		 struct plan *plan)
{
	struct guard_writer self = plan_writer();
	int fd = open_to_look(directory, path, follows);

	if (fd == -EINVAL || fd == -ELOOP) { /* a folder, a device, a link */
		plan_end(plan);
		return true;
	}
	guard_check(&shim.segment, &self, plan->path, fd, kind, &plan->answer);
	if (fd >= 0)
		(void)sys_close(fd);
	if (plan->answer.reason == GUARD_UNREADABLE || !plan->answer.file_key) {
		plan_end(plan);
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
	if (error == 0 && (!S_ISREG(stat.st_mode) || plan_may_be_locked(&stat)))
		return false;
	plan->holds = true;
	return true;
}

__attribute__((noinline)) static bool look_at_open(int directory, const char *path, int flags,
						   bool holds, struct plan *ret_plan)
{
	enum guard_kind kind = flags & O_TRUNC    ? GUARD_REPLACES
			       : flags & O_APPEND ? GUARD_APPENDS
						  : GUARD_WRITES;

	bool follows = !(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	if (!begin_plan(directory, path, follows, ret_plan))
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
			plan_end(ret_plan);
		else
			announce(ret_plan);
		return true;
	}
	if (kind == GUARD_REPLACES && holds && (flags & O_ACCMODE) != O_RDONLY) {
		if (!begin_to_hold(directory, path, flags, ret_plan))
			plan_end(ret_plan);
		return true;
	}
	return look(kind, directory, path, !(flags & O_NOFOLLOW), ret_plan);
}

/* In most sessions no file is known: then a tool's call ends here. */
bool plan_open(int directory, const char *path, int flags, bool holds, struct plan *ret_plan)
{
	struct guard_writer self = plan_writer();

	ret_plan->path = NULL;
	ret_plan->holds = false;
	return !guard_may_concern(&shim.segment, &self, NULL) ||
	       look_at_open(directory, path, flags, holds, ret_plan);
}

bool plan_change(enum guard_kind kind, int directory, const char *path, bool follows,
		 struct plan *ret_plan)
{
	if (!begin_plan(directory, path, follows, ret_plan))
		return true;
	if (kind == GUARD_UNNAMES && removes_refused(directory, path))
		return refuse_name(ret_plan);
	return look(kind, directory, path, follows, ret_plan);
}

/* Is the file one that a notice is refused for? */
bool plan_is_kept_clean(uint64_t key)
{
	struct file_slot file;
	return shim.answered ||
	       (file_find(&shim.segment, key, &file) == 0 && (file.flags & FILE_HAS_BASELINE));
}

/* Looks at what is about to take the place of the file that the plan is about.  False: it carries a notice, or would
 * have if that had not been refused. */
static bool look_at_source(int directory, const char *path, bool follows, struct plan *plan)
{
	struct guard_writer self = plan_writer();
	bool has_nonce = false;
	struct stat stat;
	int fd = open_to_look(directory, path, follows);

	plan->source = (struct version){ 0 };
	plan->source_key = 0;
	plan->source_has_notice = false;
	if (fd < 0)
		return true;
	if (guard_scan(&shim.segment, fd, &plan->source, &has_nonce) < 0)
		plan->source = (struct version){ 0 };
	plan->source_has_notice = has_nonce;
	has_nonce = has_nonce || (sys_fstat(fd, &stat) == 0 && plan_was_refused(&stat, ASKS));
	(void)sys_close(fd);
	char *normal = scratch_take();
	if (normal && guard_may_concern(&shim.segment, &self, path) &&
	    change_identify(directory, path, follows, normal) &&
	    guard_concerns(&shim.segment, &self, normal))
		plan->source_key = path_key(&shim.segment, normal);
	scratch_give(normal);
	return !has_nonce;
}

bool plan_name(int directory, const char *path, bool follows, int other_directory,
	       const char *other, struct plan *ret_plan)
{
	if (!begin_plan(other_directory, other, false, ret_plan))
		return true;
	ret_plan->answer = (struct guard_answer){
		.reason = GUARD_NEW,
		.knows = GUARD_KNEW | GUARD_WHOLE,
		.file_key = path_key(&shim.segment, ret_plan->path),
	};
	if (!launch_is_text(path)) {
		plan_end(ret_plan);
		return true;
	}
	bool is_clean = look_at_source(directory, path, follows, ret_plan) ||
			!plan_is_kept_clean(ret_plan->answer.file_key);
	if (is_clean)
		return true;
	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	return refuse_name(ret_plan);
}

bool plan_rename(int directory, const char *path, int other_directory, const char *other,
		 struct plan *ret_plan)
{
	if (!begin_plan(other_directory, other, false, ret_plan))
		return true;
	if (!launch_is_text(path)) {
		plan_end(ret_plan);
		return true;
	}
	struct stat source;
	if (sys_call6(SYS_newfstatat, directory, (long)path, (long)&source, AT_SYMLINK_NOFOLLOW, 0,
		      0) < 0) {
		plan_end(ret_plan); /* the call will say so */
		return true;
	}
	bool is_clean = look_at_source(directory, path, false, ret_plan) ||
			!plan_is_kept_clean(path_key(&shim.segment, ret_plan->path));
	int fd = open_to_look(other_directory, other, false);
	struct guard_writer self = plan_writer();
	if (fd == -EINVAL || fd == -ELOOP) {
		plan_end(ret_plan);
		return true;
	}
	if (is_clean || fd == -ENOENT) {
		guard_check(&shim.segment, &self, ret_plan->path, fd, GUARD_UNNAMES,
			    &ret_plan->answer);
	} else {
		ret_plan->answer = (struct guard_answer){
			.file_key = path_key(&shim.segment, ret_plan->path),
		};
	}
	if (fd >= 0)
		(void)sys_close(fd);
	if (is_clean && !ret_plan->answer.file_key) {
		plan_end(ret_plan);
		return true;
	}
	if (is_clean)
		return obey(ret_plan);
	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	return refuse_name(ret_plan);
}

/* ---- what came of it ---- */

static void note_made(struct file_slot *file, const void *data)
{
	(void)data;
	file->flags = fate_after(file->flags, FILE_ACTION_CREATE);
}

void plan_complete(uint64_t key, const char *path, const struct version *before,
		   const struct version *now, uint32_t knows)
{
	struct guard_writer self = plan_writer();

	if (version_equal(before, now)) {
		guard_cancel(&shim.segment, &self, key);
		return;
	}
	guard_finish_write(&shim.segment, &self, key, now, knows);
	if (version_is_none(before) && !version_is_none(now))
		(void)file_change_known(&shim.segment, key, note_made, NULL);
	if (path)
		record_edited(path, before, now, source_of_process(self.context->flags, self.role));
}

void plan_stored_notice(uint64_t key, const char *path, const struct version *before)
{
	struct guard_answer answer;

	if (guard_stored_notice(&shim.segment, key, before, &answer))
		record_guarded(path, &answer);
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
				plan_complete(plan->answer.file_key, plan->path,
					      &plan->answer.before, &now, plan->answer.knows);
			(void)sys_close(fd);
		}
	} else if (error == 0) {
		plan_complete(plan->answer.file_key, plan->path, &plan->answer.before, &now,
			      plan->answer.knows);
	} else {
		plan_take_back(plan);
	}
	plan_end(plan);
	errno = saved_errno;
}

void plan_renamed(struct plan *plan, int error)
{
	const struct version none = { 0 };

	if (!plan->path)
		return;
	if (error == 0 && !version_is_none(&plan->source)) {
		struct guard_writer self = plan_writer();
		/* A new file has to be on record. */
		guard_start_write(&shim.segment, &self, plan->path, &plan->answer);
		plan_complete(plan->answer.file_key, plan->path, &plan->answer.before,
			      &plan->source, plan->answer.knows);
		if (plan->source_has_notice)
			plan_stored_notice(plan->answer.file_key, plan->path, &plan->answer.before);
		if (plan->source_key)
			plan_complete(plan->source_key, NULL, &plan->source, &none, GUARD_KNEW);
	} else if (error != 0) {
		plan_take_back(plan);
	}
	plan_end(plan);
}

int plan_emptied(struct plan *plan, int fd)
{
	struct guard_writer self = plan_writer();
	int saved_errno = errno, error = 0;
	struct stat stat;

	if (!plan->path || !plan->holds || fd < 0)
		return fd;
	plan->holds = false;
	if (sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)) {
		plan_end(plan);
		return fd;
	}
	if (plan->is_new && stat.st_size == 0) {
		plan->answer.reason = GUARD_NEW;
		plan->answer.knows = GUARD_KNEW | GUARD_WHOLE;
		announce(plan);
		return fd;
	}
	int readable = plan_reopen(fd, O_RDONLY);
	guard_check(&shim.segment, &self, plan->path, readable, GUARD_REPLACES, &plan->answer);
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
			plan_take_back(plan);
		if (error)
			plan_end(plan);
	}
	if (error) {
		(void)sys_close(fd);
		errno = error;
		return -1;
	}
	if (plan->answer.reason == GUARD_UNREADABLE || !plan->answer.file_key)
		plan_end(plan);
	errno = saved_errno;
	return fd;
}
