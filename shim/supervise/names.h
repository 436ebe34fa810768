/* Trapped calls about names: by the stations of struct call (shim/call/order.h). */
#ifndef SEEN_SUPERVISE_NAMES_H
#define SEEN_SUPERVISE_NAMES_H

#include "shim/supervise/trapped.h"

/* names_judge(): a call that removes, makes, renames, links or sets the size of what it names. */
struct verdict names_judge(const struct trapped *trapped);

/* names_judge_move(): the current directory is about to change. */
struct verdict names_judge_move(const struct trapped *trapped);

#endif
