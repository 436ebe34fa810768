/* Which journal a command means: see journal_file.h. */
#include "cli/session/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/owned.h"
#include "cli/session/session.h"
#include "cli/session/session_find.h"
#include "cli/session/session_word.h"
#include "cli/session/store_nearest.h"
#include "tracker/journal/journal_map.h"

/* Path of the journal that a session of this name has, or had before the last boot; false: there is
 * none. */
static bool path_of_name(const struct config *config, const char *name, char *ret_path,
			 size_t capacity)
{
	char directory[SEGMENT_PATH_BYTES];

	return session_name_is_valid(name) &&
	       session_state_dir(config, directory, sizeof(directory)) == 0 &&
	       snprintf(ret_path, capacity, "%s/%s/journal", directory, name) < (int)capacity &&
	       access(ret_path, F_OK) == 0;
}

/* session_check_path(), said on stderr.  Returns an exit code. */
static int check(const char *path)
{
	int error = session_check_path(path);
	return error < 0 ? journal_file_failed(path, error) : EXIT_CODE_OK;
}

bool journal_file_closed(const struct config *config, char *ret_name)
{
	struct session session;
	unsigned count;

	if (!session_find_newest(config, &session)) {
		if (store_newest_closed(config, ret_name, &count) == STORE_ENDED)
			return false;
		session_word_report(ret_name, count);
		return true;
	}
	session_close(&session);
	return false;
}

bool journal_file_outlives(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EBADMSG || error == -EPROTO;
}

int journal_file_find(const struct config *config, const char *name, const char *file,
		      char *ret_path, size_t capacity)
{
	struct session session;

	if (file) {
		if (snprintf(ret_path, capacity, "%s", file) < (int)capacity)
			return EXIT_CODE_OK;
		message("%s: %s", file, strerror(ENAMETOOLONG));
		return EXIT_CODE_USAGE;
	}
	char wanted[SEGMENT_PATH_BYTES];
	int code = session_word_resolve(config, name, wanted);
	if (code != EXIT_CODE_OK)
		return code;
	bool is_named = wanted[0];
	if (is_named || journal_file_closed(config, wanted)) {
		int error = session_open(config, wanted, &session);
		if (error == 0)
			session_close(&session);
		/* gone with the last boot, or of no use; not one that is refused */
		else if (journal_file_outlives(error) &&
			 path_of_name(config, wanted, ret_path, capacity))
			return check(ret_path);
	}
	code = session_find(config, is_named ? wanted : NULL, &session);
	if (code != EXIT_CODE_OK)
		return code;
	const char *path = session_journal(&session);
	if (!path || snprintf(ret_path, capacity, "%s", path) >= (int)capacity) {
		message("session %s has no journal: [journal] level was off, or there was no room",
			session.name);
		code = EXIT_CODE_NOTHING;
	} else {
		code = check(path);
	}
	session_close(&session);
	return code;
}

const char *journal_file_explain(int error)
{
	switch (error) {
	case -EPERM:
		return "it belongs to another user, or others may write to it";
	case -EUCLEAN:
		return "others may write to it, or to its directory";
	case -EPROTO:
		return "it was made by another version of seen";
	case -EBADMSG:
		return "it is damaged, cut short, or something else";
	case -ELOOP:
		return "it is a symbolic link";
	default:
		return strerror(-error);
	}
}

int journal_file_failed(const char *path, int error)
{
	message("%s: %s", path, journal_file_explain(error));
	return error == -ENOENT || error == -ENOTDIR ? EXIT_CODE_NOTHING
	       : error == -ENOMEM                    ? EXIT_CODE_OUTPUT
						     : EXIT_CODE_BAD_SESSION;
}
