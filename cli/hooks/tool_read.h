/*
 * What the model is given for a read by its agent's own tool: decided, recorded and counted in one
 * order, for a hook (hook_read.h) and for a session that is replayed (cli/replay/replay_hooks.h).
 *
 * It knows neither an agent nor a file system: what was read is known to the caller, who carries out
 * what is decided.
 */
#ifndef SEEN_CLI_TOOL_READ_H
#define SEEN_CLI_TOOL_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cli/files/answer_diff.h"
#include "tracker/answer/decision.h"
#include "tracker/answer/request.h"
#include "tracker/content/lines.h"
#include "tracker/journal/journal.h"

struct tool_read {
	const struct segment *segment;
	struct request request; /* begun: request_init_in_process() */
	const char *path;       /* absolute */
	struct stat stat;       /* of the file */
	struct content content; /* of its bytes */
	bool is_whole;          /* all of them were asked for; else the lines of `span` */
	struct span span;
	uint64_t bytes; /* of what was asked for */
	bool is_changed; /* the model knows another version: the agent errs where it calls the file unchanged */
	struct answer answer;
	/* How the caller carries it out; `data` is handed to each. */
	const struct tool_read_means *means;
	void *data;
};

struct tool_read_means {
	/* A notice is given.  Returns false where it cannot be. */
	bool (*notice)(void *data, const char *text, size_t length);
	/* What changed is given.  Returns false where there is no diff, none that is short enough, or
	 * it cannot be given; else ret_length is that of the text. */
	bool (*diff)(void *data, const struct diff_question *question, uint64_t *ret_length);
	/* The real bytes are given in place of what the tool gave.  Returns false where they cannot
	 * be. */
	bool (*content)(void *data);
	/* The scope has the file whole, as it is now.  file_key: of the file. */
	void (*keep)(void *data, uint64_t file_key);
	void (*record)(void *data, enum journal_op op, uint64_t amount);
};

/* What the model was given. */
enum tool_read_result {
	TOOL_READ_CONTENT,
	TOOL_READ_AGAIN, /* the same, because it asked again */
	TOOL_READ_NOTICE,
	TOOL_READ_DIFF,
	TOOL_READ_UNKNOWN, /* tool_read_unchanged(): what the agent itself answered */
};

/* tool_read_answer(): the tool gave these bytes.  read->answer tells why. */
enum tool_read_result tool_read_answer(struct tool_read *read);

/* tool_read_unchanged(): the agent answered that it gave them before.  One that asks again, after an
 * answer of seen's, gets the content.  So does one that knows another version; or what changed. */
enum tool_read_result tool_read_unchanged(struct tool_read *read);

#endif
