/* Items that make something: MKDIR, PUT, SWAP, WRITE, LINK, RELINK. */
#ifndef SEEN_CLI_APPLY_MAKE_H
#define SEEN_CLI_APPLY_MAKE_H

#include "cli/undo/applying.h"

/* Each returns an enum doing_answer or a negative errno. */
int apply_mkdir(struct doing *doing);
int apply_make(struct doing *doing); /* PUT, SWAP, LINK, RELINK */
int apply_write(struct doing *doing);

#endif
