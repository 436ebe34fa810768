/*
 * What runs inside a stranger's process.
 *
 * 	state.c     what this process is, for all of these: struct shim, set up once (here)
 * 	memory.c    is the memory there that a caller passed
 * 	thread.c    which thread and process runs this: one between vfork and exec, the one that is followed
 * 	real.c      libc's own functions behind the exported names
 * 	message.c   a line for the agent
 * 	directory.c the current directory, and paths that begin there
 * 	change.c    what a process destroys or replaces, recorded by path
 * 	append.c    who makes a record, and its way into the journal
 * 	descriptors.c  what passes through the descriptors that were opened by name, for the journal
 * 	record.c    all of it, for the journal
 * 	follow/     what is followed inside a process (follow/viewer.h says what may be used there):
 * 	  write_check.c  the guard: calls that may destroy something, before they are made
 * 	  guarded.c      what is written by the descriptors that it let be opened, and with which result
 * 	  range.c        readers: which lines of a file they gave
 * 	  reader.c       readers: their commands, remembered and answered as a whole
 * 	  diff.c         has the program tell what changed in a file that a viewer opened again
 * 	  viewer.c       viewers: answers, deliveries; readers: what they sent
 * 	  in_process.c   an agent's in-process reads, counted, and those of a whitelisted program, answered
 * 	program.c   the program file that a call of exec names, classified
 * 	keep*.c     what the workspace was before a call changed it, for undo (keep.h); what both mechanisms share of that is in shim/keep
 * 	rules.c     rules: their verdict on a call, before it is made
 * 	launch.c    the environment and ticket of a program about to be started
 * 	spawn.c     posix_spawn, where its child has to become supervised
 * 	handshake.c the meeting with a supervisor, which sees what goes past libc (shim/supervise)
 * 	sandbox.c   a process that is about to make a sandbox of itself becomes supervised
 * 	ring.c      rings of io_uring(7): does one carry what is done with files
 * 	call.c      what an exported function means, for all of hooks_*.c
 * 	stations_data.c  the stations of a call about data (shim/call/order.h)
 * 	stations.c  those of a call about names or metadata
 * 	exit.c       the end of the process
 * 	hooks_*.c   the exported functions, by family: real call first, then what it means (call.h)
 * 	vfork.S     vfork, which cannot be wrapped in C
 * 	attach.c    start: finds the session, maps it, learns role and context
 *
 * The list goes upward: a file uses those above it in the list, the tracker, and of shim/supervise
 * the form of the meeting alone (handshake.h).  Where a lower one has to reach a higher one, that
 * hands it a function (struct shim, `resumed`; reader_start()).
 *
 * Rules, for every line below shim/ and for what it calls in tracker/:
 *   - The real call comes first; memory that the caller passed is inspected only after it succeeded
 *     (exec cannot: there, pointers are read as the kernel would).
 *   - errno is never changed: system calls are made directly (tracker/sys/sys.h).
 *   - No malloc, no stdio, no locks, no threads, no descriptor kept, nothing printed, no exit.
 *   - Async-signal-safe, and safe between vfork and exec: there, nothing but the stack and the
 *     segment is written to.
 *   - In a process that is neither viewer, reader, agent nor whitelisted, no call is added past the start, but for these: gettid
 *     once in each thread that does something, getpid after vfork and at _exit, getcwd after the current directory was
 *     changed, statx of a file of the workspace that an open may have made, and what it takes to make the journal longer; and, where a rule speaks of the program and of such calls, what it takes
 *     to know the path (rules.c).
 *   - Anything unexpected: do nothing.
 */
#ifndef SEEN_SHIM_STATE_H
#define SEEN_SHIM_STATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tracker/answer/request.h"
#include "tracker/guard/rule.h"
#include "tracker/journal/journal.h"
#include "tracker/process/process.h"
#include "tracker/segment/segment.h"

/* This process, as set up by attach.c before main() and constant afterwards.  What every call of a
 * tool inspects comes first: it is in one line of the cache. */
struct shim {
	/* attached to a session: false until the constructor ran, and for ever without one */
	bool on;
	/* `on` and `records`, and none of views, reads_own, shows, tracks: what most calls of most
	 * programs ask alone */
	bool plain;
	bool views;       /* a viewer: reads and writes are followed */
	bool reads_own;   /* an agent, or whitelisted: its in-process reads are counted */
	bool answers_own; /* whitelisted: repeats of them may be answered */
	bool answered;    /* one was: what this process writes may be a notice */
	bool changes;     /* what it changes is recorded */
	bool records;     /* what it does goes to the journal */
	bool records_all; /* whatever the path */
	bool guards;      /* what it is about to destroy is inspected first */
	bool keeps;       /* and what it changes in the workspace is kept for undo */
	bool shows; /* a reader that prints what is in its files: what it opens, its scope knows */
	/* a reader whose command may be remembered: what it opens and lists is inspected */
	bool tracks;
	bool is_fork;      /* a copy of the process that attached */
	bool ends_capture; /* its end is the end of a capture's command */
	/* it may have a filter that answers calls before the kernel inspects their arguments */
	bool filtered;
	bool supervised; /* a supervisor answered */
	/* and libc's open is what a wrapper would call: no other library's comes between */
	bool opens_pass;
	bool sandboxed; /* it told the kernel which calls to allow: no calls of ours from then on */
	uint32_t record; /* number of this process's START or FORK record; 0: there is none */
	/* of this program, PROCESS_COUNTS words in the segment; NULL: it has none */
	uint64_t *counts;
	struct rule_program rules; /* that speak of this program; none: not asked */
	uint64_t program_dev,
		/* file of seen's own program, where there are rules; ino 0: not known */
		program_ino;
	uint32_t starts;   /* programs that this process started, and copies of it: by atomic add */
	uint32_t role;     /* enum role */
	uint64_t scope_id; /* baseline_scope(): what it reads and writes belongs to; 0: none */
	uint32_t edit_pattern; /* enum edit_pattern, of an agent's profile */
	pid_t pid;             /* of this process; a child between vfork and exec has another */
	pid_t fork_parent;     /* is_fork: of the process that was copied */
	struct segment segment;
	struct process_ref process;
	struct request request; /* context; for viewers and readers the request that they are */
	const char *library;    /* as the loader knows it; empty: not known */
	char *session;          /* `SEEN_SESSION=` and the directory of the segment */
	void (*resumed)(void); /* launch_resumed(): thread.c, which calls it, lies below launch.c */
	/* the last one: most of it is never touched (start.ld) */
	struct journal journal;
};

/* Said here too, so that it is reached without the table of addresses; so where others say it. */
#define HIDDEN __attribute__((visibility("hidden")))

extern struct shim shim HIDDEN;

/* shim_complete(): what is asked of this process has become less. */
static inline void shim_complete(void)
{
	shim.plain = shim.on && shim.records && !shim.views && !shim.reads_own && !shim.shows &&
		     !shim.tracks && !shim.sandboxed;
}

/* shim_starts(): how many programs and copies this process started: they may have any descriptor of
 * it. */
static inline uint32_t shim_starts(void)
{
	return __atomic_load_n(&shim.starts, __ATOMIC_RELAXED);
}

/* count_up(): this program did something once more. */
static inline void count_up(enum process_count count)
{
	if (shim.counts)
		(void)__atomic_fetch_add(&shim.counts[count], 1, __ATOMIC_RELAXED);
}

/* program_path(): path of the program: ../../bin/seen from the directory of this library.  False:
 * it is not known. */
bool program_path(char *ret_path, size_t capacity);

/* variable(): the value of NAME in an environment, or NULL.  libc's getenv may be the program's own
 * (bash). */
const char *variable(char *const environment[], const char *name);

#endif
