/*
 * What a hook of an agent reported: the texts of a REPORTED record, one after the other, each ended
 * by NUL.  They are the agent's words, as it gave them; an empty one: it gave none.
 */
#ifndef SEEN_CLI_REPORTED_H
#define SEEN_CLI_REPORTED_H

#include <stddef.h>
#include <stdint.h>

#include "tracker/journal/journal.h"

enum reported_text {
	REPORTED_HOOK,         /* "PreToolUse" ... */
	REPORTED_CONVERSATION, /* id */
	REPORTED_PROMPT,       /* id */
	REPORTED_CALL,         /* id */
	REPORTED_TOOL,         /* name */
	REPORTED_INPUT,        /* the beginning of a prompt, a command; or a file */
	REPORTED_TEXTS,
};

enum { REPORTED_INPUT_BYTES = 512, REPORTED_WORD_BYTES = 160 };

/* reported_text(): one of them, ended by NUL; NULL: it is empty, or not there.
 *
 * bytes: of the record's other_path; NULL: none. */
const char *reported_text(const char *bytes, size_t size_bytes, enum reported_text which);

/* reported_write(): appends a record.
 *
 * journal: unmapped: nothing is done.  texts: in the order above; NULL: none; those that are too
 * long are cut.  scope_id: of the agent; 0: not known. */
void reported_write(struct journal *journal, uint64_t scope_id,
		    const char *const texts[REPORTED_TEXTS]);

#endif
