/*
 * What the readers of transcripts share: see transcript.h.
 */
#ifndef SEEN_CLI_TRANSCRIPT_INTERNAL_H
#define SEEN_CLI_TRANSCRIPT_INTERNAL_H

#include <jansson.h>

#include "cli/base/json_walk.h"
#include "cli/replay/transcript.h"

/* A file that is being read. */
struct transcript {
	const char *path; /* of the file */
	struct json_walk walk;
	transcript_sink *sink;
	void *data;
	struct transcript_result *result;
	const char *compaction; /* of the agent's profile; "": none */
	uint64_t file_id; /* of its path: sessions without a name of their own are told apart by it */
};

/* Readers: from the beginning of transcript->walk to its end; the journal's opens the file by itself.  As transcript_read(). */
int transcript_claude(struct transcript *transcript);
int transcript_codex(struct transcript *transcript);
int transcript_pi(struct transcript *transcript);
int transcript_swe_agent(struct transcript *transcript);
int transcript_openhands(struct transcript *transcript);
int transcript_messages(struct transcript *transcript);
int transcript_journal(struct transcript *transcript);

/* transcript_lines(): JSON lines, each given to `line`, whose reference ends with its return.  Damaged ones are counted and passed over, the
 * first is named in the result's error.  As transcript_read(); -EINVAL when no line of the file is JSON. */
int transcript_lines(struct transcript *transcript, int (*line)(void *reader, const json_t *line),
		     void *reader);

/* transcript_is_cut(): does the line that transcript_lines() tells now say that the context was compacted, cleared or went back
 * ([agent NAME] compaction)? */
bool transcript_is_cut(const struct transcript *transcript);

/* What transcript_document() tells of a file of sessions. */
struct document_reader {
	/* Members of a session that are lists of its parts, NULL-ended; told one by one as they come. */
	const char *const *lists;
	/* A list without a session around it is one, too: of its parts. */
	bool bare;
	/* begin: of session number `number`, from 0.  part: of a list; list: its name, "" for a bare one.  Each may be asked to end the reading
	 * by a negative errno. */
	int (*begin)(void *reader, uint64_t number);
	int (*part)(void *reader, const char *list, const json_t *part);
};

/* transcript_document(): a document that is one session, a list of them, or several behind one another (JSON lines). */
int transcript_document(struct transcript *transcript, const struct document_reader *reader,
			void *data);

/* transcript_hash(): a number for a text; never 0.  seed: to make it another one. */
uint64_t transcript_hash(const char *text, uint64_t seed);

/* transcript_text(): the text of a message's content: a string, or a list of parts, of which those with text count.
 * ret_owned: free() it, NULL where the text is borrowed.  Returns NULL when there is none, or no memory. */
const char *transcript_text(const json_t *content, char **ret_owned, size_t *ret_bytes);

/* transcript_string(): an object's member that is a string, else NULL. */
const char *transcript_string(const json_t *object, const char *name);

/* transcript_time(): nanoseconds since 1970 of a time in RFC 3339 ("2026-11-22T18:49:08.811Z"); 0 for anything else. */
uint64_t transcript_time(const json_t *time);

/* Tool calls that wait for their results, by the calls' ids. */
struct pending_calls {
	struct pending_call {
		uint64_t id; /* 0: free */
		char *name;
		json_t *arguments;
		bool is_text; /* `name` is a command line of SWE-agent's shell */
	} * calls;
	size_t capacity, count;
};

/* pending_add(): takes a reference to arguments (NULL: none).  Returns 0 or -ENOMEM.  pending_take(): removes it; returns false when there is none of that id; pending_done() what
 * it took.  pending_free(): all that wait. */
int pending_add(struct pending_calls *calls, uint64_t id, const char *name, const json_t *arguments,
		bool is_text);
bool pending_take(struct pending_calls *calls, uint64_t id, struct pending_call *ret_call);
void pending_done(struct pending_call *call);
void pending_free(struct pending_calls *calls);

/* What a tool call is, with the texts that `call` points to. */
struct tool_call {
	struct call call;
	char *owned;      /* free() */
	char *owned_path; /* free() */
};

/* transcript_tool(): what a tool is, by name and arguments.
 *
 * arguments: an object, or NULL.  ret_tool: kind, path, command, from, to are set; the rest is zero.
 * Returns 0 or -ENOMEM; tool_done() it. */
int transcript_tool(const char *name, const json_t *arguments, struct tool_call *ret_tool);

/* transcript_swe_action(): the same for a line of SWE-agent's shell (`open f 10`, `scroll_down`, `edit 3:5 ...`, `str_replace_editor view f`,
 * or any command). */
int transcript_swe_action(const char *action, struct tool_call *ret_tool);
void tool_done(struct tool_call *tool);

/* transcript_tool_result(): the same, completed by what came of it, and given to the sink.
 *
 * around: session, scope, directory, failed, time_ns, total_lines, content are taken from it.  output: may be NULL. */
int transcript_tool_result(struct transcript *transcript, struct tool_call *tool,
			   const struct call *around, const char *output, size_t output_bytes);

#endif
