/* May a trapped call happen: what both families of calls that name files ask, of one name at a time. */
#ifndef SEEN_SUPERVISE_POLICY_H
#define SEEN_SUPERVISE_POLICY_H

#include "shim/supervise/trapped.h"

/* policy_rules(): may the call do that to a name, by the rules?  ops: enum rule_op.  follows:
 * symbolic links.
 * policy_guard(): may a name be changed, by the guard and by who supervises (supervision.changing)?
 * source: RENAME: what takes its place; else NULL.
 * Both return 0, or a negative errno that the call is to fail with. */
int policy_rules(const struct trapped *trapped, uint32_t ops, const struct named *named,
		 bool follows);
int policy_guard(const struct trapped *trapped, enum journal_op op, uint32_t flags,
		 const struct named *named, bool follows, const struct named *source);

#endif
