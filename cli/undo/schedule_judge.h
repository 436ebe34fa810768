/* Which changes are made undone, and which are left. */
#ifndef SEEN_CLI_SCHEDULE_JUDGE_H
#define SEEN_CLI_SCHEDULE_JUDGE_H

#include "cli/undo/schedule_making.h"

/* making_judge(): fills in the fates, and the report of what is left.  Returns 0 or -ENOMEM. */
int making_judge(struct making *making);

#endif
