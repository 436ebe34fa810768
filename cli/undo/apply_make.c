/* Items that make something: see apply_make.h. */
#include "cli/undo/apply_make.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/undo/apply_meta.h"
#include "cli/undo/file_copy.h"
#include "tracker/content/left.h"

enum { PERMISSIONS = 07777 };

int apply_mkdir(struct doing *doing)
{
	struct operation_note notes[] = { { .kind = PACK_CREATED, .path = doing->path },
					  { .kind = PACK_AFTER, .path = doing->path } };

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
	(void)place_inspect(doing->directory, doing->name, &notes[1].before);
	return operation_log_write(&doing->applying->log, &notes[1], 1);
}

/* ---- what is made, beside its place ---- */

/* The directory of the temporary name. */
static int temporary_in(const struct doing *doing)
{
	return doing->is_fresh ? doing->applying->fresh.directory : doing->directory;
}

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

	return doing->exists && !(doing->item->flags & SCHEDULE_FREED) &&
	       found->ino == wanted->ino && found->dev == wanted->dev &&
	       (!doing->content ||
		(doing->content->kind != PACK_REMOVED && doing->content->kind != PACK_REPLACED));
}

/* A file that was unreadable when it was removed: so were its attributes then, but the link to it has them. */
static void copy_unreadable(const struct tree_record *content, int from, int to)
{
	uint32_t mode = content ? content->before.mode : 0;

	if (!content || content->held != PACK_LINK || (mode & S_IRUSR) ||
	    fchmod(from, (mode & PERMISSIONS) | S_IRUSR) < 0)
		return;
	file_copy_attributes(from, to);
	(void)fchmod(from, mode & PERMISSIONS);
}

static int make_file(struct doing *doing)
{
	int from = doing_content_open(doing);
	struct stat stat = { .st_size = 0 };

	if (from < 0)
		return from;
	int to = openat(temporary_in(doing), doing->temporary,
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
	} else if (error == 0) {
		copy_unreadable(doing->content, from, to);
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

static bool is_same_at(int directory, const char *name, const struct pack_state *state)
{
	struct pack_state there;

	return place_inspect(directory, name, &there) == 0 && place_is_same(&there, state);
}

/* What has the temporary name is an external program's: it is kept, beside its place. */
static int keep_temporary(struct doing *doing, int from)
{
	if (from != doing->directory)
		(void)renameat2(from, doing->temporary, doing->directory, doing->temporary,
				RENAME_NOREPLACE);
	return -ESTALE;
}

/* Exchanges names; what came out is what the plan says, or all is as it was.  A file system that
 * cannot exchange gets the new one by two renames.  -ESTALE: two external changes came in between, and the first
 * has the temporary name.  ret_is_installed: set where the new one has the name. */
static int exchange(struct doing *doing, const struct pack_state *found,
		    const struct pack_state *made, bool *ret_is_installed)
{
	int directory = doing->directory, from = temporary_in(doing);
	const char *name = doing->name, *temporary = doing->temporary;

	if (renameat2(from, temporary, directory, name, RENAME_EXCHANGE) < 0)
		return -errno;
	if (is_same_at(from, temporary, found)) {
		*ret_is_installed = true;
		if (unlinkat(from, temporary, 0) == 0)
			return DOING_DONE;
		int error = -errno;
		if (!applying_ends(error) &&
		    renameat2(from, temporary, directory, name, RENAME_EXCHANGE) == 0)
			*ret_is_installed = false;
		return error;
	}
	/* Another change of that name may have come since: the later one stays there. */
	if (renameat2(from, temporary, directory, name, RENAME_EXCHANGE) < 0)
		return keep_temporary(doing, from);
	if (is_same_at(from, temporary, made))
		return unlinkat(from, temporary, 0) < 0 ? -errno : DOING_CHANGED;
	(void)renameat2(from, temporary, directory, name, RENAME_EXCHANGE);
	return keep_temporary(doing, from);
}

/* ret_is_installed: set also where what was there before could not be removed: it has the temporary name. */
static int install(struct doing *doing, const struct pack_state *made, bool *ret_is_installed)
{
	int directory = doing->directory, from = temporary_in(doing), error = 0;

	if (doing->exists) {
		error = exchange(doing, &doing->now, made, ret_is_installed);
		if (error != -EINVAL && error != -ENOSYS)
			return error;
		return renameat(from, doing->temporary, directory, doing->name) < 0 ? -errno
										    : DOING_DONE;
	}
	if (renameat2(from, doing->temporary, directory, doing->name, RENAME_NOREPLACE) == 0)
		return DOING_DONE;
	error = -errno;
	if (error == -EINVAL || error == -ENOSYS) {
		error = linkat(from, doing->temporary, directory, doing->name, 0) < 0 ? -errno : 0;
		if (error == 0)
			(void)unlinkat(from, doing->temporary, 0);
	}
	return error == -EEXIST ? DOING_CHANGED : error;
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

/* Is it what was to be made, or the beginning of it?  What is not written yet reads as zeroes. */
static bool begins_content(const struct doing *doing, int fd, uint64_t size_bytes)
{
	enum { CHUNK = 4096 };
	char bytes[CHUNK], wanted[CHUNK];
	int from = doing_content_open(doing);
	bool same = from >= 0 && size_bytes <= doing->item->wanted.size_bytes;

	for (uint64_t at = 0; same && at < size_bytes;) {
		ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)at);
		same = got > 0 && pread(from, wanted, (size_t)got, (off_t)at) == got;
		for (ssize_t i = 0; same && i < got; i++)
			same = bytes[i] == wanted[i] || bytes[i] == 0;
		at += same ? (uint64_t)got : 0;
	}
	if (from >= 0)
		(void)close(from);
	return same;
}

/* Did this undo make what has the temporary name? */
static bool is_own(const struct doing *doing, int directory)
{
	const struct pack_state *wanted = &doing->item->wanted;
	char target[PACK_PATH_BYTES_MAX + 1], own[PACK_PATH_BYTES_MAX + 1];
	struct pack_state other;
	struct stat stat;

	if (fstatat(directory, doing->temporary, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
	    ((stat.st_mode ^ wanted->mode) & S_IFMT))
		return false;
	if (doing->item->kind == SCHEDULE_LINK || doing->item->kind == SCHEDULE_RELINK)
		return place_state(&doing->applying->places, doing->other, &other) == 0 &&
		       other.ino == stat.st_ino && other.dev == stat.st_dev;
	if (S_ISLNK(wanted->mode)) {
		ssize_t length = readlinkat(directory, doing->temporary, target, sizeof(target));
		int from = doing_content_open(doing);
		bool same = from >= 0 && length > 0 && read(from, own, sizeof(own)) == length &&
			    memcmp(own, target, (size_t)length) == 0;
		if (from >= 0)
			(void)close(from);
		return same;
	}
	if (!S_ISREG(wanted->mode))
		return stat.st_rdev == wanted->rdev;
	int fd = openat(directory, doing->temporary,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) /* whole, then: it gets its mode last */
		return errno == EACCES && (uint64_t)stat.st_size == wanted->size_bytes &&
		       !((stat.st_mode ^ wanted->mode) & PERMISSIONS);
	bool same = begins_content(doing, fd, (uint64_t)stat.st_size);
	(void)close(fd);
	return same;
}

/* The temporary name has what an external program put in the place while both were exchanged: it goes back. */
static int exchange_back(struct doing *doing, int from)
{
	if (!is_made(doing) ||
	    renameat2(from, doing->temporary, doing->directory, doing->name, RENAME_EXCHANGE) < 0)
		return keep_temporary(doing, from);
	if (is_own(doing, from))
		return unlinkat(from, doing->temporary, 0) < 0 ? -errno : DOING_CHANGED;
	(void)renameat2(from, doing->temporary, doing->directory, doing->name, RENAME_EXCHANGE);
	return keep_temporary(doing, from);
}

/* What an interrupted one left.  ret_done: the new one has its name already.  Returns DOING_DONE: nothing is left
 * there; DOING_CHANGED, a negative errno. */
static int clear_temporary(struct doing *doing, bool *ret_done)
{
	const struct pack_state *found = &doing->item->found;
	int directory = temporary_in(doing);
	struct stat stat;

	*ret_done = false;
	if (fstatat(directory, doing->temporary, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (found->mode && doing->exists && !doing_is_found(doing)) {
		/* What the plan found is out of its place: only its end is missing. */
		*ret_done = is_same_at(directory, doing->temporary, found);
		if (!*ret_done && !is_own(doing, directory))
			return exchange_back(doing, directory);
	}
	return unlinkat(directory, doing->temporary, 0) < 0 ? -errno : 0;
}

/* What is made, by its temporary name: an external program may change it once it has its own. */
static struct operation_note note_made(struct doing *doing, const struct pack_state *state)
{
	uint8_t kind = doing->item->kind;
	struct operation_note note = { .kind = PACK_AFTER, .path = doing->path, .before = *state };

	/* Later external changes are compared with its content (file_history.h): git status writes the index of a
	 * repository or worktree that has come back. */
	if ((kind == SCHEDULE_SWAP || (kind == SCHEDULE_PUT && left_is_git_index(doing->path))) &&
	    S_ISREG(state->mode) && state->size_bytes <= left_bytes_max(doing->path)) {
		int fd = openat(temporary_in(doing), doing->temporary,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0 || operation_log_keep(&doing->applying->log, &note, fd, -1, NULL) < 0)
			note.held = PACK_NOT_TAKEN;
		if (fd >= 0)
			(void)close(fd);
	}
	return note;
}

/* A rename sets its ctime, and the end of another name its count of names. */
static int log_made(struct doing *doing, struct operation_note *made)
{
	struct pack_state now;

	if (place_inspect(doing->directory, doing->name, &now) < 0)
		return DOING_DONE;
	if (place_is_same(&now, &made->before) && now.uid == made->before.uid &&
	    now.gid == made->before.gid)
		made->before = now;
	return operation_log_write(&doing->applying->log, made, 1);
}

static int log_and_install(struct doing *doing)
{
	struct operation_note notes[2];
	struct pack_state state;
	size_t count = 0;
	int fd = -1, error = place_inspect(temporary_in(doing), doing->temporary, &state);

	if (error < 0)
		return error;
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
		notes[count].before = state;
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
	struct operation_note made = note_made(doing, &state);
	bool is_installed = false;
	error = install(doing, &made.before, &is_installed);
	/* What is linked may have an external edit by now: how it was left is on record where it was made. */
	if (error == DOING_DONE)
		return link ? DOING_DONE : log_made(doing, &made);
	if (!is_installed)
		operation_log_fail(&doing->applying->log, notes, count);
	return error;
}

static int make_and_install(struct doing *doing)
{
	int error = make_temporary(doing);

	if (error == 0)
		error = log_and_install(doing);
	if (error != DOING_DONE && error != -ESTALE)
		(void)unlinkat(temporary_in(doing), doing->temporary, 0);
	return error;
}

/* What an interrupted one left, beside its place or not. */
static int clear_temporaries(struct doing *doing, bool *ret_done)
{
	bool is_fresh = doing->is_fresh;

	doing->is_fresh = false;
	int error = clear_temporary(doing, ret_done);
	doing->is_fresh = is_fresh;
	return error != 0 || *ret_done || !is_fresh ? error : clear_temporary(doing, ret_done);
}

int apply_make(struct doing *doing)
{
	bool links = doing->item->kind == SCHEDULE_LINK || doing->item->kind == SCHEDULE_RELINK;
	bool done = false;

	doing->is_fresh = doing->applying->fresh.directory >= 0 && !links &&
			  S_ISREG(doing->item->wanted.mode);
	int error = doing->applying->again ? clear_temporaries(doing, &done) : 0;
	if (error != 0 || done)
		return error;
	bool replaces = doing->item->kind == SCHEDULE_SWAP || doing->item->kind == SCHEDULE_RELINK;
	/* Between this one's beginning and its end another name of it may have been linked. */
	if (replaces ? !doing_is_found(doing) : doing->exists)
		return doing->applying->again && is_made(doing) ? DOING_DONE : DOING_CHANGED;
	error = make_and_install(doing);
	/* Its place is on another mount, or below another project or key. */
	if (doing->is_fresh && (error == -EXDEV || error == -EPERM)) {
		doing->is_fresh = false;
		error = make_and_install(doing);
	}
	/* A mount point keeps its name: a file is written in place. */
	bool in_place = error == -EBUSY && doing->item->kind == SCHEDULE_SWAP &&
			S_ISREG(doing->now.mode) && S_ISREG(doing->item->wanted.mode);
	return in_place ? apply_write(doing) : error;
}

/* ---- in place ---- */

/* Opens what is there for reading and writing.  Its owner may do so where it is read-only. */
static int open_in_place(const struct doing *doing)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(doing->directory, doing->name, flags);

	if (fd >= 0 || errno != EACCES)
		return fd < 0 ? -errno : fd;
	int error = apply_meta_writable(doing, true);
	if (error < 0)
		return error;
	fd = openat(doing->directory, doing->name, flags);
	error = -errno;
	if (fd < 0)
		(void)apply_meta_writable(doing, false);
	return fd < 0 ? error : fd;
}

/* Is the open file the one that is there, but for its mode? */
static bool is_there(const struct doing *doing, int fd)
{
	struct pack_state state;

	return place_inspect(fd, "", &state) == 0 && state.ino == doing->now.ino &&
	       state.dev == doing->now.dev && state.size_bytes == doing->now.size_bytes &&
	       state.mtime_ns == doing->now.mtime_ns;
}

static int write_in_place(struct doing *doing, int from, int to)
{
	struct operation_note notes[] = { { .kind = PACK_CONTENT, .path = doing->path },
					  { .kind = PACK_AFTER, .path = doing->path } };
	struct stat stat;
	int error = !is_there(doing, to) ? DOING_CHANGED : fstat(from, &stat) < 0 ? -errno : 0;

	if (error == 0)
		error = doing_log(doing, notes, 1, to, false);
	if (error == 0 && !is_there(doing, to)) {
		operation_log_fail(&doing->applying->log, notes, 1);
		error = DOING_CHANGED;
	}
	if (error != 0 && fchmod(to, doing->now.mode & PERMISSIONS) < 0)
		return -errno;
	if (error == 0)
		error = file_copy_into(from, to, (uint64_t)stat.st_size);
	if (error == 0)
		error = apply_meta_descriptor(to, &doing->item->wanted,
					      doing->item->flags & SCHEDULE_MTIME);
	if (error != 0 || place_inspect(to, "", &notes[1].before) < 0)
		return error;
	return operation_log_write(&doing->applying->log, &notes[1], 1);
}

int apply_write(struct doing *doing)
{
	bool same_inode = doing->exists && doing->now.ino == doing->item->found.ino &&
			  doing->now.dev == doing->item->found.dev;

	/* It was made writable (open_in_place()). */
	if (same_inode && doing->applying->again &&
	    doing->now.mode == (doing->item->found.mode | S_IRUSR | S_IWUSR))
		doing->now.mode = doing->item->found.mode;
	/* Another of its names may have been written by now. */
	if (!doing_is_found(doing) && same_inode && is_made(doing))
		return DOING_DONE;
	if (!doing_is_found(doing) && !(doing->applying->again && same_inode))
		return DOING_CHANGED;
	int from = doing_content_open(doing);
	if (from < 0)
		return from;
	int to = open_in_place(doing);
	int error = to;
	if (to >= 0) {
		/* No other program opens it until all is written, where the kernel grants that: not for a file
		 * that one has open already. */
		void (*handler)(int) = signal(SIGIO, SIG_IGN);
		(void)fcntl(to, F_SETLEASE, F_WRLCK);
		error = write_in_place(doing, from, to);
		(void)close(to);
		(void)signal(SIGIO, handler);
	}
	(void)close(from);
	return error;
}
