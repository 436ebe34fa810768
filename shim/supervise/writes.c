/* The guard for supervised processes: see writes.h. */
#include "shim/supervise/writes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

enum { WRITES_MAX = 32 }; /* of one process at once: of more the end is not looked at here */

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

void writes_free(struct writes *writes)
{
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
}

/* Does a file that is to take another's place hold a notice? */
static bool has_notice(const struct supervision *supervision, const struct target *target,
		       const struct named *source)
{
	struct version version;
	bool has_nonce = false;
	int fd = look_open(look_up(target, source, false));

	if (fd < 0)
		return false;
	if (guard_scan(supervision->segment, fd, &version, &has_nonce) < 0)
		has_nonce = false;
	(void)close(fd);
	return has_nonce;
}

static int ask(const struct supervision *supervision, struct target *target,
	       const struct named *named, enum guard_kind kind, bool follows,
	       const struct named *source)
{
	const struct segment *segment = supervision->segment;
	struct guard_writer who = writer(target);
	struct guard_answer answer;
	int fd = look_open(look_up(target, named, follows));

	if (fd == -EINVAL || fd == -ELOOP) /* a folder, a device, a link */
		return 0;
	if (source && fd >= 0 && has_notice(supervision, target, source)) {
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
	/* Somebody was first: this process's own library, or `seen run`. */
	if (guard_unfinished(segment, write->key, &knows) != who.serial)
		return true;
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
	if (version_equal(&now, &write->before) ||
	    (has_nonce && take_back(supervision, target, write))) {
		guard_cancel(segment, &who, write->key);
		return true;
	}
	guard_end(segment, &who, write->key, &now, write->knows);
	record_edited(supervision, target, write->path, &write->before, &now,
		      guard_source(who.context, who.role));
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
		if (is_made && settle(supervision, target, write, !tid))
			continue;
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
