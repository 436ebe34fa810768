/*
 * Which files `seen replay` reads: those that are named, those in directories that are named, and
 * where none is named the transcripts that agents keep on this machine.
 */
#ifndef SEEN_CLI_REPLAY_FIND_H
#define SEEN_CLI_REPLAY_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

struct replay_path {
	char *path;    /* owned */
	bool is_found; /* not named: one that is no transcript is none that failed */
};

struct replay_paths {
	struct replay_path *paths;
	size_t count, capacity;
};

/* replay_find_named(): files and directories that are named, in their order.
 *
 * Of a directory the files below it, in the order of their names, that end as transcripts do (.jsonl,
 * .json, .traj; opencode*.db, kilo*.db) or are called journal; no symbolic link below it is followed.
 * ret_paths: replay_paths_free() it in any case.  Returns 0 or -ENOMEM. */
int replay_find_named(char *const words[], size_t count, struct replay_paths *ret_paths);

/* replay_find_kept(): what the profiles' globs ([agent NAME] transcript, record) match, each
 * file once.
 * Otherwise as above. */
int replay_find_kept(const struct config *config, struct replay_paths *ret_paths);

void replay_paths_free(struct replay_paths *paths);

#endif
