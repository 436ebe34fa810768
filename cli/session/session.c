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
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/abandoned.h"
#include "config/pack.h"
#include "config/value.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_create.h"
#include "tracker/journal/journal_grow.h"
#include "tracker/journal/journal_map.h"
#include "tracker/path/path.h"
#include "tracker/process/process.h"
#include "tracker/segment/segment_create.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

enum { ATTEMPTS_MAX = 100 }; /* of session_make(), 10 ms apart */

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

/* Makes a directory and its parents, for this user alone.  A directory that is there already must
 * be this user's; its mode is theirs to choose. */
static int make_directory(const char *path)
{
	char parent[SEGMENT_PATH_BYTES];
	int fd = -1;

	if (snprintf(parent, sizeof(parent), "%s", path) >= (int)sizeof(parent))
		return -ENAMETOOLONG;
	for (char *at = strchr(parent + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(parent, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		*at = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	int error = session_open_directory(AT_FDCWD, path, &fd);
	if (error == 0)
		(void)close(fd);
	return error;
}

/* ---- holding a session, so that `seen gc` leaves it ---- */

/* Locks a session's directory.  -EAGAIN: `seen gc` has it, or just removed it. */
static int hold(struct session *session, const char *path)
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
static int tighten(const struct session *session)
{
	int fd = session->holds[session->hold_count - 1];
	struct stat stat;

	if (fstat(fd, &stat) < 0 || ((stat.st_mode & 077) && fchmod(fd, 0700) < 0))
		return -errno;
	return 0;
}

/* Locks the directory of the session's journal and content store too, where it is another one: a
 * `seen gc` that does not see the segment (with another XDG_RUNTIME_DIR) finds nothing but that. */
static int hold_state(struct session *session)
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
	return hold(session, directory) == -EAGAIN ? -EAGAIN : 0;
}

/* The modification times of its files are when a session was last used.  The kernel moves them when
 * a process first writes to a page of its mapping, not each time: a run that goes on for long says
 * when it ends. */
static void mark_used(const struct session *session)
{
	for (int i = 0; i < session->hold_count; i++) {
		(void)utimensat(session->holds[i], "segment", NULL, AT_SYMLINK_NOFOLLOW);
		(void)utimensat(session->holds[i], "journal", NULL, AT_SYMLINK_NOFOLLOW);
	}
}

/* ---- opening and making ---- */

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

/* Opens the session in a directory; `held` has it locked already, or is empty. */
static int map(const char *directory, const struct session *held, struct session *ret_session)
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
	error = segment_map(path, &session.segment);
	if (error == -EPERM && session_check_file(AT_FDCWD, path) == -EUCLEAN)
		return -EUCLEAN; /* it does not tell them apart */
	if (error < 0)
		return error;
	(void)snprintf(session.name, sizeof(session.name), "%s", session.segment.header->name);
	*ret_session = session;
	return 0;
}

/* Opens the session in a directory, locked where `to_use`. */
static int open_in(const char *directory, bool to_use, struct session *ret_session)
{
	struct session session = { .made = false };
	int error = to_use ? hold(&session, directory) : 0;

	/* one that a path names may be no session's */
	if (error == 0 && to_use && faccessat(session.holds[0], "segment", F_OK, 0) == 0)
		error = tighten(&session);
	if (error == 0)
		error = map(directory, &session, &session);
	if (error == 0 && to_use)
		error = hold_state(&session);
	if (error < 0)
		session_close(&session);
	else
		*ret_session = session;
	return error;
}

static int open_named(const struct config *config, const char *name, bool to_use,
		      struct session *ret_session)
{
	char directory[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];
	int error;

	if (name[0] == '/')
		return open_in(name, to_use, ret_session);
	if (!session_name_is_valid(name))
		return -EINVAL;
	error = session_runtime_dir(config, directory, sizeof(directory));
	if (error == 0)
		error = session_path(path, sizeof(path), directory, name);
	if (error == 0)
		error = open_in(path, to_use, ret_session);
	if (error != -ENOENT && error != -ENOTDIR && error != -EACCES)
		return error;
	/* the runtime directory had no room when it was made, or is none of ours ($XDG_RUNTIME_DIR
	 * after su) */
	error = session_state_dir(config, directory, sizeof(directory));
	if (error == 0)
		error = session_path(path, sizeof(path), directory, name);
	return error == 0 ? open_in(path, to_use, ret_session) : error;
}

int session_open(const struct config *config, const char *name, struct session *ret_session)
{
	return open_named(config, name, false, ret_session);
}

static void read_boot_id(char *ret_text, size_t capacity)
{
	ssize_t length = sys_read_file("/proc/sys/kernel/random/boot_id", ret_text, capacity);
	ret_text[length > 0 ? strcspn(ret_text, "\n") : 0] = '\0';
}

/* Are the times of a segment, and the processes in it, of this boot? */
static bool is_of_this_boot(const struct segment *segment)
{
	char boot_id[sizeof(segment->header->boot_id)];

	read_boot_id(boot_id, sizeof(boot_id));
	return strcmp(boot_id, segment->header->boot_id) == 0;
}

/* Has a process ended that was not waited for yet?  Its first thread has, that is: others may go on
 * (proc(5), stat, field 3). */
static bool is_zombie(uint32_t pid)
{
	char path[40], text[512];

	(void)snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (sys_read_file(path, text, sizeof(text)) <= 0)
		return false;
	const char *behind_name = strrchr(text, ')');
	return behind_name && behind_name[1] == ' ' && behind_name[2] == 'Z';
}

enum session_life session_life(const struct segment *segment)
{
	enum session_life life = SESSION_EMPTY;
	uint64_t pid_ns = process_pid_ns();

	if (!is_of_this_boot(segment))
		return SESSION_EMPTY;
	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		struct process_slot copy;
		/* pid 0: to be set by its starter, which is in the table itself */
		if (!process_read(segment, i, &copy) || copy.pid == 0 ||
		    (copy.state != PROCESS_ANNOUNCED && copy.state != PROCESS_ATTACHED) ||
		    process_is_gone(&copy))
			continue;
		if (copy.context.pid_ns == pid_ns && !is_zombie(copy.pid))
			return SESSION_LIVED_IN;
		life = SESSION_UNSURE;
	}
	return life;
}

/* Takes off the table what has ended without saying so; how many live. */
static unsigned sweep(const struct segment *segment)
{
	unsigned live = 0;

	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		struct process_slot copy;
		if (!process_read(segment, i, &copy) ||
		    (copy.state != PROCESS_ANNOUNCED && copy.state != PROCESS_ATTACHED))
			continue;
		if (!process_is_gone(&copy)) {
			live += copy.state == PROCESS_ATTACHED;
			continue;
		}
		struct process_ref process = { i, copy.serial };
		if (copy.state == PROCESS_ATTACHED)
			process_exit(segment, process);
	}
	return live;
}

/* Notes a name of the workspace's root that leads there through symbolic links. */
static void note_alias(const struct session *session, const char *root, const char *name)
{
	char alias[SEGMENT_PATH_BYTES], real[PATH_MAX];

	if (name[0] == '/' && path_normalize(NULL, name, alias, sizeof(alias)) > 1 &&
	    strcmp(alias, root) != 0 && realpath(alias, real) && strcmp(real, root) == 0)
		(void)path_add_alias(&session->segment, alias);
}

/* The names by which the user reached the workspace: the one that was given, and what the shell
 * calls the current directory. */
static void note_aliases(const struct config *config, const struct session *session)
{
	const char *root = segment_text(&session->segment,
					session->segment.settings->paths_workspace, NULL);
	const char *shell_name = getenv("PWD");
	char directory[PATH_MAX], above[PATH_MAX];

	if (!root || !root[1])
		return;
	note_alias(session, root, config_text(config, OPTION_paths_workspace));
	size_t length = strlen(root);
	if (!shell_name || !getcwd(directory, sizeof(directory)) ||
	    strncmp(directory, root, length) != 0 ||
	    (directory[length] && directory[length] != '/'))
		return;
	size_t below = strlen(directory + length), bytes = strlen(shell_name);
	if (bytes <= below || bytes >= sizeof(above) ||
	    strcmp(shell_name + bytes - below, directory + length) != 0)
		return;
	(void)snprintf(above, sizeof(above), "%.*s", (int)(bytes - below), shell_name);
	note_alias(session, root, above);
}

/* A session that was there before: made fit for another run. */
static void resume(const struct config *config, struct session *session)
{
	struct segment_header *header = session->segment.header;
	struct settings settings;
	struct config_error error;
	char text[SETTINGS_TEXT_BYTES_MAX];
	size_t used = 0;

	bool is_other_boot = !is_of_this_boot(&session->segment);
	if (is_other_boot) {
		/* Times count from the boot, and inode numbers of pipes began anew. */
		read_boot_id(header->boot_id, sizeof(header->boot_id));
		(void)tracker_forget_all(&session->segment, 0);
	}
	unsigned live = sweep(&session->segment);
	if (live == 0)
		baseline_adopt(&session->segment, is_other_boot);
	if (config_pack(config, &settings, text, sizeof(text), &used, &error) < 0 ||
	    segment_has_settings(&session->segment, &settings, text, used))
		return;
	session->keeps_settings = live > 0;
	if (live > 0)
		message("session %s is in use by %u processes: it keeps the settings it has",
			session->name, live);
	else
		segment_write_settings(&session->segment, &settings, text, used);
}

static void chance(unsigned char *ret_bytes, size_t count)
{
	if (getrandom(ret_bytes, count, 0) != (ssize_t)count)
		memset(ret_bytes, 0, count);
}

/* The directory of a session about to be made in `directory` that outlives a boot: made, locked,
 * this user's alone.  It may be the same one. */
static int make_state(const struct config *config, const char *name, const char *directory,
		      struct session *session, char *ret_directory, size_t capacity)
{
	char state[SEGMENT_PATH_BYTES];
	int error = session_state_dir(config, state, sizeof(state));

	if (error == 0)
		error = make_directory(state);
	if (error == 0)
		error = session_path(ret_directory, capacity, state, name);
	if (error == 0 && strcmp(ret_directory, directory) != 0) {
		error = make_directory(ret_directory);
		if (error == 0)
			error = hold(session, ret_directory);
		if (error == 0)
			error = tighten(session);
	}
	return error;
}

/* The session's journal.  One that is there already, of a session whose segment went with the last
 * boot, is continued.
 * ret_path: "" when there is to be none.  ret_made: it is new. */
static int make_journal(const struct config *config, const char *name, const char *directory,
			char *ret_path, size_t capacity, bool *ret_made)
{
	char nonce[JOURNAL_NONCE_BYTES];
	unsigned char random[8];
	int error = session_path(ret_path, capacity, directory, "journal");

	if (error < 0)
		return error;
	chance(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(nonce + 2 * i, 3, "%02x", random[i]);
	error = journal_create(ret_path, name, nonce, config_workspace(config),
			       config_number(config, OPTION_journal_max_bytes));
	*ret_made = error == 0;
	if (error == 0 || error == -EEXIST)
		return 0;
	ret_path[0] = '\0';
	return error;
}

/* Makes the directory of a content store, or makes sure that the one there is this user's alone. */
static int make_contents(const char *path)
{
	struct stat stat;
	int fd = -1;
	int error = make_directory(path);

	if (error == 0)
		error = session_open_directory(AT_FDCWD, path, &fd);
	if (error == 0 && (fstat(fd, &stat) < 0 || ((stat.st_mode & 077) && fchmod(fd, 0700) < 0)))
		error = -errno;
	if (fd >= 0)
		(void)close(fd);
	return error;
}

/* What a session has beside its segment.  Its paths are "" where there is none. */
struct beside {
	char directory[SEGMENT_PATH_BYTES];
	char journal[SEGMENT_PATH_BYTES], contents[SEGMENT_PATH_BYTES];
	bool journal_made;
};

/* Makes journal and content store.  What cannot be made the session does without; -EAGAIN: `seen
 * gc` is at work on their directory. */
static int make_beside(const struct config *config, const char *name, const char *directory,
		       struct session *session, struct beside *beside)
{
	bool journal = config_number(config, OPTION_journal_level) != JOURNAL_LEVEL_OFF;
	bool contents = config_number(config, OPTION_content_max_bytes) > 0;

	*beside = (struct beside){ .journal_made = false };
	if (!journal && !contents)
		return 0;
	int error = make_state(config, name, directory, session, beside->directory,
			       sizeof(beside->directory));
	if (error == -EAGAIN)
		return error;
	if (journal)
		session->journal_error = error ? error
					       : make_journal(config, name, beside->directory,
							      beside->journal,
							      sizeof(beside->journal),
							      &beside->journal_made);
	if (contents && error == 0)
		error = session_path(beside->contents, sizeof(beside->contents), beside->directory,
				     CONTENTS_DIRECTORY);
	if (contents && error == 0)
		error = make_contents(beside->contents);
	if (contents && error < 0) {
		session->contents_error = error;
		beside->contents[0] = '\0';
	}
	if (!beside->journal[0] && !beside->contents[0] && beside->directory[0] &&
	    strcmp(beside->directory, directory) != 0)
		(void)rmdir(beside->directory); /* where nothing else is in it */
	return 0;
}

/* Takes back what was made for nothing. */
static void drop_beside(const struct beside *beside)
{
	if (beside->journal_made)
		(void)unlink(beside->journal);
	if (beside->contents[0])
		(void)rmdir(beside->contents); /* where nothing is in it */
	if (beside->directory[0])
		(void)rmdir(beside->directory);
}

static const char *or_none(const char *path)
{
	return path[0] ? path : NULL;
}

/* Makes segment, journal and content store in a directory that is there, and locked. */
static int fill(const struct config *config, const char *directory, const char *name,
		struct session *session)
{
	char text[SETTINGS_TEXT_BYTES_MAX], boot_id[40];
	struct settings settings;
	struct config_error config_error;
	struct beside beside;
	unsigned char nonce[8];
	size_t used = 0;

	int error = config_pack(config, &settings, text, sizeof(text), &used, &config_error);
	if (error < 0)
		return error;
	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -EIO;
	read_boot_id(boot_id, sizeof(boot_id));
	error = make_beside(config, name, directory, session, &beside);
	if (error < 0)
		return error;
	error = segment_create(directory, name, nonce, boot_id, &settings, text, used,
			       or_none(beside.journal), or_none(beside.contents));
	if (error == -ENOSPC && beside.journal_made) {
		/* Where there is room for one of them, it is the segment's. */
		(void)unlink(beside.journal);
		error = segment_create(directory, name, nonce, boot_id, &settings, text, used, NULL,
				       or_none(beside.contents));
		session->journal_error = -ENOSPC;
	}
	session->made = error == 0;
	if (error < 0 && error != -EEXIST)
		drop_beside(&beside);
	if (error != -EEXIST)
		return error;
	session->journal_error = session->contents_error = 0; /* another process made it */
	return 0;
}

/* Makes the content store of a session fit for another run: a directory that was removed comes
 * back, what killed processes left goes, and what is kept is counted. */
static void complete_contents(struct session *session)
{
	const char *path = segment_contents(&session->segment);

	if (!path)
		return;
	int error = make_contents(path);
	(void)hold_state(session); /* where its directory was made just now */
	if (error == 0)
		error = abandoned_remove(path);
	if (error == 0)
		contents_recount(&session->segment);
	session->contents_error = error;
}

static int make_in(const struct config *config, const char *directory, const char *name,
		   struct session *ret_session)
{
	struct session session = { .made = false };
	char path[SEGMENT_PATH_BYTES];
	bool made = false;

	int error = make_directory(directory);
	if (error == 0)
		error = session_path(path, sizeof(path), directory, name);
	if (error == 0) {
		made = access(path, F_OK) < 0;
		error = make_directory(path);
	}
	if (error == 0) {
		error = hold(&session, path);
		error = error == -ENOENT ? -EAGAIN : error; /* another, who made it too, gave up */
	}
	if (error == 0)
		error = tighten(&session);
	if (error == 0)
		error = fill(config, path, name, &session);
	if (error < 0 && error != -EAGAIN && made)
		(void)rmdir(path);
	if (error == 0)
		error = map(path, &session, &session);
	if (error < 0)
		session_close(&session);
	else
		*ret_session = session;
	return error;
}

static void new_name(char *ret_name, size_t capacity)
{
	time_t now = time(NULL);
	struct tm parts;
	unsigned char chance[3] = { 0 };
	char date[32];

	(void)!getrandom(chance, sizeof(chance), 0);
	(void)gmtime_r(&now, &parts);
	(void)strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &parts);
	(void)snprintf(ret_name, capacity, "%s-%02x%02x%02x", date, chance[0], chance[1],
		       chance[2]);
}

/* Opens a session or makes it.  -EAGAIN: `seen gc` was at it. */
static int open_or_make(const struct config *config, const char *name, struct session *ret_session)
{
	char runtime[SEGMENT_PATH_BYTES], state[SEGMENT_PATH_BYTES];
	int error = open_named(config, name, true, ret_session);

	if (error == 0)
		resume(config, ret_session);
	if ((error != -ENOENT && error != -ENOTDIR) || name[0] == '/')
		return error;
	error = session_runtime_dir(config, runtime, sizeof(runtime));
	if (error == 0)
		error = make_in(config, runtime, name, ret_session);
	if (error < 0 && error != -EAGAIN && session_state_dir(config, state, sizeof(state)) == 0 &&
	    strcmp(state, runtime) != 0 && make_in(config, state, name, ret_session) == 0)
		error = 0;
	return error;
}

int session_make(const struct config *config, const char *name, struct session *ret_session)
{
	static const struct timespec PAUSE = { .tv_nsec = 10000000 };
	char fresh[64];
	int error = -EAGAIN;

	if (!name) {
		new_name(fresh, sizeof(fresh));
		name = fresh;
	}
	for (int attempt = 0; attempt < ATTEMPTS_MAX && error == -EAGAIN; attempt++) {
		if (attempt > 0)
			(void)nanosleep(&PAUSE, NULL);
		error = open_or_make(config, name, ret_session);
	}
	if (error == 0)
		note_aliases(config, ret_session);
	if (error == 0)
		complete_contents(ret_session);
	return error == -EAGAIN ? -EBUSY : error;
}

const char *session_explain(int error)
{
	switch (error) {
	case -ENOENT:
		return "there is no such session";
	case -EINVAL:
		return "not a name for a session: letters, digits, '.', '-' and '_', at most 64";
	case -EPERM:
		return "it belongs to another user";
	case -EUCLEAN:
		return "others may write to it; check what is in it, then `chmod go-w` it";
	case -ELOOP:
		return "it is a symbolic link, which is not followed";
	case -EBUSY:
		return "`seen gc` is at work on it; try again";
	case -EPROTO:
		return "it was made by another version of seen; use that one, or begin a new "
		       "session";
	case -EBADMSG:
		return "its segment is damaged; remove the folder to begin anew";
	case -ENOSPC:
		return "no space left; make room, or name another folder with --runtime-dir";
	default:
		return strerror(-error);
	}
}

/* The directory that sessions are looked for by, and the best one so far. */
struct search {
	const char *workspace;
	bool above;     /* a workspace that this one lies in does too */
	size_t matched; /* length of the best one's workspace */
	struct session session;
};

static bool is_better(const struct search *search, const struct session *candidate)
{
	const struct segment *segment = &candidate->segment;
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);

	if (!root || !(search->above ? argument_is_below(search->workspace, root)
				     : strcmp(search->workspace, root) == 0))
		return false;
	size_t length = strlen(root);
	if (!search->session.segment.header || length != search->matched)
		return length >= search->matched;
	return segment->header->created_realtime_ns >
	       search->session.segment.header->created_realtime_ns;
}

/* Inspects the sessions in a directory of sessions. */
static void find_newest(const char *directory, struct search *search)
{
	int fd = -1;
	if (session_open_directory(AT_FDCWD, directory, &fd) < 0)
		return;
	DIR *stream = fdopendir(fd);
	if (!stream) {
		(void)close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(stream));) {
		char path[SEGMENT_PATH_BYTES];
		struct session candidate;
		if (!session_name_is_valid(entry->d_name) ||
		    session_path(path, sizeof(path), directory, entry->d_name) < 0 ||
		    open_in(path, false, &candidate) < 0)
			continue;
		if (!is_better(search, &candidate)) {
			session_close(&candidate);
			continue;
		}
		session_close(&search->session);
		search->session = candidate;
		search->matched = strlen(segment_text(
			&candidate.segment, candidate.segment.settings->paths_workspace, NULL));
	}
	(void)closedir(stream);
}

int session_find(const struct config *config, const char *name, struct session *ret_session)
{
	if (!name) {
		name = getenv("SEEN_SESSION");
		if (name && !name[0])
			name = NULL;
	}
	if (name) {
		int error = session_open(config, name, ret_session);
		if (error == 0)
			return EXIT_CODE_OK;
		message("session %s: %s", name, session_explain(error));
		return error == -ENOENT || error == -ENOTDIR ? EXIT_CODE_NO_SESSION
		       : error == -EINVAL                    ? EXIT_CODE_USAGE
							     : EXIT_CODE_BAD_SESSION;
	}
	return session_find_newest(config, ret_session) ? EXIT_CODE_OK : session_none(config);
}

bool session_find_newest(const struct config *config, struct session *ret_session)
{
	char runtime[SEGMENT_PATH_BYTES], state[SEGMENT_PATH_BYTES];
	struct search search = { .workspace = config_workspace(config),
				 .above = !config_text(config, OPTION_paths_workspace)[0] };

	if (session_runtime_dir(config, runtime, sizeof(runtime)) == 0)
		find_newest(runtime, &search);
	if (session_state_dir(config, state, sizeof(state)) == 0 && strcmp(state, runtime) != 0)
		find_newest(state, &search);
	if (search.session.segment.header)
		*ret_session = search.session;
	return search.session.segment.header != NULL;
}

int session_none(const struct config *config)
{
	message("no session of the workspace %s yet: begin one with `seen run -- COMMAND`, "
		"or name one with --session",
		config_workspace(config));
	return EXIT_CODE_NO_SESSION;
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
		mark_used(session);
	for (; session->hold_count > 0; session->hold_count--)
		(void)close(session->holds[session->hold_count - 1]);
	segment_unmap(&session->segment);
}

int session_library(char *ret_path, size_t capacity)
{
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (length <= 0)
		return -ENOENT;
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
