/*
 * Remembered commands: what readers printed, whole, to a scope, and whether that still counts.  A
 * command is identified by all that its output depends on beside files; the files and directories
 * are its inputs, whose list lies beside the content store.
 *
 * Lock-free; async-signal-safe.
 */
#ifndef SEEN_TRACKER_REMEMBERED_H
#define SEEN_TRACKER_REMEMBERED_H

#include <stdbool.h>

#include "tracker/answer/delivery.h"
#include "tracker/content/inputs.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

enum { REMEMBERED_OF_SCOPE_MAX = 50 };

/* remembered_find(): what is remembered of a command, whether it still counts or not.  Returns 0,
 * or -ENOENT. */
int remembered_find(const struct segment *segment, uint64_t scope_id,
		    const struct version *identity, struct remembered_slot *ret_remembered);

/* remembered_is_current(): as moment_is_current(). */
bool remembered_is_current(const struct segment *segment, const struct remembered_slot *remembered,
			   const struct moment *moment, const struct output_limits *limits);

/* remembered_inputs(): its inputs.  inputs: from inputs_init(), empty.  Returns 0; -EBADMSG where
 * what is there is not what was kept. */
int remembered_inputs(const struct segment *segment, const struct remembered_slot *remembered,
		      struct inputs *inputs);

/* remembered_record(): the scope was given all that a command prints.
 *
 * moment: when, and by which request.  Where the scope has REMEMBERED_OF_SCOPE_MAX others, the
 * oldest is forgotten.  How it was answered stays noted where it read what it did then, in the same
 * epoch.
 * Returns 0, or a negative errno (counted as lost): -ENOSPC; -ENOENT without a content store; other
 * errors of the file system. */
int remembered_record(const struct segment *segment, const struct version *identity,
		      const struct inputs *inputs, uint64_t output_bytes,
		      const struct moment *moment);

/* remembered_refuse(): a command is not remembered, since it reads or prints too much: so it would,
 * if it were run again soon.
 * remembered_is_refused(): it was, in this epoch and not long ago: then no input has to be
 * inspected. */
void remembered_refuse(const struct segment *segment, const struct version *identity,
		       const struct moment *moment);
bool remembered_is_refused(const struct remembered_slot *remembered, const struct moment *moment);

/* remembered_yields(): does the model ask again, by how the command was answered last ([notice]
 * yield)?  Then it is to be given what the command prints: that is counted, and noted for the requests
 * that follow ([notice] insist_requests). */
bool remembered_yields(const struct segment *segment, const struct remembered_slot *remembered,
		       uint64_t request);

/* remembered_note(): notes an answer; no number is lowered.  remembered_unnote(): the notice of
 * that request could not be given. */
void remembered_note(const struct segment *segment, const struct remembered_slot *remembered,
		     struct note note);
void remembered_unnote(const struct segment *segment, const struct remembered_slot *remembered,
		       uint64_t notice_request);

/* remembered_forget(): no command counts any more, of one scope or, for scope_id 0, of all.
 * Returns how many did, the epoch left aside. */
unsigned remembered_forget(const struct segment *segment, uint64_t scope_id);

#endif
