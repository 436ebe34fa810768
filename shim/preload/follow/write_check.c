/*
 * The guard inside a process, before a call: what it may destroy is inspected before it is made
 * (tracker/guard/guard.h).
 *
 * Only paths that the guard is concerned with cost more than a lookup in the tables; for these a
 * file is opened, hashed, copied.
 * A path is read before the call here: where the caller's memory is not there, the call is left
 * alone.
 */
#include "shim/preload/follow/write_check.h"

#include <errno.h>
#include <string.h>

#include "shim/keep/keep_content.h"
#include "shim/keep/scratch.h"
#include "shim/preload/directory.h"
#include "shim/preload/follow/locks.h"
#include "shim/preload/keep_self.h"
#include "shim/preload/memory.h"
#include "shim/preload/message.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/chunk.h"
#include "tracker/sys/sys.h"

enum { REFUSED_MAX = 16 };

/* Files that a notice was refused for, and that nothing was written to since: half of something may
 * be in them. */
static struct refused {
	uint64_t dev, ino; /* ino 0: none */
	/* it is not removed before: by a program that takes its file for half written (libuv) */
	uint64_t until_ns;
} refused[REFUSED_MAX];
static uint32_t refused_count;

/* Opens the file of a descriptor once more, whatever that is open for. */
int write_check_reopen(int fd, int flags)
{
	char path[PROC_PATH_BYTES];

	subject_path(SUBJECT_SELF, fd, path);
	flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int copy = sys_open(path, flags | O_NOATIME, 0);
	return copy == -EPERM ? sys_open(path, flags, 0) : copy;
}

static bool is_kept(const struct guard_writer *writer, int fd)
{
	const struct keeper self = keep_self();

	(void)writer;
	return keep_is_due(&self, fd);
}

struct guard_writer write_check_writer(void)
{
	return (struct guard_writer){
		.scope_id = shim.scope_id,
		.serial = shim.process.serial,
		.context = &shim.request.context,
		.role = shim.role,
		/* Most programs that copy open both files before they read. */
		.answered = shim.answered || shim.answers_own,
		.is_kept = shim.keeps ? is_kept : NULL,
	};
}

/* Is this call to be inspected, and may a path be read? */
static bool may_inspect(const char *path)
{
	return shim.guards && !shim.sandboxed && path && !in_vfork_child() && launch_is_text(path);
}

/* Opens a file to be read only, without leaving a trace.  Nothing but a regular file is opened at
 * all: others notice.
 * Returns a descriptor or a negative errno; -EINVAL for another kind of file; -EBUSY for one that
 * this process has locked. */
static int open_to_inspect(int directory, const char *path, bool follows)
{
	struct stat stat;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (follows ? 0 : O_NOFOLLOW);

	long error = sys_call6(SYS_newfstatat, directory, (long)path, (long)&stat,
			       follows ? 0 : AT_SYMLINK_NOFOLLOW, 0, 0);
	if (error < 0)
		return (int)error;
	if (!S_ISREG(stat.st_mode))
		return -EINVAL;
	if (write_check_may_be_locked(&stat))
		return -EBUSY;
	int fd = (int)sys_call6(SYS_openat, directory, (long)path, flags | O_NOATIME, 0, 0, 0);
	if (fd == -EPERM)
		fd = (int)sys_call6(SYS_openat, directory, (long)path, flags, 0, 0, 0);
	return fd;
}

bool write_check_report(const struct guard_answer *answer, const char *path)
{
	struct stat stream;

	if (!message_may(&stream))
		return false;
	char *line = scratch_acquire();
	bool was_reported = line && message_line(&stream, line,
						 guard_format_message(&shim.segment, answer, path,
								      line, SEGMENT_PATH_BYTES));
	scratch_release(line);
	return was_reported;
}

void write_check_finish(struct write_check *check)
{
	scratch_release(check->path);
	check->path = NULL;
}

/* Before the call, so that one that is killed behind it is not taken for a stranger's. */
static void announce(const struct write_check *check)
{
	struct guard_writer self = write_check_writer();
	guard_start_write(&shim.segment, &self, check->path, &check->answer);
}

/* The call failed. */
void write_check_undo(const struct write_check *check)
{
	struct guard_writer self = write_check_writer();
	guard_cancel(&shim.segment, &self, check->answer.file_key);
	if (check->answer.verdict == GUARD_WARN)
		unreported_withdraw(&shim.segment, check->answer.file_key, &check->answer.before);
}

/* What the answer means for the call.  False: it fails. */
static bool obey(struct write_check *check)
{
	const struct guard_answer *answer = &check->answer;
	struct guard_writer self = write_check_writer();

	if (answer->verdict != GUARD_PASS) {
		check->answer.reported = write_check_report(answer, check->path);
		unreported_add(&shim.segment, &self, check->path, answer);
		record_guarded(check->path, answer);
	}
	if (answer->verdict != GUARD_DENY) {
		announce(check);
		return true;
	}
	errno = -answer->error;
	write_check_finish(check);
	return false;
}

/* Does a name in the workspace that the guard does not know lead to a file that it knows: a
 * symbolic link, a hard link?  Then normal is the name that is known. */
static bool is_other_name(const struct guard_writer *self, int directory, const char *path,
			  char *normal)
{
	struct stat stat;

	if (!change_resolve(directory, path, normal) || !path_in_workspace(&shim.segment, normal) ||
	    sys_fstatat(directory, path, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (S_ISLNK(stat.st_mode))
		return change_identify(directory, path, true, normal, NULL) &&
		       guard_concerns(&shim.segment, self, normal);
	return S_ISREG(stat.st_mode) && stat.st_nlink > 1 &&
	       guard_find_link(&shim.segment, directory, path, &stat, normal) &&
	       guard_concerns(&shim.segment, self, normal);
}

/* Is a path one that concerns the guard?  Then ret_check->path is that path, as the kernel knows
 * it.  follows: what is behind a symbolic link is what would be changed. */
static bool start_check(int directory, const char *path, bool follows,
			struct write_check *ret_check, struct change_found *ret_found)
{
	struct guard_writer self = write_check_writer();
	char *normal;

	ret_check->path = NULL;
	ret_check->holds = false;
	if (ret_found)
		ret_found->is_plain = false;
	if (!guard_may_concern(&shim.segment, &self, NULL) || !may_inspect(path))
		return false;
	/* Of a plain tool's calls the name alone rules out most. */
	bool is_known = guard_may_concern(&shim.segment, &self, path);
	if (!is_known && !follows)
		return false;
	normal = scratch_acquire();
	if (!normal) {
		segment_count(&shim.segment, COUNTER_unguarded, 1);
		return false;
	}
	if (is_known ? !change_identify(directory, path, follows, normal, ret_found) ||
			       !guard_concerns(&shim.segment, &self, normal)
		     : !is_other_name(&self, directory, path, normal)) {
		scratch_release(normal);
		return false;
	}
	ret_check->path = normal;
	return true;
}

void write_check_note_refused(const struct stat *stat, bool has_content)
{
	uint32_t place = __atomic_fetch_add(&refused_count, 1, __ATOMIC_RELAXED) % REFUSED_MAX;
	uint64_t burst_ns = shim.segment.settings->notice_burst_ms * 1000000u;

	__atomic_store_n(&refused[place].until_ns, has_content ? sys_boottime_ns() + burst_ns : 0,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&refused[place].dev, stat->st_dev, __ATOMIC_RELAXED);
	__atomic_store_n(&refused[place].ino, stat->st_ino, __ATOMIC_RELAXED);
}

/* Was a notice refused for the file?  FORGETS: it is being written anew. */
bool write_check_was_refused(const struct stat *stat, enum asks asks)
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
static bool refuse_name(struct write_check *check)
{
	check->answer.verdict = GUARD_DENY;
	check->answer.reason = GUARD_NOTICE;
	check->answer.error = -EIO;
	return obey(check);
}

/* A program that could not write removes what it takes for half of something. */
static bool removes_refused(int directory, const char *path)
{
	struct stat stat;
	return __atomic_load_n(&refused_count, __ATOMIC_RELAXED) &&
	       sys_call6(SYS_newfstatat, directory, (long)path, (long)&stat, AT_SYMLINK_NOFOLLOW, 0,
			 0) == 0 &&
	       write_check_was_refused(&stat, ASKS_TO_REMOVE);
}

/* Inspects what is there now, and decides. */
static bool inspect(enum guard_kind kind, int directory, const char *path, bool follows,
		    struct write_check *check)
{
	struct guard_writer self = write_check_writer();
	int fd = open_to_inspect(directory, path, follows);

	if (fd == -EINVAL || fd == -ELOOP) { /* a directory, a device, a link */
		write_check_finish(check);
		return true;
	}
	guard_check(&shim.segment, &self, check->path, fd, kind, &check->answer);
	if (fd >= 0)
		(void)sys_close(fd);
	if (check->answer.reason == GUARD_UNREADABLE || !check->answer.file_key) {
		write_check_finish(check);
		return true;
	}
	return obey(check);
}

/* A file that is to be emptied is inspected by the descriptor that is to be given, when there is
 * one.  False: there is a device, a directory, something that is locked. */
static bool start_hold(int directory, const char *path, int flags, struct change_found *found,
		       struct write_check *check)
{
	if (!found->is_plain)
		found->error = sys_fstatat(directory, path, &found->stat,
					   flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
	check->is_new = found->error == -ENOENT;
	check->answer = (struct guard_answer){
		.kind = GUARD_REPLACES,
		.file_key = path_key(&shim.segment, check->path),
	};
	if (found->error < 0 && !check->is_new)
		return false;
	if (found->error == 0 &&
	    (!S_ISREG(found->stat.st_mode) || write_check_may_be_locked(&found->stat)))
		return false;
	check->holds = true;
	return true;
}

__attribute__((noinline)) static bool inspect_open(int directory, const char *path, int flags,
						   bool holds, struct write_check *ret_check)
{
	enum guard_kind kind = flags & O_TRUNC    ? GUARD_REPLACES
			       : flags & O_APPEND ? GUARD_APPENDS
						  : GUARD_WRITES;
	struct change_found found;

	bool follows = !(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	if (!start_check(directory, path, follows, ret_check, &found))
		return true;
	if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_PATH | O_DIRECTORY)) ||
	    (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL)) {
		/* There must be nothing, or the call fails. */
		ret_check->answer = (struct guard_answer){
			.reason = GUARD_NEW,
			.knows = GUARD_KNEW | GUARD_WHOLE,
			.file_key = path_key(&shim.segment, ret_check->path),
		};
		if (flags & (O_PATH | O_DIRECTORY))
			write_check_finish(ret_check);
		else
			announce(ret_check);
		return true;
	}
	if (kind == GUARD_REPLACES && holds && (flags & O_ACCMODE) != O_RDONLY) {
		if (!start_hold(directory, path, flags, &found, ret_check))
			write_check_finish(ret_check);
		return true;
	}
	return inspect(kind, directory, path, !(flags & O_NOFOLLOW), ret_check);
}

/* In most sessions no file is known: then a tool's call ends here. */
bool write_check_open(int directory, const char *path, int flags, bool holds,
		      struct write_check *ret_check)
{
	struct guard_writer self = write_check_writer();

	ret_check->path = NULL;
	ret_check->holds = false;
	return !guard_may_concern(&shim.segment, &self, NULL) ||
	       inspect_open(directory, path, flags, holds, ret_check);
}

bool write_check_change(enum guard_kind kind, int directory, const char *path, bool follows,
			struct write_check *ret_check)
{
	if (!start_check(directory, path, follows, ret_check, NULL))
		return true;
	if (kind == GUARD_UNNAMES && removes_refused(directory, path))
		return refuse_name(ret_check);
	return inspect(kind, directory, path, follows, ret_check);
}

/* Is the file one that a notice is refused for? */
bool write_check_is_kept_clean(uint64_t key)
{
	struct file_slot file;
	return shim.answered ||
	       (file_find(&shim.segment, key, &file) == 0 && (file.flags & FILE_HAS_BASELINE));
}

/* Inspects what is about to take the place of the file that the plan is about.  False: it carries a
 * notice, or would have if that had not been refused. */
static bool inspect_source(int directory, const char *path, bool follows, struct write_check *check)
{
	struct guard_writer self = write_check_writer();
	bool has_nonce = false;
	struct stat stat;
	int fd = open_to_inspect(directory, path, follows);

	check->source = (struct version){ 0 };
	check->source_key = 0;
	check->source_has_notice = false;
	if (fd < 0)
		return true;
	if (guard_scan(&shim.segment, fd, &check->source, &has_nonce) < 0)
		check->source = (struct version){ 0 };
	check->source_has_notice = has_nonce;
	has_nonce = has_nonce ||
		    (sys_fstat(fd, &stat) == 0 && write_check_was_refused(&stat, ASKS));
	(void)sys_close(fd);
	char *normal = scratch_acquire();
	if (normal && guard_may_concern(&shim.segment, &self, path) &&
	    change_identify(directory, path, follows, normal, NULL) &&
	    guard_concerns(&shim.segment, &self, normal))
		check->source_key = path_key(&shim.segment, normal);
	scratch_release(normal);
	return !has_nonce;
}

bool write_check_name(int directory, const char *path, bool follows, int other_directory,
		      const char *other, struct write_check *ret_check)
{
	if (!start_check(other_directory, other, false, ret_check, NULL))
		return true;
	ret_check->answer = (struct guard_answer){
		.reason = GUARD_NEW,
		.knows = GUARD_KNEW | GUARD_WHOLE,
		.file_key = path_key(&shim.segment, ret_check->path),
	};
	if (!launch_is_text(path)) {
		write_check_finish(ret_check);
		return true;
	}
	bool is_clean = inspect_source(directory, path, follows, ret_check) ||
			!write_check_is_kept_clean(ret_check->answer.file_key);
	if (is_clean)
		return true;
	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	return refuse_name(ret_check);
}

bool write_check_rename(int directory, const char *path, int other_directory, const char *other,
			struct write_check *ret_check)
{
	if (!start_check(other_directory, other, false, ret_check, NULL))
		return true;
	if (!launch_is_text(path)) {
		write_check_finish(ret_check);
		return true;
	}
	struct stat source;
	if (sys_call6(SYS_newfstatat, directory, (long)path, (long)&source, AT_SYMLINK_NOFOLLOW, 0,
		      0) < 0) {
		write_check_finish(ret_check); /* the call will say so */
		return true;
	}
	bool is_clean = inspect_source(directory, path, false, ret_check) ||
			!write_check_is_kept_clean(path_key(&shim.segment, ret_check->path));
	int fd = open_to_inspect(other_directory, other, false);
	struct guard_writer self = write_check_writer();
	if (fd == -EINVAL || fd == -ELOOP) {
		write_check_finish(ret_check);
		return true;
	}
	if (is_clean || fd == -ENOENT) {
		guard_check(&shim.segment, &self, ret_check->path, fd, GUARD_UNNAMES,
			    &ret_check->answer);
	} else {
		ret_check->answer = (struct guard_answer){
			.file_key = path_key(&shim.segment, ret_check->path),
		};
	}
	if (fd >= 0)
		(void)sys_close(fd);
	if (is_clean && !ret_check->answer.file_key) {
		write_check_finish(ret_check);
		return true;
	}
	if (is_clean)
		return obey(ret_check);
	segment_count(&shim.segment, COUNTER_notices_refused, 1);
	return refuse_name(ret_check);
}

static void note_made(struct file_slot *file, const void *data)
{
	(void)data;
	file->flags = fate_after(file->flags, FILE_ACTION_CREATE);
}

void write_check_complete(uint64_t key, const char *path, const struct version *before,
			  const struct version *now, uint32_t knows)
{
	struct guard_writer self = write_check_writer();

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

void write_check_stored_notice(uint64_t key, const char *path, const struct version *before)
{
	struct guard_answer answer;

	if (guard_stored_notice(&shim.segment, key, before, &answer))
		record_guarded(path, &answer);
}

void write_check_changed(struct write_check *check, int error)
{
	struct version now = { 0 };
	int saved_errno = errno;

	if (!check->path)
		return;
	if (error == 0 && check->answer.kind == GUARD_WRITES) { /* set to another size */
		bool has_nonce;
		int fd = open_to_inspect(AT_FDCWD, check->path, true);
		if (fd >= 0) {
			if (guard_scan(&shim.segment, fd, &now, &has_nonce) == 0)
				write_check_complete(check->answer.file_key, check->path,
						     &check->answer.before, &now,
						     check->answer.knows);
			(void)sys_close(fd);
		}
	} else if (error == 0) {
		write_check_complete(check->answer.file_key, check->path, &check->answer.before,
				     &now, check->answer.knows);
	} else {
		write_check_undo(check);
	}
	write_check_finish(check);
	errno = saved_errno;
}

void write_check_renamed(struct write_check *check, int error)
{
	const struct version none = { 0 };

	if (!check->path)
		return;
	if (error == 0 && !version_is_none(&check->source)) {
		struct guard_writer self = write_check_writer();
		/* A new file has to be on record. */
		guard_start_write(&shim.segment, &self, check->path, &check->answer);
		write_check_complete(check->answer.file_key, check->path, &check->answer.before,
				     &check->source, check->answer.knows);
		if (check->source_has_notice)
			write_check_stored_notice(check->answer.file_key, check->path,
						  &check->answer.before);
		if (check->source_key)
			write_check_complete(check->source_key, NULL, &check->source, &none,
					     GUARD_KNEW);
	} else if (error != 0) {
		write_check_undo(check);
	}
	write_check_finish(check);
}

int write_check_emptied(struct write_check *check, int fd)
{
	struct guard_writer self = write_check_writer();
	int saved_errno = errno, error = 0;
	struct stat stat;

	if (!check->path || !check->holds || fd < 0)
		return fd;
	check->holds = false;
	if (sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)) {
		write_check_finish(check);
		return fd;
	}
	if (check->is_new && stat.st_size == 0) {
		check->answer.reason = GUARD_NEW;
		check->answer.knows = GUARD_KNEW | GUARD_WHOLE;
		announce(check);
		return fd;
	}
	int readable = write_check_reopen(fd, O_RDONLY);
	guard_check(&shim.segment, &self, check->path, readable, GUARD_REPLACES, &check->answer);
	if (readable >= 0)
		(void)sys_close(readable);
	if (check->answer.file_key && !obey(check)) {
		error = errno;
	} else {
		/* To empty what is empty sets its times, by open(2). */
		error = (int)-(stat.st_size ? sys_ftruncate(fd, 0) : sys_utimensat(fd, NULL, NULL));
		if (error == EPERM && !stat.st_size)
			error = 0;
		if (error && check->answer.file_key)
			write_check_undo(check);
		if (error)
			write_check_finish(check);
	}
	if (error) {
		(void)sys_close(fd);
		errno = error;
		return -1;
	}
	if (check->answer.reason == GUARD_UNREADABLE || !check->answer.file_key)
		write_check_finish(check);
	errno = saved_errno;
	return fd;
}
