/*
 * `seen forget`: has files given in full again.  Hooks of agents call it (--hook), for instance
 * after a compaction, so it does no more than it must: one process start, no inspection of the
 * files, no configuration; and it never fails there.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/files/forget_event.h"
#include "cli/session/ancestry.h"
#include "cli/session/invalidation.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "cli/session/session_find.h"
#include "tracker/answer/tracker.h"
#include "tracker/content/pack_write.h"
#include "tracker/journal/journal.h"
#include "tracker/journal/journal_map.h"

static const char *session_name, *scope, *hook;
static bool all;

static const struct option_spec SPECS[] = {
	{ "--all", NULL, "everything that was given", &all, NULL },
	{ "--scope", "ID", "in one scope alone: its id in `seen status`, or its name", NULL,
	  &scope },
	{ "--hook", "EVENT",
	  "for hooks of agents (docs/hooks.md): everything that the nearest agent above was given, "
	  "else the session; prints nothing and always succeeds",
	  NULL, &hook },
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
};

static const struct options OPTIONS = {
	.usage = "forget [OPTION...] PATH... | --all | --hook EVENT",
	.summary = "Has files given in full the next time they are requested. PATH: this file, or "
		   "all recorded files below this directory. The counters stay.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

/* What was forgotten goes on record: a user or agent asked for it. */
static void record_invalidated(const struct session *session, uint64_t scope_id, const char *path)
{
	struct journal journal;

	if (session_map_journal(session, &journal) < 0)
		return;
	invalidation_record(&journal, scope_id, path, NULL);
	journal_unmap(&journal);
}

struct directory {
	const struct segment *segment;
	const char *path;
	uint64_t scope_id;
	unsigned invalidated;
};

static int forget_below(const char *path, const struct file_slot *file, void *data)
{
	struct directory *directory = data;

	(void)file;
	if (argument_is_below(path, directory->path) &&
	    tracker_forget(directory->segment, directory->scope_id, path) == 0)
		directory->invalidated++;
	return 0;
}

/* One word of the command line.  Returns 0, or a negative errno when nothing is on record. */
static int forget_path(const struct session *session, uint64_t scope_id, const char *word)
{
	const struct segment *segment = &session->segment;
	char path[SEGMENT_PATH_BYTES];
	struct directory directory = { segment, path, scope_id, 0 };
	int error = argument_path(word, path, sizeof(path));

	if (error == 0)
		error = tracker_forget(segment, scope_id, path);
	if (error == -ENOENT) {
		(void)tracker_each_file(segment, forget_below, &directory);
		error = directory.invalidated ? 0 : -ENOENT;
	}
	if (error == 0)
		record_invalidated(session, scope_id, path);
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
		record_invalidated(session, scope_id, NULL);
	for (; *words; words++) {
		int error = forget_path(session, scope_id, *words);
		if (error == 0)
			continue;
		message("%s: %s", *words, error == -ENOENT ? "not on record" : strerror(-error));
		code = EXIT_CODE_NOTHING;
	}
	return code;
}

/* What an agent writes to its hook is taken, as far as it is there: it may take a closed pipe for a
 * failure. */
static void drain_input(void)
{
	enum { MOST = 64, WAIT_MS = 50 };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat status;
	char part[4096];

	if (fstat(STDIN_FILENO, &status) < 0 ||
	    !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)))
		return;
	for (int i = 0; i < MOST && poll(&input, 1, WAIT_MS) > 0; i++)
		if (read(STDIN_FILENO, part, sizeof(part)) <= 0)
			break;
}

/* Events that end no conversation.  What is there when a hook reports one is kept before it changes. */
static bool is_one_of(const char *event, const char *const *events)
{
	for (; *events; events++)
		if (strcmp(event, *events) == 0)
			return true;
	return false;
}

static bool is_of_tool(const char *event)
{
	static const char *const EVENTS[] = { "PreToolUse", "PostToolUse", "BeforeTool",
					      "AfterTool", NULL };
	return is_one_of(event, EVENTS);
}

static bool is_of_prompt(const char *event)
{
	static const char *const EVENTS[] = { "UserPromptSubmit", "BeforeAgent", NULL };
	return is_one_of(event, EVENTS);
}

/* --hook: nothing that goes wrong here is the agent's business. */
static void forget_by_hook(void)
{
	char name[SEGMENT_PATH_BYTES];
	struct session session;
	struct journal journal;
	uint64_t scope_id = 0;

	drain_input();
	/* A name alone would need the configuration; `seen run` and the library leave the
	 * directory. */
	if (!ancestry_session(name, sizeof(name)) || name[0] != '/' ||
	    session_open(NULL, name, &session) < 0)
		return;
	if (!ancestry_scope(&session.segment, &scope_id))
		scope_id = 0;
	if (segment_undo(&session.segment))
		(void)pack_boundary(&session.segment, is_of_tool(hook) ? PACK_TOOL : PACK_PROMPT);
	if (is_of_tool(hook) || is_of_prompt(hook)) {
		session_close(&session);
		return;
	}
	(void)session_map_journal(&session, &journal);
	forget_event(&session.segment, &journal, scope_id, hook);
	journal_unmap(&journal);
	session_close(&session);
}

int cmd_forget(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (hook) {
		forget_by_hook();
		code = EXIT_CODE_OK;
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
