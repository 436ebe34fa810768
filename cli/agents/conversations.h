/*
 * Conversations: in which of the conversations in transcripts each scope is, what of all that it
 * was given that one has, and whether that is known.  It sets the scopes' flags and the proofs of
 * commands (tracker/answer/proof.h), and is the only one that does.
 *
 * A transcript is a scope's when a result in it proves something that the scope was given; until
 * then it may be that of any scope of its profile whose agent works in that directory.  The
 * conversation is the one that was last reported.  What was given in another, or on another branch,
 * does not count (off branch) until the conversation is there again.
 *
 * Nothing counts while that is not known (mute): after the model has ended its turn, until a prompt
 * says where it goes on; while a sub-agent lives in the same process, or a task was handed to one;
 * and in an interactive agent of which nothing tells.
 */
#ifndef SEEN_CLI_CONVERSATIONS_H
#define SEEN_CLI_CONVERSATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/agents/transcript_entry.h"
#include "config/config.h"
#include "tracker/segment/segment.h"

struct conversations;
struct findings; /* a transcript */

/* conversations_new(): of a run.  segment: borrowed until conversations_free(), which accepts
 * NULL.  NULL: no memory. */
struct conversations *conversations_new(const struct segment *segment);
void conversations_free(struct conversations *conversations);

/* conversations_findings(): a transcript, of agents of these profiles (bits).  NULL: no memory. */
struct findings *conversations_findings(struct conversations *conversations, uint64_t profiles);

/* conversations_again(): it was written anew, and is reported from its beginning. told: NULL:
 * nothing. */
void conversations_again(struct findings *findings);

/* conversations_add(): a line of it.  is_old: it was there before the run.  entry: known; borrowed
 * for the call. */
void conversations_add(struct findings *findings, const struct entry *entry, bool is_old);

/* conversations_tick(): sets what is known by now.  Returns in how many milliseconds it is to be
 * called again at the latest, even if nothing is reported. */
unsigned conversations_tick(struct conversations *conversations);

enum { CONVERSATIONS_TEXT_BYTES = 512 };

/* conversations_text(): what a person ought to know of it at the end of the run, one line without
 * its newline: which agent's conversations nothing reported, and what would.  Empty: nothing.
 * Returns ret_text. */
const char *conversations_text(const struct conversations *conversations, char *ret_text);

#endif
