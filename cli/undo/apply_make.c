/* Items that make something: see apply_make.h. */
#include "cli/undo/apply_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/undo/apply_meta.h"
#include "cli/undo/file_copy.h"

enum { PERMISSIONS = 07777 };

int apply_mkdir(struct doing *doing)
{
	struct operation_note notes[] = { { .kind = PACK_CREATED, .path = doing->path },
					  { .kind = PACK_AFTER, .path = doing->path } };
	struct stat stat;

	if (doing->exists)
		return S_ISDIR(doing->now.mode) ? DOING_DONE : DOING_CHANGED;
	int error = operation_log_write(&doing->applying->log, notes, 1);
	if (error < 0)
		return error;
	if (mkdirat(doing->directory, doing->name, 0700) < 0) {
		error = -errno;
		operation_log_fail(&doing->applying->log, notes, 1);
		return error == -EEXIST ? DOING_CHANGED : error;
	}
	if (fstatat(doing->directory, doing->name, &stat, AT_SYMLINK_NOFOLLOW) == 0)
		place_state_of(&stat, &notes[1].before);
	return operation_log_write(&doing->applying->log, &notes[1], 1);
}

/* ---- what is made, beside its place ---- */

static int make_target(struct doing *doing)
{
	char target[PACK_PATH_BYTES_MAX + 1];
	int fd = doing_content_open(doing);

	if (fd < 0)
		return fd;
	ssize_t length = read(fd, target, sizeof(target) - 1);
	(void)close(fd);
	if (length <= 0)
		return -EBADMSG;
	target[length] = '\0';
	return symlinkat(target, doing->directory, doing->temporary) < 0 ? -errno : 0;
}

static int make_link(struct doing *doing)
{
	const char *name;
	int directory, error, copy = fcntl(doing->directory, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		return -errno;
	error = place_of(&doing->applying->places, doing->other, &directory, &name);
	if (error == 0 && linkat(directory, name, copy, doing->temporary, 0) < 0)
		error = -errno;
	int again = place_of(&doing->applying->places, doing->path, &doing->directory,
			     &doing->name);
	(void)close(copy);
	return error ? error : again;
}

/* Is what is wanted an earlier state of the file that is there?  An inode number is used again: what was removed
 * is not. */
static bool is_same_file(const struct doing *doing)
{
	const struct pack_state *wanted = &doing->item->wanted, *found = &doing->item->found;

	return doing->exists && found->ino == wanted->ino && found->dev == wanted->dev &&
	       (!doing->content ||
		(doing->content->kind != PACK_REMOVED && doing->content->kind != PACK_REPLACED));
}

static int make_file(struct doing *doing)
{
	int from = doing_content_open(doing);
	struct stat stat = { .st_size = 0 };

	if (from < 0)
		return from;
	int to = openat(doing->directory, doing->temporary,
			O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error = to < 0 ? -errno : fstat(from, &stat) < 0 ? -errno : 0;
	if (error == 0)
		error = file_copy(from, to, (uint64_t)stat.st_size);
	if (error == 0 && is_same_file(doing)) {
		int old = doing_open(doing);
		if (old >= 0) {
			file_copy_attributes(old, to);
			(void)close(old);
		}
	}
	if (error == 0)
		error = apply_meta_descriptor(to, &doing->item->wanted,
					      doing->item->flags & SCHEDULE_MTIME);
	if (to >= 0)
		(void)close(to);
	(void)close(from);
	return error;
}

/* What has no content: by mknod(2).  A device needs a privilege. */
static int make_node(struct doing *doing)
{
	const struct pack_state *wanted = &doing->item->wanted;

	if (mknodat(doing->directory, doing->temporary, wanted->mode & (S_IFMT | PERMISSIONS),
		    (dev_t)wanted->rdev) < 0)
		return -errno;
	return 0;
}

static int make_temporary(struct doing *doing)
{
	const struct pack_state *wanted = &doing->item->wanted;
	bool link = doing->item->kind == SCHEDULE_LINK || doing->item->kind == SCHEDULE_RELINK;
	int error = link                    ? make_link(doing)
		    : S_ISREG(wanted->mode) ? make_file(doing)
		    : S_ISLNK(wanted->mode) ? make_target(doing)
					    : make_node(doing);

	if (error == 0 && !link && !S_ISREG(wanted->mode))
		error = apply_meta_name(doing->directory, doing->temporary, wanted,
					doing->item->flags & SCHEDULE_MTIME);
	return error;
}

/* ---- it gets its name ---- */

/* Exchanges names; what came out is what the plan says, or all is as it was.  A file system that
 * cannot exchange gets the new one by two renames. */
static int exchange(struct doing *doing, const struct pack_state *found)
{
	struct pack_state state;
	struct stat stat;
	int directory = doing->directory;

	if (renameat2(directory, doing->temporary, directory, doing->name, RENAME_EXCHANGE) < 0)
		return -errno;
	if (fstatat(directory, doing->temporary, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	place_state_of(&stat, &state);
	if (place_is_same(&state, found))
		return unlinkat(directory, doing->temporary, 0) < 0 ? -errno : DOING_DONE;
	if (renameat2(directory, doing->temporary, directory, doing->name, RENAME_EXCHANGE) < 0)
		return -errno;
	(void)unlinkat(directory, doing->temporary, 0);
	return DOING_CHANGED;
}

static int install(struct doing *doing, const struct pack_state *found)
{
	int directory = doing->directory, error = 0;

	if (doing->exists) {
		error = exchange(doing, found);
		if (error != -EINVAL && error != -ENOSYS)
			return error;
		return renameat(directory, doing->temporary, directory, doing->name) < 0
			       ? -errno
			       : DOING_DONE;
	}
	if (renameat2(directory, doing->temporary, directory, doing->name, RENAME_NOREPLACE) == 0)
		return DOING_DONE;
	error = -errno;
	if (error == -EINVAL || error == -ENOSYS) {
		error = linkat(directory, doing->temporary, directory, doing->name, 0) < 0 ? -errno
											   : 0;
		if (error == 0)
			(void)unlinkat(directory, doing->temporary, 0);
	}
	return error == -EEXIST ? DOING_CHANGED : error;
}

/* What an interrupted one left.  ret_done: the new one has its name already. */
static int clear_temporary(struct doing *doing, bool *ret_done)
{
	struct pack_state state;
	struct stat stat;

	*ret_done = false;
	if (fstatat(doing->directory, doing->temporary, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	place_state_of(&stat, &state);
	/* What the plan found is out of its place: only its end is missing. */
	*ret_done = doing->item->found.mode && place_is_same(&state, &doing->item->found) &&
		    doing->exists && !doing_is_found(doing);
	return unlinkat(doing->directory, doing->temporary, 0) < 0 ? -errno : 0;
}

/* Has a file the content of the item?  What was kept by a link was not read then. */
static bool has_content(const struct doing *doing, int fd)
{
	struct content content, wanted;
	uint64_t size = doing->now.size_bytes;
	bool is_merged = doing->item->flags & SCHEDULE_MERGED;

	if (content_of_descriptor(fd, size, &content) < 0 || (!is_merged && !doing->content))
		return false;
	if (!is_merged && !version_is_none(&doing->content->version))
		return version_equal(&content.version, &doing->content->version);
	int from = doing_content_open(doing);
	bool same = from >= 0 && content_of_descriptor(from, size, &wanted) == 0 &&
		    version_equal(&content.version, &wanted.version);
	if (from >= 0)
		(void)close(from);
	return same;
}

/* Is it what the item makes?  Asked where it was interrupted. */
static bool is_made(const struct doing *doing)
{
	const struct pack_state *wanted = &doing->item->wanted;

	if (!doing->exists || ((doing->now.mode ^ wanted->mode) & S_IFMT))
		return false;
	if (doing->item->kind == SCHEDULE_LINK || doing->item->kind == SCHEDULE_RELINK) {
		struct pack_state other;
		return place_state(&doing->applying->places, doing->other, &other) == 0 &&
		       other.ino == doing->now.ino && other.dev == doing->now.dev;
	}
	if (!S_ISREG(wanted->mode))
		return true;
	int fd = doing->now.size_bytes == wanted->size_bytes ? doing_open(doing) : -1;
	bool same = fd >= 0 && has_content(doing, fd);
	if (fd >= 0)
		(void)close(fd);
	return same;
}

/* What it is now: a rename has set its ctime. */
static int log_made(struct doing *doing)
{
	struct operation_note note = { .kind = PACK_AFTER, .path = doing->path };
	struct stat stat;

	if (fstatat(doing->directory, doing->name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return DOING_DONE;
	place_state_of(&stat, &note.before);
	/* By its content, what others change later is told apart (file_history.h). */
	if (doing->item->kind == SCHEDULE_SWAP && S_ISREG(stat.st_mode) &&
	    stat.st_size <= PACK_INLINE_BYTES_MAX) {
		int fd = openat(doing->directory, doing->name,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0 || operation_log_keep(&doing->applying->log, &note, fd, -1, NULL) < 0)
			note.held = PACK_NOT_TAKEN;
		if (fd >= 0)
			(void)close(fd);
	}
	return operation_log_write(&doing->applying->log, &note, 1);
}

static int log_and_install(struct doing *doing)
{
	struct operation_note notes[2];
	struct stat stat;
	size_t count = 0;
	int fd = -1, error = 0;

	if (fstatat(doing->directory, doing->temporary, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (doing->exists) {
		notes[count++] = (struct operation_note){ .kind = PACK_REMOVED,
							  .path = doing->path };
		fd = doing_open(doing);
	}
	bool link = doing->item->other != 0;
	notes[count] = (struct operation_note){ .kind = link ? PACK_LINKED : PACK_CREATED,
						.path = link ? doing->other : doing->path,
						.other = link ? doing->path : NULL };
	if (link)
		place_state_of(&stat, &notes[count].before);
	count++;
	if (doing->exists)
		error = apply_log_attributes(doing);
	if (error == 0)
		error = doing->exists ? doing_log(doing, notes, count, fd, true)
				      : operation_log_write(&doing->applying->log, notes, count);
	if (fd >= 0)
		(void)close(fd);
	if (error < 0)
		return error;
	error = install(doing, &doing->now);
	if (error == DOING_DONE)
		return log_made(doing);
	operation_log_fail(&doing->applying->log, notes, count);
	return error;
}

int apply_make(struct doing *doing)
{
	bool done = false;
	int error = doing->applying->again ? clear_temporary(doing, &done) : 0;

	if (error < 0 || done)
		return error;
	bool replaces = doing->item->kind == SCHEDULE_SWAP || doing->item->kind == SCHEDULE_RELINK;
	/* Between this one's beginning and its end another name of it may have been linked. */
	if (replaces ? !doing_is_found(doing) : doing->exists)
		return doing->applying->again && is_made(doing) ? DOING_DONE : DOING_CHANGED;
	error = make_temporary(doing);
	if (error == 0)
		error = log_and_install(doing);
	if (error != DOING_DONE)
		(void)unlinkat(doing->directory, doing->temporary, 0);
	/* A mount point keeps its name: a file is written in place. */
	bool in_place = error == -EBUSY && doing->item->kind == SCHEDULE_SWAP &&
			S_ISREG(doing->now.mode) && S_ISREG(doing->item->wanted.mode);
	return in_place ? apply_write(doing) : error;
}

/* ---- in place ---- */

static int write_in_place(struct doing *doing, int from, int to)
{
	struct operation_note notes[] = { { .kind = PACK_CONTENT, .path = doing->path },
					  { .kind = PACK_AFTER, .path = doing->path } };
	struct stat stat;
	int fd = doing_open(doing);
	int error = fd < 0 ? -EACCES : fstat(from, &stat) < 0 ? -errno : 0;

	if (error == 0)
		error = doing_log(doing, notes, 1, fd, false);
	if (fd >= 0)
		(void)close(fd);
	if (error == 0)
		error = file_copy_into(from, to, (uint64_t)stat.st_size);
	if (error == 0)
		error = apply_meta_descriptor(to, &doing->item->wanted,
					      doing->item->flags & SCHEDULE_MTIME);
	if (error < 0 || fstat(to, &stat) < 0)
		return error;
	place_state_of(&stat, &notes[1].before);
	return operation_log_write(&doing->applying->log, &notes[1], 1);
}

int apply_write(struct doing *doing)
{
	bool same_inode = doing->exists && doing->now.ino == doing->item->found.ino &&
			  doing->now.dev == doing->item->found.dev;

	/* Another of its names may have been written by now. */
	if (!doing_is_found(doing) && same_inode && is_made(doing))
		return DOING_DONE;
	if (!doing_is_found(doing) && !(doing->applying->again && same_inode))
		return DOING_CHANGED;
	int from = doing_content_open(doing);
	if (from < 0)
		return from;
	int to = openat(doing->directory, doing->name,
			O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int error = to < 0 ? -errno : write_in_place(doing, from, to);
	if (to >= 0)
		(void)close(to);
	(void)close(from);
	return error;
}
