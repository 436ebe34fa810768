/*
 * What the workspace was before a call changed it, kept for undo (tracker/content/pack.h): the station KEEP of a
 * call (shim/call/order.h), and what follows when it came back.  What both mechanisms do for that is in
 * shim/keep; keep_file.c follows files that were opened for writing.
 *
 * Async-signal-safe, also between vfork and exec; errno is left alone.  Anything unexpected: nothing is kept, and
 * that is counted.
 */
#ifndef SEEN_SHIM_KEEP_H
#define SEEN_SHIM_KEEP_H

#include "shim/call/call.h"
#include "shim/preload/state.h"

/* keep_start(): this process is attached: is anything kept of what it does?  keep_reset(): in a copy that fork
 * made. */
void keep_start(void);
void keep_reset(void);

/* keep_call(): a call about names or metadata is about to be made.  keep_came_back(): it was, with `error`. */
void keep_call(struct call *call);
void keep_came_back(struct call *call);

/* keep_step_ends(): with this process, where it is a step. */
void keep_step_ends(void);

#endif
