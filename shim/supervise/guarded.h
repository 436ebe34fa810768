/*
 * The guard for supervised processes: a call that may destroy something is judged before it is let
 * pass (tracker/guard/guard.h).
 *
 * The result is inspected later: some milliseconds after, at the process's next call after it
 * has closed the file, or at its end.  `seen run` sees the file closed, too, and may be first
 * (cli/run/watch.h).  A write itself is not seen: a notice that such a process writes is refused
 * only where its file takes another's place; in a file that it wrote to in place it is found
 * afterwards, and taken out again.
 */
#ifndef SEEN_SUPERVISE_WRITES_H
#define SEEN_SUPERVISE_WRITES_H

#include "shim/supervise/resolve.h"
#include "tracker/guard/guard.h"

struct guarded_files;

/* guarded_ask(): may the process do that to what is named?
 *
 * follows: symbolic links.  source: RENAME: what is to take its place; else NULL.  Returns 0, or a
 * negative errno that the call is to fail with.  Takes the time of reading the file where it is one
 * that matters; inspection_start() is asked. */
int guarded_ask(const struct supervision *supervision, struct target *target,
		const struct named *named, enum guard_kind kind, bool follows,
		const struct named *source);

/* write_may_concern(): would it inspect anything, by the name alone?  No system call. */
bool write_may_concern(const struct supervision *supervision, const struct target *target,
		       const struct named *named);

/* write_identify(): the name that the guard knows a file by: behind all symbolic links, or another
 * hard link.  follows: as for guarded_ask().  inspection_start() is asked.  ret_real: `named` with
 * that name, in ret_path (SEGMENT_PATH_BYTES), where there is one.  Returns whether the guard is
 * concerned with it. */
bool write_identify(const struct supervision *supervision, const struct target *target,
		    const struct named *named, bool follows, struct named *ret_real,
		    char *ret_path);

/* guarded_complete(): learns what came of what was let pass, as far as that is over.  tid: the
 * thread that makes a call now; 0: the process ends. */
void guarded_complete(const struct supervision *supervision, struct target *target, pid_t tid);

/* guarded_are_young(): is there one among them that is to be inspected soon? */
bool guarded_are_young(const struct guarded_files *writes);

/* write_read(): an agent, or a reader that prints what is in its files, is about to read a file:
 * its scope knows it then. */
void write_read(const struct supervision *supervision, struct target *target,
		const struct named *named);

/* guarded_free(): accepts NULL. */
void guarded_free(struct guarded_files *writes);

#endif
