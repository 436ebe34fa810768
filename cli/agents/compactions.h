/*
 * Transcripts: agents write down what is said, and that they cut it short (a compaction, a rewind).  Where an agent's profile says
 * where ([agent NAME] transcript) and how ([agent NAME] compaction), its scope begins a new epoch then.
 *
 * `seen run` calls this at every turn of the loop in which it waits.  Nothing is looked at before an agent of such a profile has a
 * scope.  From then on the folders are watched (inotify(7), else listed once a second), and of a transcript what is new in it is
 * read: whole lines, each a JSON object.  Between a line's being there and the new epoch lies one turn, a fifth of a second at most.
 *
 * A compaction that is told of twice, or of another conversation of that agent's, costs a file that is given once more.  One that is
 * not told of: the window is what is left.
 */
#ifndef SEEN_CLI_COMPACTIONS_H
#define SEEN_CLI_COMPACTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/session/session.h"

struct compactions;

/* compactions_start(): begins for a run.  Cheap: no file is looked at yet.
 *
 * config, session, journal: borrowed until compactions_end(); the journal is mapped to write to, or not mapped.
 * Returns NULL where there is no memory, or no profile names transcripts: the functions below accept that. */
struct compactions *compactions_start(const struct config *config, const struct session *session,
				      struct journal *journal);

/* compactions_tick(): does what there is to do now. */
void compactions_tick(struct compactions *compactions);

/* compactions_end(): the run is over; frees all. */
void compactions_end(struct compactions *compactions);

/* compactions_line_matches(): does a line of a transcript say what a profile's `compaction` describes?
 *
 * line: length bytes, without the newline.  markers: words divided by white space, one of which must hold; a word is conditions divided
 * by commas, all of which must hold; a condition is `member.member=text`, or `member.member` for one that is there and not null.
 * What is quoted in a member of another name, or deeper, does not count.  A line that is no JSON object matches nothing.
 * begins: the line is one of the first two of the agent's first conversation in a run: words that begin with `+` do not count there. */
bool compactions_line_matches(const char *line, size_t length, const char *markers, bool begins);

#endif
