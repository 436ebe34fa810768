/* Sessions on disk: see session.h. */
#include "cli/session/session.h"
#include "cli/session/owned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/session/segment_copy.h"
#include "cli/session/session_hold.h"
#include "config/value.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"

int session_path(char *ret_path, size_t capacity, const char *directory, const char *name)
{
	int length = snprintf(ret_path, capacity, "%s/%s", directory, name);
	return length < 0 || (size_t)length >= capacity ? -ENAMETOOLONG : 0;
}

/* An environment variable that holds an absolute path; the XDG specification says to ignore
 * others. */
static const char *directory_variable(const char *name)
{
	const char *value = getenv(name);
	return value && value[0] == '/' ? value : NULL;
}

int session_state_dir(const struct config *config, char *ret_path, size_t capacity)
{
	const char *set = config_text(config, OPTION_session_state_dir);
	const char *state = directory_variable("XDG_STATE_HOME");
	const char *home = directory_variable("HOME");
	char name[32];

	if (set[0])
		return snprintf(ret_path, capacity, "%s", set) < (int)capacity ? 0 : -ENAMETOOLONG;
	if (state)
		return session_path(ret_path, capacity, state, "seen");
	if (home && strcmp(home, "/") != 0)
		return session_path(ret_path, capacity, home, ".local/state/seen");
	(void)snprintf(name, sizeof(name), "seen-%u", (unsigned)geteuid());
	return session_path(ret_path, capacity, "/var/tmp", name);
}

int session_runtime_dir(const struct config *config, char *ret_path, size_t capacity)
{
	const char *set = config_text(config, OPTION_session_runtime_dir);
	const char *runtime = directory_variable("XDG_RUNTIME_DIR");

	if (set[0])
		return snprintf(ret_path, capacity, "%s", set) < (int)capacity ? 0 : -ENAMETOOLONG;
	if (runtime)
		return session_path(ret_path, capacity, runtime, "seen");
	return session_state_dir(config, ret_path, capacity);
}

bool session_name_is_valid(const char *name)
{
	static const char ALLOWED[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);
	return length > 0 && length <= 64 && strspn(name, ALLOWED) == length && name[0] != '.' &&
	       name[0] != '-' && name[0] != '_';
}

/* ---- opening ---- */

/* May a session's directory be believed? */
static int check_directory(const char *directory)
{
	int fd;
	int error = session_open_directory(AT_FDCWD, directory, &fd);

	if (error < 0)
		return error;
	error = session_check_file(fd, ".");
	(void)close(fd);
	return error;
}

/* Maps a segment; waits for session_cut(), which has it for a few milliseconds, or for as long as a busy machine
 * lets it wait. */
static int map_segment(const char *path, enum session_use use, struct segment *ret_segment)
{
	enum { ATTEMPTS = 2500 };
	static const struct timespec PAUSE = { .tv_nsec = 2000000 };
	int error = -EAGAIN;

	for (int attempt = 0; attempt < ATTEMPTS && error == -EAGAIN; attempt++) {
		if (attempt)
			(void)nanosleep(&PAUSE, NULL);
		error = use == SESSION_TO_RUN    ? segment_map_to_use(path, ret_segment)
			: use == SESSION_TO_READ ? segment_copy_cut(path, false, ret_segment)
						 : segment_copy_cut(path, true, ret_segment);
		if (error == -ENODATA)
			error = segment_map(path, ret_segment);
	}
	return error;
}

/* Opens the session in a directory; `held` has it locked already, or is empty. */
int session_map_directory(const char *directory, enum session_use use, const struct session *held,
			  struct session *ret_session)
{
	struct session session = *held;
	char path[SEGMENT_PATH_BYTES];

	if (snprintf(session.directory, sizeof(session.directory), "%s", directory) >=
	    (int)sizeof(session.directory))
		return -ENAMETOOLONG;
	int error = session_path(path, sizeof(path), directory, "segment");
	if (error == 0)
		error = check_directory(directory);
	if (error < 0)
		return error;
	error = map_segment(path, use, &session.segment);
	if (error == -EPERM && session_check_file(AT_FDCWD, path) == -EUCLEAN)
		return -EUCLEAN; /* it does not tell them apart */
	if (error < 0)
		return error;
	(void)snprintf(session.name, sizeof(session.name), "%s", session.segment.header->name);
	*ret_session = session;
	return 0;
}

/* Opens the session in a directory, locked where it is to be run in. */
static int open_in(const char *directory, enum session_use use, struct session *ret_session)
{
	bool to_use = use == SESSION_TO_RUN;
	struct session session = { .made = false };
	int error = to_use ? session_hold(&session, directory) : 0;

	/* one that a path names may be no session's */
	if (error == 0 && to_use && faccessat(session.holds[0], "segment", F_OK, 0) == 0)
		error = session_tighten(&session);
	if (error == 0)
		error = session_map_directory(directory, use, &session, &session);
	if (error == 0 && to_use)
		error = session_hold_state(&session);
	if (error < 0)
		session_close(&session);
	else
		*ret_session = session;
	return error;
}

static int open_named(const struct config *config, const char *name, enum session_use use,
		      struct session *ret_session)
{
	char directory[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];
	int error;

	if (name[0] == '/')
		return open_in(name, use, ret_session);
	if (!session_name_is_valid(name))
		return -EINVAL;
	error = session_runtime_dir(config, directory, sizeof(directory));
	if (error == 0)
		error = session_path(path, sizeof(path), directory, name);
	if (error == 0)
		error = open_in(path, use, ret_session);
	if (error != -ENOENT && error != -ENOTDIR && error != -EACCES)
		return error;
	if (error == -EACCES && access(directory, X_OK) == 0)
		return error; /* it is there, and refused */
	/* the runtime directory had no room when it was made, or is none of ours ($XDG_RUNTIME_DIR
	 * after su) */
	error = session_state_dir(config, directory, sizeof(directory));
	if (error == 0)
		error = session_path(path, sizeof(path), directory, name);
	return error == 0 ? open_in(path, use, ret_session) : error;
}

int session_open(const struct config *config, const char *name, struct session *ret_session)
{
	return open_named(config, name, SESSION_TO_CHANGE, ret_session);
}

int session_open_to_read(const struct config *config, const char *name, struct session *ret_session)
{
	return open_named(config, name, SESSION_TO_READ, ret_session);
}

int session_open_to_use(const struct config *config, const char *name, struct session *ret_session)
{
	return open_named(config, name, SESSION_TO_RUN, ret_session);
}

const char *session_explain(int error)
{
	switch (error) {
	case -ENOENT:
		return "there is no such session";
	case -EINVAL:
		return "not a name for a session: letters, digits, '.', '-' and '_', at most 64";
	case -EBUSY:
		return "`seen gc` is at work on it; try again";
	case -EPROTO:
		return "it was made by another version of seen; use that one, or begin a new "
		       "session";
	case -EBADMSG:
		return "its segment is damaged; remove the directory to begin anew";
	case -ENOSPC:
		return "no space left; make room, or name another directory with --runtime-dir";
	default:
		return owned_explain(error);
	}
}

int session_map_journal(const struct session *session, struct journal *ret_journal)
{
	const char *path = session_journal(session);

	*ret_journal = (struct journal){ .path = NULL };
	if (session->segment.settings->journal_level == JOURNAL_LEVEL_OFF)
		return 0;
	int error = path                     ? journal_map(path, ret_journal)
		    : session->journal_error ? session->journal_error
					     : -ENOENT;
	if (error == 0)
		journal_choose_clock(ret_journal);
	return error;
}

const char *session_journal(const struct session *session)
{
	return segment_journal(&session->segment);
}

void session_close(struct session *session)
{
	if (session->segment.header)
		session_mark_used(session);
	for (; session->hold_count > 0; session->hold_count--)
		(void)close(session->holds[session->hold_count - 1]);
	segment_unmap(&session->segment);
}

bool session_is_inside(void)
{
	const char *session = getenv("SEEN_SESSION");

	return session && session[0] == '/' && access(session, F_OK) == 0;
}

int session_library(char *ret_path, size_t capacity)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (length <= 0)
		return -ENODEV;
	program[length] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(program, '/');
		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	int error = session_path(ret_path, capacity, program, "lib/seen/libseen.so");
	if (error < 0)
		return error;
	return access(ret_path, R_OK) == 0 ? 0 : -ENOENT;
}

const char *session_library_missing(int error)
{
	return error == -ENODEV ? "/proc is not mounted here, and the library is found by it"
				: "lib/seen/libseen.so is not beside this program";
}
