/* Reflogs in an undo: they are appended to, and lose no entry. */
#ifndef SEEN_CLI_GIT_LOG_H
#define SEEN_CLI_GIT_LOG_H

#include "cli/undo/schedule_making.h"

/* git_log_judge(): gives the changes of reflogs their fates, when all others have theirs.
 *
 * A ref that gets another object gets an entry about it behind those that there are; and what was
 * removed of the log since comes back before them.  The log of a ref that goes, goes; that of one that
 * comes back is as it was.  The stash's, which is its list, is no log here.  Where something else lies in
 * logs/ too, or went in or out, all there are files as any others.
 *
 * Returns 0 or -ENOMEM. */
int git_log_judge(struct making *making);

#endif
