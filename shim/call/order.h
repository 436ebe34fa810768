/*
 * The order of stations that a call passes, for both mechanisms:
 *
 *	RULES, GUARD   may it happen?         order_may()
 *	(the call      libc's own, or it is let pass)
 *	OBSERVE        what it means here     order_came_back(): only of one that happened
 *	JOURNAL        one record             of one that failed or was refused, too
 *
 * Which of them an operation has is in operations.def.  To be included behind the four functions of the
 * mechanism, which do what there is to do at each: station_rules(), station_guard(),
 * station_observe(), station_journal(), each of the call and its operation.  `operation` is a constant where a wrapper calls these: then
 * no code is left of the stations that it does not have, which behaviour.stations checks.
 */
#ifndef SEEN_SHIM_ORDER_H
#define SEEN_SHIM_ORDER_H

#include "shim/call/call.h"

static inline __attribute__((always_inline)) bool order_may(struct call *call,
							    enum operation operation)
{
	const unsigned stations = OPERATIONS[operation].stations;

	return (!(stations & STATION_RULES) || station_rules(call, operation)) &&
	       (!(stations & STATION_GUARD) || station_guard(call, operation));
}

static inline __attribute__((always_inline)) void order_came_back(struct call *call,
								  enum operation operation)
{
	const unsigned stations = OPERATIONS[operation].stations;

	if (stations & STATION_OBSERVE)
		station_observe(call, operation);
	if (stations & STATION_JOURNAL)
		station_journal(call, operation);
}

#endif
