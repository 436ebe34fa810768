/*
 * Viewers and readers.
 *
 * A viewer's open is decided at once (tracker/answer/decision.h).  A notice is given as a sealed, read-only memfd
 * put in the place of the descriptor, so that read, pread, mmap, lseek and fstat agree without each
 * being hooked.  Otherwise the file's bytes are hashed as the viewer reads them, and become a
 * delivery at exit(0) if every byte from 0 to the size was read while the stamp stayed the same, and
 * the viewer wrote as many bytes to descriptor 1 as it read in all.  What changed (diff.c) is given as a notice is, and followed
 * as a file is.
 *
 * Viewers are single-threaded programs that read, write and exit.  Whatever is not that (another thread,
 * another way to copy, descriptor 1 moved) makes the process "odd": it delivers nothing.
 */
#include "shim/preload/follow/view.h"

#include <string.h>

#include "shim/preload/follow/diff.h"
#include "shim/preload/follow/part.h"
#include "shim/preload/follow/reader.h"
#include "shim/preload/record.h"
#include "shim/preload/scratch.h"
#include "shim/preload/state.h"
#include "shim/preload/thread.h"
#include "tracker/answer/inject.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/content/file.h"
#include "tracker/path/path.h"
#include "tracker/process/capture.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum {
	VIEWS_MAX = 64,  /* files of one invocation that may become deliveries */
	STREAMS_MAX = 8, /* of these, open at a time */
	STDOUT = 1,
	PATHS_BYTES = 16384, /* of files that are put on record at the end */
	FOLDER_BYTES = 1024,
};

/* A file whose real bytes, or what changed in it, the viewer reads. */
struct view {
	int fd;      /* -1: closed */
	bool broken; /* not read from 0 to the end, one byte behind the other, or changed meanwhile */
	bool is_copy;          /* in memory, below instruction files */
	uint64_t before_bytes; /* of these, that were not read yet */
	struct pending pending;
	uint32_t path;           /* in the journal */
	const char *late;        /* path of a file that is on no record yet */
	struct stamp end;        /* at close or exit; of a copy: when it was made */
	struct version diff;     /* pending.is_diff: of the text that it reads */
	struct version leads_to; /* and of the file with that */
	struct version version;  /* of what was read; once it is closed */
	struct version_stream *stream;
};

static struct view views[VIEWS_MAX];
static int view_count;

/* Of those that are open: most viewers have one open at a time, and each is large; memory that nobody uses counts where a
 * program's data is limited (RLIMIT_DATA). */
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

/* A folder that a file was opened in: what stood before the name, and what the kernel calls that; both with the slash. */
static struct {
	size_t given_bytes, kernel_bytes; /* kernel_bytes 0: none is known */
	char given[FOLDER_BYTES], kernel[FOLDER_BYTES];
} folder;

static bool is_begun;   /* a file was opened */
static bool out_closed; /* it was closed since: another file may be there */

static struct shape in;      /* of every read */
static struct shape counted; /* of what it wrote to descriptor 1, on record with its command */
static uint64_t bytes_out;   /* to descriptor 1 */

static struct view *view_of(int fd)
{
	for (int i = 0; i < view_count; i++)
		if (views[i].fd == fd)
			return &views[i];
	return NULL;
}

/* Puts a memfd with a notice, or with what changed, in the place of a descriptor.  readable: closed; a negative errno is passed
 * on.  Returns 0 or a negative errno; then the descriptor is as it was. */
static int put_in_place(int fd, int readable)
{
	if (readable < 0)
		return readable;
	int error = sys_fcntl(fd, F_GETFD, 0);
	if (error >= 0)
		error = (int)sys_call3(SYS_dup3, readable, fd, error & FD_CLOEXEC ? O_CLOEXEC : 0);
	(void)sys_close(readable);
	return error < 0 ? error : 0;
}

/* Gives what changed, where it can be had and what comes of it can be followed.  Else the answer is CONTENT. */
static void give_diff(int fd, const char *path, struct answer *answer, struct version *ret_diff)
{
	if (view_count < VIEWS_MAX &&
	    put_in_place(fd, diff_make(fd, path, answer, ret_diff)) == 0) {
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
static int give_notice(int fd, const struct answer *answer, const char *path,
		       const struct stat *stat)
{
	const struct inject_rest tail = {
		.path = path, .stat = stat, .bytes = answer->notice_bytes, .notice = answer->notice
	};
	int count = injects.count;
	uint64_t before_bytes;
	int error = put_in_place(fd, inject_file(&shim.segment, &shim.request, &tail, injected_text,
						 NULL, &injects, &before_bytes));

	if (error == 0)
		return 0;
	injects.count = count;
	return put_in_place(fd, notice_file(answer->notice, answer->notice_bytes));
}

/* The viewer is given the file's bytes, or what changed in it: below instruction files that are to come first, if there are any. */
static void give_content(struct view *view, const char *path, const struct stat *stat)
{
	const struct inject_rest tail = {
		.path = path,
		.stat = stat,
		.fd = view->fd,
		.bytes = view->pending.is_diff ? view->diff.size_bytes : (uint64_t)stat->st_size,
	};
	int count = injects.count;
	uint64_t before_bytes = 0;
	struct stat after;
	int readable = inject_file(&shim.segment, &shim.request, &tail, injected_text, NULL,
				   &injects, &before_bytes);

	if (readable < 0)
		return;
	/* The stamp at the end is that of the bytes which are put in. */
	int error = sys_fstat(view->fd, &after);
	if (error == 0)
		error = put_in_place(view->fd, readable);
	else
		(void)sys_close(readable);
	if (error < 0) {
		injects.count = count;
		return;
	}
	shim.answered = true;
	view->before_bytes = before_bytes;
	view->is_copy = true;
	view->end = stamp_of(&after);
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

void view_moved(void)
{
	folder.kernel_bytes = 0;
}

/* Is it by that very name, and no link's, that the file was opened? */
static bool is_name_of(int directory, const char *path, const struct stat *stat)
{
	struct stat named;
	return sys_fstatat(directory, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(named.st_mode) && named.st_dev == stat->st_dev &&
	       named.st_ino == stat->st_ino;
}

/* What the kernel calls a file that was opened.  Of many in one folder it is asked for the first ones alone: that takes as long as
 * to open and read a small file. */
static bool find_path(int fd, int directory, const char *path, const struct stat *stat,
		      char *ret_path)
{
	bool is_placed = path && (path[0] == '/' || directory == AT_FDCWD);
	const char *name = is_placed ? path_base(path) : NULL;
	size_t given_bytes = is_placed ? (size_t)(name - path) : 0;

	if (is_placed && folder.kernel_bytes && given_bytes == folder.given_bytes &&
	    memcmp(path, folder.given, given_bytes) == 0 && is_name_of(directory, path, stat) &&
	    folder.kernel_bytes + strlen(name) < SEGMENT_PATH_BYTES) {
		memcpy(ret_path, folder.kernel, folder.kernel_bytes);
		memcpy(ret_path + folder.kernel_bytes, name, strlen(name) + 1);
		return true;
	}
	if (subject_link(SUBJECT_SELF, fd, ret_path, SEGMENT_PATH_BYTES) <= 0 || ret_path[0] != '/')
		return false;
	size_t kernel_bytes = (size_t)(path_base(ret_path) - ret_path);
	if (is_placed && opened_count > 0 && given_bytes < FOLDER_BYTES &&
	    kernel_bytes < FOLDER_BYTES && is_name_of(directory, path, stat)) {
		memcpy(folder.given, path, given_bytes);
		memcpy(folder.kernel, ret_path, kernel_bytes);
		folder.given_bytes = given_bytes;
		folder.kernel_bytes = kernel_bytes;
	}
	return true;
}

/* The first file: what is the same for all of them. */
static void begin(void)
{
	struct request *request = &shim.request;

	is_begun = true;
	request->pid_ns = process_pid_ns();
	/* What is put before a file hangs on it, too. */
	request->asks_late = shim.segment.settings->context_inject != CONTEXT_INJECT_VIEWERS;
}

/* Remembers a file for the end. */
static int pend(const char *kernel_path, const struct stat *stat, const struct answer *answer,
		struct view *view)
{
	size_t bytes = strlen(kernel_path) + 1;

	view->late = NULL;
	if (answer->decision == DECISION_DIFF || bytes > PATHS_BYTES - paths_used)
		return decision_pend(&shim.segment, &shim.request, kernel_path, stat, answer,
				     &view->pending);
	decision_pend_late(&shim.segment, &shim.request, stat, answer, &view->pending);
	view->late = memcpy(paths + paths_used, kernel_path, bytes);
	paths_used += bytes;
	return 0;
}

void view_opened(int fd, int directory, const char *path, struct look *ret_look)
{
	/* One thread comes here, never within itself; its stack may be a signal handler's. */
	static char kernel_path[SEGMENT_PATH_BYTES];
	static struct answer answer;
	struct version diff = { 0 };
	struct stat stat;

	if (fd == STDOUT || out_closed)
		view_odd();
	if (!view_is_followed() || sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    !find_path(fd, directory, path, &stat, kernel_path) || !is_first_time(&stat))
		return;
	if (!is_begun)
		begin();
	request_concerns(&shim.segment, &shim.request, kernel_path);
	if (!shim.request.asks_late)
		request_at_sink(&shim.segment, &shim.request);
	decision_open(&shim.segment, &shim.request, kernel_path, path ? path : kernel_path, fd,
		      &stat, &answer);
	if (answer.decision == DECISION_DIFF)
		give_diff(fd, path ? path : kernel_path, &answer, &diff);
	ret_look->is_known = ret_look->is_decided = true;
	ret_look->reason = answer.reason;
	ret_look->decision = answer.decision;
	ret_look->details.dev = stat.st_dev;
	ret_look->details.ino = stat.st_ino;
	ret_look->details.size_bytes = (uint64_t)stat.st_size;
	ret_look->details.before = answer.delivered;
	if (answer.decision != DECISION_CONTENT)
		ret_look->details.after = answer.content.version;
	if (answer.decision == DECISION_NOTICE) {
		if (give_notice(fd, &answer, kernel_path, &stat) == 0) {
			shim.answered = true;
			ret_look->bytes_saved = (uint64_t)stat.st_size - answer.notice_bytes;
			return;
		}
		decision_undo(&shim.segment, &shim.request, &answer);
		ret_look->decision = DECISION_CONTENT;
		ret_look->reason = REASON_UNREADABLE;
	}
	if (answer.decision == DECISION_DIFF)
		ret_look->bytes_saved = (uint64_t)stat.st_size - diff.size_bytes;
	if (answer.reason == REASON_NOT_TRACKED || view_count == VIEWS_MAX ||
	    streams_taken == (1u << STREAMS_MAX) - 1)
		return;
	struct view *view = &views[view_count];
	/* At the end the agent may have closed what it read. */
	request_confirm_sink(&shim.segment, &shim.request);
	if (path)
		baseline_add_name(&shim.segment, path);
	if (pend(kernel_path, &stat, &answer, view) < 0)
		return;
	view->fd = fd;
	view->path = view->late ? 0 : record_path(kernel_path);
	view->broken = false;
	view->diff = diff;
	view->leads_to = answer.content.version;
	int stream = __builtin_ctz(~streams_taken);
	streams_taken |= 1u << stream;
	view->stream = &streams[stream];
	version_stream_init(view->stream);
	view_count++;
	give_content(view, kernel_path, &stat);
}

void view_read(int fd, const void *bytes, ssize_t count)
{
	if (count <= 0 || !view_is_followed_still())
		return;
	shape_add(&in, bytes, (size_t)count);
	struct view *view = view_of(fd);
	if (!view)
		return;
	uint64_t before_bytes = view->before_bytes;
	if (before_bytes > (uint64_t)count)
		before_bytes = (uint64_t)count;
	view->before_bytes -= before_bytes;
	version_stream_add(view->stream, (const char *)bytes + before_bytes,
			   (uint64_t)count - before_bytes);
}

void view_wrote(int fd, ssize_t count)
{
	if (fd == STDOUT && out_closed)
		view_odd();
	if (count <= 0 || fd != STDOUT || !view_is_followed_still())
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

static void look_at_end(struct view *view)
{
	struct stat stat;
	if (view->pending.is_diff) /* it is whole by what it was when it was opened */
		view->end = view->pending.stamp;
	else if (view->is_copy)
		;
	else if (sys_fstat(view->fd, &stat) < 0)
		view->broken = true;
	else
		view->end = stamp_of(&stat);
	view->fd = -1;
	view->version = version_stream_finish(view->stream);
	streams_taken &= ~(1u << (view->stream - streams));
}

void view_closing(int fd)
{
	if (!view_is_followed_still())
		return;
	out_closed |= fd == STDOUT;
	struct view *view = view_of(fd);
	if (view)
		look_at_end(view);
}

/* What was given can be brought back, and compared with what comes later. */
static void keep(const struct view *view)
{
	struct version kept;
	struct file_slot file;
	char *path = scratch_take();

	if (path && file_find(&shim.segment, view->pending.file_key, &file) == 0 &&
	    file_path(&shim.segment, &file, path, SEGMENT_PATH_BYTES) > 0) {
		int fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
		if (fd >= 0) {
			(void)contents_save(&shim.segment, fd, path, CONTENTS_GIVEN, &kept);
			(void)sys_close(fd);
		}
	}
	scratch_give(path);
}

/* A file was given whole: that becomes a delivery, and tells whether the file is what it was. */
static void deliver(const struct view *view, const struct version *version)
{
	struct journal_details details = {
		.dev = view->end.dev,
		.ino = view->end.ino,
		.size_bytes = view->end.size_bytes,
		.after = *version,
	};
	struct delivered delivered;

	decision_deliver(&shim.segment, &shim.request, &view->pending, &view->end, version,
			 &delivered);
	details.before = delivered.before;
	if (delivered.is_changed)
		record_delivery(JOURNAL_CHANGED, view->path, &details);
	if (delivered.is_given && !view->pending.is_diff)
		record_delivery(JOURNAL_GIVEN, view->path, &details);
	if (delivered.is_given)
		keep(view);
}

/* What was put off when the file was opened. */
static void settle(struct view *view)
{
	if (!view->late)
		return;
	view->path = record_path(view->late);
	if (decision_complete(&shim.segment, view->late, &view->pending) < 0)
		view->broken = true;
}

static void end(int status)
{
	bool all_read = true; /* of what was put before files */

	if (shim.role == ROLE_READER) {
		request_end_reader(&shim.segment, &shim.request, (uint32_t)shim.pid, part_shape());
		if (status == 0)
			part_end();
		reader_end(status);
		return;
	}
	if (!shim.views || !view_is_followed())
		return;
	for (int i = 0; i < view_count; i++)
		settle(&views[i]);
	if (status != 0 || in.bytes != bytes_out)
		return;
	/* Since the last open the agent may have gone: then nobody received this. */
	request_still_at_sink(&shim.segment, &shim.request);
	for (int i = 0; i < view_count; i++) {
		struct view *view = &views[i];
		if (view->fd >= 0)
			look_at_end(view);
		struct version version = view->version;
		if (view->pending.is_diff) {
			view->broken |= !version_equal(&version, &view->diff);
			version = view->leads_to;
		}
		if (!view->broken)
			deliver(view, &version);
	}
	for (int i = 0; i < view_count; i++)
		all_read = all_read && !views[i].before_bytes;
	for (int i = 0; all_read && shim.request.at_sink && i < injects.count; i++)
		if (inject_given(&shim.segment, &injects, i))
			record_instructed(shim.request.context.scope_id, &injects.files[i]);
}

void view_end(int status)
{
	end(status);
	command_aside(&shim.segment, shim.request.command_id, sys_aside_bytes);
	sys_aside_bytes = 0;
}

static void note_given(struct file_slot *file, const void *data)
{
	(void)data;
	file_note_given(file);
}

void view_shown(int fd, const char *path)
{
	enum { SHOWN_MAX = 16 }; /* files of one invocation: it may be given thousands */
	static int shown;
	struct content content;
	struct stat stat;

	if (shown >= SHOWN_MAX) {
		shim.shows = false;
		shim_settle();
	}
	if (!shim.scope_id || shown >= SHOWN_MAX || !view_is_followed() ||
	    sys_fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode))
		return;
	if (!shim.request.pid_ns)
		shim.request.pid_ns = process_pid_ns();
	char *kernel_path = scratch_take();
	if (kernel_path && subject_link(SUBJECT_SELF, fd, kernel_path, SEGMENT_PATH_BYTES) > 0 &&
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
			part_shown(fd, path, kernel_path, &stat, &content);
		}
	}
	scratch_give(kernel_path);
}
