/* Removal of sessions: see store_remove.h. */
#include "cli/session/store_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/session/owned.h"
#include "cli/session/packs.h"
#include "cli/session/segment_copy.h"
#include "cli/session/session_cut.h"
#include "cli/session/session_life.h"
#include "cli/session/store_files.h"
#include "tracker/content/contents_name.h"
#include "tracker/content/pack_name.h"

/* Begins no session's name; the name and the pid of who removes it follow. */
static const char GONE[] = ".gone.";

enum { GONE_BYTES = sizeof(GONE) + SEGMENT_NAME_BYTES + 16 };

/* Does anybody have a file open to write?  A mapping counts, and so does a process that cannot be
 * seen from here: the kernel grants a lease for reading only where there is none.  Returns -EBUSY,
 * 0, or another errno where that is not known. */
static int ask_writers(int directory, const char *name)
{
	struct stat stat;
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	int error = fstat(fd, &stat) < 0 ? -errno : 0;
	if (error == 0 && S_ISREG(stat.st_mode)) {
		error = fcntl(fd, F_SETLEASE, F_RDLCK) < 0 ? -errno : 0;
		if (error == 0)
			(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	}
	(void)close(fd);
	return error == -EAGAIN ? -EBUSY : error;
}

/* A session that is about to be removed: its directories, locked. */
struct claim {
	int fds[STORE_PLACES]; /* -1: it has none there */
};

static void set_trouble(const struct store_directory *directory, const char *name,
			struct store_trouble *ret_trouble)
{
	ret_trouble->stranger[0] = '\0';
	if (session_path(ret_trouble->path, sizeof(ret_trouble->path), directory->path, name) < 0)
		(void)snprintf(ret_trouble->path, sizeof(ret_trouble->path), "%s", directory->path);
}

/* Opens and locks a directory, and makes sure that it is still the one of that name.  Returns
 * -EBUSY, -ENOENT, others. */
static int open_locked(int parent, const char *name, int *ret_fd)
{
	struct stat held, named;
	int fd = -1;
	int error = session_open_directory(parent, name, &fd);

	if (error == 0)
		error = store_files_lock(fd);
	if (error == 0) {
		if (fstat(fd, &held) < 0 || fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
			error = -errno;
		else if (held.st_dev != named.st_dev || held.st_ino != named.st_ino)
			error = -ENOENT;
	}
	if (error == 0)
		*ret_fd = fd;
	else if (fd >= 0)
		(void)close(fd);
	return error;
}

static void release(struct claim *claim)
{
	for (int place = 0; place < STORE_PLACES; place++)
		if (claim->fds[place] >= 0)
			(void)close(claim->fds[place]);
}

/* Is a session in use whose directory no process holds?  Its directories are locked. */
static int judge(const struct store *store, const struct store_session *session,
		 const struct claim *claim)
{
	static const char *const FILES[] = { STORE_SEGMENT, STORE_JOURNAL };
	char path[SEGMENT_PATH_BYTES];
	struct segment segment;
	bool is_answered = true;
	/* Without a segment no process can be found; the journal is then as good as unused. */
	enum session_life life = SESSION_EMPTY;

	/* before anything is mapped here: this process would be the one that has it open */
	for (int place = 0; place < STORE_PLACES; place++)
		for (int i = 0; claim->fds[place] >= 0 && i < 2; i++) {
			int error = ask_writers(claim->fds[place], FILES[i]);
			if (error == -EBUSY)
				return error;
			is_answered &= error == 0;
		}
	for (int place = 0; place < STORE_PLACES; place++) {
		if (claim->fds[place] < 0 || store_file_path(store, place, session->name,
							     STORE_SEGMENT, path, sizeof(path)) < 0)
			continue;
		int error = segment_copy_cut(path, false, &segment);
		if (error == -ENODATA)
			error = segment_map(path, &segment);
		if (error == 0) {
			life = session_life(&segment);
			segment_unmap(&segment);
		} else if (error != -ENOENT) {
			life = SESSION_UNSURE;
		}
	}
	return life == SESSION_LIVED_IN || (life == SESSION_UNSURE && !is_answered) ? -EBUSY : 0;
}

static int claim(const struct store *store, const struct store_session *session,
		 struct claim *ret_claim, struct store_trouble *ret_trouble)
{
	int found = 0, error = 0;

	*ret_claim = (struct claim){ { -1, -1 } };
	if (session->state == STORE_OTHER_USER || session->state == STORE_UNSAFE) {
		set_trouble(&store->directories[session->in[STORE_RUNTIME] ? STORE_RUNTIME
									   : STORE_STATE],
			    session->name, ret_trouble);
		return session->problem;
	}
	for (int place = 0; place < STORE_PLACES && error == 0; place++) {
		if (!session->in[place])
			continue;
		error = open_locked(store->directories[place].fd, session->name,
				    &ret_claim->fds[place]);
		found += error == 0;
		if (error == -ENOENT)
			error = 0;
		else if (error < 0)
			set_trouble(&store->directories[place], session->name, ret_trouble);
	}
	if (error == 0)
		error = found ? judge(store, session, ret_claim) : -ENOENT;
	if (error < 0)
		release(ret_claim);
	return error;
}

static bool is_own_file(int fd, const char *name)
{
	struct stat stat;
	return fstatat(fd, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(stat.st_mode) &&
	       stat.st_uid == geteuid();
}

/* Removes a content store from a directory that has been locked.  only_try, returns and ret_name: as
 * empty(). */
static int remove_contents(int at, bool only_try, char *ret_name, size_t capacity)
{
	int fd = -1;
	int error = session_open_directory(at, CONTENTS_DIRECTORY, &fd);
	DIR *stream = error == 0 ? store_files_list(fd) : NULL;
	const char *name;

	(void)snprintf(ret_name, capacity, "%s", CONTENTS_DIRECTORY);
	if (error < 0)
		return error == -ELOOP || error == -ENOTDIR || error == -EPERM ? -EEXIST : error;
	error = stream ? 0 : -errno;
	while (stream && (name = store_files_next(stream))) {
		bool is_own = store_file_is_of_contents(name) && is_own_file(fd, name);
		if ((is_own && (only_try || unlinkat(fd, name, 0) == 0 || errno == ENOENT)) ||
		    error < 0)
			continue;
		error = is_own ? -errno : -EEXIST;
		(void)snprintf(ret_name, capacity, "%s/%s", CONTENTS_DIRECTORY, name);
	}
	if (stream && error == 0)
		error = -errno; /* of its end */
	if (stream)
		(void)closedir(stream);
	(void)close(fd);
	if (error == 0 && !only_try && unlinkat(at, CONTENTS_DIRECTORY, AT_REMOVEDIR) < 0)
		error = -errno;
	return error;
}

/* Removes the files of a session from a directory.  only_try: finds out whether nothing else is there, and
 * leaves them.  Returns 0; -EEXIST when there is something else; an error. */
static int empty(int fd, bool only_try, struct store_trouble *ret_trouble)
{
	char contents[sizeof(ret_trouble->stranger)];
	DIR *stream = store_files_list(fd);
	const char *name;
	int error = stream ? 0 : -errno;

	while (stream && (name = store_files_next(stream))) {
		bool is_own = store_file_is_of_session(name) && is_own_file(fd, name);
		const char *stranger = name;
		int failed = !is_own                                  ? -EEXIST
			     : !only_try && unlinkat(fd, name, 0) < 0 ? -errno
								      : 0;
		if (strcmp(name, CONTENTS_DIRECTORY) == 0) {
			failed = remove_contents(fd, only_try, contents, sizeof(contents));
			stranger = contents;
		} else if (strcmp(name, PACK_DIRECTORY) == 0) {
			failed = packs_remove(fd, only_try, contents, sizeof(contents));
			stranger = contents;
		}
		if (failed == 0 || failed == -ENOENT || error < 0)
			continue;
		error = failed;
		(void)snprintf(ret_trouble->stranger, sizeof(ret_trouble->stranger), "%s",
			       stranger);
	}
	if (stream && error == 0)
		error = -errno; /* of its end */
	if (stream)
		(void)closedir(stream);
	return error;
}

/* Empties a directory that was renamed, and removes it. */
static int dispose(const struct store_directory *directory, const char *gone, int fd,
		   struct store_trouble *ret_trouble)
{
	set_trouble(directory, gone, ret_trouble);
	int error = empty(fd, false, ret_trouble);
	if (error == 0 && unlinkat(directory->fd, gone, AT_REMOVEDIR) < 0 && errno != ENOENT)
		error = -errno;
	return error;
}

static int remove_from(const struct store_directory *directory, const char *name, int fd,
		       struct store_trouble *ret_trouble)
{
	char gone[GONE_BYTES];

	(void)snprintf(gone, sizeof(gone), "%s%s.%d", GONE, name, (int)getpid());
	set_trouble(directory, name, ret_trouble);
	if (renameat2(directory->fd, name, directory->fd, gone, RENAME_NOREPLACE) < 0)
		return -errno;
	int error = dispose(directory, gone, fd, ret_trouble);
	/* What is not ours stays where its owner put it. */
	if (error < 0 && renameat2(directory->fd, gone, directory->fd, name, RENAME_NOREPLACE) == 0)
		(void)session_path(ret_trouble->path, sizeof(ret_trouble->path), directory->path,
				   name);
	return error;
}

/* Is all that is there a session's?  Else all of it stays: a part of one is of no use. */
static int inspect(const struct store *store, const struct store_session *session,
		   const struct claim *claim, struct store_trouble *ret_trouble)
{
	int error = 0;

	for (int place = 0; place < STORE_PLACES && error == 0; place++) {
		if (claim->fds[place] < 0)
			continue;
		set_trouble(&store->directories[place], session->name, ret_trouble);
		error = empty(claim->fds[place], true, ret_trouble);
	}
	return error;
}

int store_remove(const struct store *store, const struct store_session *session, bool only_try,
		 struct store_trouble *ret_trouble)
{
	struct claim claimed;
	int error = claim(store, session, &claimed, ret_trouble);

	if (error < 0)
		return error;
	error = inspect(store, session, &claimed, ret_trouble);
	if (error < 0) {
		release(&claimed);
		return error;
	}
	for (int place = 0; place < STORE_PLACES && !only_try; place++) {
		if (claimed.fds[place] < 0)
			continue;
		struct store_trouble trouble;
		int failed = remove_from(&store->directories[place], session->name,
					 claimed.fds[place], &trouble);
		if (failed < 0) {
			error = failed;
			*ret_trouble = trouble;
		}
		if (failed < 0 && failed != -EEXIST)
			break; /* the rest is still a session */
	}
	release(&claimed);
	return error;
}

int store_clean(const struct store *store, struct store_trouble *ret_trouble)
{
	int result = 0;

	for (int place = 0; place < STORE_PLACES; place++) {
		const struct store_directory *directory = &store->directories[place];
		DIR *stream = directory->fd >= 0 ? store_files_list(directory->fd) : NULL;
		const char *name;
		if (directory->fd >= 0 && !stream) {
			result = -errno;
			set_trouble(directory, "", ret_trouble);
		}
		while (stream && (name = store_files_next(stream))) {
			int fd;
			if (strncmp(name, GONE, sizeof(GONE) - 1) != 0)
				continue;
			int error = open_locked(directory->fd, name, &fd);
			if (error == 0) {
				error = dispose(directory, name, fd, ret_trouble);
				(void)close(fd);
			} else {
				set_trouble(directory, name, ret_trouble);
			}
			if (error < 0 && error != -EBUSY && error != -ENOENT)
				result = error;
		}
		if (stream)
			(void)closedir(stream);
	}
	return result;
}

void store_cut(const struct store *store)
{
	char path[SEGMENT_PATH_BYTES];

	for (size_t i = 0; i < store->count; i++) {
		const struct store_session *session = &store->sessions[i];
		for (int place = 0; place < STORE_PLACES; place++)
			if (session->is_uncut && session->state == STORE_ENDED &&
			    session->in[place] &&
			    session_path(path, sizeof(path), store->directories[place].path,
					 session->name) == 0)
				(void)session_cut(path, 0);
	}
}
