/*
 * Viewers and readers.
 *
 * A viewer's open is decided at once (tracker/answer/decision.h).  A notice is given as a sealed,
 * read-only memfd put in the place of the descriptor, so that read, pread, mmap, lseek and fstat
 * agree without each being hooked.  Otherwise the file's bytes are hashed as the viewer reads them,
 * and become a delivery at exit(0) if every byte from 0 to the size was read while the stamp stayed
 * the same, and the viewer wrote as many bytes to descriptor 1 as it read in all.  What changed
 * (diff.c) is given as a notice is, and followed as a file is.
 *
 * Viewers are single-threaded programs that read, write and exit.  Whatever is not that (another
 * thread, another way to copy, descriptor 1 moved) makes the process untrackable: it delivers nothing.
 */
#include "shim/preload/follow/viewer.h"

#include <string.h>

#include "shim/keep/scratch.h"
#include "shim/preload/follow/diff.h"
#include "shim/preload/follow/range.h"
#include "shim/preload/follow/reader.h"
#include "shim/preload/record.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/answer/decision_delivery.h"
#include "tracker/answer/inject.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/process/capture.h"
#include "tracker/process/kernel_status.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	VIEWS_MAX = 64,  /* files of one invocation that may become deliveries */
	STREAMS_MAX = 8, /* of these, open at a time */
	STDOUT = 1,
	PATHS_BYTES = 16384, /* of files that are put on record at the end */
	DIRECTORY_BYTES = 1024,
};

/* A file whose real bytes, or what changed in it, the viewer reads. */
struct viewed_file {
	int fd; /* -1: closed */
	/* not read from 0 to the end, one byte behind the other, or changed meanwhile */
	bool broken;
	bool is_copy;          /* in memory, below instruction files */
	uint64_t before_bytes; /* of these, that were not read yet */
	struct pending pending;
	uint32_t path;           /* in the journal */
	const char *late;        /* path of a file that is on no record yet */
	struct stamp finish;     /* at close or exit; of a copy: when it was made */
	struct version diff;     /* pending.is_diff: of the text that it reads */
	struct version leads_to; /* and of the file with that */
	struct version version;  /* of what was read; once it is closed */
	struct version_stream *stream;
};

static struct viewed_file views[VIEWS_MAX];
static int view_count;

/* Of those that are open: most viewers have one open at a time, and each is large; memory that
 * is not used counts where a program's data is limited (RLIMIT_DATA). */
static struct version_stream streams[STREAMS_MAX];
static uint32_t streams_taken; /* a bit for each */

static struct inject injects; /* put before what the viewer reads */

/* Every file that this process opened, given or answered: it is answered at most once. */
static struct {
	uint64_t dev;
	uint64_t ino;
} opened[VIEWS_MAX];
static int opened_count;

static char paths[PATHS_BYTES];
static size_t paths_used;

/* A directory that a file was opened in: what stood before the name, and what the kernel calls
 * that; both with the slash. */
static struct {
	size_t given_bytes, kernel_bytes; /* kernel_bytes 0: none is known */
	char given[DIRECTORY_BYTES], kernel[DIRECTORY_BYTES];
} recent_directory;

static bool is_begun;   /* a file was opened */
static bool out_closed; /* it was closed since: another file may be there */

static struct shape in;      /* of every read */
static struct shape counted; /* of what it wrote to descriptor 1, on record with its command */
static uint64_t bytes_out;   /* to descriptor 1 */

static struct viewed_file *viewed_of(int fd)
{
	for (int i = 0; i < view_count; i++)
		if (views[i].fd == fd)
			return &views[i];
	return NULL;
}

/* Puts a memfd with a notice, or with what changed, in the place of a descriptor.  readable:
 * closed; a negative errno is passed on.  Returns 0 or a negative errno; then the descriptor is as
 * it was. */
static int install(int fd, int readable)
{
	if (readable < 0)
		return readable;
	int error = sys_fcntl(fd, F_GETFD, 0);
	if (error >= 0)
		error = (int)sys_call3(SYS_dup3, readable, fd, error & FD_CLOEXEC ? O_CLOEXEC : 0);
	(void)sys_close(readable);
	return error < 0 ? error : 0;
}

/* Gives what changed, where it can be had and its result can be followed.  Else the answer is
 * CONTENT. */
static void deliver_diff(int fd, const char *path, struct answer *answer, struct version *ret_diff)
{
	if (view_count < VIEWS_MAX && install(fd, diff_make(fd, path, answer, ret_diff)) == 0) {
		shim.answered = true;
		decision_diffed(&shim.segment, &shim.request, answer, ret_diff->size_bytes);
	} else {
		answer->decision = DECISION_CONTENT;
	}
}

static uint32_t injected_text(const char *path, void *data)
{
	(void)data;
	return record_path(path);
}

/* Gives the notice, below instruction files that are to come first. */
static int deliver_notice(int fd, const struct answer *answer, const char *path,
			  const struct stat *stat)
{
	const struct inject_rest tail = {
		.path = path, .stat = stat, .bytes = answer->notice_bytes, .notice = answer->notice
	};
	int count = injects.count;
	uint64_t before_bytes;
	int error = install(fd, inject_file(&shim.segment, &shim.request, &tail, injected_text,
					    NULL, &injects, &before_bytes));

	if (error == 0)
		return 0;
	injects.count = count;
	return install(fd, notice_file(answer->notice, answer->notice_bytes));
}

/* The viewer is given the file's bytes, or what changed in it: below instruction files that are to
 * come first, if there are any. */
static void deliver_content(struct viewed_file *viewed, const char *path, const struct stat *stat)
{
	const struct inject_rest tail = {
		.path = path,
		.stat = stat,
		.fd = viewed->fd,
		.bytes = viewed->pending.is_diff ? viewed->diff.size_bytes
						 : (uint64_t)stat->st_size,
	};
	int count = injects.count;
	uint64_t before_bytes = 0;
	struct stat after;
	int readable = inject_file(&shim.segment, &shim.request, &tail, injected_text, NULL,
				   &injects, &before_bytes);

	if (readable < 0)
		return;
	/* The stamp at the end is that of the bytes which are put in. */
	int error = sys_fstat(viewed->fd, &after);
	if (error == 0)
		error = install(viewed->fd, readable);
	else
		(void)sys_close(readable);
	if (error < 0) {
		injects.count = count;
		return;
	}
	shim.answered = true;
	viewed->before_bytes = before_bytes;
	viewed->is_copy = true;
	viewed->finish = stamp_of(&after);
}

/* Notes that the process opened this file.  False when it did so before, or too many others. */
static bool is_first_time(const struct stat *stat)
{
	for (int i = 0; i < opened_count; i++)
		if (opened[i].dev == stat->st_dev && opened[i].ino == stat->st_ino)
			return false;
	if (opened_count == VIEWS_MAX)
		return false;
	opened[opened_count].dev = stat->st_dev;
	opened[opened_count].ino = stat->st_ino;
	opened_count++;
	return true;
}

void viewer_moved(void)
{
	recent_directory.kernel_bytes = 0;
}

/* Is it by that very name, and no link's, that the file was opened? */
static bool is_name_of(int directory, const char *path, const struct stat *stat)
{
	struct stat named;
	return sys_fstatat(directory, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(named.st_mode) && named.st_dev == stat->st_dev &&
	       named.st_ino == stat->st_ino;
}

/* What the kernel calls a file that was opened.  Of many in one directory it is asked for the first
 * ones alone: that takes as long as to open and read a small file. */
static bool find_path(int fd, int directory, const char *path, const struct stat *stat,
		      char *ret_path)
{
	bool is_placed = path && (path[0] == '/' || directory == AT_FDCWD);
	const char *name = is_placed ? path_base(path) : NULL;
	size_t given_bytes = is_placed ? (size_t)(name - path) : 0;

	if (is_placed && recent_directory.kernel_bytes &&
	    given_bytes == recent_directory.given_bytes &&
	    memcmp(path, recent_directory.given, given_bytes) == 0 &&
	    is_name_of(directory, path, stat) &&
	    recent_directory.kernel_bytes + strlen(name) < SEGMENT_PATH_BYTES) {
		memcpy(ret_path, recent_directory.kernel, recent_directory.kernel_bytes);
		memcpy(ret_path + recent_directory.kernel_bytes, name, strlen(name) + 1);
		return true;
	}
	if (subject_name(SUBJECT_SELF, fd, ret_path, SEGMENT_PATH_BYTES) <= 0 || ret_path[0] != '/')
		return false;
	size_t kernel_bytes = (size_t)(path_base(ret_path) - ret_path);
	if (is_placed && opened_count > 0 && given_bytes < DIRECTORY_BYTES &&
	    kernel_bytes < DIRECTORY_BYTES && is_name_of(directory, path, stat)) {
		memcpy(recent_directory.given, path, given_bytes);
		memcpy(recent_directory.kernel, ret_path, kernel_bytes);
		recent_directory.given_bytes = given_bytes;
		recent_directory.kernel_bytes = kernel_bytes;
	}
	return true;
}

/* The first file: what is the same for all of them. */
static void start(void)
{
	struct request *request = &shim.request;

	is_begun = true;
	request->pid_ns = process_pid_ns();
	/* What is put before a file hangs on it, too. */
	request->asks_late = shim.segment.settings->context_inject != CONTEXT_INJECT_VIEWERS;
}

/* Remembers a file for the end. */
static int pend(const char *kernel_path, const struct stat *stat, const struct answer *answer,
		struct viewed_file *viewed)
{
	size_t bytes = strlen(kernel_path) + 1;

	viewed->late = NULL;
	if (answer->decision == DECISION_DIFF || bytes > PATHS_BYTES - paths_used)
		return decision_pend(&shim.segment, &shim.request, kernel_path, stat, answer,
				     &viewed->pending);
	decision_pend_late(&shim.segment, &shim.request, stat, answer, &viewed->pending);
	viewed->late = memcpy(paths + paths_used, kernel_path, bytes);
	paths_used += bytes;
	return 0;
}

/* What the open's record reports of a file. */
static void write_facts(const struct stat *stat, const struct answer *answer,
			struct open_facts *ret_facts)
{
	struct journal_details *details = &ret_facts->details;

	ret_facts->is_known = ret_facts->is_decided = true;
	ret_facts->reason = answer->reason;
	ret_facts->decision = answer->decision;
	details->dev = stat->st_dev;
	details->ino = stat->st_ino;
	details->size_bytes = (uint64_t)stat->st_size;
	details->before = answer->delivered;
	if (answer->decision != DECISION_CONTENT)
		details->after = answer->content.version;
}

/* Gives the notice.  False: it could not be given, and the viewer reads the file. */
static bool is_answered(int fd, const struct answer *answer, const char *kernel_path,
			const struct stat *stat, struct open_facts *facts)
{
	if (deliver_notice(fd, answer, kernel_path, stat) == 0) {
		shim.answered = true;
		facts->bytes_saved = (uint64_t)stat->st_size - answer->notice_bytes;
		return true;
	}
	decision_undo(&shim.segment, &shim.request, answer);
	facts->decision = DECISION_CONTENT;
	facts->reason = REASON_UNREADABLE;
	return false;
}

/* A file whose bytes, or what changed in it, the viewer is about to read. */
static void follow(int fd, const char *path, const char *kernel_path, const struct stat *stat,
		   const struct answer *answer, const struct version *diff)
{
	if (answer->reason == REASON_NOT_TRACKED || view_count == VIEWS_MAX ||
	    streams_taken == (1u << STREAMS_MAX) - 1)
		return;
	struct viewed_file *viewed = &views[view_count];
	/* At the end the agent may have closed what it read. */
	request_confirm_sink(&shim.segment, &shim.request);
	if (path)
		baseline_add_name(&shim.segment, path);
	if (pend(kernel_path, stat, answer, viewed) < 0)
		return;
	viewed->fd = fd;
	viewed->path = viewed->late ? 0 : record_path(kernel_path);
	viewed->broken = false;
	viewed->diff = *diff;
	viewed->leads_to = answer->content.version;
	int stream = __builtin_ctz(~streams_taken);
	streams_taken |= 1u << stream;
	viewed->stream = &streams[stream];
	version_stream_init(viewed->stream);
	view_count++;
	deliver_content(viewed, kernel_path, stat);
}

void viewer_opened(int fd, int directory, const char *path, struct open_facts *ret_facts)
{
	/* One thread comes here, never within itself; its stack may be a signal handler's. */
	static char kernel_path[SEGMENT_PATH_BYTES];
	static struct answer answer;
	struct version diff = { 0 };
	struct stat stat;

	if (fd == STDOUT || out_closed)
		viewer_untrackable();
	if (!viewer_is_followed() || sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    !find_path(fd, directory, path, &stat, kernel_path) || !is_first_time(&stat))
		return;
	if (!is_begun)
		start();
	request_concerns(&shim.segment, &shim.request, kernel_path);
	if (!shim.request.asks_late)
		request_at_sink(&shim.segment, &shim.request);
	decision_open(&shim.segment, &shim.request, kernel_path, path ? path : kernel_path, fd,
		      &stat, &answer);
	if (answer.decision == DECISION_DIFF)
		deliver_diff(fd, path ? path : kernel_path, &answer, &diff);
	write_facts(&stat, &answer, ret_facts);
	if (answer.decision == DECISION_NOTICE &&
	    is_answered(fd, &answer, kernel_path, &stat, ret_facts))
		return;
	if (answer.decision == DECISION_DIFF)
		ret_facts->bytes_saved = (uint64_t)stat.st_size - diff.size_bytes;
	follow(fd, path, kernel_path, &stat, &answer, &diff);
}

void viewer_read(int fd, const void *bytes, ssize_t count)
{
	if (count <= 0 || !viewer_is_followed_still())
		return;
	shape_add(&in, bytes, (size_t)count);
	struct viewed_file *viewed = viewed_of(fd);
	if (!viewed)
		return;
	uint64_t before_bytes = viewed->before_bytes;
	if (before_bytes > (uint64_t)count)
		before_bytes = (uint64_t)count;
	viewed->before_bytes -= before_bytes;
	version_stream_add(viewed->stream, (const char *)bytes + before_bytes,
			   (uint64_t)count - before_bytes);
}

void viewer_wrote(int fd, ssize_t count)
{
	if (fd == STDOUT && out_closed)
		viewer_untrackable();
	if (count <= 0 || fd != STDOUT || !viewer_is_followed_still())
		return;
	bytes_out += (uint64_t)count;
	/* It writes what it read: of what is more, each byte may be a line. */
	struct shape now = in;
	if (bytes_out > in.bytes)
		shape_unseen(&now, bytes_out - in.bytes);
	now.bytes = bytes_out;
	request_wrote(&shim.segment, &shim.request, counted.bytes ? &counted : NULL, &now);
	counted = now;
}

static void inspect_last(struct viewed_file *viewed)
{
	struct stat stat;
	if (viewed->pending.is_diff) /* it is whole by what it was when it was opened */
		viewed->finish = viewed->pending.stamp;
	else if (viewed->is_copy)
		;
	else if (sys_fstat(viewed->fd, &stat) < 0)
		viewed->broken = true;
	else
		viewed->finish = stamp_of(&stat);
	viewed->fd = -1;
	viewed->version = version_stream_finish(viewed->stream);
	streams_taken &= ~(1u << (viewed->stream - streams));
}

void viewer_closing(int fd)
{
	if (!viewer_is_followed_still())
		return;
	out_closed |= fd == STDOUT;
	struct viewed_file *viewed = viewed_of(fd);
	if (viewed)
		inspect_last(viewed);
}

/* What was given can be brought back, and compared with what comes later. */
static void keep(const struct viewed_file *viewed)
{
	struct version kept;
	struct file_slot file;
	char *path = scratch_acquire();

	if (path && file_find(&shim.segment, viewed->pending.file_key, &file) == 0 &&
	    file_path(&shim.segment, &file, path, SEGMENT_PATH_BYTES) > 0) {
		int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
		if (fd >= 0) {
			(void)contents_save(&shim.segment, fd, path, CONTENTS_GIVEN, &kept);
			(void)sys_close(fd);
		}
	}
	scratch_release(path);
}

/* A file was given whole: that becomes a delivery, and tells whether the file is what it was. */
static void deliver(const struct viewed_file *viewed, const struct version *version)
{
	struct journal_details details = {
		.dev = viewed->finish.dev,
		.ino = viewed->finish.ino,
		.size_bytes = viewed->finish.size_bytes,
		.after = *version,
	};
	struct delivered delivered;

	decision_deliver(&shim.segment, &shim.request, &viewed->pending, &viewed->finish, version,
			 &delivered);
	details.before = delivered.before;
	if (delivered.is_changed)
		record_delivery(JOURNAL_CHANGED, viewed->path, &details);
	if (delivered.is_given && !viewed->pending.is_diff)
		record_delivery(JOURNAL_GIVEN, viewed->path, &details);
	if (delivered.is_given)
		keep(viewed);
}

/* What was put off when the file was opened. */
static void complete_pending(struct viewed_file *viewed)
{
	if (!viewed->late)
		return;
	viewed->path = record_path(viewed->late);
	if (decision_complete(&shim.segment, viewed->late, &viewed->pending) < 0)
		viewed->broken = true;
}

static void finish(int status)
{
	bool all_read = true; /* of what was put before files */

	if (shim.role == ROLE_READER) {
		reader_flush();
		request_end_reader(&shim.segment, &shim.request, (uint32_t)shim.pid, range_shape());
		if (status == 0)
			range_finish();
		reader_finish(status);
		return;
	}
	if (!shim.views || !viewer_is_followed())
		return;
	for (int i = 0; i < view_count; i++)
		complete_pending(&views[i]);
	if (status != 0 || in.bytes != bytes_out)
		return;
	/* Since the last open the agent may have gone: then no agent received this. */
	request_still_at_sink(&shim.segment, &shim.request);
	for (int i = 0; i < view_count; i++) {
		struct viewed_file *viewed = &views[i];
		if (viewed->fd >= 0)
			inspect_last(viewed);
		struct version version = viewed->version;
		if (viewed->pending.is_diff) {
			viewed->broken |= !version_equal(&version, &viewed->diff);
			version = viewed->leads_to;
		}
		if (!viewed->broken)
			deliver(viewed, &version);
	}
	for (int i = 0; i < view_count; i++)
		all_read = all_read && !views[i].before_bytes;
	for (int i = 0; all_read && shim.request.at_sink && i < injects.count; i++)
		if (inject_given(&shim.segment, &injects, i))
			record_instructed(shim.request.context.scope_id, &injects.files[i]);
}

void viewer_finish(int status)
{
	finish(status);
	command_aside(&shim.segment, shim.request.command_id, sys_aside_bytes);
	sys_aside_bytes = 0;
}

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

void viewer_shown(int fd, const char *path)
{
	enum { SHOWN_MAX = 16 }; /* files of one invocation: it may be given thousands */
	static int shown;
	struct content content;
	struct stat stat;

	if (shown >= SHOWN_MAX) {
		shim.shows = false;
		shim_complete();
	}
	if (!shim.scope_id || shown >= SHOWN_MAX || !viewer_is_followed() ||
	    sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode))
		return;
	if (!shim.request.pid_ns)
		shim.request.pid_ns = process_pid_ns();
	char *kernel_path = scratch_acquire();
	if (kernel_path && subject_name(SUBJECT_SELF, fd, kernel_path, SEGMENT_PATH_BYTES) > 0 &&
	    path_is_tracked(&shim.segment, kernel_path)) {
		shown++;
		request_confirm_sink(&shim.segment, &shim.request);
		struct stamp stamp = stamp_of(&stat);
		uint64_t key = 0;
		if (shim.request.at_sink &&
		    content_of_file(fd, (uint64_t)stat.st_size,
				    shim.segment.settings->content_max_file_bytes, &content) == 0)
			key = file_update(&shim.segment, kernel_path, &stamp, NULL, NULL);
		if (key) {
			baseline_given(&shim.segment, shim.scope_id, key, &content.version);
			(void)file_change_known(&shim.segment, key, note_given, NULL);
			range_shown(fd, path, kernel_path, &stat, &content);
		}
	}
	scratch_release(kernel_path);
}
