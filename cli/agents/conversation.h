/*
 * A conversation: what one transcript tells, line by line.  Its entries are a tree; the
 * conversation stands at one of them, and what the model has is what lies between that one and the
 * beginning.
 */
#ifndef SEEN_CLI_CONVERSATION_H
#define SEEN_CLI_CONVERSATION_H

#include "cli/agents/transcript_entry.h"

/*
 * An agent may write its lines a little later than it acts by them (Claude Code: 100 ms).  So long
 * after a line that has the model asked, what is not yet written is not known: what the model does
 * next, and in which conversation.
 */
enum { CONVERSATION_SETTLES_MS = 250 };

struct conversation;

/* conversation_new(): an empty one; NULL: no memory.  conversation_free() accepts NULL. */
struct conversation *conversation_new(void);
void conversation_free(struct conversation *conversation);

/* conversation_add(): goes on by a line.
 *
 * entry: known; borrowed for the call.  now_ns: CLOCK_BOOTTIME.
 * Returns whether a prompt, or the line by itself, took it to another branch than it was on.
 * Without memory for the line it is on one that has nothing. */
bool conversation_add(struct conversation *conversation, const struct entry *entry,
		      uint64_t now_ns);

/* conversation_has(): is a result on the branch, with that very text?  text: entry_hash() of it. */
bool conversation_has(const struct conversation *conversation, uint64_t call, uint64_t text);

/* conversation_length(): how long a call's result on the branch is, in bytes; 0: there is none. */
size_t conversation_length(const struct conversation *conversation, uint64_t call);

/* conversation_is_reported(): was there any entry of it? */
bool conversation_is_reported(const struct conversation *conversation);

/* conversation_is_side(): is it a sub-agent's? */
bool conversation_is_side(const struct conversation *conversation);

/* conversation_is_live(): has it begun a turn, and not ended it as far as its form tells? */
bool conversation_is_live(const struct conversation *conversation);

/* conversation_reports_ending(): does its form tell when a turn has ended? */
bool conversation_reports_ending(const struct conversation *conversation);

/* conversation_is_certain(): is it known what comes next belongs to this branch: the model has
 * called commands and no sub-agent, or it was asked long enough ago?  ret_due_ns: when it will be,
 * if nothing is written until then; 0: never. */
bool conversation_is_certain(const struct conversation *conversation, uint64_t now_ns,
			     uint64_t *ret_due_ns);

/* conversation_close(): another conversation of that agent has taken its place. */
void conversation_close(struct conversation *conversation);

#endif
