/*
 * Questions that an earlier, larger answer contains: `sed -n 1,50p f` after `sed -n 1,100p f`, `grep foo
 * a.c` after `grep -rn foo .`.
 *
 * The tracker gives them in full.  What a notice in their place would have saved is counted here, for
 * cli/replay/replay.c, and decides whether it ever answers them.
 */
#ifndef SEEN_CLI_REPLAY_CONTAINED_H
#define SEEN_CLI_REPLAY_CONTAINED_H

#include <stdbool.h>

#include "cli/replay/replay_ask.h"
#include "cli/replay/replay_judge.h"

/* contained_lines(): counts a command that showed lines of a file, each of which the scope was given
 * in this epoch, as the file is now.  read: its path and lines. */
void contained_lines(struct replay *replay, const struct judged_read *read,
		     const struct call *call);

/* contained_search(): counts a search whose lines all stood in an earlier answer to a search for the
 * same, with no change known since; else remembers it.
 *
 * is_answered: it is a repeat that the tracker answers.  Returns 0 or -ENOMEM. */
int contained_search(struct replay *replay, struct session *session, const struct scope *scope,
		     const struct asked *asked, const struct call *call, bool is_answered);

#endif
