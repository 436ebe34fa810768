/* Trapped opens: by the stations of struct call (shim/call/order.h). */
#ifndef SEEN_SUPERVISE_OPENING_H
#define SEEN_SUPERVISE_OPENING_H

#include "shim/supervise/trapped.h"

/* opening_judge(): a file is about to be opened.  A viewer's open is answered here. */
struct verdict opening_judge(const struct trapped *trapped);

#endif
