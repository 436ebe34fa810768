/* Directories of sessions: see session_hold.h. */
#include "cli/session/session_hold.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/session/owned.h"

/* Makes a directory and its parents, for this user alone.  A directory that is there already must
 * be this user's; its mode is theirs to choose. */
int session_make_directory(const char *path)
{
	char parent[SEGMENT_PATH_BYTES];
	int fd = -1;

	if (snprintf(parent, sizeof(parent), "%s", path) >= (int)sizeof(parent))
		return -ENAMETOOLONG;
	int error = mkdir(path, 0700) < 0 ? errno : 0;
	/* Nearly always the parents are there. */
	for (char *at = strchr(parent + 1, '/'); at && error == ENOENT; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(parent, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		*at = '/';
	}
	if (error == ENOENT)
		error = mkdir(path, 0700) < 0 ? errno : 0;
	if (error && error != EEXIST)
		return -error;
	error = session_open_directory(AT_FDCWD, path, &fd);
	if (error == 0)
		(void)close(fd);
	return error;
}

/* Locks a session's directory.  -EAGAIN: `seen gc` has it, or just removed it. */
int session_hold(struct session *session, const char *path)
{
	struct stat held, named;
	int fd = -1;
	int error = session_open_directory(AT_FDCWD, path, &fd);

	if (error < 0)
		return error;
	/* A file system without such locks: no process can take it exclusively there either. */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		error = -EAGAIN;
	else if (fstat(fd, &held) < 0)
		error = -errno;
	else if (lstat(path, &named) < 0 || named.st_dev != held.st_dev ||
		 named.st_ino != held.st_ino)
		error = -EAGAIN;
	if (error < 0)
		(void)close(fd);
	else
		session->holds[session->hold_count++] = fd;
	return error;
}

/* Makes the directory that was locked last this user's alone. */
int session_tighten(const struct session *session)
{
	int fd = session->holds[session->hold_count - 1];
	struct stat stat;

	if (fstat(fd, &stat) < 0 || ((stat.st_mode & 077) && fchmod(fd, 0700) < 0))
		return -errno;
	return 0;
}

/* Locks the directory of the session's journal and content store too, where it is another one: a
 * `seen gc` that does not see the segment (with another XDG_RUNTIME_DIR) finds nothing but that. */
int session_hold_state(struct session *session)
{
	const char *inside = segment_journal(&session->segment);
	char directory[SEGMENT_PATH_BYTES];

	if (!inside)
		inside = segment_contents(&session->segment);
	if (!inside || session->hold_count == SESSION_HOLDS_MAX)
		return 0;
	(void)snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(inside, '/') - inside),
		       inside);
	if (!directory[0] || strcmp(directory, session->directory) == 0)
		return 0;
	/* a journal that is gone, or another's, ends no session */
	return session_hold(session, directory) == -EAGAIN ? -EAGAIN : 0;
}

/* The modification times of its files are when a session was last used.  The kernel moves them when
 * a process first writes to a page of its mapping, not each time: a run that goes on for long says
 * when it ends. */
void session_mark_used(const struct session *session)
{
	for (int i = 0; i < session->hold_count; i++) {
		(void)utimensat(session->holds[i], "segment", NULL, AT_SYMLINK_NOFOLLOW);
		(void)utimensat(session->holds[i], "journal", NULL, AT_SYMLINK_NOFOLLOW);
	}
}
