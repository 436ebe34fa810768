/* Viewers that the library is not in: see viewer.h. */
#include "shim/supervise/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/start/compat.h"
#include "shim/supervise/memory.h"
#include "shim/supervise/record.h"
#include "shim/supervise/rights.h"
#include "shim/supervise/twin.h"
#include "tracker/answer/decision_delivery.h"
#include "tracker/answer/inject.h"
#include "tracker/answer/notice.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum { VIEWS_MAX = 64 };

struct viewed_file {
	int fd; /* shares its offset with the viewer's */
	struct pending pending;
	struct version version; /* of the bytes when it was opened */
	bool is_copy;           /* `fd` is one in memory, below instruction files; */
	struct stamp stamp;     /* then, of the file when it was made */
	uint32_t path;
};

struct viewed_files {
	struct viewed_file views[VIEWS_MAX];
	int count;
	struct {
		uint64_t dev, ino;
	} opened[VIEWS_MAX]; /* each file is answered at most once */
	int opened_count;
	struct inject injects;        /* put before what it reads */
	struct shape given;           /* of all that it is given to read */
	uint64_t before_out;          /* written by the process before it opened anything */
	uint64_t in_bytes, out_bytes; /* read and written before it opened a file that is tracked */
	bool tracks;                  /* it did */
	bool asked_rights,
		has_rights; /* asked once: a viewer takes none from itself but by Landlock */
	bool untrackable;   /* it does what is not followed: it delivers nothing */
};

void viewed_free(struct viewed_files *views)
{
	if (!views)
		return;
	for (int i = 0; i < views->count; i++)
		(void)close(views->views[i].fd);
	free(views);
}

/* What a process handed to read and write calls so far (proc(5), io). */
static bool read_traffic(pid_t pid, uint64_t *ret_in, uint64_t *ret_out)
{
	char path[64], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	return sys_read_file(path, text, sizeof(text)) > 0 &&
	       sscanf(text, "rchar: %lu wchar: %lu", ret_in, ret_out) == 2;
}

static struct viewed_files *viewed_files_of(struct target *target)
{
	uint64_t in_bytes;

	if (!target->views) {
		struct viewed_files *views = calloc(1, sizeof(*views));
		if (views && !read_traffic(target->pid, &in_bytes, &views->before_out))
			views->untrackable = true;
		target->views = views;
	}
	return target->views;
}

/* From here on the process must write what it reads.  What libc read to start with (locales) is not
 * counted. */
static void start_tracking(struct target *target)
{
	struct viewed_files *views = target->views;

	if (!views->tracks && !read_traffic(target->pid, &views->in_bytes, &views->out_bytes))
		views->untrackable = true;
	views->tracks = true;
}

/* Does the process open files with our rights?  Then what we may open, it may. */
static bool has_our_rights(const struct target *target)
{
	struct viewed_files *views = target->views;

	if (!views->asked_rights)
		views->has_rights = rights_are_own(target->pid);
	views->asked_rights = true;
	return views->has_rights;
}

/* Notes that the process opened this file.  False when it did so before, or too many others. */
static bool is_first_time(struct viewed_files *views, const struct stat *stat)
{
	for (int i = 0; i < views->opened_count; i++)
		if (views->opened[i].dev == stat->st_dev && views->opened[i].ino == stat->st_ino)
			return false;
	if (views->opened_count == VIEWS_MAX)
		return false;
	views->opened[views->opened_count].dev = stat->st_dev;
	views->opened[views->opened_count].ino = stat->st_ino;
	views->opened_count++;
	return true;
}

static uint32_t injected_text(const char *path, void *data)
{
	return record_path(data, path);
}

/* A notice, or where there is none the file's bytes, below instruction files that are to come
 * first.  version: of these bytes.
 * Returns a descriptor, or a negative errno. */
static int inject(const struct supervision *supervision, struct target *target, int fd,
		  const char *path, const struct stat *stat, const struct answer *answer,
		  const struct version *version)
{
	bool is_notice = answer->decision == DECISION_NOTICE;
	const struct inject_rest tail = {
		.path = path,
		.stat = stat,
		.fd = fd,
		.bytes = is_notice ? answer->notice_bytes : (uint64_t)stat->st_size,
		.notice = is_notice ? answer->notice : NULL,
		.version = version,
	};
	uint64_t before_bytes;

	return inject_file(supervision->segment, &target->request, &tail, injected_text,
			   (void *)(uintptr_t)supervision, &target->views->injects, &before_bytes);
}

static void add_shape(struct shape *sum, const struct shape *shape)
{
	/* Its first line may go on where the one before it ended. */
	uint64_t longest = sum->open_bytes + shape->longest;

	sum->bytes += shape->bytes;
	sum->newlines += shape->newlines;
	sum->open_bytes += shape->open_bytes;
	if (sum->longest < longest)
		sum->longest = longest;
}

/* Notes what the viewer is given to read: a file in memory, else what has the shape. */
static void add_given(struct viewed_files *views, int memory, const struct shape *shape)
{
	struct content content;
	struct shape made;

	if (memory < 0)
		add_shape(&views->given, shape);
	else if (content_and_shape(memory, UINT64_MAX, &content, &made) == 0)
		add_shape(&views->given, &made);
}

/* Remembers the file, whose real bytes are about to be given, by a descriptor that the process will
 * share.  Returns a descriptor for the process, or -1. */
static int follow(const struct supervision *supervision, struct target *target, int fd,
		  const char *path, const struct stat *stat, const struct answer *answer)
{
	struct viewed_files *views = target->views;
	struct viewed_file *viewed = &views->views[views->count];
	struct content content;
	struct shape shape;

	/* One that is never answered need not be followed, nor read before its reader reads it. */
	if (views->count == VIEWS_MAX ||
	    (uint64_t)stat->st_size > supervision->segment->settings->notice_max_bytes ||
	    content_and_shape(fd, UINT64_MAX, &content, &shape) < 0 ||
	    decision_pend(supervision->segment, &target->request, path, stat, answer,
			  &viewed->pending) < 0)
		return -1;
	/* The viewer's own open would have been without. */
	int flags = sys_fcntl(fd, F_GETFL, 0);
	if (flags < 0 || sys_fcntl(fd, F_SETFL, flags & ~(O_NONBLOCK | O_NOATIME)) < 0)
		return -1;
	int count = views->injects.count;
	int memory = inject(supervision, target, fd, path, stat, answer, &content.version);
	int given = memory >= 0 ? memory : fd;
	int copy = sys_fcntl(given, F_DUPFD_CLOEXEC, 3);
	if (copy < 0 && memory >= 0) {
		(void)close(memory);
		views->injects.count = count;
	}
	if (copy < 0)
		return -1;
	add_given(views, memory, &shape);
	viewed->fd = copy;
	viewed->is_copy = memory >= 0;
	viewed->stamp = stamp_of(stat);
	viewed->version = content.version;
	viewed->path = record_path(supervision, path);
	views->count++;
	return given;
}

/* A tracked file that the viewer opens for the first time, and its path.  Returns a descriptor, or a
 * negative number: the viewer opens it by itself. */
static int open_tracked(const struct supervision *supervision, struct target *target,
			const struct named *named, struct stat *ret_stat, char *ret_path)
{
	int fd = resolve_name(target, named, true);

	if (fd < 0)
		return fd;
	bool is_tracked = sys_fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode) &&
			  subject_name(SUBJECT_SELF, fd, ret_path, SEGMENT_PATH_BYTES) > 0 &&
			  ret_path[0] == '/' && path_is_tracked(supervision->segment, ret_path) &&
			  resolve_is_visible(target, fd) && !target->confined;
	if (!is_tracked) {
		(void)close(fd);
		return -1;
	}
	if (!target->domain && has_our_rights(target)) {
		fd = resolve_open(fd);
	} else {
		(void)close(fd);
		fd = twin_open(target, named, ret_stat);
	}
	if (fd >= 0 && !is_first_time(target->views, ret_stat)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static void decide(const struct supervision *supervision, struct target *target,
		   const char *path_as_given, const char *path, int fd, const struct stat *stat,
		   struct viewer_answer *ret_answer)
{
	struct answer *answer = &ret_answer->answer;

	baseline_add_name(supervision->segment, path_as_given);
	request_concerns(supervision->segment, &target->request, path);
	request_at_sink(supervision->segment, &target->request);
	decision_open(supervision->segment, &target->request, path, path_as_given, fd, stat,
		      answer);
	ret_answer->is_decided = true;
	ret_answer->details = (struct journal_details){
		.dev = stat->st_dev,
		.ino = stat->st_ino,
		.size_bytes = (uint64_t)stat->st_size,
		.before = answer->delivered,
	};
	if (answer->decision != DECISION_CONTENT)
		ret_answer->details.after = answer->content.version;
}

/* The notice, below instruction files that are to come first. */
static void deliver_notice(const struct supervision *supervision, struct target *target, int fd,
			   const char *path, const struct stat *stat, struct viewer_answer *answer)
{
	answer->fd = inject(supervision, target, fd, path, stat, &answer->answer, NULL);
	if (answer->fd < 0)
		answer->fd = notice_file(answer->answer.notice, answer->answer.notice_bytes);
	if (answer->fd >= 0) {
		add_given(target->views, answer->fd, NULL);
		return;
	}
	answer->fd = -1;
	viewer_undo(supervision, target, answer);
}

static void inspect_and_open(const struct supervision *supervision, struct target *target,
			     const struct named *named, uint32_t flags,
			     struct viewer_answer *ret_answer)
{
	/* What changes nothing about reading the file. */
	const uint32_t PLAIN = O_RDONLY | O_CLOEXEC | O_NOCTTY | COMPAT_O_LARGEFILE;
	struct viewed_files *views = viewed_files_of(target);
	char path[SEGMENT_PATH_BYTES];
	struct stat stat;

	ret_answer->fd = -1;
	ret_answer->is_decided = false;
	if (!views)
		return;
	if (named->tid != target->pid || (flags & ~PLAIN)) {
		views->untrackable = true;
		return;
	}
	int fd = open_tracked(supervision, target, named, &stat, path);
	if (fd < 0)
		return;
	decide(supervision, target, named->path, path, fd, &stat, ret_answer);
	start_tracking(target);
	if (ret_answer->answer.decision == DECISION_NOTICE)
		deliver_notice(supervision, target, fd, path, &stat, ret_answer);
	else if (!views->untrackable)
		ret_answer->fd = follow(supervision, target, fd, path, &stat, &ret_answer->answer);
	if (ret_answer->fd != fd)
		(void)close(fd);
}

void viewer_open(const struct supervision *supervision, struct target *target,
		 const struct named *named, uint32_t flags, struct viewer_answer *ret_answer)
{
	if (inspection_start()) {
		inspect_and_open(supervision, target, named, flags, ret_answer);
		inspection_finish();
		return;
	}
	struct viewed_files *views = viewed_files_of(target);
	ret_answer->fd = -1;
	ret_answer->is_decided = false;
	if (views)
		views->untrackable = true;
}

void viewer_undo(const struct supervision *supervision, struct target *target,
		 struct viewer_answer *answer)
{
	if (answer->answer.decision == DECISION_NOTICE) {
		decision_undo(supervision->segment, &target->request, &answer->answer);
		answer->answer.decision = DECISION_CONTENT;
		answer->answer.reason = REASON_UNREADABLE;
	}
	if (target->views)
		target->views->untrackable = true;
}

/* Was it read to its end, and is what it was?  ret_stamp: of the file whose bytes these are. */
static bool was_read_whole(const struct viewed_file *viewed, struct stamp *ret_stamp)
{
	struct content content;
	struct stat stat;

	if (sys_fstat(viewed->fd, &stat) < 0 ||
	    sys_call3(SYS_lseek, viewed->fd, 0, SEEK_CUR) != stat.st_size)
		return false;
	*ret_stamp = viewed->is_copy ? viewed->stamp : stamp_of(&stat);
	return viewed->is_copy || (content_of_descriptor(viewed->fd, UINT64_MAX, &content) == 0 &&
				   version_equal(&content.version, &viewed->version));
}

/* What was given can be brought back, and compared with what comes later. */
static void keep(const struct supervision *supervision, const struct viewed_file *viewed)
{
	struct file_slot file;
	struct version kept;
	char path[SEGMENT_PATH_BYTES];

	if (file_find(supervision->segment, viewed->pending.file_key, &file) < 0 ||
	    file_path(supervision->segment, &file, path, sizeof(path)) <= 0)
		return;
	int fd = viewed->is_copy ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
				 : viewed->fd;
	if (fd >= 0)
		(void)contents_save(supervision->segment, fd, path, CONTENTS_GIVEN, &kept);
	if (fd >= 0 && fd != viewed->fd)
		(void)close(fd);
}

/* A file was read whole, and is what it was: that becomes a delivery.  Returns whether it was. */
static bool deliver(const struct supervision *supervision, struct target *target,
		    const struct viewed_file *viewed)
{
	struct delivered delivered;
	struct stamp stamp;

	if (!was_read_whole(viewed, &stamp))
		return false;
	decision_deliver(supervision->segment, &target->request, &viewed->pending, &stamp,
			 &viewed->version, &delivered);
	struct journal_details details = {
		.dev = stamp.dev,
		.ino = stamp.ino,
		.size_bytes = stamp.size_bytes,
		.before = delivered.before,
		.after = viewed->version,
	};
	if (delivered.is_changed)
		record_delivery(supervision, target, JOURNAL_CHANGED, viewed->path, &details);
	if (delivered.is_given) {
		record_delivery(supervision, target, JOURNAL_GIVEN, viewed->path, &details);
		keep(supervision, viewed);
	}
	return true;
}

void viewer_ended(const struct supervision *supervision, struct target *target, int status)
{
	struct viewed_files *views = target->views;
	uint64_t in_bytes, out_bytes;

	if (!views || !read_traffic(target->pid, &in_bytes, &out_bytes))
		return;
	/* It writes what it read: of what is more, each byte may be a line. */
	struct shape out = views->given;
	uint64_t written = out_bytes - views->before_out;
	if (written > out.bytes)
		shape_unseen(&out, written - out.bytes);
	out.bytes = written;
	request_wrote(supervision->segment, &target->request, NULL, &out);
	if (status != 0 || views->untrackable ||
	    in_bytes - views->in_bytes != out_bytes - views->out_bytes)
		return;
	request_still_at_sink(supervision->segment, &target->request);
	if (!inspection_start())
		return;
	bool all_read = true; /* of what was put before files */
	for (int i = 0; i < views->count; i++)
		if (!deliver(supervision, target, &views->views[i]) && views->views[i].is_copy)
			all_read = false;
	inspection_finish();
	for (int i = 0; all_read && target->request.at_sink && i < views->injects.count; i++)
		if (inject_given(supervision->segment, &views->injects, i))
			record_instructed(supervision, target, &views->injects.files[i]);
}
