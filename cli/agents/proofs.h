/*
 * Proofs: does a result, as a transcript has it, hold what a command gave (tracker/answer/proof.h)?
 *
 * Compared without what agents change: a carriage return before a newline, bytes that are no UTF-8
 * (U+FFFD, any number of them is one), blank lines at the beginning and blanks at the end.
 */
#ifndef SEEN_CLI_PROOFS_H
#define SEEN_CLI_PROOFS_H

#include "cli/agents/transcript_entry.h"
#include "tracker/answer/proof.h"

/* What was given and is not proven, by command; of all scopes. */
struct proofs;

/* proofs_collect(): what there is now.  NULL: nothing, or no memory.  proofs_free() accepts NULL.
 *
 * profiles: bits; of agents of other profiles nothing is taken.  segment: borrowed until
 * proofs_free(). */
struct proofs *proofs_collect(const struct segment *segment, uint64_t profiles);
void proofs_free(struct proofs *proofs);

/* proofs_collect_scope(): the same of one scope, whatever its profile, for a hook: without what a hook
 * reported before. */
struct proofs *proofs_collect_scope(const struct segment *segment, uint64_t scope_id);

/* proofs_find(): the oldest command, all of whose deliveries the result holds; it is not found
 * again.
 *
 * scope_id: of that scope; 0: of any.  Returns false when there is none. */
bool proofs_find(struct proofs *proofs, const struct entry_result *result, uint64_t scope_id,
		 uint64_t *ret_command, uint64_t *ret_scope);

/* proofs_contradict(): commands of which the result, which proves none, holds a beginning or an end
 * and not the whole are contradicted.
 *
 * is_cut: the model was given less than the result: those are, too, whose beginning it holds. */
void proofs_contradict(struct proofs *proofs, const struct entry_result *result, uint64_t scope_id,
		       bool is_cut);

/* proofs_drop(): what a scope was given, and no transcript proves, is not to count. */
void proofs_drop(const struct segment *segment, uint64_t scope_id);

/* proofs_text_holds(): is `part` in `text`, in the sense above?  For tests, too. */
bool proofs_text_holds(const char *text_bytes, size_t text_length, const char *part_bytes,
		       size_t part_length);

#endif
