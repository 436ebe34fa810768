/* Finding sessions: see session_find.h. */
#include "cli/session/session_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/owned.h"
#include "cli/session/session_word.h"
#include "cli/session/store_nearest.h"
#include "config/value.h"

/* The directory that sessions are looked for by, and the best one so far. */
struct search {
	const char *workspace;
	bool above;     /* a workspace that this one lies in does too */
	size_t matched; /* length of the best one's workspace */
	unsigned count; /* sessions of that workspace */
	struct session session;
};

static bool is_better(struct search *search, const struct session *candidate)
{
	const struct segment *segment = &candidate->segment;
	const char *root = segment_text(segment, segment->settings->paths_workspace, NULL);

	if (!root || !(search->above ? argument_is_below(search->workspace, root)
				     : strcmp(search->workspace, root) == 0))
		return false;
	size_t length = strlen(root);
	if (!search->session.segment.header || length > search->matched) {
		search->count = 1;
		return true;
	}
	if (length < search->matched)
		return false;
	search->count++;
	return segment->header->created_realtime_ns >
	       search->session.segment.header->created_realtime_ns;
}

/* Inspects the sessions in a directory of sessions. */
static void search_directory(const char *directory, struct search *search)
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
		    session_open_to_read(NULL, path, &candidate) < 0)
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

/* The newest of the workspace, or of the nearest above.  False: there is none. */
static bool find_newest(const struct config *config, struct search *ret_search)
{
	char runtime[SEGMENT_PATH_BYTES], state[SEGMENT_PATH_BYTES];

	*ret_search = (struct search){ .workspace = config_workspace(config),
				       .above = !config_text(config, OPTION_paths_workspace)[0] };
	if (session_runtime_dir(config, runtime, sizeof(runtime)) == 0)
		search_directory(runtime, ret_search);
	if (session_state_dir(config, state, sizeof(state)) == 0 && strcmp(state, runtime) != 0)
		search_directory(state, ret_search);
	if (!ret_search->session.segment.header)
		return false;
	/* it was only looked for */
	char found[SEGMENT_PATH_BYTES];
	memcpy(found, ret_search->session.directory, sizeof(found));
	session_close(&ret_search->session);
	return session_open(NULL, found, &ret_search->session) == 0;
}

int session_find(const struct config *config, const char *name, struct session *ret_session)
{
	char word[SEGMENT_PATH_BYTES];
	int code = session_word_resolve(config, name, word);

	if (code != EXIT_CODE_OK)
		return code;
	if (word[0]) {
		int error = session_open(config, word, ret_session);
		if (error == 0)
			return EXIT_CODE_OK;
		message("session %s: %s", word, session_explain(error));
		return error == -ENOENT || error == -ENOTDIR ? EXIT_CODE_NO_SESSION
		       : error == -EINVAL                    ? EXIT_CODE_USAGE
							     : EXIT_CODE_BAD_SESSION;
	}
	struct search search;
	if (!find_newest(config, &search))
		return session_none(config);
	session_word_report(search.session.name, search.count);
	*ret_session = search.session;
	return EXIT_CODE_OK;
}

bool session_find_newest(const struct config *config, struct session *ret_session)
{
	struct search search;

	if (!find_newest(config, &search))
		return false;
	*ret_session = search.session;
	return true;
}

int session_none(const struct config *config)
{
	char name[SEGMENT_NAME_BYTES];
	unsigned count;
	enum store_state state = store_newest_closed(config, name, &count);

	if (state == STORE_ENDED)
		message("no session of the workspace %s yet: begin one with `seen run -- COMMAND`, "
			"or name one with --session",
			config_workspace(config));
	else
		message("no session of the workspace %s can be opened: %s %s; "
			"`seen log --session %s` reads its journal",
			config_workspace(config), name,
			state == STORE_JOURNAL_ONLY ? "lost its segment with the last boot"
						    : "was made by another version of seen",
			name);
	return EXIT_CODE_NO_SESSION;
}
