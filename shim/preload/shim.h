/*
 * What runs inside a stranger's process.
 *
 *	real.c      libc's own functions behind the exported names
 *	attach.c    start: finds the session, maps it, learns role and context; the end of the process
 *	view.c      viewers: answers, deliveries; readers: what they sent
 *	part.c      readers: which lines of a file they gave
 *	diff.c      has the program tell what changed in a file that a viewer opened again
 *	reader.c    readers: their commands, remembered and answered as a whole
 *	own.c       an agent's own reads, counted, and those of a whitelisted program, answered
 *	change.c    what a process destroys or replaces, recorded by path; its current folder
 *	rules.c     rules: what they say of a call, before it is made
 *	plan.c      the guard: calls that may destroy something, before they are made
 *	say.c       a line for the agent
 *	writes.c    what is written by the descriptors that it let be opened, and what came of it
 *	record.c    all of it, for the journal
 *	vfork.S     vfork, which cannot be wrapped in C
 *	hello.c     the meeting with a supervisor, which sees what goes past libc (shim/supervise)
 *	launch.c    the environment and ticket of a program about to be started
 *	hooks_*.c   the exported functions, by family: real call first, then what it means
 *
 * Rules, for every line below shim/ and for what it calls in tracker/:
 *   - The real call comes first; memory that the caller passed is looked at only after it succeeded
 *     (exec cannot: there, pointers are read as the kernel would).
 *   - errno is never changed: system calls are made directly (tracker/sys/sys.h).
 *   - No malloc, no stdio, no locks, no threads, no descriptor kept, nothing printed, no exit.
 *   - Async-signal-safe, and safe between vfork and exec: there, nothing but the stack and the
 *     segment is written to.
 *   - In a process that is neither viewer, reader, agent nor whitelisted, no call is added past the start, but for these: gettid
 *     once in each thread that does something, getpid after vfork and at _exit, getcwd after the current folder was
 *     changed, and what it takes to make the journal longer; and, where a rule speaks of the program and of such calls, what it takes
 *     to know the path (rules.c).
 *   - Anything unexpected: do nothing.
 */
#ifndef SEEN_SHIM_SHIM_H
#define SEEN_SHIM_SHIM_H

#include <fcntl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "tracker/answer/decision.h"
#include "tracker/guard/guard.h"
#include "tracker/guard/rule.h"
#include "tracker/journal/journal.h"
#include "tracker/process/process.h"
#include "tracker/segment/segment.h"

/* This process, as set up by attach.c before main() and constant afterwards.  What every call of a tool looks at comes first: it
 * is in one line of the cache. */
struct shim {
	bool on; /* attached to a session: false until the constructor ran, and for ever without one */
	bool plain; /* `on` and `records`, and none of views, reads_own, shows, tracks: what most calls of most programs ask alone */
	bool views; /* a viewer: reads and writes are followed */
	bool reads_own;   /* an agent, or whitelisted: its own reads are counted */
	bool answers_own; /* whitelisted: repeats of them may be answered */
	bool answered;    /* one was: what this process writes may be a notice */
	bool changes;     /* what it changes is recorded */
	bool records;     /* what it does goes to the journal */
	bool records_all; /* whatever the path */
	bool guards;      /* what it is about to destroy is looked at first */
	bool shows; /* a reader that prints what is in its files: what it opens, its scope knows */
	bool tracks; /* a reader whose command may be remembered: what it opens and lists is looked at */
	bool is_fork;      /* a copy of the process that attached */
	bool ends_capture; /* its end is the end of a capture's command */
	bool filtered; /* it may have a filter that answers calls before the kernel looks at their arguments */
	bool supervised; /* a supervisor answered */
	bool opens_pass; /* and libc's open is what a wrapper would call: no other library's comes between */
	bool sandboxed; /* it told the kernel which calls to allow: no calls of ours from then on */
	uint32_t record; /* number of this process's START or FORK record; 0: there is none */
	uint64_t *counts; /* of this program, PROCESS_COUNTS words in the segment; NULL: it has none */
	struct rule_program rules; /* that speak of this program; none: nobody asks */
	uint64_t program_dev,
		program_ino; /* file of seen's own program, where there are rules; ino 0: not known */
	uint32_t role;       /* enum role */
	uint64_t scope_id;   /* baseline_scope(): what it reads and writes belongs to; 0: none */
	uint32_t edit_pattern; /* enum edit_pattern, of an agent's profile */
	pid_t pid;             /* of this process; a child between vfork and exec has another */
	pid_t fork_parent;     /* is_fork: of the process that was copied */
	struct segment segment;
	struct process_ref process;
	struct request request; /* context; for viewers and readers the request that they are */
	const char *library;    /* as the loader knows it; empty: not known */
	char *session;          /* `SEEN_SESSION=` and the folder of the segment */
	/* the last one: most of it is never touched (start.ld) */
	struct journal journal;
};

/* Said here too, so that it is reached without the table of addresses; so where others say it. */
#define HIDDEN __attribute__((visibility("hidden")))

extern struct shim shim HIDDEN;

/* shim_settle(): what is asked of this process has become less. */
static inline void shim_settle(void)
{
	shim.plain = shim.on && shim.records && !shim.views && !shim.reads_own && !shim.shows &&
		     !shim.tracks && !shim.sandboxed;
}

/* shim_is_alone(): is this the process that was started, which has one thread, as far as libc knows?  Then nobody need ask the kernel for it
 * at each call. */
bool shim_is_alone(void);

/* count_up(): this program did something once more. */
static inline void count_up(enum process_count count)
{
	if (shim.counts)
		(void)__atomic_fetch_add(&shim.counts[count], 1, __ATOMIC_RELAXED);
}

struct look;
struct answer;

/* program_path(): path of the program: ../../bin/seen from the folder of this library.  False: it is not known. */
bool program_path(char *ret_path, size_t capacity);

/* variable(): the value of NAME in an environment, or NULL.  libc's getenv may be the program's own (bash). */
const char *variable(char *const environment[], const char *name);

/* diff_make(): what changed in a file that was decided as DECISION_DIFF.
 *
 * fd: the file.  path: as the command wrote it.  ret_version: of the text.
 * Returns a descriptor of the text as of a notice (notice.h); -ENODATA where it is not short enough, and other negative errnos where it could
 * not be made: counted as lost.  Runs the program, for at most some seconds in one process. */
int diff_make(int fd, const char *path, const struct answer *answer, struct version *ret_version);

/* view_opened(): a viewer opened a file for reading; the descriptor may now hold a notice.
 * path: as given to the call, relative to `directory`; NULL: not by name.  ret_look: all zero before; what came of it. */
void view_opened(int fd, int directory, const char *path, struct look *ret_look);

/* view_moved(): the current folder is another. */
void view_moved(void);

/* view_shown(): a reader that prints what is in its files opened one: its scope knows it, if it goes to the capture.
 * path: as given to the call; NULL: not by name. */
void view_shown(int fd, const char *path);

struct content;
struct stat;

/* part_start(): this program begins; what lines it prints, its arguments tell.  part_shown(): it opened a file of the workspace, its
 * output is the capture.  path: as given; may be NULL.  kernel_path: as the kernel knows it.  part_end(): it ended by exit(0). */
void part_start(const char *executable, char *const argv[]);
void part_shown(int fd, const char *path, const char *kernel_path, const struct stat *stat,
		const struct content *content);
void part_end(void);

/* view_is_followed(): is this the one thread, and the process, that is followed? */
bool view_is_followed(void);

/* view_read(): a viewer read bytes from a descriptor, one behind the other. */
void view_read(int fd, const void *bytes, ssize_t count);

/* view_wrote(): a viewer wrote to a descriptor.  count: what the call returned. */
void view_wrote(int fd, ssize_t count);

/* view_closing(): a viewer is about to close a descriptor. */
void view_closing(int fd);

/* view_odd(): a viewer did something that is not followed: it delivers nothing. */
void view_odd(void);

/* view_end(): a viewer or reader ended by exit(status). */
void view_end(int status);

/* reader_start(): a reader begins, attached.  May not come back: its command is answered in its place.  name: of the program. */
void reader_start(const char *executable, const char *name, char *const argv[],
		  char *const environment[]);

/* Of a reader that `tracks`.  reader_opened(): a call opened something, or with fd < 0 could not; errno then says why.  path: NULL: not by
 * name.  reader_listed(): a folder is about to be listed; path NULL: it was opened before.  reader_passed(): bytes were read from a
 * descriptor, or written to it.  reader_odd(): it did something that is not followed: its command is not remembered. */
void reader_opened(int fd, int directory, const char *path, int flags);
void reader_listed(int fd, int directory, const char *path);
void reader_closing(int fd);
void reader_duplicated(int fd, int copy);
void reader_moved(int fd, const char *path); /* the current folder changes */
void reader_made_stream(int fd);             /* over a descriptor: what passes is not seen */
void reader_passed(int fd, ssize_t count, bool written);
void reader_odd(void);

/* reader_end(): it ends by exit(status). */
void reader_end(int status);

struct iovec;

/* own_opened(), own_read(), own_closing(): an agent's own reads.  ret_look: all zero before. */
void own_opened(int fd, int directory, const char *path, struct look *ret_look);
void own_read(int fd, ssize_t count);

/* own_was_read(): as own_read(), where it is known what was read to where, and may be answered.
 *
 * parts: the caller's memory, as the call was given it.  offset: that the bytes were read at; OWN_OFFSET: the descriptor's own,
 * which is behind them now.  count: what the call returned.  Returns what it is to return: `count`, or the bytes of a notice that
 * stand in the caller's memory instead. */
enum { OWN_OFFSET = -1 };
ssize_t own_was_read(int fd, const struct iovec *parts, int part_count, off_t offset,
		     ssize_t count);

/* own_stream_was_read(): the same for a stream's bytes, which stand at this offset of its file; negative: it is not known. */
size_t own_stream_was_read(int fd, void *bytes, off_t offset, size_t count);

/* own_start(): a whitelisted program of that name begins. */
void own_start(const char *name);

/* own_follows(): is this a descriptor whose reads may be answered? */
bool own_follows(int fd);

/* own_asked(): a whitelisted process was told that it may access a file.  writes: for writing, too. */
void own_asked(int directory, const char *path, bool writes);

/* own_was_answered(): did this process, or the one that it is a copy of, get a notice for that file? */
bool own_was_answered(uint64_t file_key);

void own_closing(int fd);
void own_closing_many(unsigned first, unsigned last); /* both ends included */

/* own_stream_closing(): a stream over the descriptor is about to be closed: how far it read tells its offset. */
void own_stream_closing(int fd);

/* own_end(): the agent ends by exit(): the same for streams that it left open. */
void own_end(void);

/* rules_start(): tells which rules speak of this program; at the start of the process.  name: what it goes by. */
void rules_start(const char *executable, const char *name);

/* rules_let(): do the rules let a call pass?  To be asked where rule_may_hold(&shim.rules, ops).
 *
 * ops: enum rule_op, what the call would do to this path (rule.h).  directory, path: as given to the call, which may be anything.
 * follows: the call goes through a symbolic link at the path's end.
 * What is said of it is recorded, counted, and told the agent.  False: the call has to fail; errno says why. */
bool rules_let(uint32_t ops, int directory, const char *path, bool follows);

/* rules_let_two(): the same for a call about two names. */
struct rules_name {
	uint32_t ops;
	int directory;
	const char *path;
	bool follows;
};
bool rules_let_two(struct rules_name first, struct rules_name second);

/* rules_let_descriptor(): the same for what a descriptor is open for. */
bool rules_let_descriptor(uint32_t ops, int fd);

/* rules_let_program(): the same for a program about to be started.  directory, path: as struct launch_place.  searches: a name without a
 * slash is looked for by PATH. */
bool rules_let_program(int directory, const char *path, bool searches);

/* A call that may destroy something, from before it is made until it came back.  Lives on the caller's stack. */
struct plan {
	char *path; /* scratch, absolute and normalized; NULL: nobody looks at this call */
	struct guard_answer answer;
	/* RENAME: of what takes the other's place */
	struct version source;
	uint64_t source_key; /* 0: nothing is known of it */
	/* OPEN, to empty the file: that is done when it was looked at by the descriptor, so that it is the one that was looked at */
	bool holds;
	bool is_new; /* holds: there was nothing */
};

/* plan_open(): a file is about to be opened for writing; holds: by plan_flags() and plan_emptied().  plan_change(): what a name stands for is about to be removed, replaced
 * (GUARD_REPLACES), or set to another size.  plan_rename(): `path` is about to take the place of `other`, which is
 * what is looked at.
 * ret_plan: to be ended by one of the functions below, whatever comes of the call.
 * Returns false when the call has to fail; errno says why, and the plan has ended. */
bool plan_open(int directory, const char *path, int flags, bool holds, struct plan *ret_plan);
bool plan_change(enum guard_kind kind, int directory, const char *path, bool follows,
		 struct plan *ret_plan);
bool plan_rename(int directory, const char *path, int other_directory, const char *other,
		 struct plan *ret_plan);

/* plan_name(): a name that stands for nothing, or whose file gets another name, is about to be given to a file.  follows: a link at `path`.
 * False: it carries a notice, and the call has to fail; errno says so. */
bool plan_name(int directory, const char *path, bool follows, int other_directory,
	       const char *other, struct plan *ret_plan);

/* plan_flags(): the flags to make the call with.  plan_emptied(): the call came back by these: looks at the file, and empties it.  Returns
 * fd; -1 with errno where the call is to fail: it is closed then. */
static inline int plan_flags(const struct plan *plan, int flags)
{
	return plan->path && plan->holds ? flags & ~O_TRUNC : flags;
}
int plan_emptied(struct plan *plan, int fd);

/* plan_opened(): the call came back.  fd < 0: with an error.  stream: libc writes by itself, and the rest of it when the process ends. */
void plan_opened(struct plan *plan, int fd, int flags, bool stream);

/* plan_changed(), plan_renamed(): the call came back; the change is complete, or with an error nothing was done. */
void plan_changed(struct plan *plan, int error);
void plan_renamed(struct plan *plan, int error);

/* A file that this process opened to write to, and that is looked at.  Copies of the descriptor share it. */
struct opening {
	uint64_t number;
	uint64_t dev, ino;
	uint64_t key;
	struct version before; /* what was there; none: nothing */
	uint32_t knows;        /* enum guard_knows */
	uint32_t marks;        /* writes.c */
	uint32_t starts;       /* of programs, when it was opened */
	uint64_t start_bytes;  /* its size when this program began, where that did not open it */
	void *stream;          /* FILE, whose buffer is written behind our back; NULL: none */
};

/* A descriptor about to be closed that was opened for writing. */
struct closing {
	int fd;     /* of the same file, for reading; -1: nobody looks at this one */
	int shared; /* a copy, where others may go on at its offset; -1: none */
	struct opening opening;
};

/* writes_closing(), writes_closed(): before and after a close, or what closes by other means (fclose).  writes_closed() returns
 * 0, or -1 with errno where the file was put back to what it had been: the caller of close is to be told. */
void writes_closing(int fd, struct closing *ret_closing);
int writes_closed(struct closing *closing);

/* writes_closing_many(): a range of descriptors is about to be closed. */
void writes_closing_many(unsigned first, unsigned last);

/* writes_refuses(): data is about to be written to a descriptor.  True when it has to be refused: errno is EIO then, and the file
 * is what it was before it was opened. */
bool writes_refuses(int fd, const void *data, size_t size_bytes);
struct iovec;
bool writes_refuses_parts(int fd, const struct iovec *parts, int count);

/* writes_any(): did this process ever open a file that is looked at? */
extern unsigned writes_entries HIDDEN;
static inline bool writes_any(void)
{
	return __atomic_load_n(&writes_entries, __ATOMIC_RELAXED) != 0;
}

/* writes_touched(): what is in a descriptor's file was changed by other means than a write: its size, a copy inside the kernel. */
void writes_touched(int fd);

/* writes_locked(): the process sets a lock by that descriptor which every close of its file gives up (fcntl(2), F_SETLK): that file
 * is not opened here. */
void writes_locked(int fd);

/* writes_stream(): a stream writes to that descriptor.  writes_answered(): this process was given its first notice. */
void writes_stream(int fd, void *stream);
void writes_answered(void);

/* writes_duplicated(): as record_duplicated().  writes_mapped(): the file may be stored to without a call. */
void writes_duplicated(int fd, int copy);
void writes_mapped(int fd);

/* writes_started(): a program was started that may have any descriptor of this process.  writes_key(): key of the file that a standard
 * descriptor of a program about to replace this image writes to; 0: none.  writes_inherit(): so it was; the program begins. */
void writes_started(void);
uint64_t writes_key(void);
void writes_inherit(uint64_t file_key);

/* writes_end(): the process ends.  flushed: what streams still hold is not written any more (_exit). */
void writes_end(bool flushed);

/* writes_fork(): in a copy that fork made: what it has open is its parent's to tell of. */
void writes_fork(void);

/* ending_now(): the process calls _exit(): no exit handler will run. */
void ending_now(int status);

/* partial_note(): the process reads or writes in a way that nobody here sees (io_uring, aio). */
void partial_note(void);

/* scratch_take(): SEGMENT_PATH_BYTES of memory for a path: stacks of signal handlers and threads are small.  NULL when
 * all are in use (then the event is lost).  scratch_give(): gives it back; NULL is let pass.  Lock-free. */
char *scratch_take(void);
void scratch_give(char *scratch);

/* scratch_reset(): in a copy that fork made: what the parent's threads had taken is free. */
void scratch_reset(void);

/* hello_say(): says hello to the supervisor of the session, if it has one.  Returns enum hello_answer; 0: there is none.
 * hello_ticket(): the value of SEEN_P that it gave this program; NULL: none.  hello_known(): `shim` says now who this is, in a copy that
 * fork made too. */
int hello_say(void);
const char *hello_ticket(void);
void hello_known(void);

/* change_start(): learns the current folder.  At the start of the process. */
void change_start(void);

/* change_directory(): the process changed its folder, which is asked for at once.  change_unsure(): libc may have changed it:
 * it is asked for when it is needed next. */
void change_directory(void);
void change_unsure(void);

/* change_walks(): libc begins (1), or ends (-1), to go from folder to folder and call the program back. */
void change_walks(int more);

/* change_folder_text(): number in the journal of the current folder's path; 0: it is not known. */
uint32_t change_folder_text(void);

/* change_path(): an absolute, normalized path for one that was given to a call.  Returns 0, or a negative
 * errno where it is not known (a folder's descriptor, a folder changed by descriptor).  No system call. */
int change_path(int directory, const char *path, char *ret_path, size_t capacity);

/* change_resolve(): the same, and where that cannot know it the kernel is asked: of a folder's descriptor, and for the current folder
 * between vfork and exec, which may not be the parent's.  What lies behind a descriptor's name in /proc is relative to what that is open
 * for.  path: readable.  ret_path: SEGMENT_PATH_BYTES.  Not when sandboxed. */
bool change_resolve(int directory, const char *path, char *ret_path);

/* change_note(): the content behind a path was changed, replaced or removed by this process. */
void change_note(int directory, const char *path);

/* Where a program being started lies, as given. */
struct launch_place {
	int directory;    /* that a relative path begins at; AT_FDCWD; LAUNCH_FOLDER_UNKNOWN */
	const char *path; /* "" for the descriptor itself */
};

enum { LAUNCH_FOLDER_UNKNOWN = -1 };

struct large;

/* A program being started.  Lives on the caller's stack, beside what the two calls below ask for. */
struct launch {
	struct launch_place place;
	bool announces; /* it goes on record, also where its environment is passed on as it is */
	struct process_ref process;
	char ticket[TICKET_BYTES];
	int variables;        /* of the given environment; -1: it is passed on as it is */
	size_t preload_bytes; /* room for LD_PRELOAD= with our library */
	struct large *large;  /* memory for the array when it is too large for a stack; else NULL */
};

enum {
	LAUNCH_VARIABLES_MORE = 3,    /* pointers that the new array has more than the old one */
	LAUNCH_VARIABLES_STACK = 128, /* as many go on the stack, which may be a signal handler's; */
	LAUNCH_VARIABLES_STACK_MAX = 500, /* as many if there is no other place */
	LAUNCH_VARIABLES_MAX = 8000,
};

/* launch_measure(): looks at what a program is started with.  ret_launch->announces is false when this process is not attached
 * or a pointer is not readable (the kernel will say EFAULT); variables is -1 then, and when the environment is too large
 * or names another session: nothing may be added to it. */
void launch_measure(struct launch *ret_launch, struct launch_place place, char *const argv[],
		    char *const environment[]);

/* launch_announce(): puts a program on record.  launch: from launch_measure(), which announces.  pid: the caller's own for exec, 0
 * for spawn. */
void launch_announce(struct launch *launch, pid_t pid, char *const argv[]);

/* launch_is_readable(): may the kernel read 8 bytes there? */
bool launch_is_readable(const void *address);

/* launch_is_text(): may it read a path there, up to its end?  Asks once a page. */
bool launch_is_text(const char *path);

/* launch_environment(): makes the environment that a program is started with.
 *
 * launch: announced, variables not -1.
 * stack_array: variables + LAUNCH_VARIABLES_MORE pointers, or NULL where launch->large is set.  preload:
 * preload_bytes bytes.  Returns the new environment: it points into `environment`, `launch`, `preload` and `shim`. */
char *const *launch_environment(struct launch *launch, char *const environment[],
				char **stack_array, char *preload);

/* launch_repairs_command(): libc starts shells for system() and popen() with the process's own environment.
 * Returns whether that lacks our library, so that the command has to begin by putting it back. */
bool launch_repairs_command(void);

/* launch_command(): writes such a command: `command` behind an export of LD_PRELOAD.
 * capacity: strlen(command) + LAUNCH_COMMAND_MORE. */
enum { LAUNCH_COMMAND_MORE = SEGMENT_PATH_BYTES + 1100 };
void launch_command(const char *command, char *ret_command, size_t capacity);

/* launch_resumed(): this thread goes on after vfork: what the child had taken is free again. */
void launch_resumed(void);

/* launch_reset(): in a copy that fork made: as scratch_reset(). */
void launch_reset(void);

/* launch_done(): the call came back.  pid: what posix_spawn started; 0: nothing was started, because of `error`. */
void launch_done(const struct launch *launch, pid_t pid, int error);

#endif
