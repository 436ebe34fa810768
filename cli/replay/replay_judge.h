/*
 * The decision made over for one request: which category of repeat it is, and what each setting
 * would have answered.
 *
 * For cli/replay/replay.c, which tells from a call what was asked for and what it showed.  The
 * state of a replay is defined here.  The functions add to replay->sums and to what the session
 * remembers (replay_memory.h); replay->tokens is that of the call's output.
 */
#ifndef SEEN_CLI_REPLAY_JUDGE_H
#define SEEN_CLI_REPLAY_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/replay/replay.h"
#include "cli/replay/replay_memory.h"
#include "cli/replay/shown.h"
#include "cli/session/settings_only.h"
#include "tracker/segment/segment.h"

struct replay {
	struct settings_only only; /* for roles and notices */
	const struct segment *segment;
	const struct settings *settings;
	struct replay_memory known;
	const struct transcript_result *result;
	enum transcript_format limit_of; /* whose limit is that: */
	struct output_limits limits;     /* of one command's output */
	struct replay_sums *sums;        /* of the file */
	struct replay_row *rows;         /* of sessions */
	size_t row_count, row_capacity, file_count;
	struct shown shown;
	uint64_t tokens;           /* of the output that is being judged */
	replay_listener *listener; /* NULL: none */
	void *listener_data;
};

/* An answer that is remembered by what was asked. */
struct judged_asking {
	struct session *session;
	struct scope *scope;
	enum replay_way way;
	uint64_t key;         /* of what is asked, in whatever words */
	uint64_t words;       /* of the words */
	uint64_t inputs;      /* another number: what it reads may have changed */
	uint64_t place_bytes; /* of what would stand in its place */
	bool is_fit;
};

/* A read that is judged. */
struct judged_read {
	struct session *session;
	struct scope *scope;
	struct file *file;
	enum replay_way way;
	const struct shown *shown;
	bool is_viewer; /* asked for the whole file, by a viewer or an own tool */
	bool has_lines; /* false: of a journal, which knows versions alone */
	const char *path;
};

/* judge_count(): adds a call to a sum: one, the bytes of its output, replay->tokens. */
void judge_count(const struct replay *replay, struct replay_sum *sum, const struct call *call);

/* judge_is_enabled(): whether the configuration in effect has [requests] enabled. */
bool judge_is_enabled(const struct replay *replay);

/* judge_is_given(): does the model have the whole output, so that it counts as given? */
bool judge_is_given(const struct replay *replay, const struct call *call);

/* judge_notices(): how many bytes the notices for commands that are remembered have, each for
 * itself.
 *
 * words: argv of each, `count` of them.
 * Returns bytes; UINT64_MAX: a notice for one does not fit. */
uint64_t judge_notices(const struct replay *replay, char **const words[], size_t count,
		       uint64_t output_bytes);

/* judge_asking(): the same asked again: answered, where nothing that it reads is known to have
 * changed; else remembered.
 *
 * call: with an output.  ret_answered: it was answered.
 * Returns 0, or -ENOMEM. */
int judge_asking(struct replay *replay, const struct judged_asking *asking, const struct call *call,
		 bool *ret_answered);

/* judge_read(): a read of one file that showed lines of it.  ret_noticed: it was answered.
 *
 * call: its directory is the one that read->path is relative to.
 * Returns 0, or -ENOMEM. */
int judge_read(struct replay *replay, const struct judged_read *read, const struct call *call,
	       bool *ret_noticed);

/* judge_words(): a command or another tool by its words, in its directory.
 *
 * key: hash of both.
 * call: with command set.
 * Returns 0, or -ENOMEM. */
int judge_words(struct replay *replay, struct session *session, struct scope *scope, uint64_t key,
		const struct call *call);

#endif
