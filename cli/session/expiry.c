/* Sessions that have had their time: see expiry.h. */
#include "cli/session/expiry.h"

static const uint64_t DAY_NS = UINT64_C(86400) * 1000000000u;
enum { UNDO_DAYS = 7 };

uint64_t expiry_bytes(const struct store *store)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < store->count; i++)
		if (store->sessions[i].state != STORE_OTHER_USER)
			bytes += store->sessions[i].size_bytes;
	return bytes;
}

static uint64_t age_of(const struct expiry *expiry, const struct store_session *session)
{
	return expiry->now_realtime_ns > session->used_realtime_ns
		       ? expiry->now_realtime_ns - session->used_realtime_ns
		       : 0;
}

static bool is_old(const struct expiry *expiry, const struct store_session *session)
{
	return expiry->keep_days && age_of(expiry, session) > expiry->keep_days * DAY_NS;
}

uint64_t expiry_apply(const struct store *store, const struct expiry *expiry)
{
	enum { BY_AGE, BY_SIZE, BY_SIZE_LAST, ROUNDS };
	uint64_t left = expiry_bytes(store);

	for (int round = BY_AGE; round < ROUNDS; round++)
		for (size_t i = store->count; i-- > 0;) { /* the oldest come last */
			const struct store_session *session = &store->sessions[i];
			bool is_last = session->has_undo &&
				       age_of(expiry, session) < UNDO_DAYS * DAY_NS;
			bool is_due = round == BY_AGE
					      ? is_old(expiry, session)
					      : expiry->max_bytes && left > expiry->max_bytes &&
							!is_old(expiry, session) &&
							is_last == (round == BY_SIZE_LAST);
			if (is_due && !session->is_unmeasured &&
			    session->state != STORE_OTHER_USER &&
			    expiry->remove(session, round == BY_AGE ? EXPIRY_AGE : EXPIRY_SIZE,
					   expiry->data))
				left -= session->size_bytes;
		}
	return left;
}
