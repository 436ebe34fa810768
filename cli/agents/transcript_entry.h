/*
 * Entries: what one line of an agent's transcript means for the conversation: where in it the line
 * belongs, who speaks, and what the model was given as a tool's result.
 *
 * Four forms are known, and told by their members: Claude Code and pi (each line names the one
 * before it, so that a file is a tree), codex and Gemini CLI (a list).  Their agents write a result
 * as the model gets it: cut where they cut it.
 */
#ifndef SEEN_CLI_TRANSCRIPT_ENTRY_H
#define SEEN_CLI_TRANSCRIPT_ENTRY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENTRY_CALLS_MAX = 64, ENTRY_RESULTS_MAX = 64 };

/* A tool call of the model's. */
struct entry_call {
	uint64_t id;
	/* a command, or a file: what it does belongs to this conversation, not to a sub-agent's */
	bool is_plain;
};

/* What the model was given for one.  Texts are of the line, or of the entry. */
struct entry_result {
	uint64_t call;
	const char *text;
	size_t length;
	size_t body,
		/* the part of it that the tool printed, without what the agent wrote around it */
		body_length;
	char *owned;
};

/* How the conversation stands after the line. */
enum entry_state {
	ENTRY_SAME,
	ENTRY_ASKED,    /* the model is asked: a prompt, or a result */
	ENTRY_ANSWERED, /* it called tools, or may have */
	ENTRY_ENDED,    /* it is the user's turn */
};

/* A line.  Zeros where it says nothing of that. */
struct entry {
	bool is_known; /* it is a line of one of the forms */
	bool is_step;  /* it has a place in the conversation */
	/* what came before it in the file is what it follows; else `parent` is, 0: it is a
	 * beginning */
	bool is_list;
	bool begins;  /* what came before it in the file counts no more */
	bool is_side; /* of a sub-agent's conversation */
	bool is_prompt;
	bool says_end; /* the form tells when the model has done */
	bool cleared;  /* results that the model was given were taken away from it */
	enum entry_state state;
	uint64_t id, parent;
	uint64_t holder;       /* the entry whose calls these are results of; 0: this one */
	uint64_t back_to;      /* the conversation goes on before that entry */
	uint64_t time_ns;      /* since 1970; 0: not said */
	const char *directory; /* the agent's; NULL: not said */
	struct entry_call calls[ENTRY_CALLS_MAX];
	unsigned call_count;
	struct entry_result results[ENTRY_RESULTS_MAX];
	unsigned result_count;
	json_t *json;
};

/* entry_of_row(): the same of a row of opencode's or kilo's database (transcript_store.h): the data
 * of a message or of a part of one.  It belongs to a list, and comes again when it changes.
 * `begins`: it is a summary, and what came before it counts no more.  The row's id is not in it. */
void entry_of_row(const char *data, size_t length, bool is_part, struct entry *ret_entry);

/* entry_of_response(): what a part of a message of Gemini CLI's gave the model for a call; what the
 * shell printed is its body.  An error has no text.
 *
 * ret_result: free() its `owned`.  Returns false where the part is no functionResponse. */
bool entry_of_response(const json_t *part, struct entry_result *ret_result);

/* entry_parse(): reads a line of `length` bytes, without its newline.  entry_done() frees what it
 * holds, in any case. */
void entry_parse(const char *line, size_t length, struct entry *ret_entry);
void entry_done(struct entry *entry);

/* entry_hash(): the number of a name in a transcript; never 0. */
uint64_t entry_hash(const char *text, size_t length);

#endif
