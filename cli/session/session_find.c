/* Finding sessions: see session_find.h. */
#include "cli/session/session_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/owned.h"
#include "cli/session/store_nearest.h"
#include "config/value.h"

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
		    session_open(NULL, path, &candidate) < 0)
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
	char name[SEGMENT_NAME_BYTES];
	enum store_state state = store_newest_closed(config, name);

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
