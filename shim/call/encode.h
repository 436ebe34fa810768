/*
 * Records that both mechanisms write, filled in once.  Of what a call was given each mechanism
 * fills in the names by itself: it knows them in another way.
 *
 * Async-signal-safe, without a system call of their own.
 */
#ifndef SEEN_SHIM_ENCODE_H
#define SEEN_SHIM_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracker/answer/decision.h"
#include "tracker/answer/inject.h"
#include "tracker/guard/guard.h"
#include "tracker/guard/rule.h"
#include "tracker/journal/journal.h"
#include "tracker/process/process.h"
#include "tracker/process/role.h"
#include "tracker/process/source.h"

/* Who writes records, and to what. */
struct encoder {
	const struct segment *segment;
	struct journal *journal;
	uint32_t process; /* number of the START or FORK record; 0: none */
	uint32_t tid;
	uint16_t marks; /* of each record: JOURNAL_VFORKED */
	bool may_grow;  /* the journal, by system calls */
};

/* encode_blank(): a record of that writer's. */
static inline struct journal_record encode_blank(const struct encoder *encoder, enum journal_op op)
{
	struct journal_record record = journal_blank(op);

	record.process = encoder->process;
	record.tid = encoder->tid;
	record.marks = encoder->marks;
	return record;
}

/* encode_append(): writes a record, with what follows it.  Returns its number, 0: there is no
 * room. */
uint32_t encode_append(const struct encoder *encoder, struct journal_record *record,
		       const void *details, size_t detail_bytes);

/* encode_text(): number of the text of a path; one of SEGMENT_PATH_BYTES or more is cut, and marked
 * so. */
uint32_t encode_text(const struct encoder *encoder, const char *text, uint16_t *marks);

/* encode_open_writes(): may what open(2) does with these flags change something? */
bool encode_open_writes(uint32_t flags);

/* encode_process(): START or FORK: who the process is.  Returns the record's number. */
uint32_t encode_process(const struct encoder *encoder, struct journal_record *record,
			const struct context *context, enum role role, struct process_ref process,
			pid_t pid, pid_t parent, uint32_t starter);

/* encode_decision(): puts the decision on a read into the record of the open.
 * encode_answer(): NOTICE, DIFFED or YIELDED behind it, from the open's record; nothing for
 * CONTENT.
 * details: NULL: the file is not known. */
void encode_decision(struct journal_record *record, enum decision decision, enum reason reason);
void encode_answer(const struct encoder *encoder, struct journal_record *record,
		   const struct journal_details *details, uint64_t bytes_saved);

/* encode_delivery(): a viewer gave a file whole (GIVEN), or found it other than it was (CHANGED).
 * path: number of its text; 0: it is not recorded. */
void encode_delivery(const struct encoder *encoder, enum journal_op op, uint32_t path,
		     const struct journal_details *details);

/* encode_instructed(): an instruction file was printed before a viewer's own output. */
void encode_instructed(const struct encoder *encoder, uint64_t scope_id,
		       const struct injected *injected);

/* encode_guarded(): the guard warned of a write to that file, or refused it.  encode_edited(): a
 * change of it is complete.  path: absolute. */
void encode_guarded(const struct encoder *encoder, const char *path,
		    const struct guard_answer *answer);
void encode_edited(const struct encoder *encoder, const char *path, const struct version *before,
		   const struct version *after, enum source source);

/* encode_ruled(): a rule held for an access.  record: of encode_blank(JOURNAL_RULED), with the
 * path. */
void encode_ruled(const struct encoder *encoder, struct journal_record *record,
		  const struct rule_answer *answer);

#endif
