/*
 * What a recorded session repeated, and what each setting would have saved: the accounting behind
 * `seen replay`.
 *
 * Calls of a transcript come in, sums go out.  A read is held against what the same context was
 * given before: line by line, by number and hash, so that it does not matter in which parts, or
 * with which tool, it was given.  Each read that names a file read before falls into one category
 * at most:
 *
 * 	identical         the same lines of the same file, given as one answer before
 * 	covered           not so, but each of its lines was given before, as it is
 * 	changed           a whole file that was given whole before, and is another now
 * 	after compaction  identical or covered, but for what was given before the context was compacted or cleared
 * 	other scope       likewise, but for what only another context was given: a sub-agent's, or its parent's
 *
 * Beside that the decision of the tracker (tracker/answer/decision.h) is made over for each
 * request, with the limits of the configuration in effect, to tell what would have been answered.
 * Where a transcript does not tell enough, nothing is counted as saved: a part of a file, or a
 * command, only if no edit of what it reads is known in between.  Commands and the agent's own
 * tools are apart, each as if the other one were not there: so they are for the tracker.
 */
#ifndef SEEN_CLI_REPLAY_H
#define SEEN_CLI_REPLAY_H

#include <stdint.h>

#include "cli/replay/replay_sums.h"
#include "cli/replay/transcript.h"
#include "config/config.h"

struct replay;

/* One repeat, for who wants to see them.  Texts are valid during the call. */
struct replay_repeat {
	uint64_t output; /* number of the tool call among the file's, from 1 */
	uint64_t bytes;
	const char *category; /* a category's name, or "command" */
	const char *what;     /* the file, or the command line */
};

typedef void replay_listener(const struct replay_repeat *repeat, void *data);

/* replay_listen(): has every repeat that is counted told, too. */
void replay_listen(struct replay *replay, replay_listener *listener, void *data);

/* One session that was replayed.  Parts of it in other files count for it, too. */
struct replay_row {
	size_t file;     /* that it began in: how many replay_start_file() were before it */
	uint64_t number; /* of the sessions that began in that file, from 1 */
	struct replay_sums sums;
};

/* replay_rows(): the sessions so far, in the order in which they began; borrowed until the next
 * call. */
const struct replay_row *replay_rows(const struct replay *replay, size_t *ret_count);

/* replay_new(): config: whose [window], [notice], [requests], [processes] are in effect; borrowed.
 * Returns 0; -ENOMEM; or as config_pack(), with *ret_error.  replay_free() it. */
int replay_new(const struct config *config, struct replay **ret_replay,
	       struct config_error *ret_error);
void replay_free(struct replay *replay);

/* replay_start_file(): the next file; what it sums up to goes to `sums`.
 *
 * result: that transcript_read() fills in while it reads: the profile named as its format says how
 * much of an output reached the model.
 * Sessions that several files are parts of (sub-agents' files) go on; of the others the oldest are
 * forgotten. */
void replay_start_file(struct replay *replay, const struct transcript_result *result,
		       struct replay_sums *sums);

/* replay_call(): a transcript_sink, with the replay as its data. */
int replay_call(const struct call *call, void *replay);

#endif
