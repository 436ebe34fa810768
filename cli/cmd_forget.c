/*
 * `seen forget`: has files given in full again.  Hooks of agents call it, for instance after a
 * compaction, so it does no more than it must: one process start, no look at the files.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/lib/exit_code.h"
#include "cli/lib/given.h"
#include "cli/lib/message.h"
#include "cli/lib/options.h"
#include "cli/lib/scopes.h"
#include "cli/lib/session.h"
#include "tracker/journal.h"
#include "tracker/tracker.h"

static const char *session_name, *scope;
static bool all;

static const struct option_spec SPECS[] = {
	{ "--all", NULL, "everything that was given", &all, NULL },
	{ "--scope", "ID", "in one scope alone: its id as `seen status` shows it, or its name",
	  NULL, &scope },
	{ "--session", "ID", "this session; default: $SEEN_SESSION, else the workspace's newest",
	  NULL, &session_name },
};

static const struct options OPTIONS = {
	.usage = "forget [OPTION...] PATH... | --all",
	.summary = "Has files given in full the next time they are asked for.  A folder means "
		   "every file on\n"
		   "record below it.  The counts stay.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* What was forgotten goes on record.  path: NULL for everything. */
static void record_forgotten(const struct session *session, uint64_t scope_id, const char *path)
{
	struct journal journal;
	struct journal_record record = journal_blank(JOURNAL_FORGOTTEN);

	if (session_map_journal(session, &journal) < 0 || !journal.header)
		return;
	record.tid = (uint32_t)getpid();
	record.amount = scope_id;
	if (path)
		record.path = journal_text(&journal, path, strlen(path), true);
	(void)journal_write(&journal, &record, NULL, 0, true);
	journal_unmap(&journal);
}

struct folder {
	const struct segment *segment;
	const char *path;
	uint64_t scope_id;
	unsigned forgotten;
};

static int forget_below(const char *path, const struct file_slot *file, void *data)
{
	struct folder *folder = data;

	(void)file;
	if (given_is_below(path, folder->path) &&
	    tracker_forget(folder->segment, folder->scope_id, path) == 0)
		folder->forgotten++;
	return 0;
}

/* One word of the command line.  Returns 0, or a negative errno when nothing is on record. */
static int forget_path(const struct session *session, uint64_t scope_id, const char *word)
{
	const struct segment *segment = &session->segment;
	char path[SEGMENT_PATH_BYTES];
	struct folder folder = { segment, path, scope_id, 0 };
	int error = given_path(word, path, sizeof(path));

	if (error == 0)
		error = tracker_forget(segment, scope_id, path);
	if (error == -ENOENT) {
		(void)tracker_each_file(segment, forget_below, &folder);
		error = folder.forgotten ? 0 : -ENOENT;
	}
	if (error == 0)
		record_forgotten(session, scope_id, path);
	return error;
}

static int forget(const struct session *session, char **words)
{
	const struct segment *segment = &session->segment;
	uint64_t scope_id = 0;
	int code = scope ? scopes_choose(segment, scope, &scope_id) : EXIT_CODE_OK;

	if (code != EXIT_CODE_OK)
		return code;
	if (all && tracker_forget_all(segment, scope_id) < 0) {
		message("scope %s is not on record any more", scope);
		return EXIT_CODE_NOTHING;
	}
	if (all)
		record_forgotten(session, scope_id, NULL);
	for (; *words; words++) {
		int error = forget_path(session, scope_id, *words);
		if (error == 0)
			continue;
		message("%s: %s", *words, error == -ENOENT ? "not on record" : strerror(-error));
		code = EXIT_CODE_NOTHING;
	}
	return code;
}

int cmd_forget(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (all == (parsed.first_word < argc)) {
		message(all ? "--all takes no paths" : "forget what? Name paths, or say --all");
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = session_find(parsed.config, session_name, &session);
		if (code == EXIT_CODE_OK) {
			code = forget(&session, argv + parsed.first_word);
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}
