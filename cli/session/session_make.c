/* Making sessions: see session_make.h. */
#include "cli/session/session_make.h"
#include "cli/session/git_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/session/abandoned.h"
#include "cli/session/owned.h"
#include "cli/session/packs.h"
#include "cli/session/session_hold.h"
#include "cli/session/session_life.h"
#include "config/pack.h"
#include "config/value.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/baseline.h"
#include "tracker/content/contents_bound.h"
#include "tracker/content/contents_name.h"
#include "tracker/content/pack_name.h"
#include "tracker/journal/journal_create.h"
#include "tracker/path/path.h"
#include "tracker/process/kernel_status.h"
#include "tracker/process/process.h"
#include "tracker/segment/segment_create.h"
#include "tracker/segment/workspace.h"

enum { ATTEMPTS_MAX = 100 }; /* of session_make(), 10 ms apart */

/* Takes off the table what has ended without saying so; how many live. */
static unsigned sweep(const struct segment *segment)
{
	unsigned live = 0;

	for (uint64_t i = 0, used = segment_processes_used(segment); i < used; i++) {
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

	bool is_other_boot = !session_is_of_this_boot(&session->segment);
	if (is_other_boot) {
		/* Times count from the boot, and inode numbers of pipes began anew. */
		session_read_boot_id(header->boot_id, sizeof(header->boot_id));
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
		message("session %s is in use by %u process%s: it keeps the settings it has",
			session->name, live, live == 1 ? "" : "es");
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
		error = session_make_directory(state);
	if (error == 0)
		error = session_path(ret_directory, capacity, state, name);
	if (error == 0 && strcmp(ret_directory, directory) != 0) {
		error = session_make_directory(ret_directory);
		if (error == 0)
			error = session_hold(session, ret_directory);
		if (error == 0)
			error = session_tighten(session);
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
	int error = session_make_directory(path);

	if (error == 0)
		error = session_open_directory(AT_FDCWD, path, &fd);
	if (error == 0 && (fstat(fd, &stat) < 0 || ((stat.st_mode & 077) && fchmod(fd, 0700) < 0)))
		error = -errno;
	if (fd >= 0)
		(void)close(fd);
	return error;
}

/* Where packs are to lie.  The path is short: it is on stacks of signal handlers. */
static int make_undo(const char *directory, char *ret_path)
{
	int error = session_path(ret_path, SEGMENT_UNDO_PATH_BYTES, directory, PACK_DIRECTORY);

	if (error == 0)
		error = make_contents(ret_path);
	if (error < 0)
		ret_path[0] = '\0';
	return error;
}

/* What a session has beside its segment.  Its paths are "" where there is none. */
struct beside {
	char directory[SEGMENT_PATH_BYTES];
	char journal[SEGMENT_PATH_BYTES], contents[SEGMENT_PATH_BYTES], undo[SEGMENT_PATH_BYTES];
	bool journal_made;
};

/* Makes journal and content store.  What cannot be made the session does without; -EAGAIN: `seen
 * gc` is at work on their directory. */
static int make_beside(const struct config *config, const char *name, const char *directory,
		       struct session *session, struct beside *beside)
{
	bool journal = config_number(config, OPTION_journal_level) != JOURNAL_LEVEL_OFF;
	bool contents = config_number(config, OPTION_content_max_bytes) > 0;
	bool undo = config_number(config, OPTION_undo_enable) == UNDO_ENABLE_YES;

	*beside = (struct beside){ .journal_made = false };
	if (!journal && !contents && !undo)
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
	if (undo)
		session->undo_error = error ? error : make_undo(beside->directory, beside->undo);
	if (!beside->journal[0] && !beside->contents[0] && !beside->undo[0] &&
	    beside->directory[0] && strcmp(beside->directory, directory) != 0)
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
	if (beside->undo[0])
		(void)rmdir(beside->undo);
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
	session_read_boot_id(boot_id, sizeof(boot_id));
	error = make_beside(config, name, directory, session, &beside);
	if (error < 0)
		return error;
	error = segment_create(directory, name, nonce, boot_id, &settings, text, used,
			       or_none(beside.journal), or_none(beside.contents),
			       or_none(beside.undo));
	if (error == -ENOSPC && beside.journal_made) {
		/* Where there is room for one of them, it is the segment's. */
		(void)unlink(beside.journal);
		error = segment_create(directory, name, nonce, boot_id, &settings, text, used, NULL,
				       or_none(beside.contents), or_none(beside.undo));
		session->journal_error = -ENOSPC;
	}
	session->made = error == 0;
	if (error < 0 && error != -EEXIST)
		drop_beside(&beside);
	if (error != -EEXIST)
		return error;
	session->journal_error = session->contents_error = session->undo_error =
		0; /* another process made it */
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
	(void)session_hold_state(session); /* where its directory was made just now */
	if (error == 0)
		error = abandoned_remove(path);
	if (error == 0)
		contents_recount(&session->segment);
	session->contents_error = error;
}

/* The directory of packs, likewise. */
static void complete_undo(struct session *session)
{
	const char *path = segment_undo(&session->segment);

	if (!path)
		return;
	int error = make_contents(path);
	(void)session_hold_state(session);
	if (error == 0)
		error = packs_recount(&session->segment, path);
	session->undo_error = error;
}

static int make_in(const struct config *config, const char *directory, const char *name,
		   struct session *ret_session)
{
	struct session session = { .made = false };
	char path[SEGMENT_PATH_BYTES];
	bool made = false;

	int error = session_make_directory(directory);
	if (error == 0)
		error = session_path(path, sizeof(path), directory, name);
	if (error == 0) {
		made = access(path, F_OK) < 0;
		error = session_make_directory(path);
	}
	if (error == 0) {
		error = session_hold(&session, path);
		error = error == -ENOENT ? -EAGAIN : error; /* another, who made it too, gave up */
	}
	if (error == 0)
		error = session_tighten(&session);
	if (error == 0)
		error = fill(config, path, name, &session);
	if (error < 0 && error != -EAGAIN && made)
		(void)rmdir(path);
	if (error == 0)
		error = session_map_directory(path, SESSION_TO_RUN, &session, &session);
	/* The first touch of a page would have those beside it read too, up to megabytes of zeroes. */
	if (error == 0 && session.made)
		(void)madvise(session.segment.header, session.segment.size_bytes, MADV_RANDOM);
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
	int error = session_open_to_use(config, name, ret_session);

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
	if (error == 0)
		complete_undo(ret_session);
	if (error == 0)
		git_directory_observe(&ret_session->segment);
	return error == -EAGAIN ? -EBUSY : error;
}
