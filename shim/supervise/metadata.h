/* Trapped calls that set metadata, or the size of a descriptor's file: by the stations of struct call
 * (shim/call/order.h). */
#ifndef SEEN_SUPERVISE_METADATA_H
#define SEEN_SUPERVISE_METADATA_H

#include "shim/supervise/trapped.h"

/* metadata_judge(): a call of METADATA, METADATA_OF_DESCRIPTOR, RESIZE, ALLOCATE. */
struct verdict metadata_judge(const struct trapped *trapped);

#endif
