/*
 * Records of conversations (cli/hooks/hook_record.h): files beside the sessions, in the state
 * directory.  They outlive their sessions, for conversations that are resumed.
 */
#ifndef SEEN_CLI_STORE_CONVERSATIONS_H
#define SEEN_CLI_STORE_CONVERSATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/session/store.h"

#define STORE_CONVERSATIONS ".conversations"

/* store_conversations_remove(): removes this user's records that were written last before a time.
 *
 * before_realtime_ns: 0: those whose last session is gone.  only_try: counts them alone.
 * ret_count, ret_bytes: of these; added to.  Returns 0, or the error of the first that could not be
 * removed. */
int store_conversations_remove(const struct store *store, uint64_t before_realtime_ns,
			       bool only_try, unsigned *ret_count, uint64_t *ret_bytes);

#endif
