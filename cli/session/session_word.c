/* Words for sessions: see session_word.h. */
#include "cli/session/session_word.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/session/store.h"
#include "cli/session/store_nearest.h"
#include "tracker/path/decimal.h"

enum { NAMED_MAX = 4 }; /* of several that begin so */

static bool is_reported;

void session_word_report(const char *name, unsigned count)
{
	if (count < 2 || is_reported)
		return;
	is_reported = true;
	message("session %s, the newest of %u of this workspace", name, count);
}

static void report_meaning(const char *name, const char *word)
{
	if (is_reported)
		return;
	is_reported = true;
	message("session %s (%s)", name, word);
}

/* `last` is 0, `@-1` is 1 ...  False: it is none of these. */
static bool distance_of(const char *word, uint64_t *ret_distance)
{
	const char *end;

	*ret_distance = 0;
	if (strcmp(word, "last") == 0)
		return true;
	if (strncmp(word, "@-", 2) != 0)
		return false;
	end = decimal_parse(word + 2, ret_distance);
	return end && !*end;
}

bool session_word_is_relative(const char *word)
{
	uint64_t distance;
	return distance_of(word, &distance);
}

static bool is_there(int (*directory_of)(const struct config *, char *, size_t),
		     const struct config *config, const char *name)
{
	char directory[SEGMENT_PATH_BYTES], path[SEGMENT_PATH_BYTES];

	return directory_of(config, directory, sizeof(directory)) == 0 &&
	       session_path(path, sizeof(path), directory, name) == 0 && access(path, F_OK) == 0;
}

/* May it be read, or its journal? */
static bool is_readable(const struct store_session *session)
{
	return session->state == STORE_LIVE || session->state == STORE_ENDED ||
	       (session->has_journal &&
		(session->state == STORE_JOURNAL_ONLY || session->state == STORE_OTHER_VERSION));
}

static int by_creation(const void *a, const void *b)
{
	const struct store_session *first = a, *second = b;

	if (first->created_realtime_ns != second->created_realtime_ns)
		return first->created_realtime_ns > second->created_realtime_ns ? -1 : 1;
	return strcmp(second->name, first->name);
}

/* The session at a distance from the workspace's newest. */
static int find_relative(const struct config *config, struct store *store, const char *word,
			 uint64_t distance, char *ret_name)
{
	const char *workspace = store_nearest_workspace(config, store);
	unsigned count = 0;

	if (store->count)
		qsort(store->sessions, store->count, sizeof(*store->sessions), by_creation);
	for (size_t i = 0; i < store->count; i++) {
		const struct store_session *session = &store->sessions[i];
		if (!is_readable(session) || !session->workspace ||
		    strcmp(session->workspace, workspace) != 0)
			continue;
		if (count++ == distance) {
			(void)snprintf(ret_name, SEGMENT_PATH_BYTES, "%s", session->name);
			report_meaning(ret_name, word);
			return EXIT_CODE_OK;
		}
	}
	message("session %s: the workspace %s has %u session%s; `seen sessions` lists them", word,
		workspace, count, count == 1 ? "" : "s");
	return EXIT_CODE_NO_SESSION;
}

/* The session that alone is called by what begins so. */
static int find_beginning(const struct store *store, const char *word, char *ret_name)
{
	char names[NAMED_MAX * (SEGMENT_NAME_BYTES + 2)] = "";
	const char *found = NULL;
	size_t length = strlen(word), used = 0;
	unsigned count = 0;

	for (size_t i = 0; i < store->count; i++) {
		const struct store_session *session = &store->sessions[i];
		if (strncmp(session->name, word, length) != 0)
			continue;
		found = session->name;
		if (count++ < NAMED_MAX)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", session->name);
	}
	if (count > 1) {
		message("session %s: %u begin so: %s%s", word, count, names,
			count > NAMED_MAX ? " ..." : "");
		return EXIT_CODE_USAGE;
	}
	if (found) {
		(void)snprintf(ret_name, SEGMENT_PATH_BYTES, "%s", found);
		report_meaning(ret_name, word);
	}
	return EXIT_CODE_OK;
}

int session_word_resolve(const struct config *config, const char *word, char *ret_name)
{
	struct store store;
	uint64_t distance;
	int code = EXIT_CODE_OK;

	if (!word)
		word = getenv("SEEN_SESSION");
	if (!word)
		word = "";
	(void)snprintf(ret_name, SEGMENT_PATH_BYTES, "%s", word);
	bool is_relative = distance_of(word, &distance);
	if (!is_relative && !session_name_is_valid(word))
		return EXIT_CODE_OK;
	if (is_there(session_runtime_dir, config, word) ||
	    is_there(session_state_dir, config, word))
		return EXIT_CODE_OK;
	if (store_open(config, &store) == 0)
		code = is_relative ? find_relative(config, &store, word, distance, ret_name)
				   : find_beginning(&store, word, ret_name);
	store_close(&store);
	return code;
}
