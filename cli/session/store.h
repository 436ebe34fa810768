/*
 * All sessions on disk.
 *
 * A session is found by its directory: in the runtime directory, in the state directory, or in both
 * (session.h).  What is in it is judged file by file; nothing of another user is looked into, and
 * no symbolic link is followed.
 *
 * A session is in use while one of its processes lives, while a process holds its directory
 * (session_make()), or while a process, in any container, has its segment or journal open to write.
 */
#ifndef SEEN_CLI_STORE_H
#define SEEN_CLI_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/session/session.h"
#include "config/config.h"

/* Name of a session's task metadata (cli/run/metadata.h), and the beginning of those of its
 * scopes. */
#define METADATA_NAME "task_metadata.json"

/* In the directory of sessions (tidy.h); no session's name. */
#define STORE_STAMP ".tidied"

enum { STORE_PLACES = 2, STORE_AGE_BYTES = 32 };

/* Where a session may lie. */
enum store_place { STORE_RUNTIME, STORE_STATE };

/* A directory of sessions. */
struct store_directory {
	char path[SEGMENT_PATH_BYTES];
	int fd;    /* -1: there is none, or it cannot be used */
	int error; /* why it cannot; 0 also where there is none yet */
};

#define STORE_STATES(STATE) \
	STATE(LIVE, "live") \
	STATE(ENDED, "ended") \
	STATE(JOURNAL_ONLY, "journal only")   /* its segment went with a boot */ \
	STATE(CONTENTS_ONLY, "contents only") /* likewise, of one without a journal */ \
	STATE(UNFINISHED, "unfinished")       /* who made it was killed at that */ \
	STATE(DAMAGED, "damaged") \
	STATE(OTHER_VERSION, "other version") /* of seen */ \
	STATE(OTHER_USER, "other user") \
	STATE(UNSAFE, "unsafe")         /* a symbolic link, or others may write to it */ \
	STATE(UNREADABLE, "unreadable") /* `problem` says why */

enum store_state {
#define STATE(name, text) STORE_##name,
	STORE_STATES(STATE)
#undef STATE
};

struct store_session {
	char name[SEGMENT_NAME_BYTES]; /* of its directory */
	bool in[STORE_PLACES];
	enum store_state state;
	int problem; /* what session_explain() explains; 0: none */
	bool has_segment, has_journal, has_contents, has_undo;
	bool is_uncut;       /* session_cut() has something to do */
	bool is_unmeasured;  /* not all of it could be listed: size and last use are not known */
	uint64_t size_bytes; /* of the blocks that its files take */
	uint64_t created_realtime_ns; /* 0: not known */
	/* newest modification of segment and journal, else of its directory; 0: not known */
	uint64_t used_realtime_ns;
	char *workspace; /* owned; NULL: not known */
};

struct store {
	/* the second is empty where both are one */
	struct store_directory directories[STORE_PLACES];
	struct store_session *sessions; /* the one that was used last comes first */
	size_t count;
};

/* store_open(): lists the sessions in the config's directories.
 *
 * ret_store: store_close() it, in any case.  A directory that cannot be read is none that fails: it
 * has an `error`.
 * A directory without a segment, a journal, contents, or the rest of one that was being made is no
 * session.
 * Returns 0, -ENAMETOOLONG or -ENOMEM. */
int store_open(const struct config *config, struct store *ret_store);

/* store_close(): accepts a store that is all zero. */
void store_close(struct store *store);

/* store_is_readable(): could every directory of sessions be read?  Says on stderr which could
 * not. */
bool store_is_readable(const struct store *store);

/* store_find(): a session by its name; NULL: there is none. */
const struct store_session *store_find(const struct store *store, const char *name);

/* store_state_name(): "live" ... */
const char *store_state_name(enum store_state state);

/* store_age(): how long ago, in the largest unit that fits: "3 d", "5 min".  Returns ret_text,
 * STORE_AGE_BYTES long. */
const char *store_age(uint64_t used_realtime_ns, uint64_t now_realtime_ns, char *ret_text);

#endif
