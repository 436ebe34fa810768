/*
 * The station KEEP of a call about names or metadata (shim/call/order.h): what it is about to destroy is kept for undo
 * (tracker/content/pack.h).  As keeper.h says.
 */
#ifndef SEEN_KEEP_KEEP_CALL_H
#define SEEN_KEEP_KEEP_CALL_H

#include "shim/call/call.h"
#include "shim/keep/keeper.h"

/* keep_call_made(): the call is about to be made; call->kept tells what was kept.
 * keep_call_came_back(): it was, with `error`; ends that. */
void keep_call_made(const struct keeper *keeper, struct call *call);
void keep_call_came_back(const struct keeper *keeper, struct call *call);

#endif
