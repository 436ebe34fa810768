/*
 * The order of stations that a call passes, for both mechanisms:
 *
 *	RULES, GUARD   may it happen?         order_may()
 *	KEEP           what would be lost     is kept for undo, also order_may(); order_came_back(): how it ended
 *	(the call      libc's own, or it is let pass)
 *	OBSERVE        what it means here     order_came_back(): only of one that happened
 *	JOURNAL        one record             of one that failed or was refused, too
 *
 * A call that closes passes all of them before it is made: order_closes().
 *
 * Which of them an operation has is in operations.def.  To be included behind the functions of the
 * mechanism, which do what there is to do at each: station_rules(), station_guard(), station_keep(), station_kept(),
 * station_observe(), station_journal(), each of the call and its operation.  `operation` is a constant where a wrapper calls these: then
 * no code is left of the stations that it does not have, which behaviour.stations checks.
 *
 * KEEP is passed behind GUARD: rules and guard let the call pass, and nothing has been done.  Every wrapper of operations about names,
 * opens, data and metadata passes there, and so does syscall(); whose content a call about data modifies, call_modified() tells.  An open that empties its file is inspected by the guard behind the call
 * (write_check_emptied()), which may refuse it then: the file holds all that it held until that function empties it.
 */
#ifndef SEEN_SHIM_ORDER_H
#define SEEN_SHIM_ORDER_H

#include "shim/call/call.h"

static inline __attribute__((always_inline)) bool order_may_by_rules(struct call *call,
								     enum operation operation)
{
	return !(operation_row(operation).stations & STATION_RULES) ||
	       station_rules(call, operation);
}

static inline __attribute__((always_inline)) bool order_may_by_guard(struct call *call,
								     enum operation operation)
{
	if ((operation_row(operation).stations & STATION_GUARD) && !station_guard(call, operation))
		return false;
	if (operation_row(operation).stations & STATION_KEEP)
		station_keep(call, operation);
	return true;
}

static inline __attribute__((always_inline)) bool order_may(struct call *call,
							    enum operation operation)
{
	return order_may_by_rules(call, operation) && order_may_by_guard(call, operation);
}

static inline __attribute__((always_inline)) void order_came_back(struct call *call,
								  enum operation operation)
{
	const unsigned stations = operation_row(operation).stations;

	if (stations & STATION_KEEP)
		station_kept(call, operation);
	if (stations & STATION_OBSERVE)
		station_observe(call, operation);
	if (stations & STATION_JOURNAL)
		station_journal(call, operation);
}

/* Its number may be another thread's as soon as it is closed. */
static inline __attribute__((always_inline)) void order_closes(struct call *call,
							       enum operation operation)
{
	(void)order_may(call, operation);
	order_came_back(call, operation);
}

#endif
