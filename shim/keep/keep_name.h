/*
 * What a name that a call was given stands for, before the call: for undo (keep_call.h).  The kernel resolves the
 * directory, so that a workspace reached through a link, `..` or /proc/self/cwd is what it is.
 *
 * Not when sandboxed.  Async-signal-safe, also between vfork and exec.
 */
#ifndef SEEN_KEEP_NAME_H
#define SEEN_KEEP_NAME_H

#include <stdbool.h>

#include "shim/call/call.h"
#include "shim/keep/keeper.h"
#include "tracker/content/pack.h"

struct keep_name {
	const struct call_name *name;
	char *path; /* absolute, in scratch memory; NULL: this name is none of undo's */
	bool is_there;
	bool is_link;     /* what is there, or not there, is behind a symbolic link of that name */
	bool is_external; /* of the workspace and of what was moved out of it */
	bool is_excluded; /* below a directory that can be made again: of it there is no record */
	struct pack_state state; /* where it is there */
};

/* keep_name_find(): a name whose path is not known, or which is no file's, has no `path`.  external: one that is
 * not in the workspace is wanted, too.  keep_name_find_content(): likewise; nor has one that is there and no regular
 * file, as /dev/null.  ret_name: keep_name_release() it. */
void keep_name_find(const struct keeper *keeper, const struct call_name *name, bool external,
		    struct keep_name *ret_name);
void keep_name_find_content(const struct keeper *keeper, const struct call_name *name,
			    struct keep_name *ret_name);
void keep_name_release(struct keep_name *name);

/* keep_name_resolve(): the path of a name, as the kernel resolves its directory, and behind a link that it is
 * where the call follows it.  Without a path: of the descriptor.  ret_path: SEGMENT_PATH_BYTES. */
bool keep_name_resolve(const struct segment *segment, const struct call_name *name, char *ret_path);

/* keep_name_state(): what is there.  Returns 0 or a negative errno; ret_state: set only on success. */
int keep_name_state(const struct call_name *name, struct pack_state *ret_state);

/* keep_name_observed(): is it in the workspace, or below what was moved out of it, and no state of seen's
 * own?  keep_name_moved(): a path that was in the workspace is there now. */
bool keep_name_observed(const struct segment *segment, const char *path);
void keep_name_moved(const struct segment *segment, const char *path);

/* keep_name_reset(): in a copy that fork made. */
void keep_name_reset(void);

/* keep_name_excluded(): is it below a directory that can be made again?  Then that is on record, once at each
 * boundary. */
bool keep_name_excluded(const struct keeper *keeper, const char *path);

#endif
