/* Items that take something away, or elsewhere: REMOVE, RMDIR, STAGE, PLACE. */
#ifndef SEEN_CLI_APPLY_REMOVE_H
#define SEEN_CLI_APPLY_REMOVE_H

#include "cli/undo/applying.h"

/* Each returns an enum doing_answer or a negative errno. */
int apply_remove(struct doing *doing);
int apply_rmdir(struct doing *doing);
int apply_stage(struct doing *doing);
int apply_place(struct doing *doing);

/* apply_unstage(): what was staged and could not be placed gets the name back that it had. */
int apply_unstage(struct doing *doing);

/* apply_rename(): renames within what `places` reach, where nothing is.  Returns 0, -EEXIST, ... */
int apply_rename(struct places *places, const char *from, const char *to);

#endif
