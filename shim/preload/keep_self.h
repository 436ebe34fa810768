/* This process, as one that keeps something for undo (shim/keep). */
#ifndef SEEN_SHIM_KEEP_SELF_H
#define SEEN_SHIM_KEEP_SELF_H

#include "shim/keep/keeper.h"

/* keep_self(): made anew for each call: a copy that fork made is another process. */
struct keeper keep_self(void);

#endif
