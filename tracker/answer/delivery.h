/*
 * Deliveries: what each scope was given, in which version, and whether that still counts.
 * Notes: how it was answered when it asked for a file again.  They are slots of the same table
 * under keys of their own: a file may be answered for by the delivery of another name of it, and by
 * another one the next time.
 * Lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_DELIVERY_H
#define SEEN_TRACKER_DELIVERY_H

#include <stdbool.h>

#include "tracker/process/capture.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* As a command_id: an in-process read of a whitelisted process, no command's output:
 * decision_open() judges what its agent passes on of it. */
#define DELIVERY_UNCUT UINT64_MAX

/* The moment, in a scope's own measures, at which something is asked or given. */
struct moment {
	uint64_t scope_id;
	uint64_t session_epoch;
	uint64_t scope_epoch;
	uint32_t scope_flags; /* enum scope_flags; of the present alone */
	uint64_t request;     /* number of the request in the scope */
	uint64_t capture_id;
	uint64_t command_id;  /* the one that asks; it still runs */
	uint64_t bytes_given; /* to the scope so far */
	uint64_t time_ns;
};

/* MOMENT_OF(), MOMENT_STORE(): the moment at which something was given, as the slots of deliveries
 * and of remembered commands hold it: in fields of the same names. */
#define MOMENT_OF(slot) \
	{ \
		.scope_id = (slot)->scope_id, .session_epoch = (slot)->session_epoch, \
		.scope_epoch = (slot)->scope_epoch, .request = (slot)->request, \
		.command_id = (slot)->command_id, .bytes_given = (slot)->bytes_given, \
		.time_ns = (slot)->time_ns, \
	}
#define MOMENT_STORE(slot, moment) \
	do { \
		(slot)->session_epoch = (moment)->session_epoch; \
		(slot)->scope_epoch = (moment)->scope_epoch; \
		(slot)->command_id = (moment)->command_id; \
		(slot)->request = (moment)->request; \
		(slot)->bytes_given = (moment)->bytes_given; \
		(slot)->time_ns = (moment)->time_ns; \
	} while (0)

/* moment_now(): reads a scope's measures.  scope_epoch 0: the scope is not known, nothing
 * counts. */
struct moment moment_now(const struct segment *segment, uint64_t scope_id, uint64_t request,
			 uint64_t capture_id, uint64_t command_id);

/* delivery_find(): what the scope was last given of a file, whether it still counts or not.
 * Returns 0, or -ENOENT. */
int delivery_find(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		  struct delivery_slot *ret_delivery);

/* window_holds(): is what was given still inside the window ([window]), so many requests of its
 * scope, bytes given to it, and nanoseconds later?  Both ends belong to it: the request number
 * `[window] requests` after it was given is the last one inside. */
bool window_holds(const struct settings *settings, uint64_t requests, uint64_t bytes,
		  uint64_t age_ns);

/* How well it is known that the model has what a command printed, and has it whole.  The later, the
 * better. */
enum grade {
	GRADE_NONE,     /* it is not known, or known to be otherwise */
	GRADE_ASSUMED,  /* so short that no agent is known to cut it */
	GRADE_MEASURED, /* inside what the agent was measured to pass on */
	GRADE_PROVEN,   /* the agent's transcript has it */
};

/* What is assumed to reach a model whole, of a command's output, where nothing was measured. */
enum { ASSUMED_BYTES = 1900, ASSUMED_LINES = 100, ASSUMED_LINE_BYTES = 700 };

/* limits_assumed(): these, and none above `limits`; NULL: there are no others. */
struct output_limits limits_assumed(const struct output_limits *limits);

/* command_grade(): of the output of the command that gave something, whatever the epoch and the
 * window.  given: scope_id, command_id, time_ns.  moment: the present.
 *
 * A proof (proof.h) decides.  Without one, in a scope whose transcript is read, nothing counts
 * before PROOF_WAIT_NS, and is assumed then; elsewhere `limits` holds. */
enum grade command_grade(const struct segment *segment, const struct moment *given,
			 const struct moment *moment, const struct output_limits *limits);

/* moment_grade(): the same for what must be of the moment's epoch and inside the window, in a scope
 * that is not mute. */
enum grade moment_grade(const struct segment *segment, const struct moment *given,
			const struct moment *moment, const struct output_limits *limits);

/* moment_is_current(): does what was given then still count?  Given in the moment's epoch, still
 * inside the window, by a command that kept to `limits` in all.
 * given: its capture_id is not inspected; command_id 0: invalidated. */
bool moment_is_current(const struct segment *segment, const struct moment *given,
		       const struct moment *moment, const struct output_limits *limits);

/* delivery_is_current(): the same of a delivery. */
bool delivery_is_current(const struct segment *segment, const struct delivery_slot *delivery,
			 const struct moment *moment, const struct output_limits *limits);

/* delivery_record(): the scope was given the whole file.
 *
 * moment: when it was read (its epochs) and by which request.  The version replaces an older one.
 * Returns 0, or -ENOSPC (counted as lost). */
int delivery_record(const struct segment *segment, uint64_t file_key, const struct version *version,
		    const struct moment *moment);

/* How a scope was answered for a file that it had been given. */
struct note {
	uint64_t notice_request; /* number of the last request that got a notice; 0: none */
	uint64_t yield_until;    /* given in full up to this request */
};

/* note_asks_again(): does the model ask again, asking by the request of this number, so soon after
 * its notice ([notice] yield)? */
bool note_asks_again(const struct segment *segment, struct note note, uint64_t request);

/* delivery_noted(): the note for a file in this version, in the moment's epoch; zeros when there is
 * none. */
struct note delivery_noted(const struct segment *segment, const struct moment *moment,
			   uint64_t file_key, const struct version *version);

/* delivery_note(): notes an answer.  The later one stands: no number of a note in this version and
 * epoch is lowered. */
void delivery_note(const struct segment *segment, const struct moment *moment, uint64_t file_key,
		   const struct version *version, struct note note);

/* delivery_unnote(): the notice of that request could not be given after all. */
void delivery_unnote(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		     uint64_t notice_request);

/* delivery_forget(): what was given of a file no longer counts, nor how it was answered for, in one
 * scope or, for scope_id 0, in all.  Returns the number of deliveries that were forgotten. */
unsigned delivery_forget(const struct segment *segment, uint64_t scope_id, uint64_t file_key);

/* delivery_forget_names(): what was given so far under other names of a file does not count for
 * this one either.
 * Leaves a forgotten delivery, as of now, in one scope that is on record or, for scope_id 0, in
 * all. */
void delivery_forget_names(const struct segment *segment, uint64_t scope_id, uint64_t file_key);

#endif
