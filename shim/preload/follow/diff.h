/* What changed in a file, instead of the file: told by the program. */
#ifndef SEEN_FOLLOW_DIFF_H
#define SEEN_FOLLOW_DIFF_H

#include "tracker/answer/decision.h"

/* diff_make(): what changed in a file that was decided as DECISION_DIFF.
 *
 * fd: the file.  path: as the command wrote it.  ret_version: of the text.
 * Returns a descriptor of the text as of a notice (notice.h); -ENODATA where it is not short
 * enough, and other negative errnos where it could not be made: counted as lost.  Runs the program,
 * for at most some seconds in one process. */
int diff_make(int fd, const char *path, const struct answer *answer, struct version *ret_version);

#endif
