/* The guard for supervised processes: see writes.h. */
#include "shim/supervise/writes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/supervise/look.h"
#include "shim/supervise/memory.h"
#include "tracker/baseline.h"
#include "tracker/capture.h"
#include "tracker/contents.h"
#include "tracker/file.h"
#include "tracker/path.h"
#include "tracker/sys.h"

enum {
	WRITES_MAX = 32,    /* of one process at once: of more the end is not looked at here */
	PENDING_MAX = 1024, /* of all */
};

/* A call that was let pass. */
struct write {
	uint64_t key;
	uint64_t serial; /* of the program that made the call: another may have taken its place, with the file still open */
	pid_t tid; /* whose call it was */
	uint64_t time_ns;
	struct version before;
	uint32_t knows;
	bool kept;    /* `before` is in the content store */
	bool appends; /* agents record what they were given, a notice too */
	char path[SEGMENT_PATH_BYTES];
};

struct writes {
	int count;
	struct write writes[WRITES_MAX];
};

/* The writes of all processes that have not ended, in no order.  A file's slot has room for one writer: when that ends, another's
 * goes on. */
static struct unended {
	uint64_t key, serial;
	uint32_t knows;
} pending[PENDING_MAX];
static int pending_count;
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;

static void begin_pending(const struct write *write)
{
	(void)pthread_mutex_lock(&pending_lock);
	if (pending_count < PENDING_MAX)
		pending[pending_count++] = (struct unended){ write->key, write->serial,
							     write->knows };
	(void)pthread_mutex_unlock(&pending_lock);
}

static void end_pending(const struct write *write)
{
	(void)pthread_mutex_lock(&pending_lock);
	for (int i = 0; i < pending_count; i++)
		if (pending[i].key == write->key && pending[i].serial == write->serial) {
			pending[i] = pending[--pending_count];
			break;
		}
	(void)pthread_mutex_unlock(&pending_lock);
}

/* Says of a file that has no writer any more, for all that its slot says, who writes to it still. */
static void resume_pending(const struct segment *segment, uint64_t key, uint64_t ended_serial)
{
	struct unended found = { 0 };
	uint32_t knows;

	(void)pthread_mutex_lock(&pending_lock);
	for (int i = 0; i < pending_count; i++)
		if (pending[i].key == key && pending[i].serial != ended_serial)
			found = pending[i];
	(void)pthread_mutex_unlock(&pending_lock);
	if (!found.key || guard_unfinished(segment, key, &knows))
		return;
	struct guard_writer other = { .serial = found.serial };
	struct guard_answer again = { .file_key = key, .knows = found.knows };
	guard_begin(segment, &other, "", &again);
}

void writes_free(struct writes *writes)
{
	for (int i = 0; writes && i < writes->count; i++)
		end_pending(&writes->writes[i]);
	free(writes);
}

static struct guard_writer writer(const struct target *target)
{
	const struct context *context = &target->request.context;
	return (struct guard_writer){
		.scope_id = target->scope_id ? target->scope_id : baseline_scope(context, NULL),
		.serial = target->process.serial,
		.context = context,
		.role = context->role,
	};
}

static bool is_guarded(const struct target *target)
{
	return (target->request.context.flags & CONTEXT_ATTACHED) && !target->invocation.ignored;
}

bool write_concerns(const struct supervision *supervision, const struct target *target,
		    const struct named *named)
{
	struct guard_writer who = writer(target);
	return is_guarded(target) && named->normal && named->normal[0] &&
	       guard_concerns(supervision->segment, &who, named->normal);
}

/* Tells the agent, where it reads what its commands say.  Only into a pipe or terminal, which can be opened from here. */
static void say(const struct supervision *supervision, const struct target *target,
		const struct guard_answer *answer, const char *path)
{
	char name[PROC_PATH_BYTES], line[SEGMENT_PATH_BYTES];
	struct stat stat;

	if (target->request.context.role == ROLE_AGENT ||
	    subject_stat(target->request.subject, 2, &stat) < 0 || S_ISREG(stat.st_mode) ||
	    !capture_is_errors(supervision->segment, &target->request.context, &stat))
		return;
	size_t length = guard_say(supervision->segment, answer, path, line, sizeof(line));
	subject_path(target->request.subject, 2, name);
	int fd = sys_open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
	if (fd < 0)
		return;
	(void)sys_write(fd, line, length); /* all signals are blocked here */
	(void)close(fd);
}

/* What is to be known of what comes of it. */
static void remember(struct target *target, const struct guard_answer *answer,
		     const struct named *named)
{
	if (!target->writes)
		target->writes = calloc(1, sizeof(*target->writes));
	struct writes *writes = target->writes;
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
				 .appends = answer->kind == GUARD_APPENDS };
	(void)snprintf(write->path, sizeof(write->path), "%s", named->normal);
	begin_pending(write);
}

/* What is to take another file's place.  Returns 0 or a negative errno: then nothing is known of it. */
static int look_at_source(const struct supervision *supervision, const struct target *target,
			  const struct named *named, struct version *ret_version,
			  bool *ret_has_notice)
{
	int fd = look_open(look_up(target, named, false));

	if (fd < 0)
		return fd;
	int error = guard_scan(supervision->segment, fd, ret_version, ret_has_notice);
	(void)close(fd);
	return error;
}

/* The other side of a rename: the session takes a file from its name, nobody else. */
static void remember_source(const struct supervision *supervision, struct target *target,
			    const struct named *named, const struct version *version)
{
	struct guard_writer who = writer(target);
	struct guard_answer answer = { .knows = GUARD_KNEW,
				       .kind = GUARD_REPLACES,
				       .before = *version };

	if (!write_concerns(supervision, target, named))
		return;
	answer.file_key = path_key(supervision->segment, named->normal);
	guard_begin(supervision->segment, &who, named->normal, &answer);
	remember(target, &answer, named);
}

static int ask(const struct supervision *supervision, struct target *target,
	       const struct named *named, enum guard_kind kind, bool follows,
	       const struct named *source)
{
	const struct segment *segment = supervision->segment;
	struct guard_writer who = writer(target);
	struct guard_answer answer;
	struct version moved;
	bool has_notice = false;
	int fd = look_open(look_up(target, named, follows));

	if (fd == -EINVAL || fd == -ELOOP) /* a folder, a device, a link */
		return 0;
	bool moves = source &&
		     look_at_source(supervision, target, source, &moved, &has_notice) == 0;
	if (moves && fd >= 0 && has_notice) {
		answer = (struct guard_answer){ .verdict = GUARD_DENY,
						.reason = GUARD_NOTICE,
						.error = -EIO };
		segment_count(segment, COUNTER_notices_refused, 1);
	} else {
		guard_look(segment, &who, named->normal, fd, kind, &answer);
	}
	if (fd >= 0)
		(void)close(fd);
	if (answer.verdict != GUARD_PASS) {
		say(supervision, target, &answer, named->normal);
		record_guarded(supervision, target, named->normal, &answer);
	}
	if (answer.verdict == GUARD_DENY)
		return answer.error;
	if (answer.reason == GUARD_UNREADABLE)
		return 0;
	guard_begin(segment, &who, named->normal, &answer);
	remember(target, &answer, named);
	if (moves)
		remember_source(supervision, target, source, &moved);
	return 0;
}

int write_ask(const struct supervision *supervision, struct target *target,
	      const struct named *named, enum guard_kind kind, bool follows,
	      const struct named *source)
{
	if (!look_begin()) {
		segment_count(supervision->segment, COUNTER_unguarded, 1);
		return 0;
	}
	int error = ask(supervision, target, named, kind, follows, source);
	look_end();
	return error;
}

/* Has the process a descriptor for that file? */
static bool has_open(const struct target *target, const struct stat *file)
{
	char path[PROC_PATH_BYTES + 32];
	struct dirent *entry;
	struct stat stat;
	bool found = false;

	proc_path((uint32_t)target->pid, "fd", path);
	DIR *folder = opendir(path);
	if (!folder)
		return false;
	size_t length = strlen(path);
	while (!found && (entry = readdir(folder))) {
		(void)snprintf(path + length, sizeof(path) - length, "/%.20s", entry->d_name);
		found = sys_stat(path, &stat) == 0 && stat.st_dev == file->st_dev &&
			stat.st_ino == file->st_ino;
	}
	(void)closedir(folder);
	return found;
}

/* Takes a notice out of a file again: the write itself could not be refused.  Nobody has it open. */
static bool take_back(const struct supervision *supervision, struct target *target,
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
	int fd = sys_open(write->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd < 0)
		return false;
	int error = contents_restore(supervision->segment, &write->before, fd);
	(void)close(fd);
	if (error < 0)
		return false;
	segment_count(supervision->segment, COUNTER_notices_refused, 1);
	record_guarded(supervision, target, write->path, &answer);
	return true;
}

/* Did somebody say already what is there now?  The slot has room for one writer: where another one began since, or has ended, that may
 * be what this one made of it as well, and only the content tells. */
static bool is_said(const struct supervision *supervision, const struct write *write,
		    const struct version *now)
{
	struct file_slot file;

	return version_equal(now, &write->before) ||
	       file_find(supervision->segment, write->key, &file) < 0 ||
	       (version_is_none(now)
			? (file.flags & FILE_REMOVED) != 0
			: version_equal(now, &file.written) || version_equal(now, &file.outside));
}

/* Looks at what came of one.  False: it is not over yet. */
static bool settle(const struct supervision *supervision, struct target *target,
		   const struct write *write, bool ends)
{
	const struct segment *segment = supervision->segment;
	struct guard_writer who = writer(target);
	struct version now = { 0 };
	bool has_nonce = false, read = true;
	uint32_t knows;
	struct stat stat;

	who.serial = write->serial;
	uint64_t unfinished = guard_unfinished(segment, write->key, &knows);
	bool is_heard = unfinished == who.serial;
	int fd = sys_open(write->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	if (fd >= 0) {
		if (sys_fstat(fd, &stat) == 0 && !ends && has_open(target, &stat)) {
			(void)close(fd);
			return false;
		}
		read = guard_scan(segment, fd, &now, &has_nonce) == 0;
		(void)close(fd);
	}
	if (!read || (fd < 0 && fd != -ENOENT))
		return true; /* it stays unfinished */
	if (is_heard ? version_equal(&now, &write->before) ||
			       (has_nonce && take_back(supervision, target, write))
		     : is_said(supervision, write, &now)) {
		guard_cancel(segment, &who, write->key); /* another's goes on */
		return true;
	}
	guard_end(segment, &who, write->key, &now, write->knows);
	record_edited(supervision, target, write->path, &write->before, &now,
		      guard_source(who.context, who.role));
	if (!is_heard && unfinished) {
		struct guard_writer other = { .serial = unfinished };
		struct guard_answer again = { .file_key = write->key, .knows = knows };
		guard_begin(segment, &other, "", &again);
	}
	return true;
}

void writes_settle(const struct supervision *supervision, struct target *target, pid_t tid)
{
	const uint64_t MADE_NS = 50000000; /* a call that was let pass has been made by then */
	struct writes *writes = target->writes;
	uint64_t now_ns = sys_boottime_ns();
	int kept = 0;

	if (!writes || !writes->count || !look_begin())
		return;
	for (int i = 0; i < writes->count; i++) {
		const struct write *write = &writes->writes[i];
		bool is_made = !tid || write->tid == tid || now_ns - write->time_ns > MADE_NS;
		if (is_made && settle(supervision, target, write, !tid)) {
			end_pending(write);
			resume_pending(supervision->segment, write->key, write->serial);
			continue;
		}
		if (kept != i)
			writes->writes[kept] = writes->writes[i];
		kept++;
	}
	writes->count = kept;
	look_end();
}

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

static void note_shown(const struct supervision *supervision, struct target *target,
		       const struct named *named)
{
	const struct segment *segment = supervision->segment;
	uint64_t scope_id = writer(target).scope_id;
	bool is_agent = target->request.context.role == ROLE_AGENT;
	struct content content;
	struct stat stat;

	int fd = look_open(look_up(target, named, true));
	if (fd < 0)
		return;
	if (!is_agent)
		request_at_sink(segment, &target->request);
	uint64_t key = 0;
	if ((is_agent || target->request.at_sink) && sys_fstat(fd, &stat) == 0 &&
	    content_of_descriptor(fd, segment->settings->content_max_file_bytes, &content) == 0) {
		struct stamp stamp = stamp_of(&stat);
		key = file_update(segment, named->normal, &stamp, NULL, NULL);
	}
	(void)close(fd);
	if (!key)
		return;
	if (is_agent)
		baseline_read(segment, scope_id, key, &content.version);
	else
		baseline_given(segment, scope_id, key, &content.version);
	(void)file_change_known(segment, key, note_given, NULL);
}

void write_read(const struct supervision *supervision, struct target *target,
		const struct named *named)
{
	bool is_agent = target->request.context.role == ROLE_AGENT;

	if (!is_guarded(target) || (!is_agent && !target->invocation.shows) || !named->normal ||
	    !writer(target).scope_id || !path_is_tracked(supervision->segment, named->normal) ||
	    !look_begin())
		return;
	note_shown(supervision, target, named);
	look_end();
}
