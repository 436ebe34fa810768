/*
 * The guard: what is about to be lost by a write, whether its agent knew it, and what is done about
 * that.  One function for both mechanisms; it knows nothing of how a process is observed.
 *
 * 	guard_concerns()   no system call: is this a path that has to be inspected?
 * 	guard_check()       before the call: the verdict; what would be lost is in the content store by then
 * 	guard_start_write()      the call succeeded: the file is being written to
 * 	guard_finish_write()        the change is complete: what the session made of it
 *
 * The version on disk, before the call, is held against the writer's scope's baseline (baseline.h)
 * and against what the session itself wrote last.  One that is neither was made by an external
 * writer: the write is stale.
 *
 * Lock-free and async-signal-safe, but for the time that hashing and copying take.
 */
#ifndef SEEN_TRACKER_GUARD_H
#define SEEN_TRACKER_GUARD_H

#include <stdbool.h>
#include <sys/stat.h>

#include "tracker/process/subject.h"
#include "tracker/segment/segment.h"
#include "tracker/segment/tables.h"

/* Who writes. */
struct guard_writer {
	uint64_t scope_id; /* baseline_scope(); 0: none, then nothing is stale */
	uint64_t serial;   /* of its process slot; 0: it has none */
	const struct context *context;
	uint32_t role; /* enum role */
	/* it was given a notice: everything that it writes in the workspace is inspected */
	bool answered;
	/* Is what a descriptor's file holds about to be kept for undo, where it is lost?  NULL: no. */
	bool (*is_kept)(const struct guard_writer *writer, int fd);
	const void *keeper; /* of is_kept() */
};

enum guard_kind {
	GUARD_REPLACES, /* all that is there is lost: the file is emptied */
	/* all that the name stands for: it is removed, or given to another file; other names
	 * stay */
	GUARD_UNNAMES,
	GUARD_WRITES,  /* some of it may be: opened to write in place, set to another size */
	GUARD_APPENDS, /* nothing is lost */
};

enum guard_verdict { GUARD_PASS, GUARD_WARN, GUARD_DENY };

enum guard_reason {
	GUARD_UNCONCERNED, /* nothing is known of the file, or [guard] allow */
	GUARD_NEW,         /* there is nothing to be lost */
	GUARD_FRESH,       /* the writer's scope, or the session, made or knows what is there */
	GUARD_UNFINISHED, /* a write of the session to it has not ended, or its writer was killed */
	GUARD_STALE,      /* an external writer's change */
	GUARD_UNREAD,     /* [guard] read_before_write */
	GUARD_NOTICE,     /* the data is a notice */
	GUARD_UNREADABLE, /* could not be inspected: let pass and counted */
};

/* Of a write: how far its result is known. */
enum guard_knows {
	GUARD_KNEW =
		1, /* what it replaces was known: the session's last write, and the scope's baseline, move with it */
	GUARD_WHOLE =
		2, /* nothing is left of what was there: a scope without a baseline has one now */
};

struct guard_answer {
	enum guard_verdict verdict;
	enum guard_reason reason;
	int error; /* DENY: a negative errno: -ESTALE, -EACCES, -EIO */
	/* it was to be denied, but an unobserved process of the session may have made that
	 * change */
	bool degraded;
	bool kept;     /* what is there is in the content store, or kept for undo before the call */
	bool reported; /* the agent was shown guard_format_message()'s line; set by the mechanism */
	uint32_t knows; /* enum guard_knows */
	enum guard_kind kind;
	uint64_t file_key;     /* 0: nothing is known of such a file, nor has to be */
	struct version before; /* what is there; none: nothing, or not inspected */
	/* STALE: the scope of the agent that made it (scope_head()); 0: it is external to the
	 * session, or unknown */
	uint64_t changer;
	struct version baseline; /* STALE: what the scope took it for; none: it had none */
};

/* guard_may_concern(): could it be such a path, by its last name alone?  path: as given to the
 * call, of any form; NULL: any at all.  No system call. */
bool guard_may_concern(const struct segment *segment, const struct guard_writer *writer,
		       const char *path);

/* guard_concerns(): has a write to this path to be inspected?
 *
 * path: absolute, normalized.  No system call. */
bool guard_concerns(const struct segment *segment, const struct guard_writer *writer,
		    const char *path);

/* guard_find_link(): the path under which the guard knows a file that has other names.
 *
 * directory, path: of the file, as statx(2) takes them; a symbolic link is not followed.  stat: of
 * it.  ret_path: SEGMENT_PATH_BYTES; may be `path`.  Makes system calls. */
bool guard_find_link(const struct segment *segment, int directory, const char *path,
		     const struct stat *stat, char *ret_path);

/* guard_check(): decides, before the call.
 *
 * path: as above; it concerns the writer.  fd: the file there, open for reading, or a negative
 * errno why it could not be opened (-ENOENT: there is nothing).  What may be lost has been copied
 * into the content store when this returns PASS or WARN; counters are raised.  Takes the time of
 * reading the file. */
void guard_check(const struct segment *segment, const struct guard_writer *writer, const char *path,
		 int fd, enum guard_kind kind, struct guard_answer *ret_answer);

/* guard_judge(): the reason of guard_check() alone, for what is to be refused before any call:
 * nothing is kept or counted.  path, fd, kind: as there. */
void guard_judge(const struct segment *segment, const struct guard_writer *writer, const char *path,
		 int fd, enum guard_kind kind, struct guard_answer *ret_answer);

/* guard_start_write(): the call that was inspected succeeded, and more is to come:
 * guard_finish_write() will say what.
 * path: as above; "" for a file that is on record. */
void guard_start_write(const struct segment *segment, const struct guard_writer *writer,
		       const char *path, const struct guard_answer *answer);

/* guard_finish_write(): the change is complete.
 *
 * version: what is there now; none: nothing.  knows: as in the answer, or as guard_unfinished()
 * says.
 * Moves the baseline of the writer's scope, and the session's last write, where that is right. */
void guard_finish_write(const struct segment *segment, const struct guard_writer *writer,
			uint64_t file_key, const struct version *version, uint32_t knows);

/* guard_cancel(): the file was opened for writing, and is what it was: no change. */
void guard_cancel(const struct segment *segment, const struct guard_writer *writer,
		  uint64_t file_key);

/* guard_unfinished(): serial of the process whose write to the file has not ended; 0: none.
 * ret_knows: the argument of guard_finish_write(). */
uint64_t guard_unfinished(const struct segment *segment, uint64_t file_key, uint32_t *ret_knows);

/* guard_has_nonce(): do the bytes hold this session's nonce, in whole? */
bool guard_has_nonce(const struct segment *segment, const void *bytes, size_t size_bytes);

/* guard_scan(): version of an open file, and whether it holds the nonce.  fd: open for reading.
 * Returns 0 or a negative errno. */
int guard_scan(const struct segment *segment, int fd, struct version *ret_version,
	       bool *ret_has_nonce);

/* guard_stored_notice(): a change that was let pass left a notice in a file on record.  ret_answer:
 * what the journal is to record.
 * Returns whether that is the first one there: later ones need not be reported. */
bool guard_stored_notice(const struct segment *segment, uint64_t file_key,
			 const struct version *before, struct guard_answer *ret_answer);

/* guard_lives_unobserved(): does a process of the session live that was started and is not
 * observed, or not in full?  Inspects /proc. */
bool guard_lives_unobserved(const struct segment *segment);

/* guard_format_message(): a line for the agent to read: what was overwritten, or refused.  Ended by
 * a newline and NUL.
 *
 * session: its name; path: as above.  Returns its length, 0 where there is nothing to say. */
size_t guard_format_message(const struct segment *segment, const struct guard_answer *answer,
			    const char *path, char *ret_line, size_t capacity);

#endif
