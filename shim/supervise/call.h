/* What a trapped call means, and what is answered. */
#ifndef SEEN_SUPERVISE_CALL_H
#define SEEN_SUPERVISE_CALL_H

#include <stdint.h>

#include "shim/supervise/exchange.h"
#include "shim/supervise/target.h"

/* call_judge(): inspects a call, records it, and says what is to be done.  mark: of the session. */
struct verdict call_judge(struct targets *targets, const struct supervision *supervision,
			  uint64_t mark, struct exchange *exchange);

#endif
