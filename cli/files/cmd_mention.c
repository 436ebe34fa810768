/*
 * `seen mention`: the user gave the agent a file (`@path` in a prompt, an attachment).  What it holds at this moment is what
 * the agent knows of it from then on.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/argument.h"
#include "cli/base/exit_code.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/command.h"
#include "cli/session/scopes.h"
#include "cli/session/session.h"
#include "tracker/content/baseline.h"
#include "tracker/content/file.h"
#include "tracker/content/version.h"
#include "tracker/journal/journal.h"
#include "tracker/segment/workspace.h"
#include "tracker/sys/sys.h"

static const char *session_name, *scope;

static const struct option_spec SPECS[] = {
	{ "--session", "ID", "default: $SEEN_SESSION, else the workspace's newest", NULL,
	  &session_name },
	{ "--scope", "ID", "given to this scope's agent; default: the only live agent", NULL,
	  &scope },
};

static const struct options OPTIONS = {
	.usage = "mention [OPTION...] PATH...",
	.summary = "Records files as given to the agent by its user, as they are now. A later "
		   "external change is then recognized. Each must be a file of the workspace that "
		   "is not excluded.",
	.specs = SPECS,
	.spec_count = sizeof(SPECS) / sizeof(SPECS[0]),
	.words_between = true,
};

static void note_mention(struct file_slot *file, const void *data)
{
	(void)data;
	file->mention_realtime_ns = sys_realtime_ns();
	file->source = SOURCE_MENTIONED;
	file->flags &= ~(uint32_t)FILE_CHANGE_REPORTED;
}

static void record(struct journal *journal, const char *path, const struct stat *stat,
		   const struct version *version)
{
	struct journal_record record = journal_blank(JOURNAL_MENTIONED);
	struct journal_details details = { .dev = stat->st_dev,
					   .ino = stat->st_ino,
					   .size_bytes = version->size_bytes,
					   .after = *version };

	if (!journal->header)
		return;
	record.tid = (uint32_t)getpid();
	record.path = journal_text(journal, path, strlen(path), true);
	(void)journal_write(journal, &record, &details, sizeof(details), true);
}

/* Returns NULL, or what is wrong with the file. */
static const char *mention_path(const struct session *session, uint64_t scope_id,
				struct journal *journal, const char *word)
{
	const struct segment *segment = &session->segment;
	char path[SEGMENT_PATH_BYTES];
	struct content content;
	struct stat stat;
	int error = argument_path(word, path, sizeof(path));

	if (error < 0)
		return strerror(-error);
	/* Not blocking: it may be a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return strerror(errno);
	const char *wrong = NULL;
	if (fstat(fd, &stat) < 0)
		wrong = strerror(errno);
	else if (!S_ISREG(stat.st_mode))
		wrong = "not a regular file";
	else if (!path_in_workspace(segment, path))
		wrong = "not in the session's workspace";
	else if (!path_is_tracked(segment, path))
		wrong = "excluded ([paths] include, exclude)";
	else if ((error = content_of_descriptor(fd, UINT64_MAX, &content)) < 0)
		wrong = strerror(-error);
	(void)close(fd);
	if (wrong)
		return wrong;
	struct stamp stamp = stamp_of(&stat);
	uint64_t key = file_update(segment, path, &stamp, note_mention, NULL);
	if (!key)
		return "the session's table of files is full";
	if (!scope)
		baseline_given(segment, BASELINE_SESSION, key, &content.version);
	if (scope_id)
		baseline_given(segment, scope_id, key, &content.version);
	record(journal, path, &stat, &content.version);
	return NULL;
}

static int mention(const struct session *session, char **words)
{
	struct journal journal;
	uint64_t scope_id = 0;
	int code = scope ? scopes_choose(&session->segment, scope, &scope_id) : EXIT_CODE_OK;

	if (code != EXIT_CODE_OK)
		return code;
	if (!scope)
		scope_id = baseline_only_scope(&session->segment);
	/* Without a journal the files are on record all the same. */
	(void)session_map_journal(session, &journal);
	for (; *words; words++) {
		const char *wrong = mention_path(session, scope_id, &journal, *words);
		if (!wrong)
			continue;
		message("%s: %s", *words, wrong);
		code = EXIT_CODE_NOTHING;
	}
	journal_unmap(&journal);
	return code;
}

int cmd_mention(int argc, char **argv)
{
	struct parsed parsed = { .config = NULL };
	struct session session;
	int code;

	if (options_parse(&OPTIONS, argc, argv, &parsed, &code) < 0) {
		;
	} else if (parsed.first_word == argc) {
		message("mention what? Name files");
		code = EXIT_CODE_USAGE;
	} else if (options_load(&parsed, &code) == 0) {
		code = session_find(parsed.config, session_name, &session);
		if (code == EXIT_CODE_OK) {
			code = mention(&session, argv + parsed.first_word);
			session_close(&session);
		}
	}
	options_done(&parsed);
	return code;
}
