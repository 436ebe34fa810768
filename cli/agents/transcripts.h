/*
 * Transcripts: agents write down the conversation, what the model was given, and that they cut it
 * short (a compaction, a rewind).  Where an agent's profile says where ([agent NAME] transcript),
 * that record proves or contradicts what its scope was given and says in which conversation it is
 * (conversations.h); where it says how ([agent NAME] compaction), its scope begins a new epoch
 * then.
 *
 * `seen run` calls this at every turn of the loop in which it waits.  Nothing is inspected before
 * an agent of such a profile has a scope.  From then on the directories are watched (inotify(7),
 * else listed once a second), and of a transcript what is new in it is read: whole lines, each a
 * JSON object; one that was written to since the run began, from its beginning.  No program waits
 * for it.
 *
 * A compaction that is reported twice, or of another conversation of that agent's, costs a file
 * that is given once more.  Where one is not reported, only the window is left.
 */
#ifndef SEEN_CLI_TRANSCRIPTS_H
#define SEEN_CLI_TRANSCRIPTS_H

#include "cli/agents/conversations.h"
#include "cli/session/session.h"

struct transcripts;

/* transcripts_start(): begins for a run.  Cheap: no file is inspected yet.
 *
 * config, session, journal: borrowed until transcripts_finish(); the journal is mapped to write to,
 * or not mapped.
 * Returns NULL where there is no memory: the functions below accept that. */
struct transcripts *transcripts_start(const struct config *config, const struct session *session,
				      struct journal *journal);

/* transcripts_tick(): does what there is to do now.  Returns in how many milliseconds it is to be
 * called again at the latest. */
unsigned transcripts_tick(struct transcripts *transcripts);

/* transcripts_descriptor(): can be read from when there is something to do; -1: there is none
 * (yet). */
int transcripts_descriptor(const struct transcripts *transcripts);

/* transcripts_text(): conversations_text() of the run. */
const char *transcripts_text(const struct transcripts *transcripts, char *ret_text);

/* transcripts_finish(): the run is over; frees all. */
void transcripts_finish(struct transcripts *transcripts);

#endif
