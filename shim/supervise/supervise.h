/*
 * The second mechanism: a supervisor that is asked by the kernel before a call of the command, or
 * of any process below it, is made (seccomp_unotify(2)).  It needs nothing inside the process:
 * static programs, Go, Bun and musl are seen as all others.
 *
 * 	filter.c     which calls are trapped
 * 	supervisor.c threads that answer; the guardian that answers when they cannot
 * 	target.c     the processes below: the table of them
 * 	program.c    what they run
 * 	proc.c       what /proc reports of them
 * 	call.c       what a trapped call means: by whom it is made; programs
 * 	opening.c    opens
 * 	names.c      calls about names, and the current directory
 * 	metadata.c   calls that set metadata or sizes
 * 	policy.c     may a call happen
 * 	trapped.c    a call, and the names that it was given
 * 	exchange.c   a call that waits for its answer
 * 	viewer.c     viewers: answers, deliveries
 * 	twin.c       opening a file as another process would; rights.c: what that may do
 * 	record.c     all of it, for the journal
 * 	rules.c      the rules
 * 	guarded.c    the guard
 * 	keeping.c    what is kept for undo before a call; kept_call.c: how the call ended; written.c: how files were left
 * 	shown.c      files that a scope knows by being shown them
 * 	message.c    lines for the agent
 * 	directory.c  the current directory of a process
 * 	resolve.c    finding what a process names; resolve_links.c: through links that only /proc has
 * 	memory.c     looking into another process
 * 	compat.h     what the kernel knows and the installed headers may not
 * 	handshake.h  how it shares a process with the preloaded library
 *
 * It decides as the library does, by the same functions of the tracker.  A call that is let pass is
 * made by the process itself after it was inspected, and may then be another one: this is a record
 * and a guard against accidents, no security boundary.  Only a viewer's open is answered by the
 * supervisor, with a descriptor.
 *
 * Whatever goes wrong, the call is let pass.
 *
 * The files use each other downward only: supervisor, call, opening and names, policy, trapped,
 * target, then shown, then viewer, guarded and rules, then record, message and twin, then directory,
 * resolve, rights and memory.  All of them may use the tracker, threads and the heap: they run in seen's
 * own process.  In other processes they touch nothing but what answers a call: a descriptor that is
 * added, and the ticket in struct handshake.
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

/* A process that has installed a filter and not called exec yet. */
struct supervise_root {
	pid_t pid;
	struct process_ref process; /* the program, as announced; serial 0: it is not known */
	struct context context;     /* likewise */
	bool no_new_privs;          /* setuid programs below it are reported */
	bool has_library;           /* the library is in it, and started the program */
	bool is_confined;           /* it may be: no file is opened for it */
};

/* What a supervisor works for.  Constant while it does; borrowed. */
struct supervision {
	const struct segment *segment;
	const char *directory;   /* that the segment lies in; NULL: none */
	struct journal *journal; /* NULL, or not mapped: nothing is recorded */
	bool has_library;        /* the library is preloaded, too */
	bool is_strict;          /* what cannot be judged is refused: a rule is to hold */
	pid_t command;           /* the run's own, a child of this process; 0: not known */

	/* Called before a change, in one of several threads.  Returns 0, or a negative errno that
	 * the call fails with;
	 * what it would have destroyed is then as it was.  NULL: all may be done. */
	int (*changing)(void *data, const struct supervise_change *change);
	/* Something that the user ought to know, once: a line without its end.  In one of several
	 * threads.  NULL: not reported. */
	void (*report)(void *data, const char *line);
	void *data;
};

#endif
