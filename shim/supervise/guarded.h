/*
 * The guard for supervised processes: a call that may destroy something is judged before it is let
 * pass (tracker/guard/guard.h).
 *
 * The supervisor hashes the result later: some milliseconds after the call, at the process's next
 * call after it has closed the file, or at its end.  `seen run` sees the file closed, too, and may
 * be first (cli/run/watch.h).  The write(2) itself is not trapped.  So a notice that such a process
 * writes is refused only where its file replaces another one.  In a file that it wrote in place the
 * notice is found afterwards, and removed.
 */
#ifndef SEEN_SUPERVISE_WRITES_H
#define SEEN_SUPERVISE_WRITES_H

#include "shim/supervise/resolve.h"
#include "tracker/guard/guard.h"

struct guarded_files;

/* guarded_ask(): judges a call of that kind on the named file.
 *
 * follows: the call follows symbolic links.  source: for RENAME the file that replaces it; else NULL.
 * Returns 0, or a negative errno that the call is to fail with.  Reads the file where it has a
 * baseline, within inspection_wait(). */
int guarded_ask(const struct supervision *supervision, struct target *target,
		const struct named *named, enum guard_kind kind, bool follows,
		const struct named *source);

/* write_may_concern(): whether a write to that name may concern the guard, by the name alone.  Makes
 * no system call. */
bool write_may_concern(const struct supervision *supervision, const struct target *target,
		       const struct named *named);

/* write_identify(): finds the name by which the guard knows a file: behind all symbolic links, or
 * another hard link.  follows: as for guarded_ask().  Runs within inspection_wait().  ret_real:
 * `named` with that name, in ret_path (SEGMENT_PATH_BYTES), where there is one.  Returns whether the
 * guard is concerned with the file. */
bool write_identify(const struct supervision *supervision, const struct target *target,
		    const struct named *named, bool follows, struct named *ret_real,
		    char *ret_path);

/* guarded_complete(): hashes the results of the writes that are complete.  tid: the thread that
 * makes a call now; 0: the process ends. */
void guarded_complete(const struct supervision *supervision, struct target *target, pid_t tid);

/* guarded_are_young(): whether the result of one of them is to be hashed soon. */
bool guarded_are_young(const struct guarded_files *writes);

/* guarded_holds_for(): does the guard hold for the process?  guarded_writer(): the process, for the
 * guard. */
bool guarded_holds_for(const struct target *target);
struct guard_writer guarded_writer(const struct target *target);

/* guarded_free(): accepts NULL. */
void guarded_free(struct guarded_files *writes);

#endif
