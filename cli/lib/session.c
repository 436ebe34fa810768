/* Sessions on disk: see session.h. */
#include "cli/lib/session.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/lib/exit_code.h"
#include "cli/lib/message.h"
#include "tracker/journal.h"
#include "tracker/process.h"
#include "tracker/sys.h"
#include "tracker/tracker.h"

static int format_path(char *ret_path, size_t capacity, const char *folder, const char *name)
{
	int length = snprintf(ret_path, capacity, "%s/%s", folder, name);
	return length < 0 || (size_t)length >= capacity ? -ENAMETOOLONG : 0;
}

/* An environment variable that holds an absolute path; the XDG specification says to ignore others. */
static const char *folder_variable(const char *name)
{
	const char *value = getenv(name);
	return value && value[0] == '/' ? value : NULL;
}

int session_state_dir(const struct config *config, char *ret_path, size_t capacity)
{
	const char *set = config_text(config, OPTION_session_state_dir);
	const char *state = folder_variable("XDG_STATE_HOME");
	const char *home = folder_variable("HOME");
	char name[32];

	if (set[0])
		return snprintf(ret_path, capacity, "%s", set) < (int)capacity ? 0 : -ENAMETOOLONG;
	if (state)
		return format_path(ret_path, capacity, state, "seen");
	if (home && strcmp(home, "/") != 0)
		return format_path(ret_path, capacity, home, ".local/state/seen");
	(void)snprintf(name, sizeof(name), "seen-%u", (unsigned)geteuid());
	return format_path(ret_path, capacity, "/var/tmp", name);
}

int session_runtime_dir(const struct config *config, char *ret_path, size_t capacity)
{
	const char *set = config_text(config, OPTION_session_runtime_dir);
	const char *runtime = folder_variable("XDG_RUNTIME_DIR");

	if (set[0])
		return snprintf(ret_path, capacity, "%s", set) < (int)capacity ? 0 : -ENAMETOOLONG;
	if (runtime)
		return format_path(ret_path, capacity, runtime, "seen");
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

/* Makes a folder and its parents.  The last one is this user's alone: 0700, checked. */
static int make_private_folder(const char *path)
{
	char parent[SEGMENT_PATH_BYTES];
	struct stat stat;

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
	if (lstat(path, &stat) < 0)
		return -errno;
	if (!S_ISDIR(stat.st_mode))
		return -ENOTDIR;
	if (stat.st_uid != geteuid())
		return -EPERM;
	if ((stat.st_mode & 077) && chmod(path, 0700) < 0)
		return -errno;
	return 0;
}

static int map(const char *directory, struct session *ret_session)
{
	struct session session = { .made = false };
	char path[SEGMENT_PATH_BYTES];
	struct stat stat;

	if (snprintf(session.directory, sizeof(session.directory), "%s", directory) >=
	    (int)sizeof(session.directory))
		return -ENAMETOOLONG;
	int error = format_path(path, sizeof(path), directory, "segment");
	if (error < 0)
		return error;
	if (lstat(directory, &stat) < 0)
		return -errno;
	if (!S_ISDIR(stat.st_mode))
		return -ENOTDIR;
	if (stat.st_uid != geteuid())
		return -EPERM;
	error = segment_map(path, &session.segment);
	if (error < 0)
		return error == -ELOOP ? -EBADMSG : error;
	(void)snprintf(session.name, sizeof(session.name), "%s", session.segment.header->name);
	*ret_session = session;
	return 0;
}

int session_open(const struct config *config, const char *name, struct session *ret_session)
{
	char folder[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];
	int error;

	if (name[0] == '/')
		return map(name, ret_session);
	if (!session_name_is_valid(name))
		return -EINVAL;
	error = session_runtime_dir(config, folder, sizeof(folder));
	if (error == 0)
		error = format_path(path, sizeof(path), folder, name);
	if (error == 0)
		error = map(path, ret_session);
	if (error != -ENOENT && error != -ENOTDIR && error != -EACCES)
		return error;
	/* the runtime folder had no room when it was made, or is none of ours ($XDG_RUNTIME_DIR after su) */
	error = session_state_dir(config, folder, sizeof(folder));
	if (error == 0)
		error = format_path(path, sizeof(path), folder, name);
	return error == 0 ? map(path, ret_session) : error;
}

static void read_boot_id(char *ret_text, size_t capacity)
{
	ssize_t length = sys_read_file("/proc/sys/kernel/random/boot_id", ret_text, capacity);
	ret_text[length > 0 ? strcspn(ret_text, "\n") : 0] = '\0';
}

/* Takes off the table what has ended without saying so; how many live. */
static unsigned sweep(const struct segment *segment)
{
	unsigned living = 0;

	for (uint64_t i = 0; i < segment->capacity[TABLE_PROCESSES]; i++) {
		struct process_slot copy;
		if (!process_read(segment, i, &copy) ||
		    (copy.state != PROCESS_ANNOUNCED && copy.state != PROCESS_ATTACHED))
			continue;
		if (!process_is_gone(&copy)) {
			living += copy.state == PROCESS_ATTACHED;
			continue;
		}
		struct process_ref process = { i, copy.serial };
		if (copy.state == PROCESS_ATTACHED)
			process_exit(segment, process);
	}
	return living;
}

/* A session that was there before: made fit for another run. */
static void resume(const struct config *config, struct session *session)
{
	struct segment_header *header = session->segment.header;
	struct settings settings;
	struct config_error error;
	char text[SETTINGS_TEXT_BYTES_MAX], boot_id[sizeof(header->boot_id)];
	size_t used = 0;

	read_boot_id(boot_id, sizeof(boot_id));
	if (strcmp(boot_id, header->boot_id) != 0) {
		/* Times count from the boot, and inode numbers of pipes began anew. */
		memcpy(header->boot_id, boot_id, sizeof(boot_id));
		(void)tracker_forget_all(&session->segment, 0);
	}
	unsigned living = sweep(&session->segment);
	if (config_pack(config, &settings, text, sizeof(text), &used, &error) < 0 ||
	    segment_has_settings(&session->segment, &settings, text, used))
		return;
	if (living > 0)
		message("session %s is in use by %u processes: it keeps the settings it has",
			session->name, living);
	else
		segment_put_settings(&session->segment, &settings, text, used);
}

static void chance(unsigned char *ret_bytes, size_t count)
{
	if (getrandom(ret_bytes, count, 0) != (ssize_t)count)
		memset(ret_bytes, 0, count);
}

/* The journal of a session about to be made.  One that is there already, of a session whose segment went with the last boot,
 * is continued.  ret_path: "" when there is to be none. */
static int make_journal(const struct config *config, const char *name, char *ret_path,
			size_t capacity)
{
	char state[SEGMENT_PATH_BYTES], folder[SEGMENT_PATH_BYTES], nonce[JOURNAL_NONCE_BYTES];
	unsigned char random[8];

	ret_path[0] = '\0';
	if (config_number(config, OPTION_journal_level) == JOURNAL_LEVEL_OFF)
		return 0;
	int error = session_state_dir(config, state, sizeof(state));
	if (error == 0)
		error = make_private_folder(state);
	if (error == 0)
		error = format_path(folder, sizeof(folder), state, name);
	if (error == 0)
		error = make_private_folder(folder);
	if (error == 0)
		error = format_path(ret_path, capacity, folder, "journal");
	if (error < 0)
		return error;
	chance(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(nonce + 2 * i, 3, "%02x", random[i]);
	error = journal_create(ret_path, name, nonce, config_workspace(config),
			       config_number(config, OPTION_journal_max_bytes));
	if (error == 0 || error == -EEXIST)
		return 0;
	(void)rmdir(folder); /* where nothing else is in it */
	ret_path[0] = '\0';
	return error;
}

static int make_in(const struct config *config, const char *folder, const char *name,
		   struct session *ret_session)
{
	char journal[SEGMENT_PATH_BYTES];
	struct settings settings;
	struct config_error config_error;
	char text[SETTINGS_TEXT_BYTES_MAX], path[SEGMENT_PATH_BYTES], boot_id[40];
	unsigned char nonce[8];
	size_t used = 0;
	bool made = false;

	int error = make_private_folder(folder);
	if (error == 0)
		error = format_path(path, sizeof(path), folder, name);
	if (error == 0) {
		made = access(path, F_OK) < 0;
		error = make_private_folder(path);
	}
	if (error == 0)
		error = config_pack(config, &settings, text, sizeof(text), &used, &config_error);
	if (error < 0)
		return error;
	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -EIO;
	read_boot_id(boot_id, sizeof(boot_id));
	int journal_error = make_journal(config, name, journal, sizeof(journal));
	error = segment_create(path, name, nonce, boot_id, &settings, text, used,
			       journal[0] ? journal : NULL);
	if (error < 0 && error != -EEXIST) {
		if (made)
			(void)rmdir(path);
		return error;
	}
	made = error == 0;
	error = map(path, ret_session);
	if (error == 0) {
		ret_session->made = made;
		ret_session->journal_error = made ? journal_error : 0;
	}
	return error;
}

static void new_name(char *ret_name, size_t capacity)
{
	time_t now = time(NULL);
	struct tm parts;
	unsigned char chance[3] = { 0 };
	char date[32];

	(void)getrandom(chance, sizeof(chance), 0);
	(void)gmtime_r(&now, &parts);
	(void)strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &parts);
	(void)snprintf(ret_name, capacity, "%s-%02x%02x%02x", date, chance[0], chance[1],
		       chance[2]);
}

int session_make(const struct config *config, const char *name, struct session *ret_session)
{
	char fresh[64], runtime[SEGMENT_PATH_BYTES], state[SEGMENT_PATH_BYTES];
	int error;

	if (name) {
		error = session_open(config, name, ret_session);
		if (error == 0)
			resume(config, ret_session);
		if (error != -ENOENT)
			return error;
		if (name[0] == '/')
			return -ENOENT;
	} else {
		new_name(fresh, sizeof(fresh));
		name = fresh;
	}
	error = session_runtime_dir(config, runtime, sizeof(runtime));
	if (error == 0)
		error = make_in(config, runtime, name, ret_session);
	if (error < 0 && session_state_dir(config, state, sizeof(state)) == 0 &&
	    strcmp(state, runtime) != 0 && make_in(config, state, name, ret_session) == 0)
		error = 0;
	return error;
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

/* The newest session of the workspace in a folder of sessions; `ret_session` holds the best one so far. */
static void find_newest(const char *folder, const char *workspace, struct session *session)
{
	DIR *directory = opendir(folder);
	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));) {
		char path[SEGMENT_PATH_BYTES];
		struct session candidate = { .made = false };
		if (!session_name_is_valid(entry->d_name) ||
		    format_path(path, sizeof(path), folder, entry->d_name) < 0 ||
		    map(path, &candidate) < 0)
			continue;
		const char *root = segment_text(&candidate.segment,
						candidate.segment.settings->paths_workspace, NULL);
		if (root && strcmp(root, workspace) == 0 &&
		    (!session->segment.header ||
		     candidate.segment.header->created_realtime_ns >
			     session->segment.header->created_realtime_ns)) {
			session_close(session);
			*session = candidate;
		} else {
			session_close(&candidate);
		}
	}
	(void)closedir(directory);
}

int session_find(const struct config *config, const char *name, struct session *ret_session)
{
	char runtime[SEGMENT_PATH_BYTES], state[SEGMENT_PATH_BYTES];

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
	struct session session = { .made = false };

	if (session_runtime_dir(config, runtime, sizeof(runtime)) == 0)
		find_newest(runtime, config_workspace(config), &session);
	if (session_state_dir(config, state, sizeof(state)) == 0 && strcmp(state, runtime) != 0)
		find_newest(state, config_workspace(config), &session);
	if (!session.segment.header) {
		message("no session of the workspace %s yet: begin one with `seen run -- COMMAND`, "
			"or name one with --session",
			config_workspace(config));
		return EXIT_CODE_NO_SESSION;
	}
	*ret_session = session;
	return EXIT_CODE_OK;
}

const char *session_journal(const struct session *session)
{
	return segment_journal(&session->segment);
}

void session_close(struct session *session)
{
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
	int error = format_path(ret_path, capacity, program, "lib/seen/libseen.so");
	if (error < 0)
		return error;
	return access(ret_path, R_OK) == 0 ? 0 : -ENOENT;
}
