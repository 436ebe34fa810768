/*
 * The stations of a call about names, lists, opens, descriptors, data or metadata inside a process (shim/call/order.h), for
 * its wrappers and for syscall().
 */
#ifndef SEEN_SHIM_STATIONS_H
#define SEEN_SHIM_STATIONS_H

#include "shim/call/call.h"
#include "shim/preload/call.h"
#include "shim/preload/keep.h"
#include "shim/preload/keep_file.h"
#include "shim/preload/keep_mapping.h"
#include "shim/preload/stations_data.h"
#include "shim/preload/stations_descriptor.h"
#include "shim/preload/stations_list.h"
#include "shim/preload/stations_open.h"

/* stations_let(), stations_guard(): may the call be made?  False: it fails; errno says why.
 * stations_guard() starts the check that `own` of the call points to; a refusal of either ends it. */
bool stations_let(struct call *call);
bool stations_guard(struct call *call);

/* stations_guarded(): the call came back and is on record: ends the check. */
void stations_guarded(struct call *call);

/* stations_observe(), stations_journal(): the call came back, with `error`; errno then says why. */
void stations_observe(const struct call *call);
void stations_journal(const struct call *call);

#define STATION static inline __attribute__((always_inline))

STATION bool station_rules(struct call *call, enum operation operation)
{
	uint32_t asked = call->rules ? call->rules : operation_row(operation).rules;

	if (!rule_may_hold(&shim.rules, asked))
		return true;
	if (operation_is_of_list(operation)) /* by its words: the object stays in registers */
		return rules_let(asked, call->name.directory, call->name.path, call->name.follows);
	return stations_let(call);
}

STATION bool station_guard(struct call *call, enum operation operation)
{
	if (operation_is_of_data(operation))
		return guard_data(call, operation);
	if (__builtin_expect(!shim.guards, 1))
		return true;
	if (operation_is_of_open(operation))
		return guard_open(call, operation);
	if (operation_is_of_descriptor(operation))
		return guard_descriptor(call, operation);
	return stations_guard(call);
}

/* Does it concern undo?  An open that only reads does not, but where it may make the file. */
STATION bool is_kept(const struct call *call, enum operation operation)
{
	return __builtin_expect(shim.keeps, 0) &&
	       (!operation_is_of_open(operation) || call_open_may_change(call->flags));
}

STATION void station_keep(struct call *call, enum operation operation)
{
	if (operation_is_of_descriptor(operation)) {
		keep_descriptor(call, operation);
	} else if (!operation_is_of_data(operation)) {
		if (is_kept(call, operation))
			keep_call(call);
	} else if (__builtin_expect(keep_any(), 0)) {
		int fd = call_modified(call, operation);
		if (operation == OPERATION_PROTECT)
			keep_protecting(call);
		else if (fd >= 0)
			keep_changing_by(fd, operation == OPERATION_MAP);
	}
}

STATION void station_kept(struct call *call, enum operation operation)
{
	if (operation_is_of_descriptor(operation)) {
		kept_descriptor(call, operation);
	} else if (operation == OPERATION_MAP) {
		if (__builtin_expect(keep_any(), 0))
			keep_mapped(call);
	} else if (!operation_is_of_data(operation) &&
		   (is_kept(call, operation) || call->kept.place_1 || call->kept.path)) {
		keep_came_back(call); /* one by openat2(2) that failed has lost its flags */
	}
}

STATION void station_observe(struct call *call, enum operation operation)
{
	if (operation_is_of_data(operation))
		observe_data(call, operation);
	else if (operation_is_of_list(operation))
		observe_list(call, operation);
	else if (!shim.on)
		return;
	else if (operation_is_of_open(operation))
		observe_open(call, operation);
	else if (operation_is_of_descriptor(operation))
		observe_descriptor(call, operation);
	else
		stations_observe(call);
}

STATION void station_journal(struct call *call, enum operation operation)
{
	if (operation_is_of_data(operation))
		journal_data(call, operation);
	else if (operation_is_of_list(operation))
		journal_list(call, operation);
	else if (!shim.on)
		return;
	else if (operation_is_of_open(operation))
		journal_open(call, operation);
	else if (operation_is_of_descriptor(operation))
		journal_descriptor(call, operation);
	else if (operation == OPERATION_METADATA_OF_DESCRIPTOR)
		record_descriptor(JOURNAL_METADATA, call->error != 0, call->name.directory,
				  call->flags, call->amount);
	else
		stations_journal(call);
}

/* The call is over: ends what GUARD began. */
STATION void station_guarded(struct call *call, enum operation operation)
{
	if (!(operation_row(operation).stations & STATION_GUARD))
		return;
	if (operation_is_of_open(operation))
		guarded_open(call);
	else if (!operation_is_of_descriptor(operation)) /* close_ends() */
		stations_guarded(call);
}

#undef STATION

#include "shim/call/order.h"

/* Makes a call: `call_by_libc` between the stations of its OPERATION.  Its result is in `call`. */
#define PASS_STATIONS(call, OPERATION, call_by_libc) \
	do { \
		(call)->error = order_may(call, OPERATION) ? (call_by_libc) : -1; \
		order_came_back(call, OPERATION); \
		station_guarded(call, OPERATION); \
	} while (0)

/* Ends the wrapper of a function that returns 0, or not where it failed; of a `call`. */
#define PASS(OPERATION, call_by_libc) \
	do { \
		PASS_STATIONS(&call, OPERATION_##OPERATION, call_by_libc); \
		return call.error; \
	} while (0)

/* replace_begins(), replace_ends(): a descriptor is about to be replaced by a copy of another, and
 * so closed; and was.  A refusal is not reported: the call is about another file. */
static inline __attribute__((always_inline)) void replace_begins(struct call *call)
{
	(void)order_may(call, OPERATION_REPLACE);
	if (__builtin_expect(shim.role == ROLE_SHELL && shim.records, 0) &&
	    call->name.directory != call->other.directory)
		descriptor_replacing(call->other.directory);
}

static inline __attribute__((always_inline)) void replace_ends(struct call *call, int copy)
{
	call->descriptor = copy;
	order_came_back(call, OPERATION_REPLACE);
	(void)close_ends(0, call->own);
}

#endif
