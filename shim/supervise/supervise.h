/*
 * The second way in: a supervisor that is asked by the kernel before a call of the command, or of any process below it, is made
 * (seccomp_unotify(2)).  It needs nothing inside the process: static programs, Go, Bun and musl are seen as all others.
 *
 *	filter.c     which calls are trapped
 *	supervisor.c threads that answer; the guardian that answers when they cannot
 *	target.c     the processes below: who they are, what they run
 *	call.c       what a trapped call means
 *	view.c       viewers: answers, deliveries
 *	record.c     all of it, for the journal
 *	rules.c      the rules
 *	writes.c     the guard
 *	say.c        lines for the agent
 *	look.c       finding what a process names
 *	memory.c     looking into another process
 *	hello.h      how it shares a process with the preloaded library
 *
 * It decides as the library does, by the same functions of the tracker.  A call that is let pass is made by the process itself
 * after it was looked at, and may then be another one: this is a record and a guard against accidents, no security
 * boundary.  Only a viewer's open is answered by the supervisor, with a descriptor.
 *
 * Whatever goes wrong, the call is let pass.
 */
#ifndef SEEN_SUPERVISE_SUPERVISE_H
#define SEEN_SUPERVISE_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "tracker/answer/decision.h"
#include "tracker/journal/journal.h"
#include "tracker/process/process.h"
#include "tracker/segment/segment.h"

/* A call that is about to replace or remove what a name stands for. */
struct supervise_change {
	pid_t pid;
	uint32_t role; /* enum role */
	const struct context *context;
	enum journal_op op; /* OPEN: for writing; TRUNCATE, DELETE, RENAME ... */
	uint32_t flags;     /* as in the journal */
	const char *path;   /* absolute, normalized by text, as this process would name it */
	bool exists;        /* what it stands for, now: */
	struct stat stat;
};

/* What a supervisor works for.  Constant while it does; borrowed. */
struct supervision {
	const struct segment *segment;
	const char *folder;      /* that the segment lies in; NULL: none */
	struct journal *journal; /* NULL, or not mapped: nothing is recorded */
	pid_t root; /* the command's process, which has installed the filter and not called exec yet */
	struct process_ref process; /* as announced */
	struct context context;
	bool no_new_privs; /* of the command: setuid programs are told of */
	bool has_library;  /* the library is preloaded, too */

	/* Called before a change, in one of several threads.  Returns 0, or a negative errno that the call fails with;
	 * what it would have destroyed is then as it was.  NULL: all may be done. */
	int (*changing)(void *data, const struct supervise_change *change);
	/* Something that the user ought to know, once: a line without its end.  In one of several threads.  NULL: not told. */
	void (*say)(void *data, const char *line);
	void *data;
};

/* supervise_supported(): may a program be supervised here?  Tries it in a child.
 * Returns 0; -ENOSYS on a kernel before 5.14 or without seccomp; -EACCES, -EPERM where policy forbids it; -EBUSY below a
 * supervisor of somebody else; -EAGAIN when there is no process to be had. */
int supervise_supported(void);

/* supervise_mark(): the session's mark of the library's own calls, made now if it has none.  Written to the segment. */
uint64_t supervise_mark(const struct segment *segment);

struct supervisor;

/* supervise_start(): begins to answer.
 *
 * listener: from filter_install() in the command's process, taken over.
 * Starts threads and one process, the guardian: it lets every call pass when this process has died.  Returns 0 or a negative
 * errno; then nothing answers and the listener is closed: trapped calls fail with ENOSYS.  Once in a process, which may have no
 * other threads yet. */
int supervise_start(int listener, const struct supervision *supervision,
		    struct supervisor **ret_supervisor);

/* supervise_descriptor(): becomes readable when a process ended, when all have, and when there is something to look at: for poll(2). */
int supervise_descriptor(const struct supervisor *supervisor);

/* supervise_tend(): after supervise_descriptor() was readable: forgets processes that ended, looks at what came of writes.  Returns false when none is left
 * below the filter. */
bool supervise_tend(struct supervisor *supervisor);

#endif
