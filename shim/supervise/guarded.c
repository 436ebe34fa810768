/* The guard for supervised processes: see guarded.h. */
#include "shim/supervise/guarded.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/keep/keep_content.h"
#include "shim/supervise/keeping.h"
#include "shim/supervise/kept_call.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/message.h"
#include "shim/supervise/proc.h"
#include "shim/supervise/record.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/guard/unreported.h"
#include "tracker/process/source.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	WRITES_MAX = 32,    /* of one process at once: of more the end is not inspected here */
	PENDING_MAX = 1024, /* of all */
};

/* A call that was let pass. */
struct write {
	uint64_t key;
	/* of the program that made the call: another may have taken its place, with the file still
	 * open */
	uint64_t serial;
	pid_t tid; /* whose call it was */
	uint64_t time_ns;
	struct version before;
	uint32_t knows;
	int64_t ctime_ns; /* of what was there: another one, and the call has been made */
	bool kept;        /* `before` is in the content store */
	bool empties;     /* a file that it opens */
	bool appends;     /* agents record what they were given, a notice too */
	char path[SEGMENT_PATH_BYTES];
};

struct guarded_files {
	int count;
	struct write writes[WRITES_MAX];
};

/* The writes of all processes that have not ended, in no order.  A file's slot has room for one
 * writer: when that ends, another's goes on. */
static struct unended {
	uint64_t key, serial;
	uint32_t knows;
} pending[PENDING_MAX];
static int pending_count;
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t settle_lock = PTHREAD_MUTEX_INITIALIZER;

/* One is about to begin.  Where the file had no writer, another process (`seen run`) has ended
 * those that began before. */
static void start_pending(const struct write *write, bool is_first)
{
	(void)pthread_mutex_lock(&pending_lock);
	for (int i = 0; is_first && i < pending_count; i++)
		if (pending[i].key == write->key)
			pending[i--] = pending[--pending_count];
	if (pending_count < PENDING_MAX)
		pending[pending_count++] = (struct unended){ write->key, write->serial,
							     write->knows };
	(void)pthread_mutex_unlock(&pending_lock);
}

/* Has it not ended?  ends: it does now. */
static bool is_pending(const struct write *write, bool ends)
{
	bool found = false;

	(void)pthread_mutex_lock(&pending_lock);
	for (int i = 0; i < pending_count && !found; i++) {
		found = pending[i].key == write->key && pending[i].serial == write->serial;
		if (found && ends)
			pending[i] = pending[--pending_count];
	}
	(void)pthread_mutex_unlock(&pending_lock);
	return found;
}

/* Records for a file that has no writer any more by its slot, which process still writes to it:
 * forks of one program have its serial, too. */
static void resume_pending(const struct segment *segment, uint64_t key)
{
	struct unended found = { 0 };
	uint32_t knows;

	(void)pthread_mutex_lock(&pending_lock);
	for (int i = 0; i < pending_count; i++)
		if (pending[i].key == key)
			found = pending[i];
	(void)pthread_mutex_unlock(&pending_lock);
	if (!found.key || guard_unfinished(segment, key, &knows))
		return;
	struct guard_writer other = { .serial = found.serial };
	struct guard_answer again = { .file_key = key, .knows = found.knows };
	guard_start_write(segment, &other, "", &again);
}

void guarded_free(struct guarded_files *writes)
{
	for (int i = 0; writes && i < writes->count; i++)
		(void)is_pending(&writes->writes[i], true);
	free(writes);
}

struct guard_writer guarded_writer(const struct target *target)
{
	const struct context *context = &target->request.context;
	return (struct guard_writer){
		.scope_id = target->scope_id ? target->scope_id : baseline_scope(context, NULL),
		.serial = target->process.serial,
		.context = context,
		.role = context->role,
	};
}

bool guarded_holds_for(const struct target *target)
{
	return (target->request.context.flags & CONTEXT_ATTACHED) && !target->invocation.ignored;
}

bool write_may_concern(const struct supervision *supervision, const struct target *target,
		       const struct named *named)
{
	struct guard_writer who = guarded_writer(target);
	return guarded_holds_for(target) && guard_may_concern(supervision->segment, &who, NULL) &&
	       (guard_may_concern(supervision->segment, &who, named->path) ||
		(named->normal && path_in_workspace(supervision->segment, named->normal)));
}

static bool concerns(const struct supervision *supervision, const struct target *target,
		     const char *path)
{
	struct guard_writer who = guarded_writer(target);
	return path && path[0] && guard_concerns(supervision->segment, &who, path);
}

/* Within inspection_wait().  False: it is none of the guard's. */
static bool identify(const struct supervision *supervision, const struct target *target,
		     const struct named *named, bool follows, struct named *ret_real,
		     char *ret_path)
{
	const struct segment *segment = supervision->segment;
	struct stat stat;

	*ret_real = *named;
	if (resolve_identify(target, named, follows, ret_path, SEGMENT_PATH_BYTES))
		ret_real->normal = ret_path;
	if (concerns(supervision, target, ret_real->normal))
		return true;
	/* Is it a hard link to a file that is known by another name? */
	return follows && ret_real->normal == ret_path && sys_stat(ret_path, &stat) == 0 &&
	       S_ISREG(stat.st_mode) && stat.st_nlink > 1 &&
	       guard_find_link(segment, AT_FDCWD, ret_path, &stat, ret_path) &&
	       concerns(supervision, target, ret_path);
}

bool write_identify(const struct supervision *supervision, const struct target *target,
		    const struct named *named, bool follows, struct named *ret_real, char *ret_path)
{
	if (!inspection_wait()) {
		*ret_real = *named;
		return concerns(supervision, target, named->normal);
	}
	bool is_found = identify(supervision, target, named, follows, ret_real, ret_path);
	inspection_finish();
	return is_found;
}

/* The call is about to be made: what is to be known of its result. */
static void start_write(const struct segment *segment, struct target *target,
			const struct guard_answer *answer, const struct named *named)
{
	struct guard_writer who = guarded_writer(target);
	uint32_t knows;
	bool is_first = !guard_unfinished(segment, answer->file_key, &knows);

	guard_start_write(segment, &who, named->normal, answer);
	if (!target->writes)
		target->writes = calloc(1, sizeof(*target->writes));
	struct guarded_files *writes = target->writes;
	if (!writes || writes->count == WRITES_MAX)
		return;
	struct write *write = &writes->writes[writes->count++];
	*write = (struct write){ .key = answer->file_key,
				 .serial = target->process.serial,
				 .tid = named->tid,
				 .time_ns = sys_boottime_ns(),
				 .before = answer->before,
				 .knows = answer->knows,
				 .kept = answer->kept,
				 .empties = answer->kind == GUARD_REPLACES,
				 .appends = answer->kind == GUARD_APPENDS };
	(void)snprintf(write->path, sizeof(write->path), "%s", named->normal);
	struct stat stat;
	write->ctime_ns = sys_stat(write->path, &stat) == 0 ? stamp_of(&stat).ctime_ns : 0;
	start_pending(write, is_first);
}

/* What is to take another file's place.  Returns 0 or a negative errno: then nothing is known of
 * it. */
static int inspect_source(const struct supervision *supervision, const struct target *target,
			  const struct named *named, struct version *ret_version,
			  bool *ret_has_notice)
{
	int fd = resolve_open(resolve_name(target, named, false));

	if (fd < 0)
		return fd;
	int error = guard_scan(supervision->segment, fd, ret_version, ret_has_notice);
	(void)close(fd);
	return error;
}

/* The other side of a rename: the session takes a file from its name, no external program. */
static void remember_source(const struct supervision *supervision, struct target *target,
			    const struct named *named, const struct version *version)
{
	struct guard_answer answer = { .knows = GUARD_KNEW,
				       .kind = GUARD_REPLACES,
				       .before = *version };

	struct named real;
	char path[SEGMENT_PATH_BYTES];

	if (!write_may_concern(supervision, target, named) ||
	    !identify(supervision, target, named, false, &real, path))
		return;
	answer.file_key = path_key(supervision->segment, real.normal);
	start_write(supervision->segment, target, &answer, &real);
}

static bool is_kept(const struct guard_writer *writer, int fd)
{
	return keep_is_due(writer->keeper, fd);
}

static int ask(const struct supervision *supervision, struct target *target,
	       const struct named *named, enum guard_kind kind, bool follows,
	       const struct named *source)
{
	const struct segment *segment = supervision->segment;
	const struct keeper keeper = kept_call_keeper(supervision, target);
	struct guard_writer who = guarded_writer(target);
	struct guard_answer answer;
	struct version moved;
	char line[SEGMENT_PATH_BYTES];
	bool has_notice = false;
	int fd = resolve_open(resolve_name(target, named, follows));

	who.keeper = &keeper;
	who.is_kept = keeping_is_on(supervision, target) ? is_kept : NULL;
	if (fd == -EINVAL || fd == -ELOOP) /* a directory, a device, a link */
		return 0;
	bool moves = source &&
		     inspect_source(supervision, target, source, &moved, &has_notice) == 0;
	if (moves && fd >= 0 && has_notice) {
		answer = (struct guard_answer){ .verdict = GUARD_DENY,
						.reason = GUARD_NOTICE,
						.error = -EIO };
		segment_count(segment, COUNTER_notices_refused, 1);
	} else {
		guard_check(segment, &who, named->normal, fd, kind, &answer);
	}
	if (fd >= 0)
		(void)close(fd);
	if (answer.verdict != GUARD_PASS) {
		answer.reported = message_line(
			supervision, target, line,
			guard_format_message(segment, &answer, named->normal, line, sizeof(line)));
		unreported_add(segment, &who, named->normal, &answer);
		record_guarded(supervision, target, named->normal, &answer);
	}
	if (answer.verdict == GUARD_DENY)
		return answer.error;
	if (answer.reason == GUARD_UNREADABLE || !answer.file_key)
		return 0;
	start_write(segment, target, &answer, named);
	if (moves)
		remember_source(supervision, target, source, &moved);
	return 0;
}

int guarded_ask(const struct supervision *supervision, struct target *target,
		const struct named *named, enum guard_kind kind, bool follows,
		const struct named *source)
{
	if (!inspection_wait()) {
		segment_count(supervision->segment, COUNTER_unguarded, 1);
		return 0;
	}
	int error = ask(supervision, target, named, kind, follows, source);
	inspection_finish();
	return error;
}

static bool has_open(const struct target *target, const struct stat *file)
{
	return proc_has_open(target->pid, file->st_dev, file->st_ino, false);
}

/* Is a file no longer as it was? */
static bool is_changed(int fd, const struct stat *was)
{
	struct stamp before = stamp_of(was), after;
	struct stat stat;

	if (sys_fstat(fd, &stat) < 0)
		return true;
	after = stamp_of(&stat);
	return !stamp_equal(&before, &after);
}

/* Takes a notice out of a file again: the write itself could not be refused.  No process has it
 * open. */
static bool remove_notice(const struct supervision *supervision, struct target *target,
			  const struct write *write)
{
	const struct guard_answer answer = { .verdict = GUARD_DENY,
					     .reason = GUARD_NOTICE,
					     .error = -EIO };
	struct file_slot file;

	if (!write->kept || write->appends ||
	    file_find(supervision->segment, write->key, &file) < 0 ||
	    !(file.flags & FILE_HAS_BASELINE))
		return false;
	/* There may be more than a notice in it: that is kept first. */
	struct version kept;
	struct stat stat;
	int fd = sys_open(write->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	int error = sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode)
			    ? -EINVAL
			    : contents_save(supervision->segment, fd, write->path,
					    CONTENTS_DESTROYED, &kept);
	if (error == 0)
		error = contents_restore(supervision->segment, &write->before, fd);
	(void)close(fd);
	if (error < 0)
		return false;
	segment_count(supervision->segment, COUNTER_notices_refused, 1);
	record_guarded(supervision, target, write->path, &answer);
	return true;
}

/* Did another process report already what is there now?  Where another one writes, too, only the
 * content tells. */
static bool is_reported(const struct supervision *supervision, const struct write *write,
			const struct version *now)
{
	struct file_slot file;

	return version_equal(now, &write->before) ||
	       file_find(supervision->segment, write->key, &file) < 0 ||
	       (version_is_none(now)
			? (file.flags & FILE_REMOVED) != 0
			: version_equal(now, &file.written) || version_equal(now, &file.external));
}

/* One write, while its result is hashed. */
struct completion {
	const struct supervision *supervision;
	struct target *target;
	const struct write *write;
	bool ends;               /* its process does */
	bool sure;               /* the call has been made */
	struct guard_writer who; /* made it */
	uint64_t unfinished;     /* serial of who is known to write to the file */
	uint32_t knows;          /* of that one */
	bool is_heard;           /* that is `who` */
	struct version now;      /* what is there */
	bool has_nonce;
	bool is_touched; /* since it was let pass */
};

enum hashed { HASHED, HASHED_TOO_EARLY, HASHED_NOTHING };

static enum hashed hash_open(struct completion *completion, int fd)
{
	const struct write *write = completion->write;
	struct stat stat;

	if (sys_fstat(fd, &stat) < 0)
		return HASHED_NOTHING;
	if (!completion->ends && has_open(completion->target, &stat))
		return HASHED_TOO_EARLY;
	int error = guard_scan(completion->supervision->segment, fd, &completion->now,
			       &completion->has_nonce);
	/* The call may have been made since, or be just being made, which has emptied the file
	 * before there is a descriptor: then that is no more than a part of what it will be. */
	if (!completion->sure && (has_open(completion->target, &stat) || is_changed(fd, &stat) ||
				  (write->empties && !stat.st_size)))
		return HASHED_TOO_EARLY;
	completion->is_touched = stamp_of(&stat).ctime_ns != write->ctime_ns;
	return error == 0 ? HASHED : HASHED_NOTHING;
}

/* Hashes what is there now; a file that is not there has no version. */
static enum hashed hash_now(struct completion *completion)
{
	int fd = sys_open(completion->write->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);

	if (fd < 0)
		return fd == -ENOENT ? HASHED : HASHED_NOTHING;
	enum hashed hashed = hash_open(completion, fd);
	(void)close(fd);
	return hashed;
}

/* Is there no change of this write to be reported? */
static bool is_no_change(const struct completion *completion)
{
	const struct write *write = completion->write;

	if (!completion->is_heard)
		return is_reported(completion->supervision, write, &completion->now);
	return version_equal(&completion->now, &write->before) ||
	       (completion->has_nonce &&
		remove_notice(completion->supervision, completion->target, write));
}

static void report_change(const struct completion *completion)
{
	const struct supervision *supervision = completion->supervision;
	const struct segment *segment = supervision->segment;
	const struct write *write = completion->write;
	const struct guard_writer *who = &completion->who;
	struct guard_answer stored;

	guard_finish_write(segment, who, write->key, &completion->now, write->knows);
	record_edited(supervision, completion->target, write->path, &write->before,
		      &completion->now, source_of_process(who->context->flags, who->role));
	/* What there was already and is appended to is a record of what was given. */
	bool is_record = write->appends && !version_is_none(&write->before);
	if (completion->has_nonce && !is_record &&
	    guard_stored_notice(segment, write->key, &write->before, &stored))
		record_guarded(supervision, completion->target, write->path, &stored);
	if (!completion->is_heard) {
		struct guard_writer other = { .serial = completion->unfinished };
		struct guard_answer again = { .file_key = write->key, .knows = completion->knows };
		guard_start_write(segment, &other, "", &again);
	}
}

/* Hashes the result.  Returns false while the write is not complete. */
static bool complete(struct completion *completion)
{
	const struct segment *segment = completion->supervision->segment;
	const struct write *write = completion->write;

	completion->unfinished = guard_unfinished(segment, write->key, &completion->knows);
	completion->is_heard = completion->unfinished == write->serial;
	/* Another one was first: this process's own library, or `seen run`. */
	if (!completion->unfinished || (!completion->is_heard && !is_pending(write, false)))
		return true;
	enum hashed hashed = hash_now(completion);
	if (hashed != HASHED)
		return hashed == HASHED_NOTHING; /* it stays unfinished */
	bool is_same = version_equal(&completion->now, &write->before);
	if (!completion->sure && !completion->is_touched && is_same)
		return false;
	if (!is_no_change(completion)) {
		report_change(completion);
		return true;
	}
	guard_cancel(segment, &completion->who, write->key); /* another's goes on */
	if (is_same)
		unreported_withdraw(segment, write->key, &write->before);
	return true;
}

/* Is the write over?  One is inspected at a time: what is reported last of a file is then what is
 * there. */
static bool is_over(const struct supervision *supervision, struct target *target,
		    const struct write *write, bool ends, bool sure)
{
	struct completion completion = {
		.supervision = supervision,
		.target = target,
		.write = write,
		.ends = ends,
		.sure = sure,
		.who = guarded_writer(target),
	};

	completion.who.serial = write->serial;
	(void)pthread_mutex_lock(&settle_lock);
	bool over = complete(&completion);
	if (over) {
		(void)is_pending(write, true);
		resume_pending(supervision->segment, write->key);
	}
	(void)pthread_mutex_unlock(&settle_lock);
	return over;
}

void guarded_complete(const struct supervision *supervision, struct target *target, pid_t tid)
{
	const uint64_t MADE_NS = 2000000000; /* a call that was let pass has been made by then, */
	const uint64_t SOON_NS = 5000000;    /* by then most calls have a result */
	struct guarded_files *writes = target->writes;
	uint64_t now_ns = sys_boottime_ns();
	int kept = 0;

	if (!writes || !writes->count || !inspection_start())
		return;
	for (int i = 0; i < writes->count; i++) {
		const struct write *write = &writes->writes[i];
		uint64_t age_ns = now_ns - write->time_ns;
		bool sure = !tid || write->tid == tid || age_ns > MADE_NS;
		if ((sure || age_ns > SOON_NS) && is_over(supervision, target, write, !tid, sure))
			continue;
		if (kept != i)
			writes->writes[kept] = writes->writes[i];
		kept++;
	}
	writes->count = kept;
	inspection_finish();
}

bool guarded_are_young(const struct guarded_files *writes)
{
	const uint64_t YOUNG_NS = 3000000000;
	uint64_t now_ns = sys_boottime_ns();

	for (int i = 0; i < writes->count; i++)
		if (now_ns - writes->writes[i].time_ns < YOUNG_NS)
			return true;
	return false;
}
