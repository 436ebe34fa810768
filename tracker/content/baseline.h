/*
 * Baselines: what a scope takes a file's content to be.  A write over anything else destroys what
 * its agent has not seen.
 *
 * A baseline is the version that the scope was given, or read more than [notice] burst_ms before it
 * matters, or made itself.
 * Edit and write tools read a file again right before they write it: such a read says nothing of
 * what the model knows, so a read counts only when it is old enough, by the first one of its
 * version.  Of a helper that an agent starts to write, which sets up a sandbox first, it must have been old enough when the
 * helper was started (baseline_before()).  What the session writes moves a baseline only if what it replaced was the baseline:
 * `echo x >> f` does not make an external writer's change known.  Agents also read files that changed
 * to inform themselves.  Where hooks report what the model is given, these reads move nothing.
 *
 * Lock-free and async-signal-safe.
 */
#ifndef SEEN_TRACKER_BASELINE_H
#define SEEN_TRACKER_BASELINE_H

#include <stdbool.h>

#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* The scope of what is left of those whose agent is gone, and of what the user mentioned: it stands
 * in where a scope has nothing of its own.  No scope_id_of() is 1 but by a chance of 2^-64. */
#define BASELINE_SESSION UINT64_C(1)

/* baseline_scope(): the scope that a process's reads and writes belong to, an agent's own included;
 * 0: none.  Forks of an agent are one here: what it knew when it forked, they know.
 *
 * scope_name: SEEN_SCOPE of the process, or NULL. */
uint64_t baseline_scope(const struct context *context, const char *scope_name);

/* baseline_given(): the scope was given the file, or made it: that counts at once.  Also for
 * BASELINE_SESSION. */
void baseline_given(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		    const struct version *version);

/* baseline_read(): an agent of the scope read the file, now.  It counts when it is old enough.  Where
 * the agent's hook has what its read tool gives (SCOPE_READS_REPORTED), it does not count beside a
 * version that was given. */
void baseline_read(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		   const struct version *version);

/* baseline_at(): the scope's baseline, now; where it has none, that of BASELINE_SESSION.
 * Returns false when there is none at all. */
bool baseline_at(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		 struct version *ret_version);

/* baseline_of(): as baseline_at(), but only what the scope itself has. */
bool baseline_of(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		 struct version *ret_version);

/* baseline_before(): as baseline_of(), for a program that the scope's agent started at began_ns: CLOCK_BOOTTIME; 0: not
 * known, as baseline_of().  What was read less than burst_ms before that, and not again since, does not count, however long the
 * program takes. */
bool baseline_before(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		     uint64_t began_ns, struct version *ret_version);

/* baseline_since(): as baseline_at(), and since when: CLOCK_BOOTTIME nanoseconds; of a read, those
 * of the read. */
bool baseline_since(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		    struct version *ret_version, uint64_t *ret_since_ns);

/* baseline_newest(): what anybody in the session knew of a file last: the youngest baseline of all
 * scopes on record and of BASELINE_SESSION; a read counts at once.  As baseline_since(). */
bool baseline_newest(const struct segment *segment, uint64_t file_key, struct version *ret_version,
		     uint64_t *ret_since_ns);

/* baseline_scope_lives(): does the agent of a scope live?  One that is not in the process table
 * does not.  Inspects /proc. */
bool baseline_scope_lives(const struct segment *segment, uint64_t scope_id);

/* baseline_only_scope(): the scope that what concerns "the agent" is for: the only one whose agent
 * lives; where none does (the agent is external to the session, between two commands), the only one
 * on record.  0:
 * there is none, or more than one.  Inspects /proc. */
uint64_t baseline_only_scope(const struct segment *segment);

/* baseline_adopt(): what scopes whose agent is gone knew becomes what the session knows, unless
 * that is newer.  For a session that is taken up again.
 *
 * is_other_boot: the times on record, and the processes, are of another boot than this one.
 * Inspects /proc. */
void baseline_adopt(const struct segment *segment, bool is_other_boot);

/* baseline_is(): is it the version that the scope has as its baseline, or, where it has no older
 * one, has only just read?  began_ns: as for baseline_before(). */
bool baseline_is(const struct segment *segment, uint64_t scope_id, uint64_t file_key,
		 uint64_t began_ns, const struct version *version);

/* baseline_is_given(): was what the scope itself has given to it, or made by it?  Else it only read that. */
bool baseline_is_given(const struct segment *segment, uint64_t scope_id, uint64_t file_key);

/* baseline_is_read(): is the scope's baseline what its model has, as far as is known?  Where the agent's
 * hook has what its read tool gives, only that, and what commands gave; not what the agent read by
 * itself. */
bool baseline_is_read(const struct segment *segment, uint64_t scope_id, uint64_t file_key);

/* baseline_forget(): the scope has none of this file any more; 0: no scope. */
void baseline_forget(const struct segment *segment, uint64_t scope_id, uint64_t file_key);

/* baseline_knows_name(): may a file of that name have a baseline?  path: as given to a call, of any
 * form.  A "no" is certain of every name but symbolic links and others of the same inode.  No
 * system call. */
bool baseline_knows_name(const struct segment *segment, const char *path);

/* baseline_add_name(): a file that has, or is to have, a baseline was named so: by a symbolic link,
 * perhaps. */
void baseline_add_name(const struct segment *segment, const char *path);

/* baseline_knows_any(): may any file have one? */
bool baseline_knows_any(const struct segment *segment);

/* baseline_each(): calls back for every baseline on record: what baseline_at() would say.  Stops
 * when that returns nonzero, and returns that. */
int baseline_each(const struct segment *segment,
		  int (*callback)(uint64_t scope_id, uint64_t file_key,
				  const struct version *version, void *data),
		  void *data);

#endif
