/*
 * Transcripts: what agents and harnesses leave of a session, as one stream of tool calls.
 *
 * 	transcript.c             which format a file has, and reading it
 * 	transcript_document.c    documents of sessions and their parts: what several formats share
 * 	transcript_tool.c        a tool's name and arguments: what it reads, runs or edits
 * 	transcript_claude.c      Claude Code: JSON lines (~/.claude/projects/.../ID.jsonl, and sub-agents' files beside it)
 * 	transcript_codex.c       codex: JSON lines (~/.codex/sessions/.../rollout-ID.jsonl)
 * 	transcript_pi.c          pi: JSON lines (~/.pi/agent/sessions/.../ID.jsonl)
 * 	transcript_gemini.c      Gemini CLI: JSON lines (~/.gemini/tmp/.../chats/session-ID.jsonl, and sub-agents' files below it),
 * 	                         a document in older versions (session-ID.json)
 * 	transcript_cline.c       cline: a document (~/.cline/data/sessions/ID/ID.messages.json)
 * 	transcript_opencode.c    opencode and kilo: an SQLite database (~/.local/share/opencode/opencode.db)
 * 	transcript_swe_agent.c   SWE-agent: .traj
 * 	transcript_openhands.c   OpenHands: events, in a list, or a list in an evaluation's output
 * 	transcript_messages.c    messages of a chat with tool calls, as data sets keep them
 * 	transcript_journal.c     a journal of this program
 *
 * A reader tells what the model was given, in the order in which it was; what of it repeats is
 * judged by cli/replay/replay.c.
 * Nothing here prints; nothing is written, run, or looked up on this machine but the file itself.
 * A file is read from its beginning to its end, one line or value at a time.
 */
#ifndef SEEN_CLI_TRANSCRIPT_H
#define SEEN_CLI_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "tracker/content/version.h"

/* TRANSCRIPT(constant, word, what it is) */
#define TRANSCRIPTS(TRANSCRIPT) \
	TRANSCRIPT(CLAUDE, "claude", "Claude Code, JSON lines") \
	TRANSCRIPT(CODEX, "codex", "codex, JSON lines") \
	TRANSCRIPT(PI, "pi", "pi, JSON lines") \
	TRANSCRIPT(GEMINI, "gemini", "Gemini CLI, JSON lines") \
	TRANSCRIPT(CLINE, "cline", "cline, .messages.json") \
	TRANSCRIPT(OPENCODE, "opencode", "opencode, a database") \
	TRANSCRIPT(KILO, "kilo", "kilo, a database") \
	TRANSCRIPT(SWE_AGENT, "swe-agent", "SWE-agent, .traj") \
	TRANSCRIPT(OPENHANDS, "openhands", "OpenHands, events") \
	TRANSCRIPT(MESSAGES, "messages", "a chat with tool calls") \
	TRANSCRIPT(JOURNAL, "journal", "a journal of seen")

enum transcript_format {
	TRANSCRIPT_UNKNOWN,
#define TRANSCRIPT(constant, word, text) TRANSCRIPT_##constant,
	TRANSCRIPTS(TRANSCRIPT)
#undef TRANSCRIPT
		TRANSCRIPT_COUNT,
};

enum call_kind {
	CALL_OTHER,   /* a tool that is none of these */
	CALL_READ,    /* the agent's own tool showed a file, or a part of it */
	CALL_COMMAND, /* a command line of a shell */
	/* a file was changed by the agent's own tool; `output` may show a part of what it is now */
	CALL_EDIT,
	/* no output: what the scope was given of `path` (NULL: all, the context was compacted or
	 * cleared) counts no more */
	CALL_INVALIDATED,
	/* Of a journal, which has no contents: */
	CALL_RAN,   /* a viewer or reader began */
	CALL_WROTE, /* it wrote `output_bytes` to descriptor 1 */
	/* a file was given whole, of that `version`, by a viewer or (`own`) read by a whitelisted
	 * agent itself */
	CALL_GIVEN,
};

/* One tool call and what the model got for it.  Pointers are valid during the callback; texts are
 * ended by NUL. */
struct call {
	enum call_kind kind;
	uint64_t session; /* which session of the file, or of several files, it is of; never 0 */
	/* whose context it went to: one number for a session's own, others for its sub-agents';
	 * FORGOTTEN: 0: all of the session */
	uint64_t scope;
	const char *path;    /* READ, EDIT: as given, NULL: not known */
	const char *command; /* COMMAND: the line; OTHER: the tool and its arguments */
	const char *
		directory; /* absolute: what `path` and the command's names are relative to; NULL: not known */
	const char *output; /* what the model was given, NULL: nothing */
	size_t output_bytes;
	const char *
		content; /* the part of it that a command printed or a file holds, within `output`; NULL: all of it */
	size_t content_bytes;
	bool failed;          /* the tool said so, or the command's status */
	uint64_t from, to;    /* READ: lines that were asked for, from 1; 0: not said */
	uint64_t total_lines; /* READ: of the file, where the transcript has it; 0: it has not */
	/* READ: the tool puts a number before each line; an output without is a message of its
	 * own */
	bool numbered;
	const char *number_end; /* READ: what ends that number; NULL: a tab, or an arrow */
	struct version version; /* GIVEN */
	bool own;               /* GIVEN */
	uint64_t time_ns;       /* since 1970; 0: not known */
};

/* Called for each call, in order.  Returns 0, or a negative errno that ends the reading. */
typedef int transcript_sink(const struct call *call, void *data);

enum { TRANSCRIPT_ERROR_BYTES = 256 };

/* What reading a file came to, beside its calls. */
struct transcript_result {
	enum transcript_format format;
	uint64_t damaged; /* lines or values that were passed over */
	/* It holds what tools gave.  What of it the model has is not known, as the agent cuts it, or
	 * compacts the conversation, without a word there. */
	bool is_unproven;
	/* what is wrong and what to do, in one line without the file's name; "": nothing */
	char error[TRANSCRIPT_ERROR_BYTES];
};

/* transcript_read(): reads a file, and tells its calls.
 *
 * format: TRANSCRIPT_UNKNOWN: by its content.  config: whose [agent NAME] compaction tells what
 * ends a context.
 * Returns 0, also where single lines were damaged; -EINVAL when its format is not known or another
 * than was named; -EBADMSG when it ends or is damaged in the middle (calls before that have been
 * reported); -ENOMEM; errors of open(2); what the sink returned.  ret_result is set in any case,
 * its error on each failure but the sink's.
 */
int transcript_read(const char *path, enum transcript_format format, const struct config *config,
		    transcript_sink *sink, void *data, struct transcript_result *ret_result);

/* transcript_format_name(): "claude" ...; NULL for a number that is none.
 * transcript_format_named(): UNKNOWN for a word that is none. */
const char *transcript_format_name(enum transcript_format format);
enum transcript_format transcript_format_named(const char *word);

enum { TRANSCRIPT_FORMATS_BYTES = 160 };
/* The names of all formats, with commas between them. */
void transcript_formats(char *text, size_t capacity);

#endif
