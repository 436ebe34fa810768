/*
 * The processes below the filter, as the supervisor knows them.
 *
 * A process is heard of with its first trapped call.  What it runs is learned when it calls exec,
 * and settled by what /proc says once it makes a call as the new program; a child that made no call
 * yet is what its nearest known ancestor is.  Numbers are used again by the kernel: a process is
 * held by a descriptor (pidfd_open(2)), a thread is looked for in its process.
 */
#ifndef SEEN_SUPERVISE_TARGET_H
#define SEEN_SUPERVISE_TARGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/supervise/supervise.h"
#include "tracker/answer/request.h"
#include "tracker/guard/rule.h"
#include "tracker/process/role.h"
#include "tracker/process/ticket.h"

enum way {
	WAY_BEFORE_EXEC, /* a process that has installed the filter, before it calls exec */
	WAY_STARTING,    /* a program was started and has not called from its own code yet */
	WAY_SUPERVISED,  /* inspected by the supervisor alone */
	WAY_LIBRARY,     /* the library is inside; the supervisor inspects what goes past it */
};

enum { CODE_RANGES = 3 };

struct code_range {
	uint64_t from, to;
};

/* What tells the image that a process runs from another one: where its stack begins, and its
 * executable. */
struct image {
	uint64_t stack; /* 0: not known */
	struct identity file;
};

/* A program that a process has been about to start. */
struct start {
	struct process_ref announced; /* serial 0: by the library, or not at all */
	bool announced_here;
	bool announced_elsewhere; /* by the library, too, which has other numbers of processes */
	struct context context;   /* as announced */
	char ticket[TICKET_BYTES];
	pid_t tid;              /* the thread that called exec */
	struct image image;     /* the one before */
	struct identity output; /* descriptor 1 when it was started */
};

struct domain;
struct viewed_files;
struct guarded_files;
struct kept_call;

struct target {
	pid_t pid;
	int descriptor;      /* pidfd */
	unsigned users;      /* under the table's lock */
	uint64_t checked_ns; /* when it was last known to live; under the table's lock */
	bool gone;           /* ended, out of the table */
	struct target *next;

	pthread_mutex_t lock; /* for all below */
	enum way way;
	/* it may open less than /proc says: Landlock, which nothing there reports, by rulesets that are not known */
	bool confined;
	struct domain *domain; /* by those that are known; NULL: none */
	bool is_fork;          /* a copy of the process that started the program */
	bool has_library;  /* WAY_BEFORE_EXEC: the library started the program, and recorded that */
	bool no_new_privs; /* setuid programs get no privileges */
	bool reported;     /* a copy: its FORK record is written */
	bool exec_called;  /* `start` names the program */
	struct start start;
	struct image image; /* what it runs, as far as it was asked for: it changes by exec alone */
	struct invocation invocation;
	struct request request;
	struct process_ref process;
	uint64_t record;                     /* number of its START or FORK record; 0: none */
	uint64_t handshake;                  /* WAY_LIBRARY: address of its struct handshake */
	struct code_range code[CODE_RANGES]; /* WAY_LIBRARY: what the library sees */
	struct code_range loader, library;   /* WAY_STARTING: as far as known */
	char *root;        /* its root directory as this process names it, NULL: the same */
	bool root_changes; /* it may have another by now */
	char *directory;   /* its current directory as this process names it; NULL: not known now */
	bool has_threads;  /* more than the first make calls: then it may change at any time */
	struct rule_program rules; /* those that speak of what it runs; for rules.c */
	bool rules_known;
	/* the rules' last verdicts on what it runs, as hashes; 0: none */
	uint64_t rules_said[8];
	unsigned rules_said_next;
	bool rules_refused;         /* its calls, and a line reports that */
	struct viewed_files *views; /* of a viewer; NULL: none yet */
	/* what it was let do to files that matter; NULL: nothing yet */
	struct guarded_files *writes;
	struct kept_call *
		kept; /* calls for which something was kept, and of which it is not known how they ended */
	bool is_step; /* of undo: its end is a boundary */
	/* what it reads and writes belongs to, where that is known by more than `request.context`;
	 * 0 */
	uint64_t scope_id;
};

struct targets;

/* targets_make(): NULL when there is no memory. */
struct targets *targets_make(const struct supervision *supervision);

/* targets_enter(): a process has installed a filter.  Returns 0, or a negative errno: it has
 * ended. */
int targets_enter(struct targets *targets, const struct supervise_root *root);

/* targets_descriptor(): readable when a process has ended. */
int targets_descriptor(const struct targets *targets);

/* targets_sweep(): forgets those that ended. */
void targets_sweep(struct targets *targets);

/* targets_timer(): readable when it is time to hash the results of writes (guarded.h).
 * targets_note_writing(): that of a process is to be inspected soon.  targets_next_writing(): takes
 * one of these processes; 0: there is none. */
int targets_timer(const struct targets *targets);
void targets_note_writing(struct targets *targets, pid_t pid);
pid_t targets_next_writing(struct targets *targets);

/* target_find(): the process of a thread, locked; NULL when it is not known yet, or held by
 * another: does not wait.  target_acquire(): the process of any thread, learned of if it is new;
 * NULL when it is not known.
 * target_release(): lets go of it. */
struct target *target_find(struct targets *targets, pid_t tid);
struct target *target_acquire(struct targets *targets, pid_t tid);
void target_release(struct targets *targets, struct target *target);

/* What follows is about a process that is held: target_acquire(). */

/* target_refresh_root(): asks for its root directory again. */
void target_refresh_root(const struct targets *targets, struct target *target);

/* target_confine(): it restricts itself by Landlock, by a ruleset that it has open. */
void target_confine(struct target *target, int ruleset);

/* target_is_complete(): is what it runs known, as far as it is for all processes? */
bool target_is_complete(const struct target *target);

/* target_is_sure(): is what was read of the process surely of the image that made a call which was
 * taken then (CLOCK_MONOTONIC), without asking the kernel whether that waits still?  It is settled,
 * calls exec by the supervisor's leave alone, and its number is not another's as soon as that. */
bool target_is_sure(const struct targets *targets, const struct target *target,
		    uint64_t received_ns);

/* target_is_loading(): is that code of a loader which is not done yet, by what is known?  Its calls
 * are of no interest. */
bool target_is_loading(const struct target *target, uint64_t code);

/* target_complete(): the process calls from `code` (0: not known): what it runs now is known
 * afterwards, unless it is still being loaded: then false, and the call is of no interest.  ends:
 * it calls exit: then it is settled in any case. */
bool target_complete(struct targets *targets, struct target *target, uint64_t code, bool ends);

/* target_start(): the process calls exec.  announce: no other process announces the program.
 * words:
 * arguments, each ended by NUL. */
void target_start(struct targets *targets, struct target *target, pid_t tid, bool announce,
		  const char *path, const char *words, size_t words_bytes);

/* target_returned(): that thread makes a call: if it called exec before, and no new program came of
 * it, that has failed. */
void target_returned(struct targets *targets, struct target *target, pid_t tid);

/* target_library(): the library sends its handshake in this process.  Returns false when it is to
 * stay off. */
bool target_library(struct targets *targets, struct target *target, uint64_t handshake);

/* target_is_library_code(): is that call one which the library sees? */
bool target_is_library_code(const struct target *target, uint64_t code);

/* target_is_elsewhere(): does it live in another namespace of processes? */
bool target_is_elsewhere(const struct target *target);

/* target_inspect_library(): learns what the library knows of the process, for a call that went past
 * it. */
void target_inspect_library(struct targets *targets, struct target *target);

/* target_meet_children(): the process is about to end: its children are inspected as long as it is
 * known who started them. */
void target_meet_children(struct targets *targets, struct target *target);

#endif
